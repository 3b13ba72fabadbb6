"""The loss of linear log-odds, and what minimizes it.

    Newton   θ <- θ - α H⁻¹ g,   H = Σ v (diag p - p pᵀ) ⊗ x xᵀ + ridge,   α halved until the loss falls
    L-BFGS   for many parameters:  w = φ root,   root rootᵀ ≈ H⁻¹, so that the loss is about as steep in all directions
    l1       w = u - u',  u, u' >= 0:  smooth, so that L-BFGS with bounds solves it and coefficients are exactly 0

Shapes: n rows, D features, K classes, R raw outputs (1 for two classes, K for more), θ (R, D + 1) with b last.
References: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 4.4; Byrd, Lu, Nocedal
and Zhu, A Limited Memory Algorithm for Bound Constrained Optimization (1995).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg
from scipy.optimize import minimize

from ...store import Tree

__all__ = ["LogisticNewton", "LogisticProblem", "minimize_l1", "minimize_smooth"]

MAX_WHITENED = 2000  # columns up to which L-BFGS is given their covariance
TYPICAL_CURVATURE = 0.02  # p (1 - p) of a usual row of a good fit
SINGLE = 10**6  # numbers of X from which on L-BFGS begins in float32
SINGLE_TOL = 3e-5  # gradient down to which float32 has the digits
ENDLESS = 0.01  # relative change of raw outputs in the last Newton step where there is no maximum

History = list[dict[str, float]]


class LogisticProblem:
    """Loss, gradient and Hessian for θ (R, D + 1) of standardized columns; of R < K outputs the first class has 0.

    Args:
        x: Rows (n, D).
        y: Class indices (n,).
        weight: Of the rows (n,).
        outputs: R, either K or K - 1.
        l2: Weight of Σ w² in the units of x.
    """

    def __init__(self, x: np.ndarray, y: np.ndarray, weight: np.ndarray, outputs: int, l2: float) -> None:
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
        raw = (self.x @ theta.T.astype(self.x.dtype)).astype(float)
        return np.hstack([np.zeros((len(raw), self.base)), raw])

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
        slope = (p[:, self.base :] * self.weight[:, None]).astype(self.x.dtype).T @ self.x
        return float(loss), slope + self.ridge * theta

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

    def coefficients(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w (R, D) and b (R,) in the units of x."""
        w = theta[:, :-1] / self.scale
        return w, theta[:, -1] - w @ self.mean


class LogisticNewton:
    """Newton's method with halved steps, as a process; it ends where gradient and gᵀH⁻¹g are below `tol`.

    `jump` is the change of raw outputs in the last step by their size; it stays large where there is no maximum.

    Args:
        problem: What is minimized.
        tol: Largest component of the gradient at the end.
        free: Which coefficients move (R, D + 1), the others stay 0; None: all.
    """

    def __init__(self, problem: LogisticProblem, tol: float, free: np.ndarray | None = None) -> None:
        self.problem, self.tol, self.theta = problem, tol, np.zeros((problem.outputs, problem.x.shape[1]))
        self.free = np.ones(self.theta.shape, bool) if free is None else free
        self.rounds, self.reason, self.jump = 0, "", 0.0

    def _direction(self, g: np.ndarray) -> np.ndarray:
        h, every = self.problem.hessian(self.theta), self.free.ravel()
        if not self.problem.base:  # a constant added to all classes changes nothing: hold it
            r, d = self.theta.shape
            h += np.kron(np.ones((r, r)), np.diag(np.diagonal(h).reshape(r, d).mean(0)))
        h, step = h[every][:, every], np.zeros_like(self.theta)
        size = np.sqrt(np.where(np.diagonal(h) > 0, np.diagonal(h), 1.0))
        h, scaled = h / np.outer(size, size), g[self.free] / size
        root, failed = linalg.lapack.dpotrf(h, lower=1)  # pyright: ignore[reportAttributeAccessIssue]
        if failed or np.diagonal(root).min() < 1e-5:
            step[self.free] = np.linalg.lstsq(h, scaled, rcond=1e-12)[0] / size
        else:
            step[self.free] = linalg.cho_solve((root, True), scaled) / size
        return step

    def advance(self) -> dict[str, float]:
        """One step."""
        old, g = self.problem.value(self.theta)
        step, rate = self._direction(g), 1.0
        while self.problem.value(self.theta - rate * step)[0] > old + 1e-14 * abs(old) and rate > 1e-10:
            rate /= 2
        self.theta, self.rounds = self.theta - rate * step, self.rounds + 1
        change, size = (np.ptp(self.problem.raw(t), axis=1).max() for t in (rate * step, self.theta))
        self.jump = float(change / max(size, 1.0))
        loss, after = self.problem.value(self.theta)
        slope = float(np.abs(after[self.free]).max(initial=0))
        stuck = loss >= old and slope >= np.abs(g[self.free]).max(initial=0)
        near = slope <= self.tol and (g * step).sum() <= self.tol
        self.reason = "converged" if near else "no step lowers the loss" if stuck else ""
        return {"step": self.rounds, "loss": loss, "gradient": slope}

    def state_dict(self) -> Tree:
        """θ and the count of steps."""
        return {"theta": self.theta.copy(), "rounds": self.rounds}

    def load_state_dict(self, tree: Tree) -> None:
        """Restore the state."""
        self.theta, self.rounds, self.reason = np.array(tree["theta"]), tree["rounds"], ""


