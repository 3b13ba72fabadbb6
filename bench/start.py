"""How long until something is seen: a bare Python, `import ftheta`, `ftheta --help`, each in a process of its own.

Bar: help in under 0.3 s.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import ftheta

from ._report import Line, Report
from ._timing import Settings, alternate, summarise

__all__ = ["run"]

REPETITIONS = 11
HELP = "import sys; sys.argv[:] = ['ftheta', '--help']; from ftheta.cli import main; main()"


def run(settings: Settings) -> Report:
    """Median of 11 processes each."""
    codes = {"python": "pass", "import ftheta": "import ftheta"}
    report = Report("start", "processes from start to end", "a process", dtype="")
    if _has_cli():
        codes["ftheta --help"] = HELP
    else:
        report.notes.append("ftheta --help: skipped, there is no command line.")
    runs = {name: lambda _, code=code: _process(code) for name, code in codes.items()}
    alternate(runs, 1)  # warm-up: byte code and the file cache
    times = alternate(runs, settings.repetitions if settings.quick else max(REPETITIONS, settings.repetitions))
    report.lines += [Line(n, summarise(t), at_most=0.3 if "help" in n else None) for n, t in times.items()]
    return report


def _has_cli() -> bool:
    spec = find_spec("ftheta.cli")
    return spec is not None and spec.origin is not None


def _process(code: str) -> None:
    source = str(Path(ftheta.__file__).parents[1])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-c", code]
    subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, check=True)
