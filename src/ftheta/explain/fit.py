"""Fit: a regressor of one or two features drawn through its rows, with a stick for every residual.

    stick i:  from y_i to ŷ_i,      correlation of a feature with y, and of the features with each other

Shapes: n rows, D features (1 or 2), G positions along each axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from sklearn.base import is_regressor

from .. import plots
from ..errors import InputTypeError
from ..results import Result, Table
from ._registry import explanation, require
from ._rows import features, finite, named, names_of, numbers, targets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Fit", "HasPredictions", "fit"]

GRID = {1: 201, 2: 25}


@runtime_checkable
class HasPredictions(Protocol):
    """a fitted regressor with n_features_in_ and predict"""

    n_features_in_: int

    def predict(self, X: Any) -> np.ndarray:
        """The number of each row."""
        ...


@dataclass(frozen=True, eq=False)
class Fit(Result):
    """A curve or a surface and its rows.

    Args:
        x: Features of the rows (n, D).
        y: Their numbers (n,).
        predicted: What the model says of them (n,).
        grid: Positions along each feature: D arrays (G,).
        surface: What the model says there: (G,), or (G, G) with the first axis along the second feature.
        names: Of the features.
    """

    x: np.ndarray
    y: np.ndarray
    predicted: np.ndarray
    grid: tuple[np.ndarray, ...]
    surface: np.ndarray
    names: tuple[str, ...]

    def table(self) -> Table:
        """Correlations of the features with y and with each other; nothing where a column is constant."""
        pairs = [*((name, "y") for name in self.names), *([self.names] if len(self.names) == 2 else [])]
        columns = dict(zip((*self.names, "y"), (*self.x.T, self.y), strict=True))
        found = [_correlation(columns[a], columns[b]) for a, b in pairs]
        return Table({"of": [p[0] for p in pairs], "with": [p[1] for p in pairs], "correlation": found}, self.alt)

    def figure(self) -> Figure:
        """Each feature against y, and the fit with a stick for every residual."""
        return plots.fitted(self.x, self.y, self.predicted, self.grid, self.surface, names=self.names)

    @property
    def alt(self) -> str:
        """What the picture shows."""
        r = self.y - self.predicted
        return (
            f"A fit over {' and '.join(self.names)} through {len(r):,} rows: mean squared residual "
            f"{np.mean(r**2):.6g}, their sum {np.sum(r**2):.6g}."
        )


def _correlation(a: np.ndarray, b: np.ndarray) -> float | None:
    if not (np.ptp(a) > 0 and np.ptp(b) > 0):
        return None
    return float(np.corrcoef(a / np.ptp(a), b / np.ptp(b))[0, 1])  # units do not matter


def _is_shown(obj: Any) -> bool:
    return is_regressor(obj) and obj.n_features_in_ in GRID


@explanation("fit", needs=HasPredictions, when=_is_shown)
def fit(obj: HasPredictions, X: Any, y: Any) -> Fit:
    """A curve over one feature, or a surface over two, with a stick for every residual.

    Args:
        obj: A fitted regressor of one or two features.
        X: Rows (n, D).
        y: Their numbers (n,).
    """
    require(obj, HasPredictions, "fit")
    if not _is_shown(obj):
        raise InputTypeError(
            f"{type(obj).__name__} is no plain regressor of one or two features; fit needs one that can be drawn."
        )
    x, d = features(obj, X, "fit"), obj.n_features_in_
    y = finite("y", numbers("y", targets(y, len(x), "fit")))
    grid = tuple(np.linspace(*_ends(column), GRID[d]) for column in x.T)
    places = np.stack([part.ravel() for part in np.meshgrid(*grid)], 1)  # (G^D, D)
    said = _answers(obj, x)
    if said.shape != y.shape:
        raise InputTypeError(
            f"{type(obj).__name__} predicts {said.shape} for {len(x)} rows; fit draws one number a row."
        )
    return Fit(x, y, said, grid, _answers(obj, places).reshape((GRID[d],) * d), tuple(names_of(obj)))


def _ends(column: np.ndarray) -> tuple[float, float]:
    low, high = float(column.min()), float(column.max())
    margin = 0.0 if high > low else max(1.0, 0.1 * abs(low))
    return low - margin, high + margin


def _answers(obj: Any, rows: np.ndarray) -> np.ndarray:
    return np.asarray(obj.predict(named(obj, rows)), dtype=float)
