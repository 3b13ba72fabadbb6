"""Rows of machines as pictures.

Shapes: n rows, V visible units; a row is a picture of shape (H, W) or (C, H, W), else a line (1, V).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt, prod
from typing import Any

import numpy as np

from ... import check
from ...errors import InputError


def some_rows(X: Any, most: int | None = None) -> tuple[np.ndarray, tuple[int, ...]]:
    """Rows, at most so many and evenly spaced, flat (n, V), and the shape of a row as it was given."""
    x = np.array(check.plain(X), dtype=float)
    if x.ndim < 2 or not x.size:
        raise InputError(f"X has shape {x.shape}; pass rows (n, V) or pictures (n, H, W), at least one.")
    x = x[:: -(-len(x) // (most or len(x)))]
    return x.reshape(len(x), -1), x.shape[1:]


def picture_shape(given: Sequence[int] | None, row: Sequence[int]) -> tuple[int, ...]:
    """Shape of a row as a picture: the given one, that of the rows, a square, else a line (1, V)."""
    size = prod(row)
    shape = tuple(given or (row if len(row) > 1 else ()))
    if not shape:
        side = isqrt(size)
        return (side, side) if side**2 == size else (1, size)
    if len(shape) not in (2, 3) or prod(shape) != size:
        raise InputError(f"shape={shape} does not hold rows of {size} numbers; pass (height, width) of that size.")
    return shape


def framed(estimator: Any, x: np.ndarray) -> Any:
    """Rows as the estimator knows them: in a frame, if it was fitted to one."""
    if not hasattr(estimator, "feature_names_in_"):
        return x
    import pandas as pd

    return pd.DataFrame(x, columns=list(estimator.feature_names_in_))


def distinct_numbers(name: str, given: Sequence[int], least: int, most: float = np.inf) -> tuple[int, ...]:
    """Different whole numbers from the least to the largest, sorted."""
    found = tuple(sorted({int(v) for v in given if isinstance(v, int | np.integer)}))
    if len(found) != len(given) or not found or found[0] < least or found[-1] > most:
        limits = f"of at least {least}" if most == np.inf else f"from {least} to {most}"
        raise InputError(f"{name}={given}; different whole numbers {limits} are needed.")
    return found
