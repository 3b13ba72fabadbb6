"""What a support vector machine minimizes, its dual, and how far apart the two are.

    primal   P(w, b) = ½ ‖w‖² + Σ_i [ h_i max(0, r_i - ε) - l_i max(0, -r_i - ε) ],     r = t - f(x),   f = w·φ(x) + b
    dual     D(β)    = Σ_i β_i t_i - ε Σ_i |β_i| - ½ βᵀ K β,      l_i <= β_i <= h_i,   Σ_i β_i = 0,   w = Σ_i β_i φ(x_i)

    classes  t = ±1,   ε = 0,   (l, h) = (0, C) or (-C, 0):    C max(0, 1 - t f), and β = α t with 0 <= α <= C
    numbers  t = y,             (l, h) = (-C, C):              C max(0, |y - f| - ε)

D(β) <= P(w, b), and both are equal at the solution, where r >= ε if β = h, r = ε if 0 < β < h, |r| <= ε if β = 0 is
between l and h, and so on downwards. C_i is C times the weight of row i; C = ∞ is the hard margin.
Kernels are inner products of features that are never computed, K(x, z) = φ(x)·φ(z):

    linear   x·z
    poly     (x·z + c)^d                      all monomials up to degree d; with c = 0 those of degree d only
    rbf      exp(-‖x - z‖² / (2σ²))           γ = 1 / (2σ²) in scikit-learn

Shapes: n and m rows, D features.
Reference: Schölkopf and Smola, Learning with Kernels (2002), chapter 2.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError

CHECKED = 3000  # rows on which a kernel of the user's is tried
ROUNDING = 1e-9  # negative eigenvalues up to this share of the largest are rounding errors
PART = 2**20  # cells of a kernel matrix that are held at once
AT_END = 1e-7  # share of C within which β is 0 or C


class Kernel(NamedTuple):
    """A kernel with its constants."""

    name: str | Callable[[np.ndarray, np.ndarray], np.ndarray] = "linear"
    degree: int = 3  # d
    c: float = 1.0
    sigma: float = 1.0

    def __call__(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The kernel matrix of rows (n, D) and (m, D): (n, m)."""
        if callable(self.name):
            found = np.asarray(self.name(a, b), dtype=np.float64)
            if found.shape != (len(a), len(b)) or not np.isfinite(found).all():
                what = "numbers that are not finite" if found.shape == (len(a), len(b)) else f"shape {found.shape}"
                raise InputError(
                    f"The kernel gave {what}; of rows (n, D) and (m, D) it must give finite numbers (n, m)."
                )
            return found
        if self.name != "rbf":
            dots = a @ b.T
            return dots if self.name == "linear" else (dots + self.c) ** self.degree
        middle = b.mean(0)  # distances do not change, their rounding errors do
        a, b = (a - middle) / self.sigma, (b - middle) / self.sigma
        near = a @ b.T  # -‖a - b‖² / 2, in place
        near -= (a * a).sum(1)[:, None] / 2
        near -= (b * b).sum(1) / 2
        return np.exp(np.minimum(near, 0, out=near), out=near)

    def diagonal(self, x: np.ndarray) -> np.ndarray:
        """K(x, x) of each row: (n,)."""
        if self.name == "rbf":
            return np.ones(len(x))
        if callable(self.name):
            return np.array([self(row[None], row[None])[0, 0] for row in x])
        square = (x * x).sum(1)
        return square if self.name == "linear" else (square + self.c) ** self.degree

    def sums(self, a: np.ndarray, b: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Σ_j β_j K(a_i, b_j) with β (m,) or (m, R), a part of the rows at a time: (n,) or (n, R)."""
        if self.name == "linear":
            return a @ (b.T @ beta)
        if not len(b):
            return np.zeros((len(a), *beta.shape[1:]))
        step = max(1, PART // len(b))
        return np.concatenate([self(a[i : i + step], b) @ beta for i in range(0, len(a), step)])

    def libsvm(self) -> dict[str, Any]:
        """The same as parameters of scikit-learn's SVC and SVR."""
        if callable(self.name):
            return {"kernel": "precomputed"}
        gamma = 1 / (2 * self.sigma**2) if self.name == "rbf" else 1.0
        return {"kernel": self.name, "gamma": gamma, "coef0": self.c, "degree": self.degree}


def check_kernel(kernel: Kernel, x: np.ndarray) -> None:
    """Refuse a kernel of the user's that is not an inner product on these rows (n, D)."""
    x = x[:: -(-len(x) // CHECKED)]
    k = kernel(x, x)
    if not np.allclose(k, k.T, rtol=1e-8, atol=1e-10 * np.abs(k).max()):
        raise InputError("The kernel is not symmetric: K(x, z) differs from K(z, x). Use (K(x, z) + K(z, x)) / 2.")
    values = np.linalg.eigvalsh((k + k.T) / 2)
    if values[0] < -ROUNDING * max(values[-1], np.abs(values[0])) * len(k):
        raise InputError(
            f"The kernel is not positive semi-definite: on these rows its matrix has eigenvalues from {values[0]:.3g} "
            f"to {values[-1]:.3g}, and an inner product has none below 0. Use another kernel, e.g. 'rbf'."
        )


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
