"""What is trained on, batch by batch.

    Rows:   batch b of an epoch = rows order[bB : (b + 1)B],   order = a permutation drawn from (seed, epoch)

Rows is a function of (seed, epoch, position), so training resumes in the middle of an epoch bit for bit.
A Stream is whatever an iterator gives next.
Shapes: B rows a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice, repeat
from numbers import Integral
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from ..draw import Draw
from ..errors import InputError, InputTypeError
from .batch import Batch, take

__all__ = ["Rows", "Source", "Stream"]

# Bytes gathered at once: one gather and many views cost less than a gather a batch, while they fit a cache.
CHUNK = 2**22


class Source(Protocol):
    """Gives batches, epoch after epoch."""

    exact: bool
    """Whether training on it resumes bit for bit."""

    def __len__(self) -> int:
        """Batches in an epoch."""
        ...

    def batches(self, epoch: int, start: int, draw: Draw) -> Iterator[Batch]:
        """The batches of an epoch from number `start` on; `draw` is the place ("order", epoch)."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """What is needed to go on, beside epoch and position."""
        ...

    def load_state_dict(self, tree: dict[str, Any]) -> None:
        """Put back what `state_dict` gave."""
        ...


class Rows:
    """Rows in memory: tensors, lists, or dicts and tuples of them, taken by index where they lie.

    Args:
        x: Inputs, (n, ...).
        y: Targets, (n, ...), or None.
        weight: Weights, (n,) or (n, ...), or None.
        batch_size: Rows a batch; the last one may be shorter. From n on, an epoch is one batch in the order given.
        shuffle: Whether each epoch has an order of its own.
        expand: What makes inputs of some rows of `x`, where those are kept in a smaller form.

    Example:
        >>> source = Rows(torch.arange(5.0), batch_size=2, shuffle=False)
        >>> [batch.x.tolist() for batch in source.batches(0, 0, Draw(0))]
        [[0.0, 1.0], [2.0, 3.0], [4.0]]
    """

    exact = True

    def __init__(
        self,
        x: Any,
        y: Any = None,
        weight: Any = None,
        *,
        batch_size: int,
        shuffle: bool = True,
        expand: Callable[[Any], Any] | None = None,
    ) -> None:
        self.x, self.y, self.weight = map(_tensors, (x, y, weight))
        self.n = _common_rows(self.x, self.y, self.weight)
        if not isinstance(batch_size, Integral) or batch_size < 1:
            raise InputError(f"batch_size is {batch_size!r}; it must be a whole number of rows, at least 1.")
        self.batch_size = int(batch_size)
        self.shuffle, self._expand = shuffle, expand
        inputs = self._expand(self.x) if self._expand and self.n <= self.batch_size else self.x
        self._whole = Batch(inputs, self.y, self.weight, torch.arange(self.n))

    def __len__(self) -> int:
        return -(-self.n // self.batch_size)

    def batches(self, epoch: int, start: int, draw: Draw) -> Iterator[Batch]:
        """The batches of an epoch from number `start` on, the same whether or not those before were asked for."""
        if len(self) == 1:
            yield from [self._whole][start:]
            return
        order = torch.randperm(self.n, generator=draw.generator("order")) if self.shuffle else None
        span = self._span()
        for low in range(start * self.batch_size, self.n, span):
            part = slice(low, low + span)
            index = part if order is None else order[part]
            chunk = Batch(*(take(field, index) for field in self._whole))
            chunk = chunk._replace(x=self._expand(chunk.x)) if self._expand else chunk
            yield from map(Batch, *(_pieces(field, self.batch_size) for field in chunk))

    def resized(self, batch_size: int) -> Rows:
        """The same rows in batches of another size."""
        knobs = {"batch_size": batch_size, "shuffle": self.shuffle, "expand": self._expand}
        return Rows(self.x, self.y, self.weight, **knobs)

    def _span(self) -> int:
        """Rows gathered at once: as many whole batches as fit into a chunk, at least one."""
        size = sum(v.nbytes for _, v in _leaves("", self._whole) if isinstance(v, Tensor)) / self.n
        return self.batch_size * max(1, int(CHUNK / (size * self.batch_size)))

    def state_dict(self) -> dict[str, Any]:
        """Nothing: epoch and position say it all."""
        return {}

    def load_state_dict(self, tree: dict[str, Any]) -> None:
        """Nothing to put back."""


class Stream:
    """Batches from an iterator, an iterable or a function that returns one: `Batch`, (x, y), (x, y, weight) or x alone.

    An iterator goes on from epoch to epoch; an iterable (a `DataLoader`) or a function starts anew in each.

    Args:
        batches: Where batches come from.
        length: Batches in an epoch.
    """

    exact = False

    def __init__(self, batches: Iterable[Any] | Callable[[], Iterable[Any]], length: int) -> None:
        if length < 1:
            raise InputError(f"length is {length}; an epoch of a stream has at least 1 batch.")
        self.given, self.length = batches, length

    def __len__(self) -> int:
        return self.length

    def batches(self, epoch: int, start: int, draw: Draw) -> Iterator[Batch]:
        """The next batches; what starts anew in each epoch skips `start` of them first."""
        given = self.given() if callable(self.given) else self.given
        skip = 0 if given is self.given and isinstance(given, Iterator) else start
        count = start
        for item in islice(given, skip, skip + self.length - start):
            count += 1
            yield _batch(item)
        if count < self.length:
            raise InputError(
                f"The stream ended after {count} of {self.length} batches of epoch {epoch}: "
                "give one that lasts, one that starts anew (a function), or a smaller length."
            )

    def state_dict(self) -> dict[str, Any]:
        """Nothing: an iterator cannot be put back, which is what `exact = False` says."""
        return {}

    def load_state_dict(self, tree: dict[str, Any]) -> None:
        """Nothing to put back."""


def _batch(item: Any) -> Batch:
    if isinstance(item, Batch):
        return item
    parts = item if isinstance(item, (tuple, list)) else (item,)
    if not 1 <= len(parts) <= 3:
        raise InputError(f"The stream gave {len(parts)} things; a Batch, x, (x, y) or (x, y, weight) is needed.")
    return Batch(*parts)


def _tensors(x: Any) -> Any:
    """Numeric arrays as tensors, everything else as it is."""
    if isinstance(x, dict):
        return {name: _tensors(value) for name, value in x.items()}
    if isinstance(x, tuple):
        return tuple(map(_tensors, x))
    numeric = isinstance(x, np.ndarray) and x.dtype.kind in "biufc"
    return torch.from_numpy(np.require(x, requirements="W")) if numeric else x


def _leaves(name: str, x: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(x, (dict, tuple)):
        for key, value in x.items() if isinstance(x, dict) else enumerate(x):
            yield from _leaves(f"{name}[{key!r}]", value)
    elif x is not None:
        yield name, x


def _common_rows(x: Any, y: Any, weight: Any) -> int:
    inputs = list(_leaves("X", x))
    leaves = [*inputs, *_leaves("y", y), *_leaves("weight", weight)]
    for name, value in leaves:
        if not hasattr(value, "__len__") or getattr(value, "ndim", 1) == 0:
            raise InputTypeError(f"{name} is {value!r}; rows are needed: a tensor, a list, or a dict or tuple of them.")
    n = len(inputs[0][1]) if inputs else 0
    if n == 0:
        raise InputError("X has 0 rows; at least 1 is needed. Check the filter or file that produced it.")
    for name, value in leaves:
        if len(value) != n:
            raise InputError(
                f"X has {n} rows but {name} has {len(value)}. "
                "They must match; did one file lose its header or last line?"
            )
    return n


def _pieces(x: Any, size: int) -> Iterable[Any]:
    """Views of `size` rows each; endless None for None."""
    if x is None:
        return repeat(None)
    if isinstance(x, Tensor):
        return x.split(size)
    if isinstance(x, dict):
        return (dict(zip(x, parts, strict=True)) for parts in zip(*(_pieces(v, size) for v in x.values())))  # noqa: B905
    if isinstance(x, tuple):
        return zip(*(_pieces(v, size) for v in x))  # noqa: B905
    return (x[i : i + size] for i in range(0, len(x), size))
