"""Decision regions: which class wins where on the plane of two features, and how surely.

    k(x) = argmax_k p(k | x),      certainty = max_k p(k | x)

Other features, where there are any, are held at their median. Without probabilities the certainty is 1 everywhere.
Shapes: G positions along each axis, K classes, n rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputTypeError
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend, short
from ...results import Result
from .._registry import explanation
from .._rows import features, named, names_of, pair_of, targets

__all__ = ["Regions", "regions"]

GRID = 161  # positions along each feature
UNSURE = 0.75  # probability of the winner
MARKERS = "osD^vPX"


@dataclass(frozen=True, eq=False)
class Regions(Result):
    """Probabilities over the plane of two features."""

    x: np.ndarray  # positions along the first feature (G,)
    y: np.ndarray  # positions along the second feature (G,)
    p: np.ndarray  # probability of each class (G, G, K); the first axis is the second feature
    rows: np.ndarray  # the two features of the given rows (n, 2)
    code: np.ndarray  # places of their classes in `classes`; -1 where unknown (n,)
    classes: tuple[str, ...]  # names of the classes
    names: tuple[str, str]  # names of the two features

    def columns(self) -> dict[str, Any]:
        """One row per class: its share of the plane shown, how much of that is unsure, and its rows."""
        best, top = self.p.argmax(-1), self.p.max(-1)
        own = [best == k for k in range(len(self.classes))]
        return {
            "class": self.classes,
            "share of the plane": [m.mean() for m in own],
            f"of it below {UNSURE:.0%} sure": [(top[m] < UNSURE).mean() if m.any() else np.nan for m in own],
            "rows": [(self.code == k).sum() for k in range(len(self.classes))],
        }

    @property
    def caption(self) -> str:
        unsure = (self.p.max(-1) < UNSURE).mean()
        return (
            f"Decision regions of {len(self.classes)} classes over {self.names[0]} and {self.names[1]}; "
            f"on {unsure:.0%} of the plane shown the winner has less than {UNSURE:.0%}."
        )

    @drawn
    def figure(self) -> Figure:
        """The plane in the colors of the winning classes, paler where these are less sure; solid lines between classes,
        dotted ones where the winner has 75 %."""
        from matplotlib.colors import to_rgb

        colors = np.array([to_rgb(PALETTE[k % len(PALETTE)]) for k in range(len(self.classes))])
        best, top = self.p.argmax(-1), self.p.max(-1)
        least = 1 / max(len(self.classes), 2)
        strength = 0.1 + 0.5 * np.clip((top - least) / (1 - least), 0, 1)  # of the color over white
        figure, axes = canvas(width=6.4, height=5.4)
        extent = (self.x[0], self.x[-1], self.y[0], self.y[-1])
        shade = 1 - strength[..., None] * (1 - colors[best])
        axes.imshow(shade, origin="lower", extent=extent, aspect="auto", interpolation="bilinear")
        for k in np.unique(best)[1:]:
            lead = self.p[..., k] - np.delete(self.p, k, axis=-1).max(-1)  # above 0 where k wins
            axes.contour(self.x, self.y, lead, levels=[0.0], colors="black", linewidths=1.4)
        if top.min() < UNSURE < top.max():
            axes.contour(self.x, self.y, top, levels=[UNSURE], colors=GREY, linewidths=1.1, linestyles="dotted")
            axes.plot([], [], ls="dotted", color=GREY, label=f"winner has {UNSURE:.0%}")
        for k in [k for k in (*range(len(self.classes)), -1) if (self.code == k).any()]:
            marker = MARKERS[(k + k // len(PALETTE)) % 7] if k >= 0 else "."
            look = {"marker": marker, "color": colors[k] if k >= 0 else "0.3", "s": 18, "edgecolors": "white"}
            label = short(self.classes[k], 20) if k >= 0 else "rows"
            axes.scatter(*self.rows[self.code == k].T, linewidths=0.5, label=label, zorder=3, **look)
        axes.set(title="Decision regions", xlabel=short(self.names[0]), ylabel=short(self.names[1]))
        axes.grid(visible=False)
        legend(figure)
        return figure


def _is_flat(obj: Any) -> bool:
    return isinstance(obj.classes_, np.ndarray) and obj.classes_.ndim == 1 and obj.n_features_in_ == 2


@explanation(
    "regions",
    when=_is_flat,
    otherwise="is not a classifier of two features with one label for each row; {} needs one, or columns=(i, j)",
    lifted_by="columns",
)
def regions(obj: Any, X: Any, y: Any = None, columns: Sequence[int] | None = None) -> Regions:
    """Predicted classes and their probabilities on the plane of two features.

    Args:
        obj: A fitted classifier of two features, or of more with `columns`.
        X: Rows (n, D); they set the part of the plane that is shown.
        y: Their labels (n,), for the colors of the points.
        columns: The two features to show; None where there are only two.
    """
    pair, names = pair_of((0, 1) if columns is None else columns, obj.n_features_in_), names_of(obj)
    rows = features(obj, X)
    if np.ndim(obj.predict(named(obj, rows[:1]))) != 1:
        raise InputTypeError(
            f"{type(obj).__name__} gives a row several labels; regions needs one class for each place."
        )
    at = rows[:, pair]
    x, up = (_positions(column) for column in at.T)
    places = np.tile(np.median(rows, axis=0), (GRID * GRID, 1))
    places[:, pair] = np.stack(np.meshgrid(x, up), -1).reshape(-1, 2)
    classes = np.asarray(obj.classes_)
    given = np.full(len(rows), -1) if y is None else _codes(targets(y, len(rows)), classes)
    p = _probabilities(obj, places).reshape(GRID, GRID, len(classes))
    return Regions(x, up, p, at, given, tuple(map(str, classes)), (names[pair[0]], names[pair[1]]))


def _positions(column: np.ndarray) -> np.ndarray:
    low, high = column.min(), column.max()
    margin = 0.08 * (high - low) or max(1.0, 0.1 * abs(high))
    return np.linspace(low - margin, high + margin, GRID)


def _probabilities(obj: Any, places: np.ndarray) -> np.ndarray:
    """(m, D) -> (m, K); of a classifier without probabilities 1 for the class that it predicts."""
    if hasattr(obj, "predict_proba"):
        return np.asarray(obj.predict_proba(named(obj, places)), dtype=float)
    return (obj.predict(named(obj, places))[:, None] == np.asarray(obj.classes_)).astype(float)


def _codes(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    same = y[:, None] == classes
    return np.where(same.any(1), same.argmax(1), -1)
