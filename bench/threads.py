"""From which size of work on do two threads pay? Times a step of the bare loop over a grid of rows and widths.

    work = rows x weights      threshold = argmin_t  Σ log(time with the count that t takes / time with the better one)

The answer is `WORK_FOR_THREADS` in ftheta/train/placing.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from math import log, sqrt

import torch

from ftheta.train import WORK_FOR_THREADS

from . import bare
from ._report import Line, Report
from ._timing import Settings, alternate, ratios, summarise, threads

__all__ = ["run", "threshold"]

WIDTHS = ((20, 100, 3), (64, 128, 10), (64, 256, 64, 10), (784, 256, 64, 10), (784, 512, 512, 10))
ROWS = (32, 128, 200, 512)
STEPS = 20  # of one timing


def threshold(points: Sequence[tuple[float, float, float]]) -> float:
    """The work from which on to take the second count, for (work, time with the first, time with the second)."""
    works = sorted({work for work, _, _ in points})
    between = [works[0] / 2, *(sqrt(a * b) for a, b in pairwise(works)), works[-1] * 2]

    def regret(limit: float) -> float:
        return sum(log((one if work < limit else two) / min(one, two)) for work, one, two in points)

    return min(between, key=regret)


def run(settings: Settings) -> Report:
    """The grid, each point with one thread and with two."""
    report = Report("threads", "the bare loop with one thread and with two", "a step with one", against="two/one")
    grid = sorted(((rows, widths) for widths in WIDTHS for rows in ROWS), key=lambda point: _work(*point))
    points = []
    steps = 2 if settings.quick else STEPS
    for rows, widths in grid[:2] if settings.quick else grid:
        times = _times(rows, widths, steps, settings)
        one, two = (summarise(times[name]).scaled(1 / steps) for name in ("one", "two"))
        name = f"{_work(rows, widths):9.2e} = {rows} rows, {'-'.join(map(str, widths))}"
        report.lines.append(Line(name, one, 1, ratios(times["two"], times["one"])))
        points.append((_work(rows, widths), one.median, two.median))
    report.notes.append(f"Recommended WORK_FOR_THREADS = {threshold(points):.1e}; now {WORK_FOR_THREADS:.1e}.")
    if max(settings.counts) == 1:
        report.notes.append("Both ran with one thread, so the numbers say nothing.")
    return report


def _work(rows: int, widths: tuple[int, ...]) -> int:
    """Multiply-adds of a forward pass."""
    return rows * sum(a * b for a, b in pairwise(widths))


def _times(rows: int, widths: tuple[int, ...], steps: int, settings: Settings) -> dict[str, list[float]]:
    x, y = torch.randn(rows * steps, widths[0]), torch.randint(widths[-1], (rows * steps,))
    net = bare.net(widths)
    opt = bare.optimizer(net, 1e-3, "fused")

    def epoch(_: int) -> None:
        bare.epoch(net, opt, x, y, rows)

    def with_threads(name: str) -> AbstractContextManager[None]:
        return threads(1 if name == "one" else max(settings.counts))

    runs = {"one": epoch, "two": epoch}
    alternate(runs, 1, around=with_threads)  # warm-up
    return alternate(runs, settings.repetitions, around=with_threads)
