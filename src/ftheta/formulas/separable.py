"""Linear separability, decided by linear programming.

    separable   <=>   max { t :  (w_y - w_k)·(x, 1) >= t  for every row (x, y) and k ≠ y,  |w| <= 1 }  >  0

For two classes that is one plane w_1 - w_0 with each class strictly on its side; for more classes one plane a class,
the own one highest on every row. A `yes` is certain: the planes found are tried on all rows. A `no` is certain up to
margins below 1e-9 of the spread of the columns.

Shapes: n rows, D features, K classes.
Reference: Boyd and Vandenberghe, Convex Optimization (2004), section 8.6.1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError

__all__ = ["separable", "separator"]

ROUNDING = 8 * np.finfo(float).eps  # of one scalar product of numbers up to 1, for each of its terms


def separable(X: ArrayLike, y: ArrayLike, *, intercept: bool = True) -> bool:
    """Whether planes separate the classes strictly.

    Args:
        X: Rows (n, D).
        y: Their classes (n,), of any kind.
        intercept: Whether the planes may miss the origin.

    Example:
        >>> corners = [[0, 0], [0, 1], [1, 0], [1, 1]]
        >>> separable(corners, [0, 0, 0, 1]), separable(corners, [0, 1, 1, 0])
        (True, False)
    """
    return separator(X, y, intercept=intercept) is not None


def separator(X: ArrayLike, y: ArrayLike, *, intercept: bool = True) -> np.ndarray | None:
    """Planes that separate the classes, (K, D + 1) with the intercepts last, in the order of np.unique(y); else None.

    Rows are added to the programme as they are found on the wrong side, so that a million rows need no programme of a
    million lines.
    """
    classes, index = np.unique(np.asarray(y), return_inverse=True)
    x = np.asarray(X, dtype=float)
    if x.ndim != 2 or not x.size or index.shape != (len(x),) or not np.isfinite(x).all():
        raise InputError(
            f"X has shape {x.shape} and y shape {index.shape}; rows (n, D) of finite numbers and a class for each are "
            "needed."
        )
    x, shift, unit = _scaled(x, intercept)
    w = _separator(x, index, len(classes))
    slopes = None if w is None else w[:, :-1] / unit
    return None if w is None else np.c_[slopes, w[:, -1] * intercept - slopes @ shift]


def _separator(x: np.ndarray, index: np.ndarray, k: int) -> np.ndarray | None:
    """Planes (K, D + 1) for scaled columns, or None."""
    sure = ROUNDING * x.shape[1]
    w = _interpolating(x, np.eye(k)[index]) if x.shape[1] >= len(x) else np.zeros((k, x.shape[1]))
    chosen = np.concatenate([np.flatnonzero(index == label)[:2] for label in range(k)])
    while k > 1:
        gaps = _gaps(x, index, w)
        wrong = np.flatnonzero(gaps <= sure)
        if not len(wrong):
            break
        chosen = np.union1d(chosen, wrong[np.argsort(gaps[wrong])[: 2 * x.shape[1]]])
        w = _widest(x[chosen], index[chosen], k)
        if _gaps(x[chosen], index[chosen], w).min() <= sure:
            return None
    return w


def _interpolating(x: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Planes through the targets, if there are at least as many features as rows: (K, D + 1)."""
    return np.linalg.lstsq(x, targets, rcond=None)[0].T


def _scaled(x: np.ndarray, intercept: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns in [-1, 1], about their middle where planes may move, one more for b: (n, D + 1); shift and unit."""
    low, high = x.min(0), x.max(0)
    shift = low / 2 + high / 2 if intercept else np.zeros_like(low)
    unit = np.maximum(np.abs(low - shift), np.abs(high - shift))
    unit = np.where(unit > 0, unit, 1.0)
    return np.c_[(x - shift) / unit, np.full(len(x), float(intercept))], shift, unit


def _gaps(x: np.ndarray, index: np.ndarray, w: np.ndarray) -> np.ndarray:
    """How far the own class is above the best other one: (n,)."""
    raw = x @ w.T  # (n, K)
    own = np.take_along_axis(raw, index[:, None], 1)[:, 0]
    np.put_along_axis(raw, index[:, None], -np.inf, 1)
    return own - raw.max(1)


def _widest(x: np.ndarray, index: np.ndarray, k: int) -> np.ndarray:
    """Planes with entries in [-1, 1] whose smallest gap is largest: (K, D + 1)."""
    from scipy.optimize import linprog

    own = np.eye(k)[index]  # (n, K)
    row, other = np.nonzero(own == 0)
    signs = np.eye(k)[other] - own[row]  # (n (K - 1), K): w_k - w_y
    lines = np.einsum("ik,id->ikd", signs, x[row]).reshape(len(row), -1)
    size = lines.shape[1]
    found = linprog(
        np.r_[np.zeros(size), -1.0],  # the largest t
        A_ub=np.c_[lines, np.ones(len(lines))],
        b_ub=np.zeros(len(lines)),
        bounds=[(-1, 1)] * size + [(0, 1)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return found.x[:-1].reshape(k, -1)
