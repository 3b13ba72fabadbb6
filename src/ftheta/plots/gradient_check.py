"""A gradient check: what a backward pass gives against what differences give, and the worst error of each tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import PALETTE, distinct, dress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["gradient_check"]

_LEAST = 1e-16  # an error of 0 on a log scale


def gradient_check(
    names: Sequence[str],
    expected: Sequence[Any],
    got: Sequence[Any],
    errors: Sequence[float],
    wrong: Sequence[bool],
    *,
    tolerance: float,
    title: str = "Gradient check",
) -> Figure:
    """Left: every compared entry, each tensor divided by its largest; right gradients lie on the diagonal, those with
    the wrong sign on the other one, those off by a factor on a line of another slope. Right: worst error by tensor.

    Args:
        names: One name a tensor.
        expected: What differences give: (n,) each.
        got: What the backward pass gives: (n,) each.
        errors: Worst relative error of each tensor.
        wrong: Whether each tensor is wrong.
        tolerance: Largest error that passes.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, max(4.2, 1.6 + 0.26 * len(names))), dpi=120, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.1))
    dress(left, title=title, x="by differences, share of the largest", y="by the backward pass, share of the largest")
    _scatter(left, expected, got, wrong)
    x = "worst relative error (log scale)"
    marks, pattern = distinct(names, 24)
    dress(
        right,
        title=f"Error by tensor; up to {tolerance:g} (dashed) passes",
        x=x + (f"\n* in {pattern}" if pattern else ""),
        y="",
    )
    _errors(right, errors, wrong, tolerance)
    right.set_yticks(range(len(names)), marks)
    right.set_ylim(len(names) - 0.5, -0.5)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _scatter(axes: Axes, expected: Sequence[Any], got: Sequence[Any], wrong: Sequence[bool]) -> None:
    for bad, colour, marker, label in ((False, PALETTE[0], "o", "right"), (True, PALETTE[1], "X", "wrong")):
        pairs = [(np.asarray(e), np.asarray(g)) for e, g, w in zip(expected, got, wrong, strict=True) if w == bad]
        shares = [np.stack([e, g]) / (max(np.abs(e).max(), np.abs(g).max()) or 1.0) for e, g in pairs if len(e)]
        if shares:
            x, y = np.concatenate(shares, axis=1)
            axes.plot(x, y, marker, color=colour, mec="white", ms=6, alpha=0.8, label=label, zorder=3)
    axes.plot([-1, 1], [-1, 1], color="0.5", lw=1, ls=(0, (4, 3)), label="equal", zorder=2)
    axes.set(xlim=(-1.08, 1.08), ylim=(-1.08, 1.08), aspect="equal")


def _errors(axes: Axes, errors: Sequence[float], wrong: Sequence[bool], tolerance: float) -> None:
    values = np.maximum(np.nan_to_num(np.asarray(errors, dtype=float), nan=1.0, posinf=1.0), _LEAST)
    for bad, colour, marker in ((False, PALETTE[0], "o"), (True, PALETTE[1], "X")):
        rows = np.flatnonzero(np.asarray(wrong) == bad)
        if not len(rows):  # an empty line that is not clipped takes all the room of the layout
            continue
        axes.plot(values[rows], rows, marker, color=colour, mec="white", ms=8, zorder=3, clip_on=False)
    axes.axvline(tolerance, color="black", lw=1.2, ls=(0, (4, 3)))
    axes.set_xscale("log")
    axes.set_xlim(_LEAST, 3)
