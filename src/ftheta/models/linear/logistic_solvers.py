"""The loss of linear log-odds, and what minimizes it step by step.

    Newton   θ <- θ - α H⁻¹ g,   H = Σ v (diag p - p pᵀ) ⊗ x xᵀ + ridge,   α halved until the loss falls
    L-BFGS   θ <- θ - α B g,   B ≈ H⁻¹ from the covariance of the columns and the last differences of θ and g;
             with l1 no step changes a sign, so that coefficients become exactly 0

Shapes: n rows, D features, K classes, R raw outputs (1 for two classes, K for more), θ (R, D + 1) with b last.
References: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 4.4; Liu and Nocedal,
On the Limited Memory BFGS Method (1989); Andrew and Gao, Scalable Training of L1-Regularized Log-Linear Models (2007).
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import log_softmax

from ...store import Tree
from ...train import Steps
from .._base.plain import Rows

__all__ = ["LogisticLBFGS", "LogisticNewton", "LogisticProblem"]

MAX_WHITENED = 2000  # columns up to which L-BFGS uses their covariance
TYPICAL_CURVATURE = 0.02  # p (1 - p) of a usual row of a good fit
MEMORY = 20  # differences that L-BFGS remembers
ENDLESS = 0.01  # relative change of raw outputs in the last Newton step where there is no maximum


class LogisticProblem:
    """Loss, gradient and Hessian for θ (R, D + 1) of standardized columns; of R < K outputs the first class has 0.

    Of rows x (n, D), places of their classes y (n,) and weights (n,); l2 Σ w² is of w in the units of x.
    """

    def __init__(self, x: np.ndarray, y: np.ndarray, weight: np.ndarray, outputs: int, l2: float) -> None:
        self.given, self.l2 = (x, y, weight, outputs), l2
        self.y, self.weight, self.outputs = y, weight, outputs
        self.mean = np.average(x, axis=0, weights=weight)
        rows = np.empty((len(x), x.shape[1] + 1))
        np.subtract(x, self.mean, out=rows[:, :-1])
        spread = np.sqrt(weight @ rows[:, :-1] ** 2 / weight.sum())
        self.scale = np.where(spread > 1e-12 * np.abs(x).max(0), np.sqrt(spread**2 + 2 * l2), np.inf)
        rows[:, :-1] /= self.scale
        rows[:, -1] = 1.0
        self.x: np.ndarray = rows
        self.ridge = np.append(2 * l2 / self.scale**2, 0.0)  # penalty Σ ridge θ² / 2
        self.base = int(y.max()) + 1 - outputs  # 1 where the first class has the output 0
        self.own = np.arange(outputs + self.base) == y[:, None]  # (n, K)

    def raw(self, theta: np.ndarray) -> np.ndarray:
        """(n, K)."""
        raw = (theta @ self.x.T).T  # a quarter faster than x θᵀ for few outputs
        return np.hstack([np.zeros((len(raw), 1)), raw]) if self.base else raw

    def value(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Σ v (-log p) + penalty, and its gradient (R, D + 1)."""
        raw = self.raw(theta)
        raw -= raw.max(1, keepdims=True)
        own = raw[self.own]
        p = np.exp(raw, out=raw)
        total = p.sum(1)
        p /= total[:, None]
        loss = self.weight @ (np.log(total) - own) + (self.ridge * theta**2).sum() / 2
        p[self.own] -= 1.0
        return float(loss), (p[:, self.base :] * self.weight[:, None]).T @ self.x + self.ridge * theta

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        """(R (D + 1), R (D + 1))."""
        raw = self.raw(theta)
        p = np.exp(raw - raw.max(1, keepdims=True))
        p = (p / p.sum(1, keepdims=True))[:, self.base :]
        (r, d), found = theta.shape, np.empty((*theta.shape, *theta.shape))
        for i in range(r):
            for j in range(i + 1):
                bend = self.weight * p[:, i] * ((i == j) - p[:, j])
                found[i, :, j] = found[j, :, i] = (self.x * bend[:, None]).T @ self.x
        return found.reshape(r * d, r * d) + np.diag(np.tile(self.ridge, r))

    def margin(self, theta: np.ndarray) -> float:
        """The least gap of a row from the raw output of its class down to that of another; above 0: separated."""
        raw = self.raw(theta)
        return float((raw[self.own] - np.where(self.own, -np.inf, raw).max(1)).min())

    def theta(self, w: np.ndarray, b: np.ndarray) -> np.ndarray:
        """θ of coefficients w (R, D) and b (R,) in the units of x."""
        return np.c_[w * np.where(np.isfinite(self.scale), self.scale, 0.0), b + w @ self.mean]

    def coefficients(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w (R, D) and b (R,) in the units of x."""
        w = theta[:, :-1] / self.scale
        return w, theta[:, -1] - w @ self.mean


def mean_loss(w: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
    """The mean of -log p(y | x) of rows (n, D), places of classes (n,) and weights (n,)."""
    raw = x @ w.T + b
    raw = np.hstack([np.zeros_like(raw), raw]) if len(w) == 1 else raw
    return float(-np.average(log_softmax(raw, axis=1)[np.arange(len(x)), y], weights=weight))


class _Minimizer(Steps):
    """Steps that lower loss + Σ pull |θ|, from θ = 0, until no component of the gradient is above `tol`.

    `fallback` is the l2 to start again with where there is no penalty and the loss has no minimum; 0: none.
    """

    kept = ("l2", "theta", "rounds", "reason")
    held: Rows | None = None  # for validation
    free: Any = True  # which coefficients move (R, D + 1), the others stay 0
    quadratic = False  # whether a step that lowers neither loss nor gradient is the last
    pull: Any = 0.0  # l1 of each coefficient (R, D + 1)
    last: tuple[np.ndarray, float, np.ndarray] | None = None

    def __init__(self, problem: LogisticProblem, tol: float, fallback: float = 0.0) -> None:
        self.problem, self.tol, self.fallback, self.l2 = problem, tol, fallback, problem.l2
        self.theta, self.rounds = np.zeros((problem.outputs, problem.x.shape[1])), 0

    @abstractmethod
    def direction(self, slope: np.ndarray) -> np.ndarray:
        """H⁻¹ times the gradient, or about that."""

    @abstractmethod
    def moved(self, move: np.ndarray, bend: np.ndarray) -> None:
        """Take notice of the change of θ and of the gradient."""

    def advance(self) -> Mapping[str, float]:
        """One step; where the loss would fall for ever as θ grows, begin again with the fallback."""
        rounds = self.rounds + 1
        loss, slope = self._step()
        if self.reason and self.fallback and not self.l2 and self.endless():
            self._restart(self.fallback)
            self.reason = ""
        self.rounds, row = rounds, {"step": rounds, "loss": loss, "gradient": slope}
        if self.held is not None:
            row["valid_loss"] = mean_loss(*self.problem.coefficients(self.theta), *self.held)
        return row

    def _step(self) -> tuple[float, float]:
        """The loss and the largest component of its gradient after a step; a coefficient with l1 stops at 0."""
        old, g = self._value(self.theta)
        slope, held, rate = self._slope(self.theta, g), self.pull > 0, 1.0
        step = self.direction(slope)
        step[held & (step * slope <= 0)] = 0.0
        sign = np.where(self.theta == 0, -slope, self.theta)
        while True:
            new = self.theta - rate * step
            new[held & (new * sign < 0)] = 0.0
            loss, after = self._value(new)
            if loss <= old + 1e-4 * (slope * (new - self.theta)).sum() + 1e-14 * abs(old) or rate < 1e-10:
                break
            rate /= 2
        self.theta, move, left = new, new - self.theta, float(np.abs(self._slope(new, after)).max())
        self.moved(move, after - g)
        stuck = rate < 1e-10 or (self.quadratic and loss >= old and left >= np.abs(slope).max())
        near = left <= self.tol and (slope * step).sum() <= self.tol
        self.reason = "converged" if near else "no step lowers the loss" if stuck else ""
        return loss, left

    def _value(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Loss with l1, and the gradient without it; the last one is remembered."""
        if self.last is None or self.last[0] is not theta:
            loss, g = self.problem.value(theta)
            self.last = theta, loss + float((self.pull * np.abs(theta)).sum()), g
        return self.last[1:]

    def _slope(self, theta: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The gradient with l1; where θ = 0 what is left of g beyond l1."""
        at_0 = np.sign(g) * np.maximum(np.abs(g) - self.pull, 0.0)
        return np.where(theta != 0, g + self.pull * np.sign(theta), at_0) * self.free

    def endless(self) -> bool:
        """Whether the loss would fall for ever as θ grows."""
        return self.problem.margin(self.theta) > 0

    def _restart(self, l2: float) -> None:
        self.__init__(LogisticProblem(*self.problem.given, l2), self.tol)

    def load_state_dict(self, tree: Tree) -> None:
        if tree["l2"] != self.l2:
            self._restart(tree["l2"])
        super().load_state_dict(tree)


class LogisticNewton(_Minimizer):
    """Newton's method with halved steps; it ends where gradient and gᵀH⁻¹g are below `tol`."""

    kept, quadratic = (*_Minimizer.kept, "jump"), True
    jump = 0.0  # change of raw outputs in the last step by their size; it stays large where there is no maximum

    def direction(self, slope: np.ndarray) -> np.ndarray:
        """H⁻¹ slope."""
        h, free = self.problem.hessian(self.theta), np.broadcast_to(self.free, slope.shape)
        if not self.problem.base:  # a constant added to all classes changes nothing: hold it
            r, d = slope.shape
            h += np.kron(np.ones((r, r)), np.diag(np.diagonal(h).reshape(r, d).mean(0)))
        h, step = h[free.ravel()][:, free.ravel()], np.zeros_like(slope)
        size = np.sqrt(np.where(np.diagonal(h) > 0, np.diagonal(h), 1.0))
        h, scaled = h / np.outer(size, size), slope[free] / size
        root, failed = linalg.lapack.dpotrf(h, lower=1)  # pyright: ignore[reportAttributeAccessIssue]
        if failed or np.diagonal(root).min() < 1e-5:
            step[free] = np.linalg.lstsq(h, scaled, rcond=1e-12)[0] / size
        else:
            step[free] = linalg.cho_solve((root, True), scaled) / size
        return step

    def moved(self, move: np.ndarray, bend: np.ndarray) -> None:
        """How much the step changed."""
        change, size = (np.ptp(self.problem.raw(theta), axis=1).max() for theta in (move, self.theta))
        self.jump = float(change / max(size, 1.0))

    def endless(self) -> bool:
        """Also where the last step still changed much: rows of several classes lie on the planes between them."""
        return (self.reason == "converged" and self.jump > ENDLESS) or super().endless()


class LogisticLBFGS(_Minimizer):
    """L-BFGS for many parameters, and for loss + Σ l1 |w|."""

    kept = (*_Minimizer.kept, "moves", "bends")

    def __init__(self, problem: LogisticProblem, tol: float, fallback: float = 0.0, l1: float = 0.0) -> None:
        super().__init__(problem, tol, fallback)
        self.pull = np.broadcast_to(np.append(l1 / problem.scale, 0.0), self.theta.shape)
        self.first = np.eye(self.theta.shape[1]) if l1 else _inverse_curvature(problem)  # B of a row of θ at the start
        self.moves: list[np.ndarray] = []  # the last differences of θ
        self.bends: list[np.ndarray] = []  # and of the gradient

    def moved(self, move: np.ndarray, bend: np.ndarray) -> None:
        """Remember the last differences."""
        if (move * bend).sum() > 1e-12 * (bend**2).sum():
            self.moves, self.bends = [*self.moves, move][-MEMORY:], [*self.bends, bend][-MEMORY:]

    def direction(self, slope: np.ndarray) -> np.ndarray:
        """B slope, by two loops over the differences."""
        pairs, shares = [(m, b, (m * b).sum()) for m, b in zip(self.moves, self.bends, strict=True)], []
        for move, bend, both in reversed(pairs):
            shares.append((move * slope).sum() / both)
            slope = slope - shares[-1] * bend
        found = slope @ self.first
        if pairs:
            found *= pairs[-1][2] / (pairs[-1][1] * (pairs[-1][1] @ self.first)).sum()
        for (move, bend, both), share in zip(pairs, reversed(shares), strict=True):
            found += (share - (bend * found).sum() / both) * move
        return found


def _inverse_curvature(problem: LogisticProblem) -> np.ndarray:
    """About the inverse of the Hessian of one row of θ, up to a factor, guessed from some rows: (D + 1, D + 1)."""
    d = problem.x.shape[1]
    rows = problem.x[:: max(1, len(problem.x) // max(4000, 4 * d))]
    stiff = np.diag(problem.ridge / TYPICAL_CURVATURE + 1e-4)
    curvature = rows.T @ rows / len(rows) if d <= min(MAX_WHITENED, len(problem.x) // 4) else np.eye(d)
    return np.linalg.inv(curvature + stiff)
