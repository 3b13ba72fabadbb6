"""Linear regression: least squares in closed form, with what is known of its error.

    ŷ = x·w + b,        (w, b) = argmin Σ_i v_i (y_i - x_i·w - b)²
    new y:  ŷ ± t s √(1 + ‖a root‖²),   a = (1, x - x̄),   s² = Σ v_i (y_i - ŷ_i)² / dof;    mean of y:  without the 1

Weights v are inverse variances up to a factor, not counts.
Shapes: n rows, D features, T targets, P = D + 1 coefficients with an intercept, else D.
Reference: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 3.2.
"""

from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ... import check
from ...catalog import nearest
from ...errors import InputError
from ...formulas import interval
from ...selection import Space
from .._base.plain import PlainRegressor, Rows
from .base import LinearAnswers, Summarized, design, feature_names
from .ridge import decompose_rows
from .summary import LinearSummary, summarize


class LinearRegression(Summarized, LinearAnswers, PlainRegressor):
    """Ordinary or weighted least squares in closed form; the solution of least norm where it is not unique.

    Learned: coef_ (D,) or (T, D), intercept_ () or (T,); rank_ of X, centered where there is an intercept; mean_ (D,)
    of the columns, 0 without an intercept; root_ (P, P) with (AᵀVA)⁻¹ = root_ root_ᵀ, A = (1, X - mean_), None where
    columns depend on each other; dof_, rows less parameters; sigma_ () or (T,), the standard deviation of the noise,
    infinite where dof_ is 0.

    Args:
        fit_intercept: Learn b; else b = 0.

    Example:
        >>> model = LinearRegression().fit([[0], [1], [2], [3]], [1, 3, 2, 5])
        >>> model.coef_.round(6), round(float(model.intercept_), 6)
        (array([1.1]), 1.1)
        >>> model.predict_interval([[4]], level=0.9).round(2)
        array([[ 0.14, 10.86]])
    """

    space: ClassVar[Space] = {"fit_intercept": [True, False]}
    fit_intercept: bool = True

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the least-squares problem."""
        given = self._learned(X, y, sample_weight, zeros=True)
        rows, f = given.counted(), int(self.fit_intercept)
        found, targets = design(rows.x, rows.weight, self.fit_intercept), rows.y.reshape(len(rows.x), -1)
        self.mean_, self.rank_, self.dof_ = found.mean, int(found.kept[f:].sum()), len(rows.x) - int(found.kept.sum())
        self.root_ = found.root if found.kept.all() else None
        if self.root_ is None:
            w, b = (part[0] for part in decompose_rows(rows, self.fit_intercept).coefficients(np.zeros(1)))
        else:
            center = np.average(targets, axis=0, weights=rows.weight) * f
            theta = found.solve(targets - center)
            w, b = theta[f:].T, center + theta[:f].sum(0) - self.mean_ @ theta[f:]
        left = (targets - rows.x @ w.T - b) * found.scale[:, None]
        sigma = np.sqrt((left**2).sum(0) / self.dof_) if self.dof_ else np.full(len(w), np.inf)
        one = rows.y.ndim == 1
        self._set_planes(w[0] if one else w, b[0] if one else b)
        self.sigma_ = sigma[0] if one else sigma
        self._kept = given.copied()
        return self

    def predict_interval(self, X: ArrayLike, level: float = 0.95, of: Literal["new", "mean"] = "new") -> np.ndarray:
        """The interval that holds y of each row with this probability: (n, 2) or (n, T, 2).

        Args:
            X: Rows (n, D).
            level: The probability, between 0 and 1.
            of: "new": one new y of weight 1; "mean": the mean of y at this x.
        """
        check_is_fitted(self)
        if of not in ("new", "mean"):
            raise InputError(nearest("of:", of, ("new", "mean")))
        if self.root_ is None or not self.dof_:
            rows, columns = self.dof_ + self.rank_ + self.fit_intercept, np.shape(self.coef_)[-1]
            what = f"LinearRegression was fitted to {rows} rows with X of rank {self.rank_} in {columns} columns:"
            need = "an interval needs independent columns and more rows than parameters."
            raise InputError(f"{what} {need} Drop columns or add rows.")
        center, x = self.predict(X), self._table(X)
        a = np.hstack([np.ones((len(x), int(self.fit_intercept))), x - self.mean_])
        error = np.sqrt(((a @ self.root_) ** 2).sum(1) + (of == "new"))
        error = error[:, None] * self.sigma_ if center.ndim == 2 else error * self.sigma_
        return np.stack(interval(center, error, level, self.dof_), -1)

    def summarize(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LinearSummary:
        """The summary for the rows it was fitted to, passed again: after loading from a file."""
        x = self._table(X)
        y = check.target(type(self).__name__, y, len(x), numeric=True, columns=True)
        return self._summarized(Rows(x, y, check.weights(sample_weight, len(x))))

    def _summarized(self, rows: Rows) -> LinearSummary:
        if rows.y.ndim > 1 or self.coef_.ndim > 1:
            raise InputError("A summary is of one target, and there are several. Fit one model for each.")
        found, rows = summarize(*rows, feature_names(self), self.fit_intercept), rows.counted()
        apart = np.abs(rows.x @ self.coef_ + self.intercept_ - found.fitted).max()
        rounding = max(1e-10, 8 * np.finfo(self.coef_.dtype).eps)
        rounding *= (np.abs(rows.x) @ np.abs(self.coef_) + np.abs(self.intercept_)).max()
        if not apart <= 1e-6 * np.ptp(rows.y) + rounding:
            what = f"A fit to these rows gives another plane: predictions differ by up to {apart:.3g}."
            raise InputError(f"{what} Pass the rows and weights that the model was fitted to, or fit it again.")
        return found
