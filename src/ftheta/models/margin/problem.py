"""What a support vector machine minimizes, its dual, and how far apart the two are.

    primal   P(w, b) = ½ ‖w‖² + Σ_i [ h_i max(0, r_i - ε) - l_i max(0, -r_i - ε) ],     r = t - f(x),   f = w·φ(x) + b
    dual     D(β)    = Σ_i β_i t_i - ε Σ_i |β_i| - ½ βᵀ K β,      l_i <= β_i <= h_i,   Σ_i β_i = 0,   w = Σ_i β_i φ(x_i)

    classes  t = ±1,   ε = 0,   (l, h) = (0, C) or (-C, 0):    C max(0, 1 - t f), and β = α t with 0 <= α <= C
    numbers  t = y,             (l, h) = (-C, C):              C max(0, |y - f| - ε)

D(β) <= P(w, b), and both are equal at the solution, where r >= ε if β = h, r = ε if 0 < β < h, |r| <= ε if β = 0 is
between l and h, and so on downwards. C_i is C times the weight of row i; C = ∞ is the hard margin.
Shapes: n rows, D features.
"""

from typing import NamedTuple

import numpy as np

from .kernels import Kernel

AT_END = 1e-7  # share of C within which β is 0 or C


class Solution(NamedTuple):
    """β and b."""

    beta: np.ndarray  # (n,)
    b: float
    path: tuple[float, ...] = ()  # P on the way


class Problem(NamedTuple):
    """Rows, targets and constants."""

    x: np.ndarray  # (n, D)
    t: np.ndarray  # -1 and 1, or numbers (n,)
    low: np.ndarray  # l (n,)
    high: np.ndarray  # h (n,)
    epsilon: float
    kernel: Kernel = Kernel()

    @property
    def classes(self) -> bool:
        """Whether its rows are of two classes: each then bounds β on one side by 0."""
        return bool(((self.low == 0) | (self.high == 0)).all())

    @property
    def c(self) -> np.ndarray:
        """C of each row (n,)."""
        return np.maximum(self.high, -self.low)

    def sums(self, rows: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Σ_j β_j K(x, x_j) of some rows (m, D): (m,)."""
        if self.kernel.name == "linear":
            return rows @ (beta @ self.x)
        used = np.flatnonzero(beta)
        return self.kernel.sums(rows, self.x[used], beta[used])

    def outputs(self, beta: np.ndarray) -> np.ndarray:
        """w·φ(x) of every row, without b: (n,)."""
        return self.sums(self.x, beta)

    def losses(self, r: np.ndarray) -> np.ndarray:
        """What each row adds to P (n,)."""
        up, down = np.maximum(r - self.epsilon, 0), np.maximum(-r - self.epsilon, 0)
        with np.errstate(invalid="ignore"):  # 0 times an infinite C
            return np.where(up > 0, self.high * up, 0) - np.where(down > 0, self.low * down, 0)

    def primal(self, square: float, f: np.ndarray) -> float:
        """P for ‖w‖² and outputs f with b."""
        return square / 2 + float(self.losses(self.t - f).sum())

    def dual(self, square: float, beta: np.ndarray) -> float:
        """D for ‖w‖² = βᵀ K β."""
        return float(beta @ self.t) - self.epsilon * float(np.abs(beta).sum()) - square / 2

    def allowed(self, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest r that goes with each β: (n,), (n,)."""
        near = AT_END * np.where(np.isfinite(self.c), self.c, np.abs(beta).max(initial=0))
        least = np.where(beta <= self.low + near, -np.inf, np.where(beta > near, self.epsilon, -self.epsilon))
        most = np.where(beta >= self.high - near, np.inf, np.where(beta < -near, -self.epsilon, self.epsilon))
        return least, most

    def bias(self, beta: np.ndarray, f: np.ndarray) -> float:
        """b from outputs without it: the mean over free support vectors, else the middle of what is optimal."""
        least, most = self.allowed(beta)
        rest, free = self.t - f, least == most
        if free.any():
            return float((rest - least)[free].mean())
        low, high = float((rest - most).max()), float((rest - least).min())
        return (low + high) / 2 if np.isfinite(high - low) else low if np.isfinite(low) else high
