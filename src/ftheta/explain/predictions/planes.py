"""Predictions over one or two features: a regressor's curve or surface through its rows, and where which class wins.

    residual i:  from y_i to ŷ_i
    k(x) = argmax_k p(k | x),      certainty = max_k p(k | x)       1 everywhere where there are no probabilities

Shapes: n rows, D features, G positions along each axis, K classes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from ...errors import InputTypeError
from ...plots import PALETTE, Figure, canvas, drawn, legend, short
from ...results import Result, percent
from .._probe import classes_of, features, finite, in_units, named, names_of, pair_of, targets
from .._registry import Names, explanation
from ._columns import of_a_table

GRID = {1: 201, 2: 25}  # points along each axis, by the number of features
MAX_ROWS = 300  # that are drawn
PLANE = 161  # positions along each feature, of regions
UNSURE = 0.75  # probability of the winner
INK = "#000001"  # black that stays black on a dark page, where the plane stays pale
MARKERS = "osD^vPX"


class FittedCurve(Result):
    """A curve or a surface and its rows."""

    x: np.ndarray  # features of the rows (n, D)
    y: np.ndarray  # their targets (n,)
    predicted: np.ndarray  # predictions of the model (n,)
    grid: tuple[np.ndarray, ...]  # positions along each feature: D arrays (G,)
    surface: np.ndarray  # predictions there: (G,), or (G, G) with the first axis along the second feature
    names: tuple[str, ...]  # of the features
    target: str = "y"  # what y is called

    def columns(self) -> dict[str, Any]:
        """Correlations of the features with y and with each other; NaN where a column is constant."""
        pairs = [*((name, self.target) for name in self.names), *([self.names] if len(self.names) == 2 else [])]
        values = dict(zip((*self.names, self.target), (*self.x.T, self.y), strict=True))
        scaled = {name: v / np.ptp(v) if np.ptp(v) > 0 else v * np.nan for name, v in values.items()}  # of any unit
        found = [np.corrcoef(scaled[a], scaled[b])[0, 1] for a, b in pairs]
        return {"feature": [p[0] for p in pairs], "correlated with": [p[1] for p in pairs], "correlation": found}

    @property
    def caption(self) -> str:
        r = self.y - self.predicted
        rest = f"mean squared residual {np.mean(r**2):.4g}, sum of squares {np.sum(r**2):.4g}."
        return f"{self.target} against {' and '.join(self.names)}, with the fit through {len(r):,} rows: {rest}"

    @drawn
    def figure(self) -> Figure:
        """Each feature against y, and the fit with residuals as vertical lines; at most 300 rows."""
        step = -(-len(self.y) // MAX_ROWS)
        x, y, predicted = self.x[::step], self.y[::step], self.predicted[::step]
        names, target = [short(name, 30) for name in self.names], short(self.target, 30)
        flat = x.shape[1] == 1
        figure, grid = canvas(1 if flat else 3, width=6.4 if flat else 4.1, height=4.4)
        for j, axes in enumerate(grid[: x.shape[1]]):
            axes.plot(x[:, j], y, "o", color=PALETTE[0], ms=4, label="rows")
            fit = ", with the fit" if flat else ""
            axes.set(title=f"{target} against {names[j]}{fit}", xlabel=names[j], ylabel=target)
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
            space.set(title="Fit with its residuals", xlabel=names[0], ylabel=names[1], zlabel=target)
            space.locator_params(nbins=4)
            space.set_box_aspect(None, zoom=0.8)
        legend(figure)
        return figure


@explanation(
    "fitted-curve",
    when=lambda obj: is_regressor(obj) and obj.n_features_in_ in GRID,
    otherwise="is not a regressor of one or two features; {} needs one",
)
def fitted_curve(
    obj: Any, X: Any, y: Any, *, names: Names = None, scales: Any = None, target: str = "y"
) -> FittedCurve:
    """A curve over one feature, or a surface over two, with residuals as vertical lines.

    Args:
        obj: A fitted regressor of one or two features.
    """
    x, d = features(obj, X), obj.n_features_in_
    y = finite("y", targets(y, len(x)))
    grid = tuple(_positions(column, 0.0, GRID[d]) for column in x.T)
    places = np.stack([part.ravel() for part in np.meshgrid(*grid)], 1)  # (G^D, D)
    answers = _answers(obj, x)
    if answers.shape != y.shape:
        raise InputTypeError(
            f"{type(obj).__name__} predicts {answers.shape} for {len(x)} rows; fitted_curve draws one number per row."
        )
    surface = _answers(obj, places).reshape((GRID[d],) * d)
    grid = tuple(in_units(at, scales, j) for j, at in enumerate(grid))
    return FittedCurve(in_units(x, scales), y, answers, grid, surface, tuple(names_of(obj, names)), target)


def _answers(obj: Any, rows: np.ndarray) -> np.ndarray:
    return np.asarray(obj.predict(named(obj, rows)), dtype=float)


class Regions(Result):
    """Probabilities over the plane of two features."""

    x: np.ndarray  # positions along the first feature (G,)
    y: np.ndarray  # positions along the second feature (G,)
    p: np.ndarray  # probability of each class (G, G, K), the first axis along the second feature; or 1 for the winner
    rows: np.ndarray  # the two features of the given rows (n, 2)
    code: np.ndarray  # places of their classes in `classes`; -1 where unknown (n,)
    classes: tuple[str, ...]  # names of the classes
    names: tuple[str, str]  # names of the two features
    scores: np.ndarray | None  # of a classifier without probabilities its raw outputs (G, G, K)

    def columns(self) -> dict[str, Any]:
        """One row per class: its share of the plane shown, how much of that is unsure, and its rows."""
        best, top = self.p.argmax(-1), self.p.max(-1)
        own = [best == k for k in range(len(self.classes))]
        return {
            "class": self.classes,
            "share of the plane": [m.mean() for m in own],
            f"of it below {percent(UNSURE)} sure": [(top[m] < UNSURE).mean() if m.any() else np.nan for m in own],
            "rows": [(self.code == k).sum() for k in range(len(self.classes))],
        }

    def lead(self, k: int) -> np.ndarray:
        """How far class number k is above the best other one, above 0 where it wins: (G, G)."""
        each = self.p if self.scores is None else self.scores
        return each[..., k] - np.delete(each, k, axis=-1).max(-1)

    @property
    def caption(self) -> str:
        if self.scores is not None:
            return f"Decision regions of {len(self.classes)} classes over {self.names[0]} and {self.names[1]}."
        unsure = (self.p.max(-1) < UNSURE).mean()
        rest = f"on {percent(unsure)} of the plane shown the winner has less than {percent(UNSURE)}."
        return f"Decision regions of {len(self.classes)} classes over {self.names[0]} and {self.names[1]}; {rest}"

    @drawn
    def figure(self) -> Figure:
        """The plane in the colors of the winning classes, paler where these are less sure; solid lines between classes,
        dotted ones where the winner has 75 %."""
        from matplotlib.colors import to_rgb

        colors = np.array([to_rgb(PALETTE[k % len(PALETTE)]) for k in range(len(self.classes))])
        best, top = self.p.argmax(-1), self.p.max(-1)
        least = 1 / max(len(self.classes), 2)
        strength = 0.1 + 0.5 * np.clip((top - least) / (1 - least), 0, 1) * (1 if self.scores is None else 0.4)
        figure, axes = canvas(width=6.4, height=5.4)
        extent = (self.x[0], self.x[-1], self.y[0], self.y[-1])
        shade = 1 - strength[..., None] * (1 - colors[best])
        axes.imshow(shade, origin="lower", extent=extent, aspect="auto", interpolation="bilinear")
        for k in np.unique(best)[1:]:
            axes.contour(self.x, self.y, self.lead(int(k)), levels=[0.0], colors=INK, linewidths=1.4)
        if top.min() < UNSURE < top.max():
            axes.contour(self.x, self.y, top, levels=[UNSURE], colors=INK, linewidths=1.1, linestyles="dotted")
            axes.plot([], [], ls="dotted", color="black", label=f"winner has {percent(UNSURE)}")
        for k in [k for k in (*range(len(self.classes)), -1) if (self.code == k).any()]:
            marker = MARKERS[(k + k // len(PALETTE)) % 7] if k >= 0 else "."
            look = {"marker": marker, "color": colors[k] if k >= 0 else "0.3", "s": 18, "edgecolors": "white"}
            label = short(self.classes[k], 20) if k >= 0 else "rows"
            axes.scatter(*self.rows[self.code == k].T, linewidths=0.5, label=label, zorder=3, **look)
        axes.set(title="Decision regions", xlabel=short(self.names[0]), ylabel=short(self.names[1]))
        axes.grid(visible=False)
        legend(figure)
        return figure


@explanation(
    "regions",
    when=lambda obj: (
        isinstance(obj.classes_, np.ndarray) and obj.classes_.ndim == 1 and obj.n_features_in_ == 2 and of_a_table(obj)
    ),
    otherwise="is not a classifier of two features with one label for each row; {} needs one, or columns=(i, j)",
    lifted_by="columns",
)
def regions(
    obj: Any,
    X: Any,
    y: Any = None,
    columns: Sequence[int] | None = None,
    *,
    names: Names = None,
    scales: Any = None,
    classes: Names = None,
) -> Regions:
    """Predicted classes and their probabilities on the plane of two features.

    Args:
        obj: A fitted classifier of two features, or of more with `columns`.
        X: Rows (n, D); they set the part of the plane that is shown.
        y: Their labels (n,), for the colors of the points.
        columns: The two features to show; None where there are only two.
    """
    pair, known = pair_of((0, 1) if columns is None else columns, obj.n_features_in_), names_of(obj, names)
    rows = features(obj, X)
    if np.ndim(obj.predict(named(obj, rows[:1]))) != 1:
        raise InputTypeError(f"{type(obj).__name__} gives a row several labels; regions needs one for each place.")
    at = rows[:, pair]
    x, up = (_positions(column, 0.08, PLANE) for column in at.T)
    places = np.tile(np.median(rows, axis=0), (PLANE * PLANE, 1))
    places[:, pair] = np.stack(np.meshgrid(x, up), -1).reshape(-1, 2)
    labels = np.asarray(obj.classes_)
    same = np.zeros((len(rows), 1), bool) if y is None else targets(y, len(rows))[:, None] == labels
    given = np.where(same.any(1), same.argmax(1), -1)
    scores, frame = None, named(obj, places)
    if hasattr(obj, "predict_proba"):
        p = np.asarray(obj.predict_proba(frame), dtype=float)
    else:
        p = (obj.predict(frame)[:, None] == labels).astype(float)
        if hasattr(obj, "decision_function"):
            raw = np.asarray(obj.decision_function(frame), dtype=float)
            scores = (np.stack([-raw, raw], 1) if raw.ndim == 1 else raw).reshape(PLANE, PLANE, -1)
    p = p.reshape(PLANE, PLANE, -1)
    x, up, at = in_units(x, scales, pair[0]), in_units(up, scales, pair[1]), in_units(at, scales, list(pair))
    return Regions(x, up, p, at, given, classes_of(obj, classes), (known[pair[0]], known[pair[1]]), scores)


def _positions(column: np.ndarray, margin: float, count: int) -> np.ndarray:
    """Places from the smallest number to the largest and a margin, in ranges, beyond both."""
    low, high = column.min(), column.max()
    beyond = margin * (high - low) if high > low else max(1.0, 0.1 * abs(high))
    return np.linspace(low - beyond, high + beyond, count)
