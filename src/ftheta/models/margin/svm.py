"""Support vector machines: the widest margin between classes, and the flattest function through a tube.

    classes   min ½ ‖w‖² + C Σ_i v_i max(0, 1 - t_i f(x_i)),            t_i = ±1,    margin 1 / ‖w‖ on either side
    numbers   min ½ ‖w‖² + C Σ_i v_i max(0, |y_i - f(x_i)| - ε)
    f(x) = w·φ(x) + b = Σ_i β_i K(x_i, x) + b

C is the only convention here, for ½ ‖w‖²: it is the λ of a dual with 0 <= α <= λ, and half the λ of ‖w‖² + λ Σ ξ. The
larger C, the fewer violations and the smaller the margin; C = ∞ allows none. Of several classes each has a machine that
tells it from all others, and the largest output wins.
Shapes: n rows, D features, K classes, R machines (1 for two classes, K for more), m support vectors.
References: Cortes and Vapnik, Support-Vector Networks, Machine Learning 20 (1995); Smola and Schölkopf, A Tutorial on
Support Vector Regression, Statistics and Computing 14 (2004).
"""

import warnings
from collections.abc import Callable
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from annotated_types import Gt, Le
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ...check import Count, NonNegative, Positive
from ...selection import Range, Space
from .._base.plain import Plain, PlainClassifier, PlainRegressor, Rows
from .primal import KEPT
from .problem import Kernel, Problem, check_kernel
from .solve import optimality, solve

ENOUGH = 1e-3  # gap, in units of the objective, from which on there is a warning


