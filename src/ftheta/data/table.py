"""Tables as arrays of numbers that a network can learn from.

    z = (x - μ) / σ        of each column, μ and σ from the training rows alone

The variance is taken in two passes; a column whose deviations are no larger than rounding errors is constant:
it is centred, not scaled.
Shapes: n rows, D columns.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ..check import table
from ..errors import FileFormatError, InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TableEncoder"]


def moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, standard deviation and whether it is only rounding, of each column: (n, D) -> (D,), (D,), (D,)."""
    _, power = np.frexp(np.abs(x).max(0))
    u = np.ldexp(x, -power)  # (n, D), exactly x / 2^power in [-1, 1]: squares neither overflow nor vanish
    mean = u.mean(0)
    mean += (u - mean).mean(0)  # what the first pass lost
    scale = np.sqrt(((u - mean) ** 2).mean(0))
    constant = scale <= 8 * np.finfo(float).eps * np.abs(mean)
    return np.where(constant, x[0], np.ldexp(mean, power)), np.where(constant, 1.0, np.ldexp(scale, power)), constant


class TableEncoder(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Numeric columns, standardised; a scikit-learn transformer whose state is JSON.

    Learned: `mean_`, `scale_`, `constant_` (D,), `n_features_in_` and, from a frame, `feature_names_in_`.

    Example:
        >>> encoder = TableEncoder().fit(np.array([[1.0, 10.0], [3.0, 30.0]]))
        >>> encoder.transform(np.array([[2.0, 40.0]])).tolist()
        [[0.0, 2.0]]
    """

    n_features_in_: int
    feature_names_in_: np.ndarray

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn mean and scale of every column from these rows."""
        self.mean_, self.scale_, self.constant_ = moments(table(self, X, dtype="float64", reset=True))
        if self.constant_.any():
            warnings.warn(self._constant_sentence(), UserWarning, stacklevel=2)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The columns of `fit`, standardised: (n, D)."""
        check_is_fitted(self)
        return (table(self, X, dtype="float64", reset=False) - self.mean_) / self.scale_

    def align(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns that `fit` saw, in its order, out of a frame that may hold more."""
        check_is_fitted(self)
        wanted = self._names()
        for name in wanted:
            if name not in frame.columns:
                close = get_close_matches(name, map(str, frame.columns), 1)
                hint = f" (is it {close[0]!r}?)" if close else ""
                raise InputError(
                    f"Column {name!r} is missing{hint}: the model was fitted with it. Add it or rename one."
                )
        return frame.loc[:, wanted]

    def _names(self) -> list[str]:
        return list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))

    def _constant_sentence(self) -> str:
        names = getattr(self, "feature_names_in_", None)
        where = np.flatnonzero(self.constant_)
        first = [f"{j if names is None else f'{names[j]!r} ({j})'}" for j in where[:5]]
        values = ", ".join(f"{self.mean_[j]:.4g}" for j in where[:5])
        if len(where) == 1:
            return f"Column {first[0]} is constant ({values}): it was centred, not scaled."
        more = f" and {len(where) - 5} more" if len(where) > 5 else ""
        return f"Columns {', '.join(first)}{more} are constant ({values}): they were centred, not scaled."

    def get_state(self) -> dict[str, Any]:
        """What was learned as JSON values: one plan a column."""
        check_is_fitted(self)
        names: Sequence[str | None] = getattr(self, "feature_names_in_", np.full(self.n_features_in_, None)).tolist()
        learned = zip(names, self.mean_.tolist(), self.scale_.tolist(), self.constant_.tolist(), strict=True)
        return {
            "columns": [{"kind": "number", "name": n, "mean": m, "scale": s, "constant": c} for n, m, s, c in learned]
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The encoder that `get_state` described."""
        plans = state["columns"]
        for plan in plans:
            if plan["kind"] != "number":
                raise FileFormatError(
                    f"Column {plan['name']!r} is of kind {plan['kind']!r}; this version of fθ encodes 'number' only. "
                    "Install the version that wrote it, or newer."
                )
        self = cls()
        self.mean_, self.scale_ = (np.array([plan[key] for plan in plans], dtype=float) for key in ("mean", "scale"))
        self.constant_ = np.array([plan["constant"] for plan in plans], dtype=bool)
        self.n_features_in_ = len(plans)
        if all(plan["name"] is not None for plan in plans):
            self.feature_names_in_ = np.array([plan["name"] for plan in plans], dtype=object)
        return self
