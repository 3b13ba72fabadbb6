"""Coordinate descent for the lasso and the elastic net, one coefficient at a time, to be watched.

    z_j = x_j·(r + x_j w_j) / n,       w_j <- soft(z_j, l1) / (x_j·x_j / n + l2),       r = y - Xw - b
    soft(z, t) = sign(z) max(|z| - t, 0) = argmin_w ½ (w - z)² + t |w|
    P(w) = ‖r‖² / (2n) + l1 ‖w‖₁ + l2/2 ‖w‖²,       gap = P(w) - D(θ)  >=  P(w) - min P  >=  0

    l2 > 0:   θ = r,    D = (y·r - ‖r‖²/2) / n - Σ_j (|x_j·r|/n - l1)₊² / (2 l2)
    else:     θ = s r with s such that |x_j·θ| <= n l1,    D = (s y·r - s²‖r‖²/2) / n

Shapes: n rows, D features, S updates.
Reference: Friedman, Hastie and Tibshirani, Regularization Paths for Generalized Linear Models via Coordinate Descent,
J. Stat. Softw. 33 (2010); Boyd and Vandenberghe, Convex Optimization (2004), chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...results import Result, Table
from ...train import Steps, iterate
from .paths import draw_paths

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CoordinateDescent", "CoordinateDescentTrace", "soft_threshold", "trace"]


def soft_threshold(z: np.ndarray, t: np.ndarray | float) -> np.ndarray:
    """sign(z) max(|z| - t, 0) of each entry.

    Example:
        >>> soft_threshold(np.array([3.0, -0.5, -2.0]), 1.0)
        array([ 2.,  0., -1.])
    """
    return np.sign(z) * np.maximum(np.abs(z) - t, 0.0) + 0.0  # never -0


class CoordinateDescent(Steps):
    """Coordinate descent as a process: a step sets one coefficient to where the objective is least.

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


@dataclass(frozen=True, eq=False)
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

    def table(self) -> Table:
        """One row per update."""
        steps, width = np.arange(len(self.z)), len(self.names)
        columns = {
            "sweep": (steps // width + 1).tolist(),
            "coefficient": [self.names[j] for j in self.coefficient],
            "z": self.z.tolist(),
            "soft(z)": soft_threshold(self.z, self.threshold).tolist(),
            "before": self.coefs[steps, self.coefficient].tolist(),
            "after": self.coefs[steps + 1, self.coefficient].tolist(),
            "objective": self.objective.tolist(),
            "duality gap": self.gap.tolist(),
        }
        return Table(columns, f"Soft threshold {self.threshold:.4g}: where |z| is below it, the coefficient becomes 0.")

    @property
    def caption(self) -> str:
        """What the figure shows."""
        zero = [name for name, w in zip(self.names, self.coefs[-1], strict=True) if w == 0]
        return f"Coefficients over {len(self.z)} updates; at the end 0: {', '.join(zero) or 'none'}."

    def figure(self) -> Figure:
        """Coefficients against the count of updates, a tick where a sweep ends."""
        ends = np.arange(len(self.names), len(self.coefs), len(self.names))
        words = {"x": "updates of one coefficient", "ticks": "end of a sweep"}
        return draw_paths(self.coefs, self.names, ends, **words, title="Coordinate descent, one coefficient at a time")


def trace(
    x: np.ndarray, y: np.ndarray, l1: float, l2: float, sweeps: int, intercept: bool, names: tuple[str, ...]
) -> CoordinateDescentTrace:
    """Coordinate descent from w = 0 on checked rows, every update kept."""
    x_mean, y_mean = (x.mean(0), y.mean()) if intercept else (np.zeros(x.shape[1]), 0.0)
    coefs = np.zeros((sweeps * x.shape[1] + 1, x.shape[1]))
    rows = iterate(CoordinateDescent(x - x_mean, y - y_mean, l1, l2), steps=len(coefs) - 1)
    which = np.array([int(row["coefficient"]) for row in rows])
    for i, row in enumerate(rows):
        coefs[i + 1] = coefs[i]
        coefs[i + 1, which[i]] = row["after"]
    z, objective, gap = (np.array([row[name] for row in rows]) for name in ("z", "objective", "gap"))
    return CoordinateDescentTrace(coefs, which, z, l1, objective, gap, float(y_mean - coefs[-1] @ x_mean), names)
