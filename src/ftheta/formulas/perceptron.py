"""How often a perceptron can be wrong: Novikoff's bound.

    mistakes  <=  (R / γ)²,     R = max_i ‖x_i‖,     γ = min_i y_i w·x_i / ‖w‖   for any w that separates

from w = 0, for every order of the rows and every learning rate. The widest w gives the least bound. The planes go
through the origin: with an intercept x stands for (x, 1), np.c_[X, np.ones(len(X))].

Shapes: n rows, D features; y is -1 or +1.
Reference: Novikoff, On Convergence Proofs on Perceptrons (1962); Lawson and Hanson, Solving Least Squares Problems
(1974), chapter 23, for the widest margin as a non-negative least-squares problem.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError

__all__ = ["margin", "mistake_bound", "widest_plane"]


def margin(X: ArrayLike, y: ArrayLike, w: ArrayLike) -> float:
    """γ: the distance of the nearest row from the plane w·x = 0, negative where a row is on the wrong side.

    Example:
        >>> margin([[3.0, 0.0], [0.0, -1.0]], [1, -1], [1.0, 1.0])
        0.7071067811865475
    """
    x, signs, unit = _checked(X, y)
    w = np.asarray(w, dtype=float)
    if w.shape != x.shape[1:] or not np.isfinite(w).all() or not w.any():
        raise InputError(f"w={w.tolist()}: {x.shape[1]} finite numbers, not all 0, are needed.")
    w = w / np.abs(w).max()
    return float((signs * (x @ w)).min() / np.linalg.norm(w) * unit)


def widest_plane(X: ArrayLike, y: ArrayLike) -> np.ndarray | None:
    """The w of length one with the largest margin: (D,); None where no plane through the origin separates.

    The least ‖w‖ with y_i w·x_i >= 1 is read from the residual of min ‖E u - e‖ over u >= 0, E = [Zᵀ; 1ᵀ], Z = y x.
    """
    from scipy.optimize import nnls

    x, signs, _ = _checked(X, y)
    z = signs[:, None] * x
    u, _ = nnls(np.c_[z, np.ones(len(z))].T, np.r_[np.zeros(z.shape[1]), 1.0])
    direction = u @ z  # towards the point of the hull of all y x that is nearest to the origin
    length = np.linalg.norm(direction)
    good = length > 0 and (z @ direction).min() > 8 * z.shape[1] * np.finfo(float).eps * length
    return direction / length if good else None


def mistake_bound(X: ArrayLike, y: ArrayLike, w: ArrayLike | None = None) -> float:
    """(R / γ)² of a w, or of the widest: infinite where it does not separate.

    Example:
        >>> corners = np.array([[0, 0, 1.0], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
        >>> round(mistake_bound(corners, [-1, -1, -1, 1]))
        51
    """
    best = widest_plane(X, y) if w is None else w
    x, signs, _ = _checked(X, y)
    gamma = 0.0 if best is None else margin(x, signs, best)
    return float((x * x).sum(1).max() / gamma**2) if gamma > 0 else np.inf


def _checked(X: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray, float]:
    """Rows in units of their largest entry, signs, and that unit."""
    x, signs = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    rows = x.ndim == 2 and x.size > 0 and bool(np.isfinite(x).all())
    if not rows or signs.shape != (len(x),) or not np.isin(signs, (-1, 1)).all():
        raise InputError(
            f"X has shape {x.shape} and y shape {signs.shape}; the bound takes finite rows (n, D) and -1 or +1 for "
            "each. Write y as np.where(y == one_class, 1, -1)."
        )
    unit = float(np.abs(x).max()) or 1.0
    return x / unit, signs, unit
