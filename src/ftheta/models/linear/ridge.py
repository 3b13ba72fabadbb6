"""Ridge regression: least squares with a penalty on the squares of the coefficients, for all penalties at once.

    (w, b) = argmin Σ_i v_i (y_i - x_i·w - b)² + α ‖w‖²,          X̃ = U diag(s) Vᵀ,   X̃ = √v (X - x̄)
    w(α) = V diag(s / (s² + α)) Uᵀỹ,      degrees of freedom(α) = Σ_k s_k² / (s_k² + α)
    leave-one-out error of row i = residual_i / (1 - h_i),    h_i = v_i/Σv + Σ_k u_ik² s_k² / (s_k² + α)
    generalized cross-validation = mean residual² / (1 - Σ_i h_i / n)²

One decomposition serves every α. The intercept is not penalized. α = 0 is the shortest least-squares solution.
Shapes: n rows, D features, T targets, r = rank, L penalties.
Reference: Golub, Heath and Wahba, Generalized Cross-Validation as a Method for Choosing a Good Ridge Parameter,
Technometrics 21 (1979); Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 3.4.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from ...check import NonNegative
from ...errors import InputError
from ...selection import Range, Space
from ...store import Tree
from .._base.plain import PlainRegressor, Rows
from .base import LinearAnswers, centered, feature_names
from .paths import CoefficientPath, penalties

BLOCK = 2**18  # numbers of U at a time
EXACT = 1e-13  # 1 - h of a row that is met exactly where nothing is penalized


class Decomposed(NamedTuple):
    """X̃ = U diag(s) Vᵀ without what is below rounding, and ỹ = U uy + rest."""

    u: np.ndarray  # (n, r)
    s: np.ndarray  # (r,)
    vt: np.ndarray  # (r, D)
    uy: np.ndarray  # (r, T)
    rest: np.ndarray  # (n, T)
    x_mean: np.ndarray  # (D,), 0 without an intercept
    y_mean: np.ndarray  # (T,)
    share: np.ndarray  # v_i / Σv (n,), 0 without an intercept
    total: float  # Σv

    def coefficients(self, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w (L, T, D) and b (L, T) of every α."""
        gain = self.s[:, None] / (self.s[:, None] ** 2 + alphas)  # (r, L)
        w = np.einsum("rl,rt->ltr", gain, self.uy) @ self.vt
        return w, self.y_mean - w @ self.x_mean

    def freedom(self, alphas: np.ndarray) -> np.ndarray:
        """Effective degrees of freedom, the intercept not counted: (L,)."""
        d = self.s[:, None] ** 2
        return (d / (d + alphas)).sum(0)

    def left(self, alphas: np.ndarray) -> np.ndarray:
        """α / (s² + α), what the penalty leaves of a residual along each direction: (r, L)."""
        d = self.s[:, None] ** 2
        return 1 / (1 + d / np.maximum(alphas, 1e-20 * d.min(initial=1.0)))  # 0: as the limit of small penalties

    def errors(self, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean squares of leave-one-out errors, and generalized cross-validation: (L,), (L,)."""
        left, (n, targets), f = self.left(alphas), self.rest.shape, int(self.share.any())
        spare = n - len(self.s) - f
        squares = (self.rest**2).sum() * (spare > 0) + left.T**2 @ (self.uy**2).sum(1)
        gcv = squares / ((max(spare, 0) + left.sum(0)) / n) ** 2
        return self._leave_one_out(left) / (self.total * targets), gcv / (self.total * targets)

    def _leave_one_out(self, left: np.ndarray) -> np.ndarray:
        """Σ_i v_i e_i² over rows and targets, e_i of the fit without row i: (L,)."""
        total, step = np.zeros(left.shape[1]), max(1, BLOCK // max(left.shape))
        slack = 1 - self.share - (self.u**2).sum(1)
        rest, slack = np.where(slack[:, None] < EXACT, 0.0, self.rest), np.where(slack < EXACT, 0.0, slack)
        for low in range(0, len(self.u), step):
            rows = slice(low, low + step)
            free = self.u[rows] ** 2 @ left + slack[rows, None]  # 1 - h: (m, L)
            for t in range(rest.shape[1]):
                error = self.u[rows] @ (left * self.uy[:, t, None]) + rest[rows, t, None]
                total += ((error / np.where(free > 0, free, 1.0)) ** 2).sum(0)
        return total


def decompose_rows(rows: Rows, intercept: bool) -> Decomposed:
    """The decomposition of rows around their means where there is an intercept, times √v."""
    x, y, n = rows.x, rows.y.reshape(len(rows.x), -1), len(rows.x)
    weight = np.ones(n) if rows.weight is None else rows.weight
    x, x_mean = centered(x, weight) if intercept else (x, np.zeros(x.shape[1]))
    y_mean = np.average(y, axis=0, weights=weight) * intercept
    x, y = (part if rows.weight is None else part * np.sqrt(weight)[:, None] for part in (x, y - y_mean))
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    rank = int((s > max(x.shape) * np.finfo(float).eps * s.max(initial=0.0)).sum())
    u, s, vt = u[:, :rank], s[:rank], vt[:rank]
    uy = u.T @ y
    return Decomposed(u, s, vt, uy, y - u @ uy, x_mean, y_mean, weight / weight.sum() * intercept, weight.sum())


class Ridge(LinearAnswers, PlainRegressor):
    """Least squares with the penalty α ‖w‖²; of several α, the one with the least leave-one-out error is taken.

    Args:
        alpha: The penalty beside the sum of squares, where `alphas` is None.
        alphas: Penalties to choose from; learned are then `alphas_`, `coefs_` and `intercepts_` of each, and
            `loo_`, `gcv_` and `dof_`, all of which `path()` holds together.
        choose: What decides: the leave-one-out error or generalized cross-validation.
        fit_intercept: Learn b; else b = 0.

    Example:
        >>> model = Ridge(alphas=[0.1, 1, 10]).fit([[0.0], [1], [2], [3]], [1, 3, 2, 5])
        >>> model.alpha_, model.coef_.round(4)
        (0.1, array([1.0784]))
    """

    alpha: NonNegative = 1.0
    alphas: tuple[NonNegative, ...] | np.ndarray | None = None
    choose: Literal["loo", "gcv"] = "loo"
    fit_intercept: bool = True

    space: ClassVar[Space] = {"alpha": Range(1e-3, 1e4, log=True)}

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the penalized least-squares problem, for every penalty that is offered."""
        if self.alphas is None:
            rows = self._learned(X, y, sample_weight)
            found, alpha = decompose_rows(rows, self.fit_intercept), np.array([self.alpha], dtype=float)
            coef, intercept = found.coefficients(alpha)
            self.alpha_, self.dof_ = float(self.alpha), found.freedom(alpha)
            one = (0, 0) if rows.y.ndim == 1 else (0,)
            self._set_planes(coef[one], intercept[one])
            return self
        path = self._path(X, y, self.alphas, sample_weight)
        best = path.best(self.choose)
        self.alphas_, self.coefs_, self.intercepts_ = path.alphas, path.coefs, path.intercepts
        self.loo_, self.gcv_, self.dof_ = path.loo, path.gcv, path.dof
        self.alpha_ = float(path.alphas[best])
        self._set_planes(path.coefs[best], path.intercepts[best])
        return self

    def _path(
        self, X: ArrayLike, y: ArrayLike, alphas: Sequence[float] | np.ndarray | int, sample_weight: ArrayLike | None
    ) -> CoefficientPath:
        rows = self._learned(X, y, sample_weight)
        if len(rows.x) < 2:
            raise InputError("Leaving one out needs at least 2 rows (of weight > 0), got 1. Give alpha, not alphas.")
        found = decompose_rows(rows, self.fit_intercept)
        if isinstance(alphas, (int, np.integer)) and alphas > 0:
            alphas = np.geomspace(10, 1e-6, alphas) * (found.s.max(initial=0.0) ** 2 or 1.0)
        ladder = penalties(alphas, zero=True)
        coefs, intercepts = found.coefficients(ladder)
        if rows.y.ndim == 1:
            coefs, intercepts = coefs[:, 0], intercepts[:, 0]
        errors, names = found.errors(ladder), tuple(feature_names(self))
        return CoefficientPath("Ridge", ladder, coefs, intercepts, found.freedom(ladder), names, *errors)

    def _params_tree(self) -> dict[str, Tree]:
        """With an array of penalties as plain numbers."""
        if not isinstance(self.alphas, np.ndarray):
            return super()._params_tree()
        return Ridge(**{**self.get_params(), "alphas": tuple(self.alphas.tolist())})._params_tree()

    def coefficient_path(self, X: ArrayLike, y: ArrayLike) -> CoefficientPath:
        """100 penalties for the rows that it was fitted to, its own marked."""
        copied: Any = clone(self)
        return replace(copied._path(X, y, 100, None), chosen=self.alpha_)

    def path(self) -> CoefficientPath:
        """Everything that was learned for every one of `alphas`."""
        if not hasattr(self, "alphas_"):
            raise InputError("This Ridge was not fitted to several penalties; give alphas, or call coefficient_path.")
        numbers = self.alphas_, self.coefs_, self.intercepts_, self.dof_
        return CoefficientPath("Ridge", *numbers, tuple(feature_names(self)), self.loo_, self.gcv_)
