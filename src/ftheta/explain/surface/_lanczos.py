"""Lanczos' method: a symmetric matrix known by its products becomes a small tridiagonal one.

    H v_m = β_{m-1} v_{m-1} + α_m v_m + β_m v_{m+1},     T = tridiag(β, α, β),     |θ - λ| <= |β_M s_M| for some λ of H

θ is an eigenvalue of T, s its eigenvector. Every vector is made orthogonal to all before it, twice: without this,
rounding brings copies of the eigenvalues that are found first.

Shapes: P columns, M steps.
Reference: Parlett, The symmetric eigenvalue problem (1980), chapter 13.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ...errors import NonFiniteError

Product = Callable[[Tensor], Tensor]


def lanczos(product: Product, start: Tensor, steps: int, tolerance: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Diagonal α (M,) and off-diagonal β (M,) of T, the last β of the remainder; every vector is made orthogonal twice.

    Args:
        product: v -> H v.
        start: First vector: (P,).
        steps: M at most; fewer where the vectors fill an invariant space, or λ is known well enough.
        tolerance: Of the largest eigenvalue λ, relative; 0: all steps.
    """
    basis = start.new_empty(steps, len(start))  # (M, P)
    alpha, beta, v = [], [], start / start.norm()
    for m in range(steps):
        basis[m] = v
        w = product(v)
        alpha.append(float(w @ v))
        for _ in range(2):
            w = w - basis[: m + 1].T @ (basis[: m + 1] @ w)
        beta.append(float(w.norm()))
        size = max(np.abs(alpha).max(), np.max(beta))
        if not np.isfinite(size):
            raise NonFiniteError("The Hessian holds a number that is not finite; look at the weights and rows.")
        if beta[-1] <= 10 * torch.finfo(w.dtype).eps * size or (
            tolerance and m % 5 == 4 and _known(alpha, beta, tolerance)
        ):
            break
        v = w / beta[-1]
    return np.array(alpha), np.array(beta)


def _known(alpha: list[float], beta: list[float], tolerance: float) -> bool:
    values, _, errors = ritz(np.array(alpha), np.array(beta))
    return bool(errors[-1] <= tolerance * abs(values[-1]))


def ritz(alpha: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues of T, ascending, the first components of its eigenvectors, and the distance of each to one of H."""
    values, vectors = np.linalg.eigh(np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1))
    return values, vectors[0], np.abs(beta[-1] * vectors[-1])