def minimize_smooth(problem: LogisticProblem, max_iter: int, tol: float) -> tuple[np.ndarray, History]:
    """θ of least loss by L-BFGS over θ = φ root, first in float32 where X is large; and the history."""
    shape, exact, history, root = (problem.outputs, problem.x.shape[1]), problem.x, [], _root(problem)
    stages = [(np.float32, max(tol, SINGLE_TOL))] * (exact.size > SINGLE) + [(np.float64, tol)]
    phi, slope, limit = np.zeros(shape), np.inf, tol

    def turned(phi: np.ndarray) -> np.ndarray:
        return np.hstack([phi[:, :-1] @ root, phi[:, -1:]])

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal slope
        loss, g = problem.value(turned(flat.reshape(shape)))
        slope = float(np.abs(g).max())
        return loss, np.hstack([g[:, :-1] @ root.T, g[:, -1:]]).ravel()

    def step(intermediate_result: Any) -> None:
        history.append({"step": len(history) + 1, "loss": float(intermediate_result.fun), "gradient": slope})
        if slope <= limit:
            raise StopIteration

    for dtype, limit in stages:  # noqa: B007  (read in step)
        problem.x = exact.astype(dtype, copy=False)
        options = {"maxiter": max_iter - len(history), "maxfun": 10**9, "gtol": 0.0, "ftol": 0.0, "maxcor": 20}
        if options["maxiter"] > 0 and slope > tol:
            found = minimize(value, phi.ravel(), jac=True, method="L-BFGS-B", callback=step, options=options)
            phi = found.x.reshape(shape)
    return turned(phi), history


def _root(problem: LogisticProblem) -> np.ndarray:
    """root (D, D) with root rootᵀ about the inverse of the curvature of w, guessed from some rows."""
    d = problem.x.shape[1] - 1
    rows = problem.x[:: max(1, len(problem.x) // max(4000, 4 * d)), :-1]
    stiff = problem.ridge[:-1] / TYPICAL_CURVATURE + 1e-4
    if d > min(MAX_WHITENED, len(problem.x) // 4):
        return np.diag(1 / np.sqrt(1 + stiff))
    lower = np.linalg.cholesky(rows.T @ rows / len(rows) + np.diag(stiff))
    return linalg.solve_triangular(lower, np.eye(d), lower=True)


def minimize_l1(problem: LogisticProblem, l1: float, max_iter: int, tol: float) -> tuple[np.ndarray, History]:
    """θ of least loss + Σ l1 |w| by L-BFGS over w = u - u', u and u' >= 0; and the history."""
    shape, history = (problem.outputs, problem.x.shape[1]), []
    split = np.broadcast_to(np.arange(shape[1]) < shape[1] - 1, shape).ravel()
    pull = np.broadcast_to(np.append(l1 / problem.scale, 0.0), shape).ravel()
    size, slope = split.size, np.inf

    def value(z: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal slope
        loss, g = problem.value((z[:size] - z[size:]).reshape(shape))
        g = np.r_[g.ravel() + pull, pull - g.ravel()]
        free = (z > 0) | (g < 0) | np.r_[~split, np.zeros(size, bool)]
        slope = float(np.abs(g[free & np.r_[np.ones(size, bool), split]]).max(initial=0))
        return loss + float(pull @ (z[:size] + z[size:])), g

    def step(intermediate_result: Any) -> None:
        history.append({"step": len(history) + 1, "loss": float(intermediate_result.fun), "gradient": slope})

    bounds = [(0, None) if s else (None, None) for s in split] + [(0, None) if s else (0, 0) for s in split]
    options = {"maxiter": max_iter, "maxfun": 10**9, "gtol": tol, "ftol": 0.0, "maxcor": 20}
    found = minimize(
        value, np.zeros(2 * size), jac=True, method="L-BFGS-B", bounds=bounds, options=options, callback=step
    )
    return (found.x[:size] - found.x[size:]).reshape(shape), history
