"""Residuals: predicted against true numbers, and the histogram of what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._style import GREY, PALETTE, dress, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["residuals"]

_POINTS = 2000


def residuals(true: np.ndarray, predicted: np.ndarray, *, name: str = "y") -> Figure:
    """Dots about the diagonal of perfect predictions (at most 2,000, evenly spaced rows), and a histogram of all rows.

    Args:
        true: True numbers (n,).
        predicted: Predictions (n,).
        name: What they are, with their unit.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.2), dpi=120, layout="constrained")
    left, right = figure.subplots(1, 2)
    shown, name = slice(None, None, -(-len(true) // _POINTS)), short(name, 30)
    some = f"{len(true[shown]):,} of {len(true):,} rows" if len(true) > _POINTS else f"{len(true):,} rows"
    dress(left, title=f"Predicted and true ({some})", x=f"true {name}", y=f"predicted {name}")
    left.plot(true[shown], predicted[shown], "o", color=PALETTE[0], ms=3.5, alpha=0.45, mew=0)
    left.axline((true.mean(),) * 2, slope=1, color=GREY, lw=1, ls=(0, (4, 3)), label="perfect")
    left.legend(frameon=False, loc="best")
    r = true - predicted
    dress(right, title="Residuals", x=f"true - predicted {name}", y="rows")
    right.hist(r, bins=min(50, max(5, round(2 * len(r) ** (1 / 3)))), color=PALETTE[5], edgecolor="white", lw=0.5)
    right.axvline(0, color=GREY, lw=1, ls=(0, (4, 3)))
    right.axvline(r.mean(), color=PALETTE[1], lw=1.6, label=f"mean {r.mean():.3g}")
    right.legend(frameon=False, loc="best")
    return figure
