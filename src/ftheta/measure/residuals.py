"""Residuals: what is left of y after the prediction.

    r_i = y_i - ŷ_i,      above 0 where the prediction is too low

Shapes: n rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import plots
from ..results import Result, Table
from ._rows import numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Residuals", "residuals"]

_QUANTILES = {"smallest": 0.0, "5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95, "largest": 1.0}


@dataclass(frozen=True, eq=False)
class Residuals(Result):
    """True and predicted numbers.

    Args:
        y: True numbers (n,).
        predicted: Predictions (n,).
        name: What y is, with its unit; it labels the axes.
    """

    y: np.ndarray
    predicted: np.ndarray
    name: str = "y"

    def table(self) -> Table:
        """Mean, standard deviation and quantiles of y - ŷ, and its squares: their mean and their sum."""
        r = self.y - self.predicted
        said = {"mean": r.mean(), "standard deviation": r.std()}
        said |= {name: np.quantile(r, q) for name, q in _QUANTILES.items()}
        said |= {"mean of squares (unit²)": (r**2).mean(), "sum of squares (unit²)": (r**2).sum()}
        return Table({"of the residuals": list(said), f"in units of {self.name}": list(said.values())}, self.alt)

    def figure(self) -> Figure:
        """Predicted against true numbers, and the histogram of residuals."""
        return plots.residuals(self.y, self.predicted, name=self.name)

    @property
    def alt(self) -> str:
        """What the picture shows."""
        r = self.y - self.predicted
        return (
            f"Residuals of {self.name} on {len(r):,} rows: mean {r.mean():.4g}, standard deviation {r.std():.4g}, "
            f"half of them between {np.quantile(r, 0.25):.4g} and {np.quantile(r, 0.75):.4g}, "
            f"the largest {r[abs(r).argmax()]:.4g}."
        )


def residuals(y: Any, predicted: Any, *, name: str = "y") -> Residuals:
    """True minus predicted numbers of the same rows.

    Args:
        y: True numbers (n,).
        predicted: Predictions (n,).
        name: What y is, with its unit.
    """
    y, predicted = numbers(y=y, predicted=predicted)
    return Residuals(y, predicted, name)
