"""Least squares as textbooks write it: normal equations, gradient and curvature of a sum of squares.

    f(x) = Σ_i (b_i - a_i x)²,      ∇f = 2 aᵀ(a x - b),      ∇²f = 2 aᵀa,      x = (aᵀa)⁻¹ aᵀ b = W b

For looking at; `solve` has the digits that aᵀa loses.
Shapes: n rows, P columns, T targets.
Reference: Golub and Van Loan, Matrix Computations (2013), section 5.3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from .least_squares import solve

__all__ = ["condition_number", "convexity", "gradient", "hessian", "normal_equations", "weights_of_responses"]


def weights_of_responses(a: Any) -> np.ndarray:
    """W (P, n) with x = W b: every coefficient is a weighted sum of the responses; a sets the weights, b does not.

    Example:
        >>> weights_of_responses([[1.0, 0], [1, 1], [1, 2]])[1].round(6) + 0  # of the slope
        array([-0.5, 0. , 0.5])
    """
    return solve(a, np.eye(len(a))).x


def gradient(x: Any, a: Any, b: Any) -> np.ndarray:
    """Of Σ (b - a x)² with respect to x: 2 aᵀ(a x - b), of the shape of x.

    Example:
        >>> gradient([1.0], [[1.0], [2.0]], [1.0, 4.0])
        array([-8.])
    """
    a, x, b = (np.asarray(part, dtype=float) for part in (a, x, b))
    return 2 * a.T @ (a @ x - b)


def hessian(a: Any) -> np.ndarray:
    """Of Σ (b - a x)²: 2 aᵀa, (P, P), the same everywhere.

    Example:
        >>> hessian([[1.0, 2], [2, 4]])
        array([[10., 20.], [20., 40.]])
    """
    a = np.asarray(a, dtype=float)
    return 2 * a.T @ a


def convexity(a: Any) -> tuple[np.ndarray, bool]:
    """Eigenvalues of 2 aᵀa (P,), rising, and whether the minimiser is unique.

    None is negative, so every stationary point is a minimum; where some are 0, a flat subspace of minima. They come
    from singular values of a, which keep the digits that aᵀa loses.

    Example:
        >>> values, unique = convexity([[1.0, 2], [2, 4]])
        >>> float(values[1]), unique
        (50.0, False)
    """
    a = np.asarray(a, dtype=float)
    values = np.zeros(a.shape[1])
    values[: min(a.shape)] = 2 * np.linalg.svd(a, compute_uv=False) ** 2
    return values[::-1], solve(a, np.zeros(len(a))).rank == a.shape[1]


def condition_number(a: Any) -> float:
    """Largest over smallest singular value, in the units of a: how much a relative change of b can grow in x.

    The ratio of eigenvalues is the same for symmetric matrices only, up to sign.

    Example:
        >>> condition_number([[1.0, 1000], [0, 1]])
        1000002.0
    """
    values = np.linalg.svd(np.asarray(a, dtype=float), compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] else np.inf


def normal_equations(a: Any, b: Any, jitter: float = 0.0) -> np.ndarray:
    """(aᵀa + jitter I)⁻¹ aᵀb, as textbooks write it: (P,) or (P, T).

    For showing what is lost: the condition number of a is squared, and a small jitter repairs a singular aᵀa at the
    price of a solution pulled to 0. `solve` needs neither.

    Args:
        a: The table (n, P).
        b: (n,) or (n, T).
        jitter: What is added to the diagonal, >= 0; where it falls to 0 the solution goes to the shortest one.

    Example:
        >>> normal_equations([[1.0, 1], [1, 1]], [2.0, 4], jitter=1e-6)
        array([1.5, 1.5])
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if not 0 <= jitter < np.inf:
        raise InputError(
            f"jitter is {jitter}: aᵀa is sure to be positive definite only with a number > 0 added to its diagonal. "
            "Pass jitter >= 0."
        )
    rank = a.shape[1] if jitter else solve(a, b).rank
    if rank < a.shape[1]:
        raise InputError(f"aᵀa is singular: rank {rank} of {a.shape[1]}. Pass jitter > 0, or use solve.")
    return np.linalg.solve(a.T @ a + jitter * np.eye(a.shape[1]), a.T @ b)
