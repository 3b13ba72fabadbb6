"""Fit: a regressor of one or two features drawn through its rows, with residuals as vertical lines.

    stick i:  from y_i to ŷ_i,      correlation of a feature with y, and of the features with each other

Shapes: n rows, D features (1 or 2), G positions along each axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from ...errors import InputTypeError
from ...plots import PALETTE, Figure, canvas, drawn, legend, short
from ...results import Result
from .._registry import explanation
from .._rows import features, finite, named, names_of, targets

__all__ = ["Fit", "fit"]

GRID = {1: 201, 2: 25}  # points along each axis, by the number of features
MAX_ROWS = 300  # that are drawn


@dataclass(frozen=True, eq=False)
class Fit(Result):
    """A curve or a surface and its rows."""

    x: np.ndarray  # features of the rows (n, D)
    y: np.ndarray  # their targets (n,)
    predicted: np.ndarray  # predictions of the model (n,)
    grid: tuple[np.ndarray, ...]  # positions along each feature: D arrays (G,)
    surface: np.ndarray  # predictions there: (G,), or (G, G) with the first axis along the second feature
    names: tuple[str, ...]  # of the features

    def columns(self) -> dict[str, Any]:
        """Correlations of the features with y and with each other; NaN where a column is constant."""
        pairs = [*((name, "y") for name in self.names), *([self.names] if len(self.names) == 2 else [])]
        values = dict(zip((*self.names, "y"), (*self.x.T, self.y), strict=True))
        found = [_correlation(values[a], values[b]) for a, b in pairs]
        return {"feature": [p[0] for p in pairs], "correlated with": [p[1] for p in pairs], "correlation": found}

    @property
    def caption(self) -> str:
        r = self.y - self.predicted
        return (
            f"A fit over {' and '.join(self.names)} through {len(r):,} rows: mean squared residual "
            f"{np.mean(r**2):.6g}, their sum {np.sum(r**2):.6g}."
        )

    @drawn
    def figure(self) -> Figure:
        """Each feature against y, and the fit with residuals as vertical lines; at most 300 rows."""
        step = -(-len(self.y) // MAX_ROWS)
        x, y, predicted = self.x[::step], self.y[::step], self.predicted[::step]
        names = [short(name, 30) for name in self.names]
        flat = x.shape[1] == 1
        figure, grid = canvas(1 if flat else 3, width=6.4 if flat else 4.1, height=4.4)
        for j, axes in enumerate(grid[: x.shape[1]]):
            axes.plot(x[:, j], y, "o", color=PALETTE[0], ms=4, label="rows")
            axes.set(title=f"{names[j]} and y", xlabel=names[j], ylabel="y")
        if flat:
            grid[0].vlines(x[:, 0], y, predicted, color=PALETTE[1], lw=1, label="residuals")
            grid[0].plot(self.grid[0], self.surface, ls="-", color=PALETTE[2], lw=1.8, label="fit")
        else:
            grid[2].remove()
            space: Any = figure.add_subplot(1, 3, 3, projection="3d", computed_zorder=False)
            look = {"color": PALETTE[2], "alpha": 0.25, "lw": 0, "shade": False, "label": "fit"}
            space.plot_surface(*np.meshgrid(*self.grid), self.surface, **look)
            for a, b, low, high in zip(*x.T, y, predicted, strict=True):
                space.plot([a, a], [b, b], [low, high], ls="-", color=PALETTE[1], lw=1.4)
            space.scatter(*x.T, y, color=PALETTE[0], s=16, depthshade=False, label="rows")
            space.plot([], [], [], ls="-", color=PALETTE[1], label="residuals")
            space.set(title="Fit with its residuals", xlabel=names[0], ylabel=names[1], zlabel="y")
            space.locator_params(nbins=4)
            space.set_box_aspect(None, zoom=0.8)
        legend(figure)
        return figure


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    if not (np.ptp(a) > 0 and np.ptp(b) > 0):
        return np.nan
    return float(np.corrcoef(a / np.ptp(a), b / np.ptp(b))[0, 1])  # units do not matter


def _is_shown(obj: Any) -> bool:
    return is_regressor(obj) and obj.n_features_in_ in GRID


@explanation("fit", when=_is_shown, otherwise="is not a regressor of one or two features; {} needs one")
def fit(obj: Any, X: Any, y: Any) -> Fit:
    """A curve over one feature, or a surface over two, with residuals as vertical lines.

    Args:
        obj: A fitted regressor of one or two features.
    """
    x, d = features(obj, X), obj.n_features_in_
    y = finite("y", targets(y, len(x)))
    grid = tuple(np.linspace(*_ends(column), GRID[d]) for column in x.T)
    places = np.stack([part.ravel() for part in np.meshgrid(*grid)], 1)  # (G^D, D)
    answers = _answers(obj, x)
    if answers.shape != y.shape:
        raise InputTypeError(
            f"{type(obj).__name__} predicts {answers.shape} for {len(x)} rows; fit draws one number per row."
        )
    return Fit(x, y, answers, grid, _answers(obj, places).reshape((GRID[d],) * d), tuple(names_of(obj)))


def _ends(column: np.ndarray) -> tuple[float, float]:
    low, high = float(column.min()), float(column.max())
    margin = 0.0 if high > low else max(1.0, 0.1 * abs(low))
    return low - margin, high + margin


def _answers(obj: Any, rows: np.ndarray) -> np.ndarray:
    return np.asarray(obj.predict(named(obj, rows)), dtype=float)
