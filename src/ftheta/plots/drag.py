"""A row that is dragged: the fit that follows it, and every coefficient against its place."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._style import GREY, PALETTE, Figure, canvas, drawn, short

__all__ = ["drag"]


@drawn
def drag(found: Any) -> Figure:
    """The result of `explain.drag`. Left: lines through rows of one feature, from the lowest place (pale) to the
    highest (dark), or the answer for the row against its place. Right: the change of up to ten coefficients."""
    figure, (left, right) = canvas(2, width=5.0, height=4.4)
    if len(found.x) and found.moved == "y":
        _lines(left, found)
    else:
        left.set(
            title=f"The answer for row {found.row}", xlabel=f"{short(found.moved, 24)} of the row", ylabel="answer"
        )
        left.plot(found.places, found.answers, "o-", color=PALETTE[0], ms=4, label="answer for the row")
        if found.moved == "y":
            left.axline((found.home, found.home), slope=1, color=GREY, ls=(0, (4, 3)), lw=1, label="answer = y")
        left.axvline(found.home, color=PALETTE[1], lw=1.2, label="where it was")
        left.legend(loc="best")
    _coefficients(right, found)
    return figure


def _lines(axes: Any, found: Any) -> None:
    axes.set(title=f"Fits as row {found.row} moves", xlabel=short(found.names[1], 24), ylabel="y")
    others = np.arange(len(found.x)) != found.row
    axes.plot(found.x[others], found.y[others], "o", color=GREY, ms=4, label="other rows")
    ends = np.array([found.x.min(), found.x.max()])
    shown = np.unique(np.linspace(0, len(found.places) - 1, 5).astype(int))
    for i, k in enumerate(shown):
        b, w = found.coefficients[k]
        strength = 0.25 + 0.75 * i / max(len(shown) - 1, 1)
        axes.plot(ends, b + w * ends, color=PALETTE[0], ls="-", alpha=strength)
        axes.plot(found.x[found.row], found.places[k], "D", color=PALETTE[1], alpha=strength, ms=6)
    axes.plot([], [], "D", color=PALETTE[1], label=f"row {found.row}, dragged")
    axes.plot([], [], color=PALETTE[0], ls="-", label="its fit")
    axes.legend(loc="best")


def _coefficients(axes: Any, found: Any) -> None:
    start = int(np.abs(found.places - found.home).argmin())
    change = found.coefficients - found.coefficients[start]
    axes.set(title="Coefficients", ylabel="change of the coefficient")
    axes.set_xlabel(f"{short(found.moved, 24)} of row {found.row}")
    for j in np.argsort(-np.abs(change).max(0))[:10]:
        axes.plot(found.places, change[:, j], label=short(found.names[j], 18))
    axes.axhline(0, color=GREY, lw=0.8)
    axes.axvline(found.home, color=PALETTE[1], lw=1.2)
    axes.legend(loc="best")
