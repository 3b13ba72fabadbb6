"""Linear separability: decided by linear programming, counted by Cover, and how often a perceptron can be wrong.

    separable   <=>   max { t :  (w_y - w_k)·(x, 1) >= t  for every row (x, y) and k ≠ y,  |w| <= 1 }  >  0
    Cover       C(N, d) = 2 Σ_{i<=d} binom(N - 1, i) of the 2ᴺ dichotomies of N points in general position (no d + 1 of
                them in one hyperplane): all up to N = d + 1, half of them at N = 2 (d + 1)
    Novikoff    mistakes <= (R / γ)²,   R = max_i ‖x_i‖,   γ = min_i y_i w·x_i / ‖w‖   for any w that separates

For two classes that is one plane w_1 - w_0 with each class strictly on its side; for more classes one plane per class,
the own one highest on every row. A `yes` is certain: the planes are tried on all rows. A `no` is certain up to margins
below 1e-9 of the spread of the columns. Rows are added to the program as they are found on the wrong side. Novikoff's
bound holds from w = 0, for every order of the rows and every learning rate; its planes go through the origin: with an
intercept x stands for (x, 1), np.c_[X, np.ones(len(X))].
Shapes: n rows, D features, K classes.
Reference: Boyd and Vandenberghe, Convex Optimization (2004), section 8.6.1; Cover, Geometrical and Statistical
Properties of Systems of Linear Inequalities (1965); Novikoff, On Convergence Proofs on Perceptrons (1962); Lawson and
Hanson, Solving Least Squares Problems (1974), chapter 23, for the widest margin by non-negative least squares.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog, nnls

from ..errors import InputError

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
    classes, index = np.unique(np.asarray(y), return_inverse=True)
    x, k = np.asarray(X, dtype=float), len(classes)
    if x.ndim != 2 or not x.size or index.shape != (len(x),) or not np.isfinite(x).all():
        rest = "rows (n, D) of finite numbers and a class for each are needed."
        raise InputError(f"X has shape {x.shape} and y shape {index.shape}; {rest}")
    x = _scaled(x, intercept)
    sure, w = ROUNDING * x.shape[1], np.zeros((k, x.shape[1]))
    if x.shape[1] >= len(x):  # planes through the targets
        w = np.linalg.lstsq(x, np.eye(k)[index], rcond=None)[0].T
    chosen = np.concatenate([np.flatnonzero(index == label)[:2] for label in range(k)])
    while k > 1:
        gaps = _gaps(x, index, w)
        wrong = np.flatnonzero(gaps <= sure)
        if not len(wrong):
            break
        chosen = np.union1d(chosen, wrong[np.argsort(gaps[wrong])[: 2 * x.shape[1]]])
        w = _widest(x[chosen], index[chosen], k)
        if _gaps(x[chosen], index[chosen], w).min() <= sure:
            return False
    return True


def _scaled(x: np.ndarray, intercept: bool) -> np.ndarray:
    """Columns in [-1, 1], about their middle where planes may move, and one more for b: (n, D + 1)."""
    low, high = x.min(0), x.max(0)
    shift = low / 2 + high / 2 if intercept else np.zeros_like(low)
    unit = np.maximum(np.abs(low - shift), np.abs(high - shift))
    return np.c_[(x - shift) / np.where(unit > 0, unit, 1.0), np.full(len(x), float(intercept))]


def _gaps(x: np.ndarray, index: np.ndarray, w: np.ndarray) -> np.ndarray:
    """How far the own class is above the best other one: (n,)."""
    raw = x @ w.T  # (n, K)
    own = np.take_along_axis(raw, index[:, None], 1)[:, 0]
    np.put_along_axis(raw, index[:, None], -np.inf, 1)
    return own - raw.max(1)


def _widest(x: np.ndarray, index: np.ndarray, k: int) -> np.ndarray:
    """Planes with entries in [-1, 1] whose smallest gap is largest: (K, D + 1)."""
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


def separable_count(n_points: int, n_features: int) -> int:
    """How many of the 2ᴺ dichotomies a plane makes, exactly.

    Example:
        >>> separable_count(4, 2), separable_count(4, 2) / 2**4
        (14, 0.875)
    """
    n, d = n_points, n_features
    if n < 1 or d < 0 or n != int(n) or d != int(d):
        raise InputError(f"Got {n} points and {d} features; Cover's count takes integers N >= 1 and d >= 0.")
    return 2 * sum(math.comb(n - 1, i) for i in range(min(d, n - 1) + 1))


def mistake_bound(X: ArrayLike, y: ArrayLike) -> float:
    """(R / γ)² of the w with the largest γ: infinite where no plane through the origin separates.

    The least ‖w‖ with y_i w·x_i >= 1 is read from the residual of min ‖E u - e‖ over u >= 0, E = [Zᵀ; 1ᵀ], Z = y x.

    Args:
        X: Rows (n, D).
        y: -1 or +1 for each (n,).

    Example:
        >>> corners = np.array([[0, 0, 1.0], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
        >>> round(mistake_bound(corners, [-1, -1, -1, 1]))
        51
    """
    x, signs = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    rows = x.ndim == 2 and x.size > 0 and bool(np.isfinite(x).all())
    if not rows or signs.shape != (len(x),) or not np.isin(signs, (-1, 1)).all():
        rest = "the bound takes finite rows (n, D) and -1 or +1 for each. Write y as np.where(y == one_class, 1, -1)."
        raise InputError(f"X has shape {x.shape} and y shape {signs.shape}; {rest}")
    z = signs[:, None] * x / (np.abs(x).max() or 1.0)
    u, _ = nnls(np.c_[z, np.ones(len(z))].T, np.r_[np.zeros(z.shape[1]), 1.0])
    w = u @ z  # towards the point of the hull of all y x that is nearest to the origin
    gamma = float((z @ w).min() / (np.linalg.norm(w) or 1.0))
    return float((z * z).sum(1).max() / gamma**2) if gamma > ROUNDING * z.shape[1] else np.inf
