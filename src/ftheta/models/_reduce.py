"""Rows around their weighted means, and the few rows that stand for all of them in every least-squares problem.

    X̃ = √v (X - x̄),   ỹ = √v (y - ȳ),      [X̃ ỹ] = Q R     =>     ‖ỹ - X̃w‖ = ‖R_y - R_x w‖  for every w

R is found part by part, so that no copy of X is made, and without XᵀX, whose condition number is squared.

Shapes: n rows, D features, T targets, m = min(n, D + T) rows that stand for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Reduced", "centres", "column_names", "parts", "reduced", "scale_of", "shifted"]

NUMBERS = 2**20  # of one part: 8 MB


class Reduced(NamedTuple):
    """What least squares with a penalty needs of the rows.

    Args:
        x: Rows around their means, reduced: (m, D).
        y: Targets around theirs, reduced: (m, T).
        x_mean: (D,); zeros without an intercept.
        y_mean: (T,).
        total: Σ v.
    """

    x: np.ndarray
    y: np.ndarray
    x_mean: np.ndarray
    y_mean: np.ndarray
    total: float


def parts(n: int, width: int, least: int = 1) -> Iterator[slice]:
    """Slices of n rows that hold about a million numbers each, and at least so many rows."""
    size = max(least, NUMBERS // max(width, 1), 1)
    return (slice(i, i + size) for i in range(0, n, size))


def centres(x: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Weighted mean of each column (D,), in two passes: the second adds what the first lost in rounding."""
    share = np.full(len(x), 1 / len(x)) if weight is None else weight / weight.sum()
    mean = np.zeros(x.shape[1])
    for _ in range(2):
        mean = mean + sum((share[rows] @ (x[rows] - mean) for rows in parts(*x.shape)), np.zeros_like(mean))
    return mean


def shifted(x: np.ndarray, mean: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """√v (x - mean) of each row, as new rows."""
    moved = x - mean
    if weight is not None:
        moved *= np.sqrt(weight)[:, None]
    return moved


def reduced(x: np.ndarray, y: np.ndarray, weight: np.ndarray | None, intercept: bool) -> Reduced:
    """(n, D), (n, T) -> the m rows that stand for all of them."""
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
    return Reduced(np.asfortranarray(r[:, : x.shape[1]]), r[:, x.shape[1] :], x_mean, y_mean, total)


def column_names(estimator: Any, width: int) -> tuple[str, ...]:
    """Names of the columns that an estimator has seen, or x0, x1, ..."""
    return tuple(getattr(estimator, "feature_names_in_", [f"x{j}" for j in range(width)]))


def scale_of(x: np.ndarray) -> float:
    """The power of two next to the largest number, so that squares neither overflow nor vanish; 1 for zeros."""
    largest = max(float(x.max(initial=0.0)), -float(x.min(initial=0.0)))
    return float(np.ldexp(1.0, np.frexp(largest)[1])) if largest else 1.0
