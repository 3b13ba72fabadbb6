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

NAMES = (
    "small",
    "mnist-size",
    "overhead",
    "threads",
    "start",
    "million-rows",
    "landscape",
    "lbfgs",
    "lm",
    "stacked",
    "ridge-loo",
    "logistic",
    "svm",
    "folder",
    "convnet",
    "rbm",
    "hopfield",
    "importance",
    "forest",
    "search",
    "autodiff",
    "lstm",
)
BUSY = 0.5
PATH = Path(__file__).parents[1] / "results" / "bench.json"


def run(name: str, settings: Settings) -> Report:
    """One benchmark."""
    return import_module(f"bench.{name.replace('-', '_')}").run(settings)


def main(arguments: Sequence[str] | None = None, path: Path = PATH) -> None:
    """Run, print, and write what was found; a quick run writes nothing."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Ours beside peers, in turns.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all where none is given")
    parser.add_argument("--repetitions", type=int, default=7, help="at least 5 (default 7)")
    parser.add_argument(
        "--quick", action="store_true", help="see that it runs: tiny, without peers, nothing is written"
    )
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in NAMES]
    if unknown:
        parser.error(f"unknown benchmark {unknown[0]!r}; choose from {', '.join(NAMES)}")
    if given.repetitions < 5:
        parser.error(f"--repetitions {given.repetitions}; a median needs at least 5")
    settings = Settings(True, 2) if given.quick else Settings(False, given.repetitions)
    _warn_of_load()
    for name in given.names or NAMES:
        report = run(name, settings)
        print(report.text(), flush=True, end="\n\n")
        if not given.quick:
            merge(path, [report], settings)


def _warn_of_load() -> None:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    if load > BUSY:
        sys.stderr.write(f"The load of this machine is {load:.1f} on {CORES} cores: the numbers will be noisy.\n")


if __name__ == "__main__":
    main()
