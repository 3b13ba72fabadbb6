"""Kernels: inner products of features that are never computed.

    K(x, z) = φ(x)·φ(z)
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


class Kernel(NamedTuple):
    """A kernel with its constants."""

    name: str | Callable[[np.ndarray, np.ndarray], np.ndarray] = "linear"
    degree: int = 3  # d
    c: float = 1.0
    sigma: float = 1.0

    def __call__(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The kernel matrix of rows (n, D) and (m, D): (n, m)."""
        if callable(self.name):
            return self._own(a, b)
        if self.name != "rbf":
            dots = a @ b.T
            return dots if self.name == "linear" else (dots + self.c) ** self.degree
        middle = b.mean(0)  # distances do not change, their rounding errors do
        a, b = (a - middle) / self.sigma, (b - middle) / self.sigma
        near = a @ b.T  # -‖a - b‖² / 2, in place
        near -= (a * a).sum(1)[:, None] / 2
        near -= (b * b).sum(1) / 2
        return np.exp(np.minimum(near, 0, out=near), out=near)

    def _own(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        found = np.asarray(self.name(a, b), dtype=np.float64)  # type: ignore[operator]
        if found.shape != (len(a), len(b)) or not np.isfinite(found).all():
            shape = f"shape {found.shape}" if found.shape != (len(a), len(b)) else "numbers that are not finite"
            raise InputError(f"The kernel gave {shape}; of rows (n, D) and (m, D) it must give finite numbers (n, m).")
        return found

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
