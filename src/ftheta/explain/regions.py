"""Decision regions: which class wins where on the plane of two features, and how surely.

    k(x) = argmax_k p(k | x),      certainty = max_k p(k | x)

Other features, where there are any, are held at their median. Without probabilities the certainty is 1 everywhere.
Shapes: G positions along each axis, K classes, n rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from .. import plots
from ..errors import InputTypeError
from ..results import Result, Table
from ._registry import explanation, require
from ._rows import features, named, names_of, pair_of, targets

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["HasClasses", "Regions", "regions"]

GRID, UNSURE = 161, 0.75


@runtime_checkable
class HasClasses(Protocol):
    """a fitted classifier with classes_, n_features_in_ and predict"""

    classes_: np.ndarray
    n_features_in_: int

    def predict(self, X: Any) -> np.ndarray:
        """The class of each row."""
        ...


@dataclass(frozen=True, eq=False)
class Regions(Result):
    """Probabilities over the plane of two features.

    Args:
        x: Positions along the first feature (G,).
        y: Positions along the second feature (G,).
        p: Probability of each class (G, G, K); the first axis is the second feature.
        rows: The two features of the given rows (n, 2).
        code: Places of their classes in `classes`; -1 where unknown (n,).
        classes: Names of the classes.
        names: Names of the two features.
    """

    x: np.ndarray
    y: np.ndarray
    p: np.ndarray
    rows: np.ndarray
    code: np.ndarray
    classes: tuple[str, ...]
    names: tuple[str, str]

    def table(self) -> Table:
        """One line a class: its share of the plane shown, how much of that is unsure, and its rows."""
        best, top = self.p.argmax(-1), self.p.max(-1)
        mine = [best == k for k in range(len(self.classes))]
        columns = {
            "class": list(self.classes),
            "share of the plane": [float(m.mean()) for m in mine],
            f"of it below {UNSURE:.0%} sure": [float((top[m] < UNSURE).mean()) if m.any() else None for m in mine],
            "rows": [int((self.code == k).sum()) for k in range(len(self.classes))],
        }
        return Table(columns, self.alt)

    def figure(self) -> Figure:
        """Regions in the colours of their classes, paler where the classifier is less sure."""
        return plots.territory(self.x, self.y, self.p, self.rows, self.code, self.classes, names=self.names)

    @property
    def alt(self) -> str:
        """What the picture shows."""
        unsure = (self.p.max(-1) < UNSURE).mean()
        return (
            f"Decision regions of {len(self.classes)} classes over {self.names[0]} and {self.names[1]}; "
            f"on {unsure:.0%} of the plane shown the winner has less than {UNSURE:.0%}."
        )


def _is_flat(obj: Any) -> bool:
    return isinstance(obj.classes_, np.ndarray) and obj.classes_.ndim == 1 and obj.n_features_in_ == 2


@explanation("regions", needs=HasClasses, when=_is_flat)
def regions(obj: HasClasses, X: Any, y: Any = None, columns: Sequence[int] | None = None) -> Regions:
    """Which class wins where on the plane of two features, and how surely.

    Args:
        obj: A fitted classifier of two features, or of more with `columns`.
        X: Rows (n, D); they set the part of the plane that is shown.
        y: Their labels (n,), for the colours of the points.
        columns: The two features to show; None where there are only two.
    """
    require(obj, HasClasses, "regions")
    n_features = obj.n_features_in_
    if columns is None and n_features != 2:
        raise InputTypeError(
            f"{type(obj).__name__} is no plain classifier of two features but of {n_features}; regions needs two: pass "
            "columns=, e.g. columns=(0, 1)."
        )
    pair, names = pair_of((0, 1) if columns is None else columns, n_features), names_of(obj)
    rows = features(obj, X, "regions")
    if np.ndim(obj.predict(named(obj, rows[:1]))) != 1:
        raise InputTypeError(
            f"{type(obj).__name__} gives a row several labels; regions needs one class for each place."
        )
    at = rows[:, pair]
    x, up = (_positions(column) for column in at.T)
    places = np.tile(np.median(rows, axis=0), (GRID * GRID, 1))
    places[:, pair] = np.stack(np.meshgrid(x, up), -1).reshape(-1, 2)
    classes = np.asarray(obj.classes_)
    given = np.full(len(rows), -1) if y is None else _codes(targets(y, len(rows), "regions"), classes)
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
