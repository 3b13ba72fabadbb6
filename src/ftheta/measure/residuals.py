"""Residuals r_i = y_i - ŷ_i, above 0 where the prediction is too low."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..plots import GREY, PALETTE, Figure, canvas, drawn, short
from ..results import Result
from ._rows import numbers

__all__ = ["Residuals", "residuals"]

MAX_POINTS = 2000
_QUANTILES = {"smallest": 0.0, "5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95, "largest": 1.0}


@dataclass(frozen=True, eq=False)
class Residuals(Result):
    """True and predicted numbers."""

    y: np.ndarray  # true numbers (n,)
    predicted: np.ndarray  # (n,)
    name: str = "y"  # what y is, with its unit; it labels the axes

    def columns(self) -> Mapping[str, Any]:
        """Mean, standard deviation and quantiles of y - ŷ, and its squares: their mean and their sum."""
        r = self.y - self.predicted
        found = {"mean": r.mean(), "standard deviation": r.std()}
        found |= {name: np.quantile(r, q) for name, q in _QUANTILES.items()}
        found |= {"mean of squares (unit²)": (r**2).mean(), "sum of squares (unit²)": (r**2).sum()}
        return {"statistic": list(found), f"in units of {self.name}": list(found.values())}

    @drawn
    def figure(self) -> Figure:
        figure, (left, right) = canvas(2, width=4.5, height=4.2)
        n, name, r = len(self.y), short(self.name, 30), self.y - self.predicted
        shown = slice(None, None, -(-n // MAX_POINTS))
        some = f"{len(r[shown]):,} of {n:,} rows" if n > MAX_POINTS else f"{n:,} rows"
        left.plot(self.y[shown], self.predicted[shown], "o", color=PALETTE[0], ms=3.5, alpha=0.45, mew=0)
        left.axline((self.y.mean(),) * 2, slope=1, color=GREY, lw=1, ls=(0, (4, 3)), label="perfect")
        left.set(title=f"Predicted and true ({some})", xlabel=f"true {name}", ylabel=f"predicted {name}")
        right.hist(r, bins=min(50, max(5, round(2 * n ** (1 / 3)))), color=PALETTE[5], edgecolor="white", lw=0.5)
        right.axvline(0, color=GREY, lw=1, ls=(0, (4, 3)))
        right.axvline(r.mean(), color=PALETTE[1], label=f"mean {r.mean():.3g}")
        right.set(title="Residuals", xlabel=f"true - predicted {name}", ylabel="rows")
        for axes in (left, right):
            axes.legend(loc="best")
        return figure

    @property
    def caption(self) -> str:
        r = self.y - self.predicted
        return (
            f"Residuals of {self.name} on {len(r):,} rows: mean {r.mean():.4g}, standard deviation {r.std():.4g}, "
            f"half of them between {np.quantile(r, 0.25):.4g} and {np.quantile(r, 0.75):.4g}, "
            f"the largest {r[abs(r).argmax()]:.4g}."
        )


def residuals(y: Any, predicted: Any, *, name: str = "y") -> Residuals:
    """True minus predicted numbers of the same rows.

    Args:
        name: What y is, with its unit.
    """
    y, predicted = numbers(y=y, predicted=predicted)
    return Residuals(y, predicted, name)
