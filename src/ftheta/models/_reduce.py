"""Rows around their weighted means, and the few rows that stand for all of them in every least-squares problem.

    X̃ = √v (X - x̄),   ỹ = √v (y - ȳ),      [X̃ ỹ] = Q R     =>     ‖ỹ - X̃w‖ = ‖R_y - R_x w‖  for every w

Weights v are divided by the largest of them, so that neither they nor their sum leave the range of float64.

R is found part by part, so that no copy of X is made, and without XᵀX, whose condition number is squared.

Shapes: n rows, D features, T targets, m = min(n, D + T) rows that stand for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr

from ..errors import InputError
from ..formulas import solve

__all__ = [
    "Reduced",
    "apart",
    "centres",
    "column_names",
    "far_apart",
    "in_units",
    "numbers",
    "parts",
    "reduced",
    "relative",
    "scale_of",
    "shifted",
    "span",
]

NUMBERS = 2**20  # of one part: 8 MB


class Reduced(NamedTuple):
    """What least squares with a penalty needs of the rows.

    Args:
        x: Rows around their means, reduced: (m, D).
        y: Targets around theirs, reduced: (m, T).
        x_mean: (D,); zeros without an intercept.
        y_mean: (T,).
        total: Σ v, the largest v being 1.
        heaviest: What the weights were divided by.
    """

    x: np.ndarray
    y: np.ndarray
    x_mean: np.ndarray
    y_mean: np.ndarray
    total: float
    heaviest: float


def parts(n: int, width: int, least: int = 1) -> Iterator[slice]:
    """Slices of n rows that hold about a million numbers each, and at least so many rows."""
    size = max(least, NUMBERS // max(width, 1), 1)
    return (slice(i, i + size) for i in range(0, n, size))


def centres(x: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Weighted mean of each column (D,), in two passes: the second adds what the first lost in rounding."""
    share = np.full(len(x), 1 / len(x)) if weight is None else weight / weight.sum()
    mean = np.zeros(x.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):  # `scale_of` tells
        for _ in range(2):
            mean = mean + sum((share[rows] @ (x[rows] - mean) for rows in parts(*x.shape)), np.zeros_like(mean))
    return mean


def relative(weight: np.ndarray | None) -> tuple[np.ndarray | None, float]:
    """Weights of which the largest is 1, and what they were divided by."""
    heaviest = 1.0 if weight is None else float(weight.max())
    return (None if weight is None else weight / heaviest), heaviest


def shifted(x: np.ndarray, mean: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """√v (x - mean) of each row, as new rows."""
    with np.errstate(over="ignore"):
        moved = x - mean
    if weight is not None:
        moved *= np.sqrt(weight)[:, None]
    return moved


def reduced(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None, intercept: bool) -> Reduced:
    """(n, D), (n, T) -> the m rows that stand for all of them."""
    weight, heaviest = relative(weight)
    x_mean, y_mean = (centres(part, weight) if intercept else np.zeros(part.shape[1]) for part in (x, y))
    width = x.shape[1] + y.shape[1]
    r: np.ndarray = np.empty((0, width))
    for rows in parts(len(x), width, 2 * width):
        v = None if weight is None else weight[rows]
        block = np.concatenate([shifted(x[rows], x_mean, v), shifted(y[rows], y_mean, v)], axis=1)
        r = np.concatenate([r, block]) if len(r) else block
        if len(r) > width:
            r = np.asarray(np.linalg.qr(r, mode="r"))
    total = float(len(x) if weight is None else weight.sum())
    return Reduced(np.asfortranarray(r[:, : x.shape[1]]), r[:, x.shape[1] :], x_mean, y_mean, total, heaviest)


def column_names(estimator: Any, width: int) -> tuple[str, ...]:
    """Names of the columns that an estimator has seen, or x0, x1, ..."""
    return tuple(getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(width)]))


def scale_of(x: np.ndarray) -> float:
    """The power of two next to the largest number, so that squares neither overflow nor vanish; 1 for zeros."""
    largest = max(float(x.max(initial=0.0)), -float(x.min(initial=0.0)))
    if not largest < np.inf:
        raise InputError("X or y is wider than float64 can count, once it is around its mean and weighted. Rescale it.")
    return float(np.ldexp(1.0, min(int(np.frexp(largest)[1]), 1023))) if largest else 1.0


def numbers(alphas: Any) -> np.ndarray:
    """Penalties as an array; an empty one where they are none."""
    try:
        return np.asarray(alphas, dtype=float)
    except (TypeError, ValueError):
        return np.empty(0)


def in_units(w: np.ndarray, x_scale: float, y_scale: float) -> np.ndarray:
    """w y_scale / x_scale, both powers of two."""
    with np.errstate(over="ignore"):
        found = np.ldexp(w, int(np.log2(y_scale)) - int(np.log2(x_scale)))
    if not np.isfinite(found).all():
        raise InputError("A coefficient is beyond what float64 can count. Rescale the columns or y.")
    return found


def span(x: np.ndarray, mean: np.ndarray) -> float:
    """How many times wider the widest column is than the narrowest; columns that are constant do not count."""
    size = np.abs(x).max(0)
    live = size[size > 1e-14 * len(x) ** 0.5 * np.abs(mean)]
    return (
        float(live.max()) / float(live.min()) if len(live) and live.max() < np.inf else 1.0
    )  # `scale_of` tells of inf


def far_apart(x: np.ndarray, mean: np.ndarray) -> bool:
    """Whether a singular value decomposition loses digits of narrow columns: some, or all where others cost much."""
    return span(x, mean) > (1e3 if x.shape[1] <= len(x) else 1e10)


def apart(x: np.ndarray, y: np.ndarray, alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """w (T, D) of least ‖y - xw‖² + α ‖w‖², and degrees of freedom (1,), for columns many powers of ten apart."""
    a = np.vstack([x, min(alpha, 1e300) ** 0.5 * np.eye(x.shape[1])])
    found = solve(a, np.vstack([y, np.zeros((x.shape[1], y.shape[1]))]))
    size = np.abs(a).max(0)
    q: Any = qr(a / np.where(size > 0, size, 1.0), mode="economic", pivoting=True)[0]
    return found.x.T, np.sum(q[: len(x), : found.rank] ** 2, keepdims=True)[0]
