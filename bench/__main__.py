"""Benchmarks by name: `python -m bench`, `python -m bench small overhead`, `python -m bench --quick`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from ._report import Report, merge
from ._timing import CORES, Settings

__all__ = ["NAMES", "PATH", "main", "run"]

NAMES = ("small", "mnist-size", "overhead", "threads", "start")
PATH = Path(__file__).parents[1] / "results" / "bench.json"


def run(name: str, settings: Settings) -> Report:
    """One benchmark."""
    return import_module(f"bench.{name.replace('-', '_')}").run(settings)


def main(arguments: Sequence[str] | None = None, path: Path = PATH) -> None:
    """Run, print, and write what was found; a quick run writes nothing."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Ours beside peers, in turns.")
    parser.add_argument("names", nargs="*", choices=[[], *NAMES], metavar="NAME", help=f"of {', '.join(NAMES)}; all without one")
    parser.add_argument("--repetitions", type=int, default=7, help="at least 5 (default 7)")
    parser.add_argument("--quick", action="store_true", help="see that it runs: tiny, without peers, nothing is written")
    given = parser.parse_args(arguments)
    if given.repetitions < 5:
        parser.error(f"--repetitions {given.repetitions}; at least 5 are needed for a median.")
    settings = Settings(True, 2) if given.quick else Settings(False, given.repetitions)
    if hasattr(os, "getloadavg") and os.getloadavg()[0] > 0.5:
        sys.stderr.write(f"The load of this machine is {os.getloadavg()[0]:.1f} on {CORES} cores: the numbers will be noisy.\n")
    for name in given.names or NAMES:
        report = run(name, settings)
        print(report.text(), flush=True, end="\n\n")
        if not given.quick:
            merge(path, [report], settings)


if __name__ == "__main__":
    main()
