"""A 25 x 25 landscape beside its 625 bare forward passes, with the same threads.

    ours: explain.landscape(net, X, y), from the first check to the result      bare: net(X), 625 times, no gradients

Bar: at most 1.4 times the bare passes on 784-256-64-10 with 1000 rows.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ftheta import explain

from . import bare
from ._report import Line, Report
from ._timing import Settings, alternate, ratios, summarise, threads

__all__ = ["WITHIN", "run"]

WITHIN = 1.4
NETS = {"784-256-64-10, 1000 rows": ((784, 256, 64, 10), 1000), "20-100-3, 200 rows": ((20, 100, 3), 200)}


def run(settings: Settings) -> Report:
    """Both nets."""
    report = Report("landscape", "explain.landscape beside bare forward passes", "a grid", against="bare/ours")
    points = 5 if settings.quick else 25
    count = max(settings.counts)
    for i, (name, (widths, rows)) in enumerate(NETS.items()):
        runs = _contestants(widths, rows, points)
        alternate(runs, 1, around=lambda key: threads(count))  # warm-up
        times = alternate(runs, settings.repetitions, around=lambda key: threads(count))
        asked = 1 / WITHIN if i == 0 else None
        report.lines += [
            Line(f"{name}: ours", summarise(times["ours"]), count),
            Line(
                f"{name}: {points**2} passes",
                summarise(times["bare"]),
                count,
                ratios(times["bare"], times["ours"]),
                asked,
            ),
        ]
    report.notes.append(f"Asked: at most {WITHIN} times the bare passes, so bare/ours at least {1 / WITHIN:.3g}.")
    return report


def _contestants(widths: tuple[int, ...], rows: int, points: int) -> dict[str, Callable[[int], object]]:
    net = bare.net(widths).eval()
    x, y = torch.randn(rows, widths[0]), torch.randint(widths[-1], (rows,))
    return {"ours": lambda _: _ours(net, x, y, points), "bare": lambda _: _passes(net, x, points**2)}


def _ours(net: nn.Module, x: Tensor, y: Tensor, points: int) -> object:
    return explain.landscape(net, x, y, loss=nn.CrossEntropyLoss(reduction="none"), points=points, max_rows=None)


def _passes(net: nn.Module, x: Tensor, count: int) -> None:
    with torch.no_grad():
        for _ in range(count):
            net(x)
