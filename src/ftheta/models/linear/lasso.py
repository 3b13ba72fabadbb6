"""Lasso and elastic net: least squares with a penalty that sets coefficients to zero.

    (w, b) = argmin Σ_i v_i (y_i - x_i·w - b)² / (2 Σ v) + α (ρ ‖w‖₁ + (1 - ρ)/2 ‖w‖²),      lasso: ρ = 1

Solved by scikit-learn's coordinate descent; the duality gap bounds how far the objective is from its minimum. At
α >= max_j |x_j·y| / (n ρ) all coefficients are 0; the path of the lasso is linear in α between knots, where a
coefficient enters or leaves. To be watched, with l1 = α ρ and l2 = α (1 - ρ), one coefficient at a time:

    z_j = x_j·(r + x_j w_j) / n,       w_j <- soft(z_j, l1) / (x_j·x_j / n + l2),       r = y - Xw - b
    soft(z, t) = sign(z) max(|z| - t, 0) = argmin_w ½ (w - z)² + t |w|
    P(w) = ‖r‖² / (2n) + l1 ‖w‖₁ + l2/2 ‖w‖²,       gap = P(w) - D(θ)  >=  P(w) - min P  >=  0
    l2 > 0:   θ = r,    D = (y·r - ‖r‖²/2) / n - Σ_j (|x_j·r|/n - l1)₊² / (2 l2)
    else:     θ = s r with s such that |x_j·θ| <= n l1,    D = (s y·r - s²‖r‖²/2) / n

Shapes: n rows, D features, T targets, L penalties, K knots, S updates.
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
from ...plots import Figure, drawn, legend
from ...results import Result
from ...selection import Range, Space
from ...train import Steps, iterate
from .._base.plain import PlainRegressor, Rows
from .base import CONSTANT, LinearAnswers, feature_names
from .paths import CoefficientPath, draw_paths, penalties
from .ridge import decompose_rows

__all__ = ["CoordinateDescent", "CoordinateDescentTrace", "ElasticNet", "Lasso", "coordinate_descent", "lasso_path"]


class _Problem(NamedTuple):
    """One target: rows around their means where there is an intercept, times √(v / Σv), so that N = 1."""

    x: np.ndarray  # (n, D)
    y: np.ndarray  # (n,)
    x_mean: np.ndarray  # (D,)
    y_mean: float

    def top(self, ratio: float) -> float:
        """The least α at which all coefficients are 0."""
        return float(np.abs(self.x.T @ self.y).max() / ratio)

    def solve(self, alphas: np.ndarray, ratio: float, max_iter: int, tol: float) -> tuple[np.ndarray, np.ndarray, int]:
        """w of falling penalties (L, D), their duality gaps (L,), and sweeps in all."""
        if not self.y.any() or not self.x.any():
            return np.zeros((len(alphas), self.x.shape[1])), np.zeros(len(alphas)), 1
        if not ratio:
            found = decompose_rows(Rows(self.x, self.y, None), intercept=False)
            return found.coefficients(alphas)[0][:, 0], np.zeros(len(alphas)), 1
        settings: dict[str, Any] = {"check_input": False, "return_n_iter": True, "max_iter": max_iter, "tol": tol}
        settings |= {"l1_ratio": ratio, "alphas": alphas / len(self.y), "random_state": 0}
        with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):  # the gaps say it
            _, coefs, gaps, sweeps = enet_path(self.x, self.y, **settings)
        return np.ascontiguousarray(coefs.T) + 0.0, np.maximum(gaps, 0.0), int(sum(sweeps))

    def freedom(self, w: np.ndarray, l2: np.ndarray) -> np.ndarray:
        """Non-zero coefficients A, or Σ s² / (s² + l2) over the singular values s of their columns: (L,)."""
        if not l2.any():
            return np.count_nonzero(w, axis=1).astype(float)
        squares = [np.linalg.svd(self.x[:, row != 0], compute_uv=False) ** 2 for row in w]
        return np.array([float((d / (d + each)).sum()) for d, each in zip(squares, l2, strict=True)])


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
        raise InputError(
            f"A ladder needs alphas >= 1, 0 < eps < 1 and l1_ratio > 0, got {alphas}, {eps} and {l1_ratio}. "
            "Without an L1 part no penalty sets coefficients to 0: give the penalties themselves."
        )
    top = problem.top(l1_ratio)
    if not top:
        raise InputError("No column of X goes with y, so all coefficients are 0. Check y for a constant.")
    return np.geomspace(top, eps * top, alphas)


def soft_threshold(z: np.ndarray, t: np.ndarray | float) -> np.ndarray:
    """sign(z) max(|z| - t, 0) of each entry."""
    return np.sign(z) * np.maximum(np.abs(z) - t, 0.0) + 0.0  # never -0


class CoordinateDescent(Steps):
    """A process in which a step sets one coefficient to where the objective is least.

    Args:
        x: Rows around their means (n, D).
        y: Target around its mean (n,).
        l1: Weight of ‖w‖₁ beside half the mean square.
        l2: Weight of ‖w‖²/2.
    """

    kept = ("w", "updates")

    def __init__(self, x: np.ndarray, y: np.ndarray, l1: float, l2: float = 0.0) -> None:
        self.x, self.y, self.l1, self.l2 = x, y, l1, l2
        self.curvature = (x * x).mean(0) + l2  # (D,)
        self.w, self.updates = np.zeros(x.shape[1]), 0

    def advance(self) -> dict[str, float]:
        """The next coefficient, in turn."""
        j, self.updates = self.updates % len(self.w), self.updates + 1
        residual = self.y - self.x @ self.w
        z = float(self.x[:, j] @ residual / len(self.y) + (self.curvature[j] - self.l2) * self.w[j])
        self.w[j] = soft_threshold(np.array(z), self.l1) / self.curvature[j] if self.curvature[j] else 0.0
        objective, gap = self.certificate()
        return {"coefficient": j, "z": z, "after": float(self.w[j]), "objective": objective, "gap": gap}

    def certificate(self) -> tuple[float, float]:
        """P(w), and by how much it may be above the minimum: the duality gap."""
        r, n = self.y - self.x @ self.w, len(self.y)
        pull, yr, rr = np.abs(self.x.T @ r) / n, self.y @ r, r @ r
        objective = rr / (2 * n) + self.l1 * np.abs(self.w).sum() + self.l2 / 2 * self.w @ self.w
        if self.l2:
            dual = (yr - rr / 2) / n - (np.maximum(pull - self.l1, 0.0) ** 2).sum() / (2 * self.l2)
        else:
            most = self.l1 / max(pull.max(initial=0.0), np.finfo(float).tiny)
            s = float(np.clip(yr / rr, -most, most)) if rr > 0 else 0.0
            dual = (s * yr - s * s * rr / 2) / n
        return float(objective), float(max(objective - dual, 0.0))


class CoordinateDescentTrace(Result):
    """Every update of coordinate descent."""

    coefs: np.ndarray  # w at the start and after each update (S + 1, D)
    coefficient: np.ndarray  # which one was updated (S,)
    z: np.ndarray  # what it is pulled to before the threshold, times its curvature (S,)
    threshold: float  # l1: where |z| is below it, the coefficient becomes 0
    objective: np.ndarray  # after each update (S,)
    gap: np.ndarray  # duality gap after each update (S,)
    intercept: float  # b at the end
    names: tuple[str, ...]  # of the features (D,)

    def columns(self) -> dict[str, Any]:
        """One row per update."""
        steps, which = np.arange(len(self.z)), self.coefficient
        names = {"sweep": steps // len(self.names) + 1, "coefficient": [self.names[j] for j in which]}
        pulls = {"z": self.z, "soft(z)": soft_threshold(self.z, self.threshold)}
        moves = {"before": self.coefs[steps, which], "after": self.coefs[steps + 1, which]}
        return names | pulls | moves | {"objective": self.objective, "duality gap": self.gap}

    @property
    def caption(self) -> str:
        """What table and figure show."""
        zero = [name for name, w in zip(self.names, self.coefs[-1], strict=True) if w == 0]
        rule = f"where |z| is below the soft threshold {self.threshold:.4g}, the coefficient becomes 0"
        return f"Coefficients over {len(self.z)} updates: {rule}; at the end 0: {', '.join(zero) or 'none'}."

    @drawn
    def figure(self) -> Figure:
        """Coefficients against the count of updates, a tick where a sweep ends."""
        ends = np.arange(len(self.names), len(self.coefs), len(self.names))
        figure, axes = draw_paths(np.arange(len(self.coefs)), self.coefs, self.names, {"end of a sweep": ends})
        axes[0].set(title="Coordinate descent, one coefficient at a time", xlabel="updates of one coefficient")
        legend(figure, axes=axes[:1])
        return figure


def coordinate_descent(
    X: ArrayLike, y: ArrayLike, alpha: float, *, l1_ratio: float = 1.0, sweeps: int = 10, fit_intercept: bool = True
) -> CoordinateDescentTrace:
    """Coordinate descent from w = 0 on a small problem, every update kept: soft-thresholding step by step.

    Args:
        X: Rows (n, D).
        y: One target (n,).
        alpha: The penalty, > 0.
        l1_ratio: ρ in [0, 1]; 1 is the lasso.
        sweeps: Rounds over all coefficients.
        fit_intercept: Learn b; else b = 0.

    Example:
        >>> found = coordinate_descent([[0.0, 1], [1, 0], [2, 1], [3, 0]], [1, 3, 2, 5], 0.5, sweeps=1)
        >>> found.z.round(3), found.coefs[-1].round(3)
        (array([ 1.375, -0.45 ]), array([0.7, 0. ]))
    """
    model = ElasticNet(alpha=alpha, l1_ratio=l1_ratio, fit_intercept=fit_intercept, max_iter=sweeps)
    x, y, _ = model._learned(X, y, None, columns=False)
    x_mean, y_mean = (x.mean(0), y.mean()) if fit_intercept else (np.zeros(x.shape[1]), 0.0)
    process = CoordinateDescent(x - x_mean, y - y_mean, alpha * l1_ratio, alpha * (1 - l1_ratio))
    coefs, rows = np.zeros((sweeps * x.shape[1] + 1, x.shape[1])), iterate(process, steps=sweeps * x.shape[1])
    for i, row in enumerate(rows):
        coefs[i + 1] = coefs[i]
        coefs[i + 1, int(row["coefficient"])] = row["after"]
    which, z, objective, gap = (np.array([row[k] for row in rows]) for k in ("coefficient", "z", "objective", "gap"))
    end, names = float(y_mean - coefs[-1] @ x_mean), tuple(feature_names(model))
    return CoordinateDescentTrace(coefs, which.astype(int), z, alpha * l1_ratio, objective, gap, end, names)


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
        """w (L, D), gaps (L,), degrees of freedom (L,) and the count of sweeps, for falling penalties."""
        ratio = float(getattr(self, "l1_ratio", 1.0))
        w, gaps, sweeps = problem.solve(alphas, ratio, self.max_iter, self.tol)
        late = int((gaps > self.tol * (problem.y @ problem.y)).sum())
        if late:
            warnings.warn(
                f"Coordinate descent did not reach a duality gap of tol={self.tol:g} times the variance of y in "
                f"{self.max_iter} sweeps for {late} of {len(alphas)} problems. Raise max_iter or tol, or standardize "
                "the columns; the gap says how far it is.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return w, gaps, problem.freedom(w, alphas * (1 - ratio)), sweeps


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
