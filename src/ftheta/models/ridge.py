"""Ridge regression: least squares with a penalty on the squares of the coefficients, for all penalties at once.

    (w, b) = argmin Σ_i v_i (y_i - x_i·w - b)² + α ‖w‖²,          X̃ = U diag(s) Vᵀ,   X̃ = √v (X - x̄)
    w(α) = V diag(s / (s² + α)) Uᵀỹ,      degrees of freedom(α) = Σ_k s_k² / (s_k² + α)
    leave-one-out error of row i = residual_i / (1 - h_i),    h_i = v_i/Σv + Σ_k u_ik² s_k² / (s_k² + α)
    generalised cross-validation = mean residual² / (1 - Σ_i h_i / n)²

One decomposition serves every α. The intercept is not penalised. α = 0 is the shortest least-squares solution.
Columns many powers of ten apart, of which U would lose the narrow ones, are least squares of (X̃, √α I) against (ỹ, 0).

Shapes: n rows, D features, T targets, r = rank, L penalties.
Reference: Golub, Heath and Wahba, Generalized Cross-Validation as a Method for Choosing a Good Ridge Parameter,
Technometrics 21 (1979); Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 3.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Tags

from .. import plots
from ..check import NonNegative
from ..errors import InputError
from ..formulas import solve
from ..results import Result, Table
from ..store import Tree
from ._plain import LinearAnswers, PlainRegressor
from ._reduce import (
    apart,
    centres,
    column_names,
    far_apart,
    in_units,
    numbers,
    parts,
    reduced,
    relative,
    scale_of,
    shifted,
    span,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Ridge", "RidgePath", "ridge_path"]

WIDEST = 1e10  # how many times as wide as another a column may be before no digits are left for a choice


# ---- the equations


class _Decomposed(NamedTuple):
    """X̃ = x_scale U diag(s) Vᵀ without what is below rounding, and ỹ = y_scale (U uy + rest); the largest v is 1."""

    u: np.ndarray  # (m, r)
    s: np.ndarray  # (r,)
    vt: np.ndarray  # (r, D)
    uy: np.ndarray  # (r, T)
    rest: np.ndarray  # (m, T)
    x_scale: float
    y_scale: float
    heaviest: float

    def penalties(self, alphas: np.ndarray) -> np.ndarray:
        """α in the units of s²: (L,)."""
        with np.errstate(over="ignore"):
            return alphas / self.heaviest / self.x_scale / self.x_scale

    def left(self, alphas: np.ndarray) -> np.ndarray:
        """α / (s² + α), what the penalty leaves of a residual along each direction: (r, L).

        0 counts as 1e-20 of the least s², so that where rows are met exactly ratios of these are their limits.
        """
        d = self.s[:, None] ** 2
        return 1 / (1 + d / np.maximum(self.penalties(alphas), 1e-20 * d.min(initial=1.0)))

    def coefficients(self, alphas: np.ndarray) -> np.ndarray:
        """w of every α: (L, T, D)."""
        gain = self.s[:, None] / (self.s[:, None] ** 2 + self.penalties(alphas))  # (r, L)
        return in_units(np.einsum("rl,rt->ltr", gain, self.uy) @ self.vt, self.x_scale, self.y_scale)

    def freedom(self, alphas: np.ndarray) -> np.ndarray:
        """Effective degrees of freedom, the intercept not counted: (L,)."""
        d = self.s[:, None] ** 2
        return (d / (d + self.penalties(alphas))).sum(0)


def _decompose(x: np.ndarray, y: np.ndarray, heaviest: float) -> _Decomposed:
    """(m, D), (m, T), around their means; x and y are overwritten."""
    x_scale, y_scale = scale_of(x), scale_of(y)
    x /= x_scale
    y /= y_scale
    u, s, vt = np.linalg.svd(x, full_matrices=False)
    rank = int((s > max(x.shape) * np.finfo(float).eps * s.max(initial=0.0)).sum())
    u, s, vt = u[:, :rank], s[:rank], vt[:rank]
    uy = u.T @ y
    return _Decomposed(u, s, vt, uy, y - u @ uy, x_scale, y_scale, heaviest)


def _slack(parts_of: _Decomposed, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """1 - h (n,) and residuals (n, T) where nothing is penalised; both 0 in rows that are met exactly.

    Where 1 - h cancels it is Σ_j h_ij² over the other rows j, up to its square.
    """
    u, rest = parts_of.u, parts_of.rest.copy()
    slack = 1 - share - np.einsum("nr,nr->n", u, u)
    for i in np.flatnonzero(slack < 1e-4):
        h = u @ u[i] + np.sqrt(share * share[i])
        h[i] = 0.0
        slack[i] = h @ h
        slack[i] *= 1 + slack[i]
        rest[i] = slack[i] * parts_of.rest[i] - h @ parts_of.rest
    met = slack < 1e-24  # whatever the other rows say
    slack[met], rest[met] = 0.0, 0.0
    return slack, rest


def _leave_one_out(parts_of: _Decomposed, left: np.ndarray, share: np.ndarray | float) -> np.ndarray:
    """Σ_i v_i e_i² over rows and targets, e_i of the fit without row i: (L,); share: v_i / Σv, 0 without intercept."""
    u, uy = parts_of.u, parts_of.uy
    slack, rest = _slack(parts_of, np.broadcast_to(share, len(u)))
    total = np.zeros(left.shape[1])
    for rows in parts(len(u), max(u.shape[1], left.shape[1])):
        open_ = (u[rows] * u[rows]) @ left
        open_ += slack[rows, None]  # 1 - h: (n, L)
        for t in range(uy.shape[1]):
            error = u[rows] @ (left * uy[:, t, None])
            error += rest[rows, t, None]
            error /= open_
            total += np.einsum("nl,nl->l", error, error)
    return total


@dataclass(frozen=True, eq=False)
class RidgePath(Result):
    """Ridge regression for every penalty.

    Args:
        alphas: Penalties, as given (L,).
        coefs: Coefficients (L, D), or (L, T, D) for several targets.
        intercepts: (L,) or (L, T).
        dof: Effective degrees of freedom, the intercept not counted (L,).
        loo: Weighted mean square of the leave-one-out errors over rows and targets (L,).
        gcv: Generalised cross-validation, in the same units (L,).
        names: Of the features (D,).
    """

    alphas: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    dof: np.ndarray
    loo: np.ndarray
    gcv: np.ndarray
    names: tuple[str, ...]

    def best(self, choose: str = "loo") -> int:
        """Place of the penalty with the least error; the larger of two that tie."""
        error = self.gcv if choose == "gcv" else self.loo
        return int(max(np.flatnonzero(error == error.min()), key=lambda i: self.alphas[i]))

    def table(self) -> Table:
        """One line a penalty."""
        said = f"Least leave-one-out error at alpha {self.alphas[self.best()]:.4g}, "
        said += f"least generalised cross-validation at {self.alphas[self.best('gcv')]:.4g}."
        columns = {"alpha": self.alphas, "degrees of freedom": self.dof, "leave-one-out": self.loo, "GCV": self.gcv}
        return Table({name: column.tolist() for name, column in columns.items()}, said)

    @property
    def alt(self) -> str:
        """The figure in words."""
        return (
            f"Paths of {len(self.names)} ridge coefficients over {len(self.alphas)} penalties. {self.table().caption}"
        )

    def figure(self) -> Figure:
        """Coefficients against the penalty, with both errors below; of several targets the first is drawn."""
        coefs = self.coefs if self.coefs.ndim == 2 else self.coefs[:, 0]
        return plots.paths(
            self.alphas,
            coefs,
            self.names,
            chosen=float(self.alphas[self.best()]),
            dof=self.dof,
            errors={"leave-one-out": self.loo, "generalised cross-validation": self.gcv},
            title="Ridge: coefficients against the penalty",
        )


def ridge_path(
    X: ArrayLike,
    y: ArrayLike,
    alphas: Sequence[float] | np.ndarray | int = 100,
    *,
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = True,
) -> RidgePath:
    """Ridge regression for all penalties from one decomposition, with both errors of each.

    Args:
        X: Rows (n, D).
        y: Targets (n,) or (n, T).
        alphas: Penalties, or how many: from 10 times to 1e-6 of the largest squared singular value.
        sample_weight: Of the rows; a row is left out whole, whatever its weight.
        fit_intercept: Learn b; else b = 0.

    Example:
        >>> path = ridge_path([[0.0], [1], [2], [3]], [1, 3, 2, 5], [0.1, 1, 10])
        >>> path.coefs.round(4).ravel().tolist(), path.best()
        ([1.0784, 0.9167, 0.3667], 0)
    """
    return Ridge(fit_intercept=fit_intercept)._path(X, y, alphas, sample_weight)


def _solved(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray | None, intercept: bool, given: Sequence[float] | np.ndarray | int
) -> tuple[np.ndarray, ...]:
    """alphas (L,), coefs (L, T, D), intercepts (L, T), dof, loo, gcv (L,) of checked rows (n, D), (n, T)."""
    v, heaviest = relative(weight)
    x_mean, y_mean = (centres(part, v) if intercept else np.zeros(part.shape[1]) for part in (x, y))
    around = shifted(x, x_mean, v)
    wide = span(around, x_mean)
    if wide > WIDEST:
        raise InputError(
            f"One column of X is {wide:.0e} times as wide as another, so that rounding hides the narrow one from "
            "leave-one-out. Standardise the columns, or give alpha instead of alphas."
        )
    found = _decompose(around, shifted(y, y_mean, v), heaviest)
    if not 1e-152 < found.y_scale < 1e152:
        raise InputError(
            f"y varies on a scale of {found.y_scale:.0e}, and squares of its errors leave the range of float64. "
            "Rescale y, or give alpha instead of alphas."
        )
    top = float(found.s.max(initial=0.0) * found.x_scale)
    alphas = _ladder(given, min(top * top * heaviest, 1e300))
    left, total = found.left(alphas), float(len(x) if v is None else v.sum())
    share = (1 / len(x) if v is None else v / total) if intercept else 0.0
    open_ = max(len(x) - len(found.s) - intercept, 0) + left.sum(0)  # n - Σ h: (L,)
    rest = (found.rest**2).sum() if len(x) > len(found.s) + intercept else 0.0
    squares = rest + left.T**2 @ (found.uy**2).sum(1)
    errors = np.stack([_leave_one_out(found, left, share), squares / (open_ / len(x)) ** 2]) / (total * y.shape[1])
    loo, gcv = errors * found.y_scale * found.y_scale
    coefs = found.coefficients(alphas)
    intercepts = y_mean - coefs @ x_mean
    if not alphas.all():
        coefs[alphas == 0], intercepts[alphas == 0] = _unpenalised(x, y, weight, intercept)
    return alphas, coefs, intercepts, found.freedom(alphas), loo, gcv


def _unpenalised(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray | None, intercept: bool
) -> tuple[np.ndarray, np.ndarray]:
    """w (T, D) and b (T,) of the shortest least-squares solution."""
    found = solve(x, y, weight, intercept=intercept).x  # (D + 1, T), b first
    return found[int(intercept) :].T, found[0] if intercept else np.zeros(y.shape[1])


def _ladder(alphas: Sequence[float] | np.ndarray | int, top: float) -> np.ndarray:
    """Penalties as an array: (L,)."""
    if isinstance(alphas, (int, np.integer)) and alphas > 0:
        return np.geomspace(10 * top, 1e-6 * top, alphas) if top else np.geomspace(10, 1e-6, alphas)
    found = numbers(alphas)
    if found.ndim != 1 or not found.size or not (np.isfinite(found) & (found >= 0)).all():
        raise InputError(f"alphas is {alphas!r}; it must hold one or more penalties, each finite and >= 0.")
    return found


# ---- the estimator


@dataclass(kw_only=True, eq=False, repr=False)
class Ridge(LinearAnswers, PlainRegressor):
    """Least squares with the penalty α ‖w‖²; of several α, the one with the least leave-one-out error is taken.

    Args:
        alpha: The penalty beside the sum of squares, where `alphas` is None.
        alphas: Penalties to choose from; learned are then `alphas_`, `coefs_` and `intercepts_` of each, and
            `loo_`, `gcv_` and `dof_`, all of which `path()` holds together.
        choose: What decides: the leave-one-out error or generalised cross-validation.
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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the penalised least-squares problem, for every penalty that is offered."""
        if self.alphas is None:
            return self._fit_one(X, y, sample_weight)
        path = self._path(X, y, self.alphas, sample_weight)
        best = path.best(self.choose)
        self.alphas_, self.coefs_, self.intercepts_ = path.alphas, path.coefs, path.intercepts
        self.loo_, self.gcv_, self.dof_ = path.loo, path.gcv, path.dof
        self.alpha_, self.coef_ = float(path.alphas[best]), path.coefs[best].copy()
        self.intercept_ = path.intercepts[best]
        return self

    def _fit_one(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Self:
        x, y, weight = self._learned(X, y, sample_weight, columns=True)
        alphas = np.array([self.alpha], dtype=float)
        columns = y.reshape(len(x), -1)
        rows = reduced(x, columns, weight, self.fit_intercept)
        if far_apart(rows.x, rows.x_mean):
            coefs, dof = apart(rows.x, rows.y, self.alpha / rows.heaviest)
        else:
            found = _decompose(rows.x, rows.y, rows.heaviest)
            coefs, dof = found.coefficients(alphas)[0], found.freedom(alphas)  # (T, D), (1,)
        intercept = rows.y_mean - coefs @ rows.x_mean
        if self.alpha == 0:
            coefs, intercept = _unpenalised(x, columns, weight, self.fit_intercept)
        self.alpha_, self.dof_ = float(self.alpha), dof
        self.coef_, self.intercept_ = (coefs, intercept) if y.ndim == 2 else (coefs[0], intercept[0])
        return self

    def _path(
        self, X: ArrayLike, y: ArrayLike, alphas: Sequence[float] | np.ndarray | int, sample_weight: ArrayLike | None
    ) -> RidgePath:
        x, y, weight = self._learned(X, y, sample_weight, columns=True)
        if weight is not None and not weight.all():
            x, y, weight = (part[weight > 0] for part in (x, y, weight))
        if len(x) < 2:
            raise InputError(
                "Leaving one row out needs at least 2 rows (of weight > 0), got 1. Give alpha, not alphas."
            )
        found = _solved(x, y.reshape(len(x), -1), weight, self.fit_intercept, alphas)
        ladder, coefs, intercepts, dof, loo, gcv = found
        if y.ndim == 1:
            coefs, intercepts = coefs[:, 0], intercepts[:, 0]
        return RidgePath(ladder, coefs, intercepts, dof, loo, gcv, column_names(self, x.shape[1]))

    def _params_tree(self) -> dict[str, Tree]:
        """With an array of penalties as plain numbers."""
        if not isinstance(self.alphas, np.ndarray):
            return super()._params_tree()
        return Ridge(**{**self.get_params(), "alphas": tuple(self.alphas.tolist())})._params_tree()

    def path(self) -> RidgePath:
        """Everything that was learned for every one of `alphas`."""
        if not hasattr(self, "alphas_"):
            raise InputError("This Ridge was not fitted to several penalties; give alphas, or call ridge_path.")
        names = column_names(self, self.coefs_.shape[-1])
        return RidgePath(self.alphas_, self.coefs_, self.intercepts_, self.dof_, self.loo_, self.gcv_, names)