class _Machine(Plain):
    """What both share.

    Args:
        C: Weight of the violations beside ½ ‖w‖²; inf: none is allowed (hard margin).
        kernel: The inner product: x·z, (x·z + coef0)^degree, exp(-‖x - z‖² / (2 sigma²)), or a function of rows
            (n, D) and (m, D) that returns (n, m).
        degree: Of the polynomial kernel.
        coef0: Its constant; with 0 it has only terms of that degree.
        sigma: Width of the RBF kernel; None: sigma² = D Var(X) / 2, which is scikit-learn's gamma="scale".
        solver: "dual": libsvm; "primal" (linear kernel): Newton's method; "subgradient" (linear kernel): for study.
            "auto" solves linear machines of up to 1,000 columns in the primal.
        steps: Of the subgradient method.
        tol: Duality gap to be reached, as a share of the objective (libsvm: violation of the conditions).
    """

    C: Annotated[float, Gt(0), Le(np.inf)] = 1.0
    kernel: Literal["linear", "poly", "rbf"] | Callable[[np.ndarray, np.ndarray], np.ndarray] = "rbf"
    degree: Count = 3
    coef0: NonNegative = 1.0
    sigma: Positive | None = None
    solver: Literal["auto", "dual", "primal", "subgradient"] = "auto"
    steps: Count = 10_000
    tol: Positive = 1e-6

    how_fitted: ClassVar[str] = "A convex problem was solved: it has one minimum, and the gap to it is known."
    space: ClassVar[Space] = {"C": Range(0.01, 1000.0, log=True), "sigma": Range(0.1, 30.0, log=True)}

    def _solve(self, rows: Rows, targets: np.ndarray, bounds: tuple[np.ndarray, np.ndarray], epsilon: float) -> None:
        """Learn a machine for each row of targets (R, n), with bounds of β (R, n) each."""
        x, weight = rows.x, rows.weight
        self.sigma_ = self._width(x, weight)
        kernel = Kernel(self.kernel, self.degree, self.coef0, self.sigma_)
        if callable(self.kernel):
            check_kernel(kernel, x)
        mean = np.average(x, axis=0, weights=weight) * (self.kernel in ("linear", "rbf"))  # moves nothing but b
        first = Problem(x - mean if np.any(mean) else x, targets[0], bounds[0][0], bounds[1][0], epsilon, kernel)
        problems = [first._replace(t=t, low=low, high=high) for t, low, high in zip(targets, *bounds, strict=True)]
        found = [solve(p, self.solver, self.tol, self.steps) for p in problems]
        each = [optimality(p, s) for p, s in zip(problems, found, strict=True)]
        self.optimality_ = {name: [one[name] for one in each] for name in each[0]}
        beta, b = np.stack([s.beta for s in found]), np.array([s.b for s in found])
        if self.kernel == "linear":
            coef = beta @ problems[0].x
            self._set_planes(coef, b - coef @ mean)
        else:
            used = beta.any(0)
            self.support_vectors_, self.dual_coef_, self.intercept_ = x[used], beta[:, used], b
        if self.solver == "subgradient":
            total, every = np.sum([s.path for s in found], axis=0), max(1, self.steps // KEPT)
            self.history_ = [{"epoch": 1 + i * every, "loss": float(value)} for i, value in enumerate(total)]
        elif any(one["gap"] > ENOUGH * one["primal"] for one in each):
            worst = max(one["gap"] / one["primal"] for one in each if one["primal"])
            warnings.warn(
                f"The solver ended {worst:.1g} of the objective above its lower bound. Scale the columns, or lower C.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _width(self, x: np.ndarray, weight: np.ndarray | None) -> float:
        """sigma, or that of scikit-learn's gamma="scale"."""
        if self.sigma is not None or self.kernel != "rbf":
            return float(self.sigma or 1.0)
        mean = np.average(x, weights=None if weight is None else np.broadcast_to(weight[:, None], x.shape))
        spread = np.average(((x - mean) ** 2).mean(1), weights=weight)
        return float(np.sqrt(x.shape[1] * spread / 2)) or 1.0

    def _raw(self, X: ArrayLike) -> np.ndarray:
        """Outputs of the machines: (n, R)."""
        check_is_fitted(self)
        x = self._table(X)
        if self.kernel == "linear":
            return x @ self.coef_.T + self.intercept_
        kernel = Kernel(self.kernel, self.degree, self.coef0, self.sigma_)
        return kernel.sums(x, self.support_vectors_, self.dual_coef_.T) + self.intercept_


def _merged(rows: Rows) -> Rows:
    """Equal rows as one with the sum of their weights: the same solution, and fewer unknowns."""
    found, where = np.unique(np.column_stack([rows.x, rows.y]), axis=0, return_inverse=True)
    weight = np.bincount(where.ravel(), weights=rows.weight).astype(float)
    return Rows(np.ascontiguousarray(found[:, :-1]), found[:, -1].astype(rows.y.dtype), weight)


class SVMClassifier(PlainClassifier, _Machine):
    """The widest margin between classes, with a hard or a soft margin and a kernel.

    It has no probabilities: `decision_function` gives f(x), in units of the margin. `CalibratedClassifierCV` of
    scikit-learn learns some on held-out folds.
    Learned: classes_ (K,), intercept_ (R,), optimality_; with the linear kernel coef_ (R, D), with others
    support_vectors_ (m, D) and dual_coef_ (R, m); history_ of the subgradient method.

    Example:
        >>> machine = SVMClassifier(kernel="linear", C=np.inf).fit([[1.0, 1], [2, 2], [0, 0], [-1, 0]], [1, 1, 0, 0])
        >>> machine.coef_.round(6).tolist(), machine.intercept_.round(6).tolist()
        ([[1.0, 1.0]], [-1.0])
    """

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Solve the machine of two classes, or one for each class."""
        rows = self._learned(X, y, sample_weight)
        rows = rows if self.kernel == "linear" else _merged(rows)
        k = len(self.classes_)
        own = rows.y == np.arange(k)[:, None] if k > 2 else rows.y[None] == 1  # (R, n)
        c = self.C * np.asarray(rows.weight)
        self._solve(rows, np.where(own, 1.0, -1.0), (np.where(own, 0.0, -c), np.where(own, c, 0.0)), 0.0)
        return self

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """f(x), above 0 where the second class is predicted: (n,); for more classes that of each: (n, K)."""
        raw = self._raw(X)
        return raw[:, 0] if len(self.classes_) == 2 else raw


class SVMRegressor(PlainRegressor, _Machine):
    """The flattest function with as little as possible outside a tube around it.

    Learned: intercept_ (T,), epsilon_ in units of y (T,), optimality_; with the linear kernel coef_ (T, D), with others
    support_vectors_ (m, D) and dual_coef_ (T, m). Of one target the axis T is left out but for dual_coef_.

    Args:
        epsilon: Half the width of the tube.
        scale_y: Divide y by its standard deviation first: `epsilon` and `C` are in that unit.

    Example:
        >>> X = np.linspace(-3, 3, 60)[:, None]
        >>> model = SVMRegressor(C=100, sigma=1).fit(X, np.sin(X[:, 0]))
        >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() <= 1.01 * model.epsilon_)
        True
    """

    epsilon: NonNegative = 0.1
    scale_y: bool = True

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Solve one machine per target."""
        rows = self._learned(X, y, sample_weight)
        if self.kernel != "linear" and rows.y.ndim == 1:
            rows = _merged(rows)
        t = rows.y.reshape(len(rows.y), -1).T  # (T, n)
        weight = np.ones(len(rows.x)) if rows.weight is None else rows.weight
        center, scale = np.zeros(len(t)), np.ones(len(t))
        if self.scale_y:
            center = np.average(t, axis=1, weights=weight)
            scale = np.sqrt(np.average((t - center[:, None]) ** 2, axis=1, weights=weight))
            scale[scale == 0] = 1.0
        bound = np.broadcast_to(self.C * weight, t.shape)
        self._solve(rows, (t - center[:, None]) / scale[:, None], (-bound, bound), self.epsilon)
        one = (0,) if rows.y.ndim == 1 else ()
        self.intercept_, self.epsilon_ = (self.intercept_ * scale + center)[one], (self.epsilon * scale)[one]
        if self.kernel == "linear":
            self.coef_ = (self.coef_ * scale[:, None])[one]
        else:
            self.dual_coef_ = self.dual_coef_ * scale[:, None]
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """f(x): (n,) or (n, T)."""
        raw = self._raw(X)
        return raw[:, 0] if raw.ndim == 2 and np.ndim(self.intercept_) == 0 else raw
