"""Linear separability: decided by linear programming, counted by Cover, and how often a perceptron can be wrong.

    separable   <=>   max { t :  (w_y - w_k)·(x, 1) >= t  for every row (x, y) and k ≠ y,  |w| <= 1 }  >  0
    Cover       C(N, d) = 2 Σ_{i<=d} binom(N - 1, i) of the 2ᴺ dichotomies of N points in general position (no d + 1 of
                them in one hyperplane); their share F is 1 up to N = d + 1 and one half at N = 2 (d + 1)
    Novikoff    mistakes <= (R / γ)²,   R = max_i ‖x_i‖,   γ = min_i y_i w·x_i / ‖w‖   for any w that separates

For two classes that is one plane w_1 - w_0 with each class strictly on its side; for more classes one plane per class,
the own one highest on every row. A `yes` is certain: the planes are tried on all rows. A `no` is certain up to margins
below 1e-9 of the spread of the columns. Novikoff's bound holds from w = 0, for every order of the rows and every
learning rate; its planes go through the origin: with an intercept x stands for (x, 1), np.c_[X, np.ones(len(X))].
Shapes: n rows, D features, K classes.
Reference: Boyd and Vandenberghe, Convex Optimization (2004), section 8.6.1; Cover, Geometrical and Statistical
Properties of Systems of Linear Inequalities (1965); Novikoff, On Convergence Proofs on Perceptrons (1962); Lawson and
Hanson, Solving Least Squares Problems (1974), chapter 23, for the widest margin by non-negative least squares.
"""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog, nnls
from scipy.special import logsumexp
from scipy.stats import binom

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
    return separator(X, y, intercept=intercept) is not None


def separator(X: ArrayLike, y: ArrayLike, *, intercept: bool = True) -> np.ndarray | None:
    """Planes that separate the classes, (K, D + 1) with the intercepts last, in the order of np.unique(y); else None.

    Rows are added to the programme as they are found on the wrong side, so that a million rows need no programme of a
    million lines.
    """
    classes, index = np.unique(np.asarray(y), return_inverse=True)
    x = np.asarray(X, dtype=float)
    if x.ndim != 2 or not x.size or index.shape != (len(x),) or not np.isfinite(x).all():
        rest = "rows (n, D) of finite numbers and a class for each are needed."
        raise InputError(f"X has shape {x.shape} and y shape {index.shape}; {rest}")
    x, shift, unit = _scaled(x, intercept)
    w = _separator(x, index, len(classes))
    slopes = None if w is None else w[:, :-1] / unit
    return None if w is None else np.c_[slopes, w[:, -1] * intercept - slopes @ shift]


def _separator(x: np.ndarray, index: np.ndarray, k: int) -> np.ndarray | None:
    """Planes (K, D + 1) for scaled columns, or None."""
    sure = ROUNDING * x.shape[1]
    w = np.zeros((k, x.shape[1]))
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
            return None
    return w


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
        >>> separable_count(4, 2)
        14
    """
    _check_count(n_points, n_features)
    return 2 * sum(math.comb(n_points - 1, i) for i in range(min(n_features, n_points - 1) + 1))


def separable_share(n_points: int, n_features: int, *, log: bool = False) -> float:
    """Their share F of all dichotomies, or its natural logarithm, also where F itself is below the smallest number.

    Example:
        >>> separable_share(4, 2), separable_share(100, 10_000)
        (0.875, 1.0)
    """
    _check_count(n_points, n_features)
    if not log:
        return float(binom.cdf(n_features, n_points - 1, 0.5))
    if n_features >= n_points - 1:
        return 0.0
    return float(np.asarray(logsumexp(binom.logpmf(np.arange(n_features + 1), n_points - 1, 0.5))))


def _check_count(n: int, d: int) -> None:
    if n < 1 or d < 0 or n != int(n) or d != int(d):
        raise InputError(f"Got {n} points and {d} features; Cover's count takes integers N >= 1 and d >= 0.")


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
        rest = "the bound takes finite rows (n, D) and -1 or +1 for each. Write y as np.where(y == one_class, 1, -1)."
        raise InputError(f"X has shape {x.shape} and y shape {signs.shape}; {rest}")
    unit = float(np.abs(x).max()) or 1.0
    return x / unit, signs, unit
