"""A row that is dragged: the fit that follows it, and every coefficient against its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import GREY, PALETTE, dress, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["drag"]

_STYLES = ("-", "--", ":", "-.")


def drag(found: Any) -> Figure:
    """Left: lines through rows of one feature, from the lowest place (pale) to the highest (dark), or the answer for
    the row itself against its place. Right: how far each coefficient goes from where it was, up to ten of them.

    Args:
        found: What `explain.drag` found: places, home, answers, coefficients, names, x, y, row and moved.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.0, 4.4), dpi=120, layout="constrained")
    left, right = figure.subplots(1, 2)
    if len(found.x) and found.moved == "y":
        _lines(left, found)
    else:
        dress(left, title=f"The answer for row {found.row}", x=f"{short(found.moved, 24)} of the row", y="answer")
        left.plot(found.places, found.answers, "o-", color=PALETTE[0], ms=4, label="answer for the row")
        if found.moved == "y":
            left.axline((found.home, found.home), slope=1, color=GREY, ls=(0, (4, 3)), lw=1, label="answer = y")
        left.axvline(found.home, color=PALETTE[1], lw=1.2, label="where it was")
        left.legend(frameon=False, loc="best", fontsize="small")
    _coefficients(right, found)
    return figure


def _lines(axes: Any, found: Any) -> None:
    dress(axes, title=f"Fits as row {found.row} moves", x=short(found.names[1], 24), y="y")
    others = np.arange(len(found.x)) != found.row
    axes.plot(found.x[others], found.y[others], "o", color=GREY, ms=4, label="other rows")
    ends = np.array([found.x.min(), found.x.max()])
    shown = np.unique(np.linspace(0, len(found.places) - 1, 5).astype(int))
    for i, k in enumerate(shown):
        b, w = found.coefficients[k]
        strength = 0.25 + 0.75 * i / max(len(shown) - 1, 1)
        axes.plot(ends, b + w * ends, color=PALETTE[0], alpha=strength, lw=1.6)
        axes.plot(found.x[found.row], found.places[k], "D", color=PALETTE[1], alpha=strength, ms=6)
    axes.plot([], [], "D", color=PALETTE[1], label=f"row {found.row}, dragged")
    axes.plot([], [], color=PALETTE[0], label="its fit")
    axes.legend(frameon=False, loc="best", fontsize="small")


def _coefficients(axes: Any, found: Any) -> None:
    start = int(np.abs(found.places - found.home).argmin())
    change = found.coefficients - found.coefficients[start]
    dress(axes, title="Coefficients", x=f"{short(found.moved, 24)} of row {found.row}", y="change of the coefficient")
    for i, j in enumerate(np.argsort(-np.abs(change).max(0))[:10]):
        style = {"color": PALETTE[i % len(PALETTE)], "ls": _STYLES[i // len(PALETTE)]}
        axes.plot(found.places, change[:, j], label=short(found.names[j], 18), **style)
    axes.axhline(0, color=GREY, lw=0.8)
    axes.axvline(found.home, color=PALETTE[1], lw=1.2)
    axes.legend(frameon=False, loc="best", fontsize="small")
