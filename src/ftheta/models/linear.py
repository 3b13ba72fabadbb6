"""Linear regression: least squares in closed form.

    ŷ = x·w + b,        (w, b) = argmin Σ_i v_i (y_i - x_i·w - b)²

Shapes: n rows, D features, T targets.
Reference: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError
from . import _script_nets
from ._export import Source
from ._plain import LinearAnswers, PlainRegressor, linear_source

__all__ = ["LinearRegression", "least_squares"]


def least_squares(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Minimum-norm least squares with an intercept: (n, D), (n, T) -> w (D, T), b (T,).

    Columns are centred first and the decomposition is of X itself, not of XᵀX, whose condition number is squared.
    """
    x_mean, y_mean = np.average(x, axis=0, weights=weight), np.average(y, axis=0, weights=weight)
    x_mean = x_mean + np.average(x - x_mean, axis=0, weights=weight)  # what the first pass lost
    root = 1.0 if weight is None else np.sqrt(weight)[:, None]
    size = np.linalg.norm((x - x_mean) * root, axis=0)
    size = np.where(size > np.finfo(float).eps * np.sqrt(len(x)) * np.maximum(np.abs(x_mean), 1e-300), size, 1.0)
    w = _solve((x - x_mean) / size * root, (y - y_mean) * root) / size[:, None]
    return w, y_mean - x_mean @ w


def _solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Minimum-norm solution of a w = b; what is below rounding counts as rank deficiency."""
    solution: Any = scipy.linalg.lstsq(a, b, cond=max(a.shape) * np.finfo(float).eps, lapack_driver="gelsd")
    return solution[0]


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(LinearAnswers, PlainRegressor):
    """Ordinary least squares in closed form; the minimum-norm solution where it is not unique.

    Args:
        fit_intercept: Learn b; else b = 0.

    Example:
        >>> model = LinearRegression().fit([[0], [1], [2], [3]], [1, 3, 2, 5])
        >>> model.coef_.round(6), round(float(model.intercept_), 6)
        (array([1.1]), 1.1)
    """

    fit_intercept: bool = True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the least-squares problem."""
        x, y, weight = self._learned(X, y, sample_weight, columns=True)
        columns = y.reshape(len(x), -1)
        if self.fit_intercept:
            w, b = least_squares(x, columns, weight)
        else:
            root = 1.0 if weight is None else np.sqrt(weight)[:, None]
            w, b = _solve(x * root, columns * root), np.zeros(columns.shape[1])
        self.coef_, self.intercept_ = (w.T, b) if y.ndim == 2 else (w[:, 0], b[0])  # (T, D), (T,) or (D,), ()
        return self

    def source(self) -> Source:
        """The net and its training as plain PyTorch; for one target."""
        check_is_fitted(self)
        if self.coef_.ndim > 1:
            raise InputError(
                f"LinearRegression was fitted to {len(self.coef_)} targets; a script is written for one. Fit one each."
            )
        train = _script_nets.LEAST_SQUARES if self.fit_intercept else _script_nets.LEAST_SQUARES_THROUGH_0
        return linear_source(self.coef_[None], np.reshape(self.intercept_, 1), "Gaussian", train)
