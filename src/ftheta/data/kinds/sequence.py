"""Sequences of unequal length: a list of n arrays (T_i, D).

A batch is padded with zeros to its longest sequence: x (B, T, D + 1), where the last channel is 1 at real steps and 0
in the padding. The net of one sequence alone sees what it sees in a batch only if it uses that channel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...check import plain
from ...errors import InputError, InputTypeError
from ..specs import InputSpec
from .base import Kind
from .inputs import Items

__all__ = ["Sequences"]


@dataclass(frozen=True)
class Sequences(Kind):
    """A list of sequences (T_i, D), or (T_i,) for D = 1."""

    dtype: str = "float32"

    name: ClassVar[str] = "sequence"

    def check(self, X: Any, owner: Any, spec: InputSpec | None = None) -> Items:
        """X as a list of finite arrays (T_i, D)."""
        name = type(owner).__name__
        if isinstance(X, str | bytes | Mapping) or not hasattr(X, "__len__") or not len(X):
            raise InputTypeError(f"X is {X!r:.40}; {name} takes a list of sequences, arrays (T, D) or (T,).")
        try:
            rows = [np.asarray(plain(X[i]), dtype=self.dtype) for i in range(len(X))]
        except (TypeError, ValueError, LookupError) as error:
            raise InputTypeError(f"X must be a list of sequences of numbers: {error}.") from None
        rows = [x[:, None] if x.ndim == 1 else x for x in rows]
        width = int(rows[0].shape[-1] if rows[0].ndim else 0) if spec is None else spec.shape[-1]
        for i, x in enumerate(rows):
            if x.ndim != 2 or x.shape[1] != width or not len(x):
                raise InputError(f"X[{i}] has shape {x.shape}; {name} needs sequences of shape (T, {width}), T >= 1.")
            if not np.isfinite(x).all():
                raise InputError(f"X[{i}] contains NaN or inf. Fill or drop those steps.")
        owner.n_features_in_ = width
        return Items(rows, spec or InputSpec((width,)), padded)


def padded(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays (T_i, D) as one (B, T, D + 1); the last channel is 1 at real steps."""
    x = np.zeros((len(rows), max(map(len, rows)), rows[0].shape[1] + 1), rows[0].dtype)
    for i, row in enumerate(rows):
        x[i, : len(row), :-1], x[i, : len(row), -1] = row, 1
    return x
