"""Rows of an estimator: numbers, all of them finite, and the names of their columns. Shapes: n rows, D features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import check
from ..errors import InputError, InputTypeError


def finite(name: str, given: Any) -> np.ndarray:
    """A copy of what was given as float64, if all of its numbers are finite."""
    try:
        found = np.array(check.plain(given), dtype=float)
    except (TypeError, ValueError):
        raise InputTypeError(f"{name} must be numeric, with rows of equal length; encode it first.") from None
    if not np.isfinite(found).all():
        at = np.argwhere(~np.isfinite(found))[0].tolist()
        raise InputError(f"{name} holds {found[tuple(at)]} at {at}; finite numbers are needed: fill or drop it.")
    return found


def features(obj: Any, X: Any) -> np.ndarray:
    """Rows of the features that a model was fitted to: (n, D)."""
    x = finite("X", X)
    if x.ndim != 2 or x.shape[1] != obj.n_features_in_ or not len(x):
        raise InputError(f"X has shape {x.shape}; pass rows of the {obj.n_features_in_} features of the model.")
    return x


def targets(y: Any, n: int) -> np.ndarray:
    """One target for each of n rows: (n,)."""
    found = np.array(check.plain(y))
    if found.shape != (n,):
        raise InputError(f"y has shape {found.shape}; pass one target for each of the {n} rows of X.")
    return found


def pair_of(columns: Any, d: int) -> tuple[int, int]:
    """Two different columns of d."""
    pair = tuple(columns) if isinstance(columns, Sequence | np.ndarray) else ()
    if len(pair) != 2 or pair[0] == pair[1] or not all(isinstance(j, int | np.integer) and 0 <= j < d for j in pair):
        raise InputError(f"columns={columns}; two different numbers from 0 to {d - 1} are needed.")
    return int(pair[0]), int(pair[1])


def names_of(obj: Any) -> list[str]:
    """Names of the features, x1, x2, ... where the model knows none."""
    return [str(name) for name in getattr(obj, "feature_names_in_", [f"x{j + 1}" for j in range(obj.n_features_in_)])]


def named(obj: Any, rows: np.ndarray) -> Any:
    """Rows as the model knows them: in a frame, if it was fitted to one."""
    if not hasattr(obj, "feature_names_in_"):
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=list(obj.feature_names_in_))


def is_one_plane(obj: Any) -> bool:
    """True if a linear model has one plane over the features themselves: of one number, or of two classes."""
    shape = np.shape(getattr(obj, "coef_", ()))
    return shape[-1:] == (obj.n_features_in_,) and shape[:-1] in ((), (1,))
