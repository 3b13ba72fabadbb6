"""Rows on their way to a net: weights joined, equal rows merged, targets encoded.

weight k  =  k copies:   equal rows become one row with the sum of their weights
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..catalog import nearest
from ..data import Encoded, Files, Pictures, Rows
from ..errors import InputError
from ..nn import multiply_adds

__all__ = ["Arrays", "class_weights", "digest", "fitting", "merge_equal", "source_of", "tensors"]

SAMPLE = 2000  # rows looked at before all are sorted


class Arrays(NamedTuple):
    """Checked rows: x (n, ...), y encoded, weight (n,) or None where all are one."""

    x: np.ndarray | Encoded | Pictures
    y: np.ndarray | None
    weight: np.ndarray | None

    def take(self, index: np.ndarray | slice) -> Arrays:
        """Some of the rows."""
        return Arrays(*(None if a is None else a[index] for a in self))  # type: ignore[arg-type]

    def without_zeros(self) -> Arrays:
        """Rows of weight 0 removed; weights that are all one are none."""
        if self.weight is None or (self.weight == 1).all():
            return self._replace(weight=None)
        return self if self.weight.all() else self.take(np.flatnonzero(self.weight))


def merge_equal(rows: Arrays, most: int) -> Arrays:
    """Equal rows as one, sorted, weights added, if at most `most` are distinct; else the rows as they are."""
    if isinstance(rows.x, Encoded | Pictures) or len(np.unique(_keys(rows.take(slice(SAMPLE))))) > most:
        return rows
    keys = _keys(rows)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) > most:
        return rows
    weight = np.bincount(inverse.ravel(), weights=rows.weight, minlength=len(first)).astype(np.float64)
    return Arrays(rows.x[first], None if rows.y is None else rows.y[first], None if (weight == 1).all() else weight)


def _keys(rows: Arrays) -> np.ndarray:
    """One opaque, comparable value for each row of x and y."""
    n = len(rows.x)
    parts = [(np.asarray(rows.x).reshape(n, -1) + 0.0).view(np.uint8)]  # + 0.0: -0.0 and 0.0 are equal
    if rows.y is not None:
        parts.append(np.ascontiguousarray(rows.y.reshape(n, -1) + 0).view(np.uint8))
    joined = np.ascontiguousarray(np.concatenate(parts, axis=1))
    return joined.view(np.dtype((np.void, joined.shape[1]))).ravel()


def fitting(estimator: Any, x: Encoded, *, reset: bool) -> Encoded:
    """An encoded table as wide as the estimator knows it, or as it will."""
    if reset:
        estimator.n_features_in_ = x.width
    if x.width != estimator.n_features_in_:
        raise InputError(
            f"X has {x.width} encoded columns, but {type(estimator).__name__} was fitted with "
            f"{estimator.n_features_in_}. Encode rows with the same encoder."
        )
    return x


def tensors(rows: Arrays, dtype: torch.dtype, device: Any) -> tuple[Tensor | None, ...]:
    """Copies of the arrays where they are trained on: whole numbers as they are, others of the dtype.

    NumPy makes the copy, on huge pages where it is large: a quarter of the time of torch's.
    """
    real = str(dtype).removeprefix("torch.")

    def put(a: Any) -> Tensor | None:
        if a is None:
            return None
        return torch.as_tensor(np.array(a, dtype=None if a.dtype.kind in "iu" else real, order="C"), device=device)

    return tuple(map(put, rows))


def source_of(rows: Arrays, dtype: torch.dtype, device: Any, *, batch_size: int, shuffle: bool) -> Rows | Files:
    """Rows in memory as a source; an encoded table becomes dense a batch at a time."""
    knobs: dict[str, Any] = {"batch_size": batch_size, "shuffle": shuffle}
    if isinstance(rows.x, Pictures):
        return Files(
            rows.x, *tensors(rows._replace(x=np.empty(0)), dtype, device)[1:], **knobs, dtype=dtype, device=device
        )
    if isinstance(rows.x, Encoded):
        rest = tensors(rows._replace(x=np.empty(0)), dtype, device)[1:]
        return Rows(rows.x.tensors(dtype, device), *rest, **knobs, expand=rows.x.expand)
    small = rows.x.dtype.kind == "u"
    return Rows(*tensors(rows, dtype, device), **knobs, expand=partial(unit, dtype=dtype) if small else None)


def unit(x: Any, dtype: torch.dtype) -> Tensor:
    """Whole numbers of 8 or 16 bits as shares of the largest; floats as they are."""
    if x.dtype in _LARGEST:
        return x.to(dtype).div_(_LARGEST[x.dtype])
    return x


_LARGEST = {torch.uint8: 255, torch.uint16: 65535}


def work_of(module: nn.Module, shape: Sequence[int]) -> int:
    """Multiply-adds of a forward pass of one row: a convolution uses a weight at every place, other layers once."""
    if any(isinstance(layer, nn.modules.conv._ConvNd) for layer in module.modules()):
        with suppress(Exception):  # a module of the user's may do what shapes alone do not allow
            return sum(multiply_adds(module, shape).values())
    return sum(p.numel() for p in module.parameters())


def class_weights(given: Mapping[Any, float] | str | None, classes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The weight of each class; "balanced" is n / (K n_k), with n counted in row weights."""
    if given is None:
        return np.ones(len(classes))
    if isinstance(given, str):
        return counts.sum() / (len(classes) * np.maximum(counts, np.finfo(float).tiny))
    known = list(classes.tolist())
    unknown = [label for label in given if label not in known]
    if unknown:
        raise InputError(nearest("class in class_weight:", unknown[0], known))
    try:
        weights = np.array([float(given.get(label, 1.0)) for label in known])
    except (TypeError, ValueError):
        raise InputError(f"class_weight={dict(given)}: a weight must be a number.") from None
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise InputError(f"class_weight={dict(given)}: weights must be finite and >= 0, and one of them > 0.")
    return weights


def digest(*parts: Arrays | None) -> str:
    """SHA-256 of shapes, dtypes and bytes of the rows."""
    found = sha256()
    arrays = (a for part in parts if part is not None for a in part if a is not None)
    for array in (b for a in arrays for b in _contents(a)):
        found.update(repr((array.shape, array.dtype.str)).encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def _contents(a: Any) -> tuple[np.ndarray, ...]:
    if isinstance(a, Pictures):
        return (np.frombuffer(a.digest().encode(), np.uint8),)
    return (a.numbers, a.codes) if isinstance(a, Encoded) else (a,)
