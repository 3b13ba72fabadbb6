"""Coordinate descent for the lasso and the elastic net, one coefficient at a time, to be watched.

    z_j = x_j·(r + x_j w_j) / N,       w_j <- soft(z_j, α ρ) / (x_j·x_j / N + α (1 - ρ)),       r = y - Xw - b

Shapes: n rows, D features, S updates.
Reference: Friedman, Hastie and Tibshirani, Regularization Paths for Generalized Linear Models via Coordinate Descent,
J. Stat. Softw. 33 (2010).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...results import Result, Table
from ...store import Tree
from ...train import iterate
from .figures.paths import paths
from .proximal import lasso_gap, lasso_objective, soft_threshold

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CoordinateDescent", "Sweeps", "swept"]


class CoordinateDescent:
    """Coordinate descent as a process: a step sets one coefficient to where the objective is least.

    Args:
        x: Rows around their means (n, D).
        y: Target around its mean (n,).
        l1: Weight of ‖w‖₁ beside half the mean square.
        l2: Weight of ‖w‖²/2.
    """

    def __init__(self, x: np.ndarray, y: np.ndarray, l1: float, l2: float = 0.0) -> None:
        self.x, self.y, self.l1, self.l2 = x, y, l1, l2
        self.curvature = (x * x).mean(0) + l2  # (D,)
        self.w, self.updates = np.zeros(x.shape[1]), 0

    def advance(self) -> dict[str, float]:
        """The next coefficient, in turn."""
        j = self.updates % len(self.w)
        before = float(self.w[j])
        residual = self.y - self.x @ self.w
        z = float(self.x[:, j] @ residual / len(self.y)) + float(self.curvature[j] - self.l2) * before
        self.w = self.w.copy()
        self.w[j] = soft_threshold(np.array(z), self.l1) / self.curvature[j] if self.curvature[j] else 0.0
        self.updates += 1
        problem = (self.x, self.y, self.w[None], self.l1, self.l2, len(self.y))
        return {
            "sweep": (self.updates - 1) // len(self.w) + 1,
            "coefficient": j,
            "z": z,
            "before": before,
            "after": float(self.w[j]),
            "objective": float(lasso_objective(*problem)[0]),
            "gap": float(lasso_gap(*problem)[0]),
        }

    def state_dict(self) -> Tree:
        """w and the count of updates."""
        return {"w": self.w, "updates": self.updates}

    def load_state_dict(self, tree: Tree) -> None:
        """Restore the state."""
        self.w, self.updates = tree["w"], tree["updates"]


@dataclass(frozen=True, eq=False)
class Sweeps(Result):
    """Every update of coordinate descent."""

    coefs: np.ndarray  # w at the start and after each update (S + 1, D)
    coefficient: np.ndarray  # which one was updated (S,)
    z: np.ndarray  # what it is pulled to before the threshold, times its curvature (S,)
    threshold: float  # α ρ: where |z| is below it, the coefficient becomes 0
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
        at, width = np.arange(len(self.coefs)), len(self.names)
        ends = at[width::width]
        return paths(
            at,
            self.coefs,
            self.names,
            knots=ends,
            ticks="end of a sweep",
            x="updates of one coefficient",
            log=False,
            title="Coordinate descent, one coefficient at a time",
        )


def swept(
    x: np.ndarray, y: np.ndarray, l1: float, l2: float, sweeps: int, intercept: bool, names: tuple[str, ...]
) -> Sweeps:
    """Coordinate descent from w = 0 on checked rows, every update kept."""
    x_mean, y_mean = (x.mean(0), y.mean()) if intercept else (np.zeros(x.shape[1]), 0.0)
    coefs = np.zeros((sweeps * x.shape[1] + 1, x.shape[1]))
    rows = iterate(CoordinateDescent(x - x_mean, y - y_mean, l1, l2), steps=len(coefs) - 1)
    which = np.array([int(row["coefficient"]) for row in rows])
    for i, row in enumerate(rows):
        coefs[i + 1] = coefs[i]
        coefs[i + 1, which[i]] = row["after"]
    z, objective, gap = (np.array([row[name] for row in rows]) for name in ("z", "objective", "gap"))
    return Sweeps(coefs, which, z, l1, objective, gap, float(y_mean - coefs[-1] @ x_mean), names)
