"""Checked rows on their way to a process.

weight k  =  k copies:   equal rows become one row with the sum of their weights
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Any, NamedTuple, Self

import numpy as np
from torch import Tensor

from ...data.kinds import Inputs

SAMPLE = 2000  # rows looked at before all are compared


class Data(NamedTuple):
    """Inputs, encoded targets, and weights (n,) or (n, ...); None where there are none, or all weights are one."""

    x: Inputs
    y: Any = None
    weight: np.ndarray | None = None

    def take(self, index: Any) -> Self:
        """Some of the rows, by number."""
        return type(self)(self.x.take(index), taken(self.y, index), taken(self.weight, index))

    def without_zeros(self) -> Self:
        """Rows of weight 0 removed; weights that are all one are None."""
        if self.weight is None or (self.weight == 1).all():
            return self._replace(weight=None)
        kept = self.weight.reshape(len(self.weight), -1).any(axis=1)
        return self if kept.all() else self.take(np.flatnonzero(kept))

    def merged(self, most: int) -> Self:
        """Equal rows as one, sorted, weights added, if at most `most` are distinct; else the rows as they are."""
        weight = self.weight
        if weight is not None and weight.ndim > 1:
            return self
        if len(self.x) > SAMPLE and len(np.unique(self.take(np.arange(SAMPLE))._keys())) > most:
            return self
        _, first, inverse = np.unique(self._keys(), return_index=True, return_inverse=True)
        if len(first) > most:
            return self
        sums = np.bincount(inverse.ravel(), weights=weight, minlength=len(first)).astype(np.float64)
        return self.take(first)._replace(weight=None if (sums == 1).all() else sums)

    def _keys(self) -> np.ndarray:
        """One opaque, comparable value for each row of x and y."""
        n = len(self.x)
        arrays = [np.reshape(a, (n, -1)) + 0 for a in (*self.x.content(), self.y) if a is not None]  # -0.0 is 0.0
        joined = np.ascontiguousarray(np.concatenate([np.ascontiguousarray(a).view(np.uint8) for a in arrays], axis=1))
        return joined.view(np.dtype((np.void, joined.shape[1]))).ravel()


def digest(*parts: Data | None) -> str:
    """SHA-256 of shapes, dtypes and bytes of all rows."""
    found = sha256()
    for a in _arrays([(part.x.content(), part.y, part.weight) for part in parts if part is not None]):
        found.update(repr((a.shape, a.dtype.str)).encode() + np.ascontiguousarray(a).tobytes())
    return found.hexdigest()


def taken(values: Any, index: Any) -> Any:
    """Some of the targets or weights as a user passed them: an array, a column, a list."""
    if values is None:
        return None
    if hasattr(values, "iloc"):
        return values.iloc[index]
    if isinstance(values, np.ndarray | Tensor) or not isinstance(values, list | tuple):
        return np.asarray(values)[index] if not isinstance(values, Tensor) else values[index]
    return [values[i] for i in np.arange(len(values))[index]]


def _arrays(tree: Any) -> Iterator[np.ndarray]:
    if isinstance(tree, list | tuple):
        for part in tree:
            yield from _arrays(part)
    elif tree is not None:
        yield np.asarray(tree)
