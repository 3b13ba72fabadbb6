"""Variable projection: centres and widths move, weights follow in closed form.

    θ = (c, log s),   r(θ) = y - Φ(θ) w(θ),   w(θ) = argmin_w ‖y - Φ(θ) w‖² + α ‖w‖²
    step:  argmin_δ ‖r + J δ‖² + μ ‖δ‖²,   J_k = -(I - Φ Φ⁺) ∂Φ/∂θ_k w,   μ up until the loss falls

Shapes: n rows, T targets, D inputs, M centres of each, P = D M functions.
Reference: Golub and Pereyra, Separable nonlinear least squares, Inverse Problems 19 (2003); Kaufman, BIT 15 (1975).
"""

from __future__ import annotations

import numpy as np

from ..formulas import SHAPES
from ..store import Tree
from ._plain import Learned

__all__ = ["VariableProjection"]


class VariableProjection:
    """Levenberg-Marquardt on centres and widths, as a process: one accepted step is one round.

    Args:
        rows: Inputs (n, D) and targets (n, T) of size one, and weights.
        shape: A name of `formulas.SHAPES`; of a hinge only the centres move.
        centres: Where they start: (D, M).
        widths: As they start: (D, M).
        alpha: Of the penalty.
        intercept: Whether there is a constant.
    """

    def __init__(
        self, rows: Learned, shape: str, centres: np.ndarray, widths: np.ndarray, alpha: float, *, intercept: bool
    ) -> None:
        self.x, y, self.alpha, self.shape = rows.x, rows.y, alpha, SHAPES[shape]
        weight = np.ones(len(y)) if rows.weight is None else rows.weight
        self.root = np.sqrt(weight)[:, None]
        self.moving = 1 if shape == "relu" else 2
        self.mean = weight / weight.sum() if intercept else np.zeros(len(y))
        self.y = np.vstack([self._centred(y), np.zeros((centres.size if alpha else 0, y.shape[1]))])
        self.theta = np.concatenate([centres.ravel(), np.log(widths).ravel()])
        self.low, self.high = self._bounds()
        self.damping, self.rounds, self.reason = 1.0, 0, ""
        self.all = float((self.y**2).sum())
        self.loss = self._projected(self.theta)[0]

    def _bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Of θ: centres among the rows, and no function so narrow that it could hide between two of them, where its
        weight would not matter; where θ starts is always inside."""
        low, high = self.x.min(0), self.x.max(0)  # (D,)
        span = np.where(high > low, high - low, 1.0)
        apart = np.array([np.diff(np.unique(column)).max(initial=0.0) for column in self.x.T])
        ends = [[low, np.log(np.where(apart > 0, apart, 1.0))], [high, np.log(5 * span)]]
        each = np.repeat(ends, self.theta.size // 2 // len(low), axis=2).reshape(2, -1)  # (2, 2 P)
        return np.minimum(each[0], self.theta), np.maximum(each[1], self.theta)

    @property
    def centres(self) -> np.ndarray:
        """Where the functions are: (D, M)."""
        return np.split(self.theta, 2)[0].reshape(self.x.shape[1], -1)

    @property
    def widths(self) -> np.ndarray:
        """How wide they are: (D, M)."""
        return np.exp(np.split(self.theta, 2)[1]).reshape(self.x.shape[1], -1)

    def _centred(self, a: np.ndarray) -> np.ndarray:
        return (a - self.mean @ a) * self.root

    def _spread(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """u = (x - c) / s and s: (n, P), (P,)."""
        c, s = theta.reshape(2, -1)
        columns = np.repeat(self.x, len(c) // self.x.shape[1], axis=1)  # (n, P)
        return (columns - c) / np.exp(s), np.exp(s)

    def _projected(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
        """Loss, residual (n, T), weights (P, T) and an orthonormal basis of what Φ reaches (n, rank)."""
        a = self._centred(self.shape.value(self._spread(theta)[0]))
        if self.alpha:
            a = np.vstack([a, np.sqrt(self.alpha) * np.eye(a.shape[1])])
        u, s, v = np.linalg.svd(a, full_matrices=False)
        kept = s > 1e-12 * s[0]
        u = u[:, kept]
        part = u.T @ self.y
        residual = self.y - u @ part
        return float((residual**2).sum()), residual, v[kept].T @ (part / s[kept, None]), u

    def _jacobian(self, weights: np.ndarray, reached: np.ndarray) -> np.ndarray:
        """∂r/∂θ: (n T, moving P)."""
        u, s = self._spread(self.theta)
        slope = self.shape.slope(u)
        by = np.hstack([slope / s, slope * u][: self.moving])  # (n, moving P): -∂Φ/∂θ
        by = np.vstack([self._centred(by), np.zeros((len(self.y) - len(by), by.shape[1]))])
        by -= reached @ (reached.T @ by)
        return (by[:, None, :] * np.tile(weights.T, self.moving)).reshape(-1, by.shape[1])

    def advance(self) -> dict[str, float]:
        """One step that lowers the loss, or the end."""
        _, residual, weights, reached = self._projected(self.theta)
        j = self._jacobian(weights, reached)
        scale = np.linalg.norm(j, axis=0)
        scale = np.maximum(scale, 1e-3 * scale.max() + 1e-12)  # what hardly matters hardly moves
        before = self.loss
        while self.damping < 1e10:
            lines = np.vstack([j, np.diag(np.sqrt(self.damping) * scale)])
            step = np.linalg.lstsq(lines, np.concatenate([-residual.ravel(), np.zeros(len(scale))]), rcond=None)[0]
            theta = self.theta.copy()
            theta[: len(step)] += step
            theta = np.clip(theta, self.low, self.high)
            loss = self._projected(theta)[0]
            if loss < self.loss:
                self.theta, self.loss, self.damping = theta, loss, max(self.damping / 5, 1e-12)
                break
            self.damping *= 4
        self.rounds += 1
        if before - self.loss <= 1e-7 * before + 1e-18 * self.all:
            self.reason = "converged"
        return {"step": self.rounds, "loss": self.loss, "damping": self.damping}

    def state_dict(self) -> Tree:
        """θ, its loss, the damping and the count of steps."""
        return {"theta": self.theta, "loss": self.loss, "damping": self.damping, "rounds": self.rounds}

    def load_state_dict(self, tree: Tree) -> None:
        """Put them back."""
        self.theta, self.loss, self.damping = tree["theta"], tree["loss"], tree["damping"]
        self.rounds, self.reason = tree["rounds"], ""
