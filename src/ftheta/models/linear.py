"""Linear regression: least squares in closed form, with what is known of its error.

    ŷ = x·w + b,        (w, b) = argmin Σ_i v_i (y_i - x_i·w - b)²
    new y:     ŷ ± t s √(1 + 1/Σv + ‖(x - x̄) root‖²),     s² = Σ v_i (y_i - ŷ_i)² / dof;     mean of y:  without the 1

Weights v are inverse variances up to a factor, not counts.
Shapes: n rows, D features, T targets, M = D + 1 parameters with an intercept, else D.
Reference: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 3.2.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .. import check
from ..catalog import nearest
from ..errors import InputError
from ..formulas import interval, solve
from ._plain import KeepsRows, Learned, LinearAnswers, PlainRegressor

if TYPE_CHECKING:
    from ._summary import LinearSummary

__all__ = ["LinearRegression", "least_squares"]


def least_squares(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Minimum-norm least squares with an intercept: (n, D), (n, T) -> w (D, T), b (T,)."""
    found = solve(x, y, weight, intercept=True)
    return found.x[1:], found.x[0]


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegression(KeepsRows, LinearAnswers, PlainRegressor):
    """Ordinary least squares in closed form; the minimum-norm solution where it is not unique.

    Learned: coef_ (D,) or (T, D), intercept_ () or (T,); rank_ and condition_ of X (centred where there is an
    intercept, columns of length 1); root_ (M, M) with (AᵀVA)⁻¹ = root_ root_ᵀ, A = (1, X), None where the rank is
    short; centre_ (D,), the means x̄ of the columns, 0 without an intercept; dof_, rows less parameters; sigma_ () or
    (T,), the standard deviation of the noise, infinite where dof_ is 0.

    Args:
        fit_intercept: Learn b; else b = 0.

    Example:
        >>> model = LinearRegression().fit([[0], [1], [2], [3]], [1, 3, 2, 5])
        >>> model.coef_.round(6), round(float(model.intercept_), 6)
        (array([1.1]), 1.1)
        >>> model.predict_interval([[4]], level=0.9).round(2)
        array([[ 0.14, 10.86]])
    """

    fit_intercept: bool = True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the least-squares problem; warn with NumPy's RankWarning where rounding could decide the rank."""
        kept = self._learned(X, y, sample_weight, columns=True)
        x, y, weight = _counted(kept)
        found = solve(x, y, weight, intercept=self.fit_intercept)
        if found.doubtful:
            warnings.warn(found.doubtful, np.exceptions.RankWarning, stacklevel=3)
        w = found.x[int(self.fit_intercept) :]
        b = found.x[0] if self.fit_intercept else np.zeros(w.shape[1])
        self.rank_, self.condition_, self.root_ = found.rank - self.fit_intercept, found.condition, found.root
        self.centre_, self.dof_ = found.centre, len(x) - found.rank
        sigma = _sigma(found.residual, weight, self.dof_)
        # (T, D), (T,), (T,) or (D,), (), ()
        self.coef_, self.intercept_, self.sigma_ = (w.T, b, sigma) if y.ndim == 2 else (w[:, 0], b[0], sigma[0])
        self._kept = kept
        return self

    def predict_interval(self, X: ArrayLike, level: float = 0.95, of: Literal["new", "mean"] = "new") -> np.ndarray:
        """The interval that holds y of each row with this probability: (n, 2) or (n, T, 2).

        Args:
            X: Rows (n, D).
            level: The probability, between 0 and 1.
            of: "new": one new y of weight 1; "mean": the mean of y at this x, which only the error of the plane moves.
        """
        check_is_fitted(self)
        if of not in ("new", "mean"):
            raise InputError(nearest("of:", of, ("new", "mean")))
        if self.root_ is None or not self.dof_:
            raise InputError(
                f"LinearRegression was fitted to {self.dof_ + self.rank_ + self.fit_intercept} rows with X of rank "
                f"{self.rank_} in {np.shape(self.coef_)[-1]} columns: an interval needs independent columns and more "
                "rows than parameters. Drop columns or add rows."
            )
        centre, x = self.predict(X), check.table(self, X, dtype="float64", reset=False)
        f = int(self.fit_intercept)
        spread = (x - self.centre_) @ self.root_[f:, f:]  # (n, D); far from 0 no digits are lost
        error = np.sqrt((spread**2).sum(1) + (self.root_[0, 0] ** 2 if f else 0.0) + (of == "new"))
        error = error[:, None] * self.sigma_ if centre.ndim == 2 else error * self.sigma_
        return np.stack(interval(centre, error, level, self.dof_), -1)

    @property
    def summary_(self) -> LinearSummary:
        """Standard errors, tests, fit and diagnostics of the rows it was fitted to; for one target."""
        return self._summarised(self._rows_of_fit())

    def summarise(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LinearSummary:
        """The summary for the rows it was fitted to, passed again: after loading from a file."""
        check_is_fitted(self)
        x = check.table(self, X, dtype="float64", reset=False)
        y = check.target(type(self).__name__, y, len(x), numeric=True, columns=True)
        return self._summarised(Learned(x, y, check.weights(sample_weight, len(x))))

    def _summarised(self, rows: Learned) -> LinearSummary:
        from ._summary import summarise

        if rows.y.ndim > 1 or self.coef_.ndim > 1:
            raise InputError("A summary is of one target, and there are several. Fit one model for each.")
        names = list(getattr(self, "feature_names_in_", (f"x{j}" for j in range(rows.x.shape[1]))))
        found, (x, y, _) = summarise(*rows, names, self.fit_intercept), _counted(rows)
        rounding = (np.abs(x) @ np.abs(self.coef_) + np.abs(self.intercept_)).max() * 100 * np.finfo(float).eps
        apart = np.abs(x @ self.coef_ + self.intercept_ - found.fitted).max()
        if not apart <= 1e-6 * np.ptp(y) + rounding:
            raise InputError(
                f"A fit to these rows gives another plane: predictions differ by up to {apart:.3g}. Pass the rows and "
                "weights that the model was fitted to, or fit it again."
            )
        return found


def _counted(rows: Learned) -> Learned:
    """Without rows of weight 0."""
    if rows.weight is None or rows.weight.all():
        return rows
    some = rows.weight > 0
    return Learned(rows.x[some], rows.y[some], rows.weight[some])


def _sigma(residual: np.ndarray, weight: np.ndarray | None, dof: int) -> np.ndarray:
    """√(Σ v r² / dof) of each target (T,), without squaring large numbers."""
    if not dof:
        return np.full(residual.shape[1], np.inf)
    r = residual if weight is None else np.sqrt(weight)[:, None] * residual
    largest = np.maximum(np.abs(r).max(0), np.finfo(float).tiny)
    return largest * np.linalg.norm(r / largest, axis=0) / np.sqrt(dof)
