"""One row of a linear model is moved, the model is fitted again at every place, and its answer is followed.

    ŷ_i(t), θ(t)     with y_i = t (a number), or x_ij = t (a class)

For least squares ŷ_i follows y_i with the slope h_ii, the leverage of the row: 0 for a row without influence, 1 for one
that the plane goes through.
Shapes: M places, P coefficients (intercept first), n rows, D features.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from .. import plots
from ..errors import InputError
from ..plots import Figure
from ..results import Result
from ._registry import explanation
from ._rows import features, finite, is_one_plane, names_of, targets

__all__ = ["Drag", "drag"]

PLACES, SPREADS = 21, 3.0


@dataclass(frozen=True, eq=False)
class Drag(Result):
    """A model fitted again with one row at every place."""

    row: int  # the row that was moved
    moved: str  # what of it was moved: a feature, or "y"
    places: np.ndarray  # where it was put (M,)
    home: float  # where it was
    answers: np.ndarray  # prediction for the row itself: ŷ, or the probability of the second class (M,)
    coefficients: np.ndarray  # intercept and coefficients (M, P)
    names: tuple[str, ...]  # of the coefficients
    x: np.ndarray  # the feature of all rows, where there is only one (n,); else empty
    y: np.ndarray  # their targets; 0 and 1 for classes (n,)

    def columns(self) -> dict[str, Any]:
        """One row per coefficient: before, at both ends, and its largest change."""
        c, start = self.coefficients, int(np.abs(self.places - self.home).argmin())
        return {
            "coefficient": self.names,
            f"{self.moved} = {self.places[0]:.4g}": c[0],
            "where it was": c[start],
            f"{self.moved} = {self.places[-1]:.4g}": c[-1],
            "largest change": np.abs(c - c[start]).max(0),
        }

    def figure(self) -> Figure:
        """The fit as the row moves, and every coefficient against its place."""
        return plots.drag(self)

    @property
    def slope(self) -> float:
        """Change of the answer per unit of the move: for least squares and y the leverage."""
        return float(np.polyfit(self.places - self.home, self.answers, 1)[0])

    @property
    def caption(self) -> str:
        low, high = self.places[0], self.places[-1]
        return (
            f"Row {self.row} moved along {self.moved} from {low:.4g} to {high:.4g} (it was at {self.home:.4g}): the "
            f"answer for it goes from {self.answers[0]:.4g} to {self.answers[-1]:.4g}, {self.slope:.3g} per unit."
        )


@explanation("drag", when=is_one_plane, otherwise="is not a linear model of one number or two classes; {} needs one")
def drag(
    obj: Any,
    X: Any,
    y: Any,
    row: int | None = None,
    column: int | None = None,
    to: Sequence[float] | None = None,
) -> Drag:
    """What one row does to the fit of a linear model as it is moved.

    Args:
        obj: A linear model of one number or two classes; it is cloned and fitted again at every place.
        X: Rows (n, D) that it was fitted to.
        row: Which one is moved; None: the one farthest from the others.
        column: The feature that is moved; None: y, or for classes the first feature.
        to: Places (M,); None: 21 of them, from 3 standard deviations below to 3 above where it is.

    Example:
        >>> from ftheta import LinearRegression
        >>> X, y = [[0.0], [1], [2], [9]], [0.0, 1, 2, 3]
        >>> round(drag(LinearRegression().fit(X, y), X, y, row=3).slope, 3)  # the leverage of row 3
        0.97
    """
    x, classes = features(obj, X), is_classifier(obj)
    target = targets(y, len(x)) if classes else finite("y", targets(y, len(x)))
    spread = np.where(x.std(0) > 0, x.std(0), 1.0)
    row = int((((x - x.mean(0)) / spread) ** 2).sum(1).argmax()) if row is None else row
    if not all(isinstance(i, Integral) and 0 <= i < n for i, n in ((row, len(x)), (column or 0, x.shape[1]))):
        raise InputError(f"row={row}, column={column}; X has {len(x)} rows and {x.shape[1]} columns, from 0 on.")
    column = 0 if column is None and classes else column
    values = target if column is None else x[:, column]
    home = float(values[row])
    places = np.linspace(-SPREADS, SPREADS, PLACES) * (float(np.std(values)) or 1.0) + home if to is None else to
    places = finite("to", places)
    if places.ndim != 1 or len(places) < 2:
        raise InputError(f"to={to}; a list of at least two places is needed.")
    fits = []
    for place in places:
        values[row] = place
        fits.append(_fitted(obj, x, target, x[[row]]))
    values[row] = home
    names = names_of(obj)
    one = x[:, 0].copy() if x.shape[1] == 1 else np.zeros(0)
    shown = (target == np.unique(target)[-1]).astype(float) if classes else target.copy()
    answers, coefficients = np.array([f[0] for f in fits]), np.stack([f[1] for f in fits])
    moved = "y" if column is None else names[column]
    return Drag(row, moved, places, home, answers, coefficients, ("intercept", *names), one, shown)


def _fitted(obj: Any, x: np.ndarray, y: np.ndarray, own: np.ndarray) -> tuple[float, np.ndarray]:
    """The answer of a fresh fit for one row (1, D), and its coefficients (P,), intercept first."""
    model: Any = clone(obj)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first fit has warned already
        try:
            model.fit(x, y)
        except ValueError as error:
            raise InputError(
                f"{type(obj).__name__} cannot be fitted with the row there: {error} Pass other places to=."
            ) from None
    if hasattr(model, "predict_proba"):
        answer = model.predict_proba(own)[0, 1]
    else:
        answer = model.predict(own)[0]
        answer = answer == model.classes_[1] if hasattr(model, "classes_") else answer
    return float(answer), np.r_[np.ravel(model.intercept_), np.ravel(model.coef_)]
