"""Lasso and elastic net: least squares with a penalty that sets coefficients to zero.

    (w, b) = argmin Σ_i v_i (y_i - x_i·w - b)² / (2 Σ v) + α (ρ ‖w‖₁ + (1 - ρ)/2 ‖w‖²),      lasso: ρ = 1

Solved by scikit-learn's coordinate descent; the duality gap bounds how far the objective is from its minimum. At
α >= max_j |x_j·y| / (n ρ) all coefficients are 0; the path of the lasso is linear in α between knots, where a
coefficient enters or leaves.

Shapes: n rows, D features, T targets, L penalties, K knots.
Reference: Tibshirani, Regression Shrinkage and Selection via the Lasso, JRSS B 58 (1996); Zou and Hastie, JRSS B 67
(2005); Efron et al., Least Angle Regression, Ann. Statist. 32 (2004); Zou, Hastie and Tibshirani, On the "degrees of
freedom" of the lasso, Ann. Statist. 35 (2007); Friedman, Hastie and Tibshirani, J. Stat. Softw. 33 (2010).
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path, lars_path

from ...check import Count, Fraction, Positive
from ...errors import InputError
from ...selection import Range, Space
from .._base.plain import PlainRegressor, Rows
from .base import CONSTANT, LinearAnswers, feature_names
from .ridge import CoefficientPath, decompose_rows, penalties


class _Problem(NamedTuple):
    """One target: rows around their means where there is an intercept, times √(v / Σv), so that N = 1."""

    x: np.ndarray  # (n, D)
    y: np.ndarray  # (n,)
    x_mean: np.ndarray  # (D,)
    y_mean: float


def _problems(rows: Rows, intercept: bool) -> list[_Problem]:
    """One for each target."""
    n, weight = len(rows.x), np.ones(len(rows.x)) if rows.weight is None else rows.weight
    x, scale = np.array(rows.x, order="F"), np.sqrt(weight / weight.sum())
    x_mean = weight @ x / weight.sum() if intercept else np.zeros(x.shape[1])
    for column, mean in zip(x.T, x_mean, strict=True):  # in place: the solver's copy of the rows is the only one
        constant = intercept and np.ptp(column) <= CONSTANT * np.abs(column).max()
        column[:] = 0.0 if constant else (column - mean) * scale
    means = [float(np.average(y, weights=weight)) * intercept for y in rows.y.reshape(n, -1).T]
    return [_Problem(x, (y - m) * scale, x_mean, m) for y, m in zip(rows.y.reshape(n, -1).T, means, strict=True)]


def _knots(problem: _Problem, smallest: float) -> tuple[np.ndarray, list[tuple[int, str]]]:
    """Falling α at which a coefficient enters or leaves (K,), and which does what; by least angle regression."""
    unit = np.abs(problem.x).max(), np.abs(problem.y).max()  # lars_path expects numbers of size 1
    x, n = problem.x / unit[0], len(problem.y) * unit[0] * unit[1]
    sign = np.sign(x[np.abs(x).argmax(0), np.arange(x.shape[1])])
    kept = np.sort(np.unique((x * sign).round(12), axis=1, return_index=True)[1])  # equal columns lead it astray
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # of columns that are all but equal
        settings: dict[str, Any] = {"method": "lasso", "alpha_min": smallest / n, "max_iter": 10**5}
        steps, _, coefs = lars_path(x[:, kept], problem.y / unit[1], **settings)
    coefs = np.where(np.abs(coefs) > 1e-12 * np.abs(coefs).max(1, keepdims=True), coefs, 0.0)  # rounding of a 0
    on = (coefs[:, :-1] != 0) | (coefs[:, 1:] != 0)  # in use between two knots: (D, K)
    before = np.c_[np.zeros(len(on), bool), on[:, :-1]]
    where, which = np.nonzero((on != before).T)
    moves = [(int(kept[j]), "enters" if on[j, k] else "leaves") for k, j in zip(where, which, strict=True)]
    return steps[where] * n, moves


def lasso_path(
    X: ArrayLike,
    y: ArrayLike,
    alphas: Sequence[float] | np.ndarray | int = 100,
    *,
    eps: float = 1e-3,
    l1_ratio: float = 1.0,
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = True,
    max_iter: int = 10_000,
    tol: float = 1e-8,
) -> CoefficientPath:
    """The path in one call, with the duality gap of every solution and the exact knots.

    Args:
        X: Rows (n, D).
        y: One target (n,).
        alphas: Penalties, or how many: from the least that sets all to 0 down to `eps` of it.
        eps: Ratio of the smallest to the largest penalty.
        l1_ratio: ρ in (0, 1]; 1 is the lasso.
        sample_weight: Of the rows.
        fit_intercept: Learn b; else b = 0.
        max_iter: Sweeps at most, for each penalty.
        tol: A penalty is done when its duality gap is below tol times the variance of y.

    Example:
        >>> path = lasso_path([[0.0, 1], [1, 0], [2, 1], [3, 0]], [1, 3, 2, 5], 3, eps=0.1)
        >>> path.alphas.round(4), path.moves
        (array([1.375 , 0.4348, 0.1375]), ((0, 'enters'), (1, 'enters')))
    """
    model = ElasticNet(l1_ratio=l1_ratio, fit_intercept=fit_intercept, max_iter=max_iter, tol=tol)
    problem = _problems(model._learned(X, y, sample_weight, columns=False), fit_intercept)[0]
    ladder = _ladder(alphas, eps, l1_ratio, problem)
    w, gaps, dof = model._solved(problem, ladder)[:3]
    knots, moves = _knots(problem, ladder[-1]) if l1_ratio == 1 else (np.empty(0), [])
    b, names = problem.y_mean - w @ problem.x_mean, tuple(feature_names(model))
    title = "Lasso" if l1_ratio == 1 else f"Elastic net (l1_ratio {l1_ratio:g})"
    return CoefficientPath(title, ladder, w, b, dof, names, gaps=gaps, knots=knots, moves=tuple(moves))


def _ladder(alphas: Sequence[float] | np.ndarray | int, eps: float, l1_ratio: float, problem: _Problem) -> np.ndarray:
    """Falling penalties (L,)."""
    if not isinstance(alphas, (int, np.integer)):
        return np.sort(penalties(alphas, zero=False))[::-1]
    if alphas < 1 or not 0 < eps < 1 or not l1_ratio:
        what = f"A ladder needs alphas >= 1, 0 < eps < 1 and l1_ratio > 0, got {alphas}, {eps} and {l1_ratio}."
        raise InputError(f"{what} Without an L1 part no penalty sets coefficients to 0: give the penalties themselves.")
    top = np.abs(problem.x.T @ problem.y).max() / l1_ratio
    if not top:
        raise InputError("No column of X goes with y, so all coefficients are 0. Check y for a constant.")
    return np.geomspace(top, eps * top, alphas)


class Lasso(LinearAnswers, PlainRegressor):
    """Least squares with the penalty α ‖w‖₁ beside half the mean square, by coordinate descent.

    Learned: coef_, intercept_, gap_ (the objective is at most this much above its minimum), dof_, n_iter_.

    Args:
        alpha: The penalty.
        fit_intercept: Learn b; else b = 0.
        max_iter: Sweeps over all coefficients at most.
        tol: Stop when the duality gap is below tol times the variance of y.

    Example:
        >>> model = Lasso(alpha=0.5).fit([[0.0, 1], [1, 0], [2, 1], [3, 0]], [1, 3, 2, 5])
        >>> model.coef_.round(4), bool(model.gap_ < 1e-8)
        (array([0.7, 0. ]), True)
    """

    space: ClassVar[Space] = {"alpha": Range(1e-4, 10.0, log=True)}
    alpha: Positive = 0.1
    fit_intercept: bool = True
    max_iter: Count = 10_000
    tol: Positive = 1e-8
    _order: ClassVar[Literal["C", "K"]] = "K"

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the penalized least-squares problem of each target."""
        rows = self._learned(X, y, sample_weight)
        problems, alphas = _problems(rows, self.fit_intercept), np.array([self.alpha], dtype=float)
        w, gaps, dof, sweeps = zip(*(self._solved(problem, alphas) for problem in problems), strict=True)
        coef, gap, free = (np.concatenate(part) for part in (w, gaps, dof))  # (T, D), (T,), (T,)
        intercept, one = np.array([p.y_mean for p in problems]) - coef @ problems[0].x_mean, rows.y.ndim == 1
        self._set_planes(*((coef[0], intercept[0]) if one else (coef, intercept)))
        self.gap_, self.dof_ = (float(gap[0]), float(free[0])) if one else (gap, free)
        self.n_iter_ = max(1, *sweeps)
        return self

    def coefficient_path(self, X: ArrayLike, y: ArrayLike) -> CoefficientPath:
        """100 penalties for the rows that it was fitted to, its own marked; with an L1 part of at least 1 %."""
        ratio = max(float(getattr(self, "l1_ratio", 1.0)), 0.01)
        found = lasso_path(X, y, l1_ratio=ratio, fit_intercept=self.fit_intercept, max_iter=self.max_iter, tol=self.tol)
        return replace(found, chosen=float(self.alpha))

    def _solved(self, problem: _Problem, alphas: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """w (L, D), duality gaps (L,), degrees of freedom (L,) and the count of sweeps, for falling penalties."""
        x, y, ratio = problem.x, problem.y, float(getattr(self, "l1_ratio", 1.0))
        w, gaps, sweeps = np.zeros((len(alphas), x.shape[1])), np.zeros(len(alphas)), [1]
        if not ratio:
            w = decompose_rows(Rows(x, y, None), intercept=False).coefficients(alphas)[0][:, 0]
        elif y.any() and x.any():
            settings: dict[str, Any] = {"l1_ratio": ratio, "alphas": alphas / len(y), "random_state": 0}
            settings |= {"check_input": False, "return_n_iter": True, "max_iter": self.max_iter, "tol": self.tol}
            with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # the gaps say it
                _, coefs, gaps, sweeps = enet_path(x, y, **settings)
            w, gaps = np.ascontiguousarray(coefs.T) + 0.0, np.maximum(gaps, 0.0)
        late = int((gaps > self.tol * (y @ y)).sum())
        if late:
            what = f"Coordinate descent did not reach a duality gap of tol={self.tol:g} times the variance of y in"
            rest = f"{self.max_iter} sweeps for {late} of {len(alphas)} problems. Raise max_iter or tol, or standardize"
            warnings.warn(f"{what} {rest} the columns; the gap says how far it is.", ConvergenceWarning, stacklevel=4)
        dof = np.count_nonzero(w, axis=1).astype(float)  # or Σ s² / (s² + l2), s the singular values of their columns
        if ratio < 1:
            squares = [np.linalg.svd(x[:, row != 0], compute_uv=False) ** 2 for row in w]
            dof = np.array([(d / (d + l2)).sum() for d, l2 in zip(squares, alphas * (1 - ratio), strict=True)])
        return w, gaps, dof, int(sum(sweeps))


class ElasticNet(Lasso):
    """Least squares with the penalty α (ρ ‖w‖₁ + (1 - ρ)/2 ‖w‖²) beside half the mean square; learned as by Lasso.

    Args:
        l1_ratio: ρ: 1 is the lasso, 0 is ridge with a penalty of n α.

    Example:
        >>> ElasticNet(alpha=0.5).fit([[0.0, 1], [1, 0], [2, 1], [3, 0]], [1, 3, 2, 5]).coef_.round(4)
        array([ 0.6818, -0.4091])
    """

    space: ClassVar[Space] = {"alpha": Range(1e-4, 10.0, log=True), "l1_ratio": Range(0.05, 1.0)}
    l1_ratio: Fraction = 0.5
