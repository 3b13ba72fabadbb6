"""What is trained on, batch by batch.

    Indexed:   batch b of an epoch = get(order[bB : (b + 1)B]),   order = a permutation drawn from (seed, epoch)

Indexed is a function of (seed, epoch, position), so training resumes in the middle of an epoch bit for bit. Arrays are
indexed, sequences padded, series cut into windows and pictures decoded one batch at a time.
A Stream is whatever an iterator gives next.
Shapes: B rows of a batch.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from itertools import islice, repeat
from numbers import Integral
from typing import Any, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from ..check import unequal
from ..draw import Draw
from ..errors import InputError, InputTypeError
from .batch import Batch, take

NOISE = 0.2  # of lengths by which rows are grouped: batches differ from epoch to epoch
GATHERED = 2**22  # bytes of small rows gathered at once: many views of one gather cost less than many gathers


class Source(Protocol):
    """Gives the batches of an epoch from number `start` on; `draw` is the place ("order", epoch)."""

    exact: bool  # whether training on it resumes bit for bit

    def __len__(self) -> int: ...  # batches in an epoch
    def batches(self, epoch: int, start: int, draw: Draw) -> Iterator[Batch]: ...
    def state_dict(self) -> dict[str, Any]: ...  # what is needed to go on, beside epoch and position
    def load_state_dict(self, tree: dict[str, Any]) -> None: ...


class _Stateless:
    def state_dict(self) -> dict[str, Any]:
        """Nothing: epoch and position are enough, or nothing can go back."""
        return {}

    def load_state_dict(self, tree: dict[str, Any]) -> None:
        """There is no state."""


class Indexed(_Stateless):
    """The one stateless source: a count, and a function from row numbers to a batch.

    Args:
        n: Number of rows, or of windows.
        get: (index, draw) -> Batch; `draw` is the place ("order", epoch). None: a subclass has it as a method.
        batch_size: Rows of a batch; the last one may be shorter. From n on, an epoch is one batch in the order given.
        shuffle: Whether each epoch has an order of its own.
        ahead: Batches that a thread makes while those before are trained on; 0: no thread.
        lengths: Steps of each row, where rows are padded in a batch: shuffled batches hold rows of similar lengths.

    Example:
        >>> squares = Indexed(5, lambda index, draw: Batch(index**2), batch_size=2, shuffle=False)
        >>> [batch.x.tolist() for batch in squares.batches(0, 0, Draw(0))]
        [[0, 1], [4, 9], [16]]
    """

    exact = True

    def __init__(
        self,
        n: int,
        get: Callable[[Tensor, Draw], Batch] | None = None,
        *,
        batch_size: int,
        shuffle: bool = True,
        ahead: int = 0,
        lengths: Sequence[int] | None = None,
    ) -> None:
        if not isinstance(batch_size, Integral) or batch_size < 1:
            raise InputError(f"batch_size is {batch_size!r}; it must be an integer of at least 1.")
        self.n, self.batch_size, self.shuffle, self.ahead = n, int(batch_size), shuffle, ahead
        self.lengths = None if lengths is None else torch.tensor(lengths)
        if get is not None:
            self.get: Callable[[Tensor, Draw], Batch] = get

    def __len__(self) -> int:
        return -(-self.n // self.batch_size)

    def order(self, draw: Draw) -> Tensor:
        """Row numbers in the order of this epoch: (n,)."""
        if not self.shuffle or len(self) < 2:
            return torch.arange(self.n)
        mixed = torch.randperm(self.n, generator=draw.generator("order"))
        return mixed if self.lengths is None else self._grouped(mixed, self.lengths, draw)

    def _grouped(self, mixed: Tensor, lengths: Tensor, draw: Draw) -> Tensor:
        """Rows by their lengths times noise, cut into batches, batches in a random order; a shorter one is last."""
        rng, whole = draw.generator("lengths"), self.n // self.batch_size * self.batch_size
        noisy = lengths[mixed[:whole]] * (1 + NOISE * torch.rand(whole, generator=rng))
        batches = mixed[:whole][noisy.argsort()].view(-1, self.batch_size)
        return torch.cat([batches[torch.randperm(len(batches), generator=rng)].flatten(), mixed[whole:]])

    def batches(self, epoch: int, start: int, draw: Draw) -> Iterator[Batch]:
        """The batches of an epoch from number `start` on, the same whether or not those before were taken."""
        parts = self.order(draw).split(self.batch_size)[start:]
        if self.ahead:
            return _prefetched((self.get(index, draw) for index in parts), self.ahead)
        return (self.get(index, draw) for index in parts)

    def resized(self, batch_size: int) -> Self:
        """The same rows in batches of another size."""
        made = copy(self)
        made.batch_size = batch_size
        return made


def _prefetched(batches: Iterator[Batch], depth: int) -> Iterator[Batch]:
    """Up to `depth` batches are made in advance by one thread; what it raises is raised here, in its place."""
    pool, end = ThreadPoolExecutor(1, "ftheta-ahead"), None
    waiting = deque(pool.submit(next, batches, end) for _ in range(depth + 1))
    try:
        while (batch := waiting.popleft().result()) is not None:
            waiting.append(pool.submit(next, batches, end))
            yield batch
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class Rows(Indexed):
    """Rows in memory: tensors, lists, or dicts and tuples of them; y and weight may be None.

    `expand` makes inputs of the rows of a batch, where `x` is kept in a smaller form; other arguments as of `Indexed`.

    Example:
        >>> source = Rows(torch.arange(5.0), batch_size=2, shuffle=False)
        >>> [batch.x.tolist() for batch in source.batches(0, 0, Draw(0))]
        [[0.0, 1.0], [2.0, 3.0], [4.0]]
    """

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
        self.expand = expand
        self._all: Batch | None = None
        super().__init__(_common_rows(self.x, self.y, self.weight), batch_size=batch_size, shuffle=shuffle)

    def get(self, index: Tensor, draw: Draw) -> Batch:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Rows by number."""
        x = take(self.x, index)
        return Batch(self.expand(x) if self.expand else x, take(self.y, index), take(self.weight, index), index)

    def batches(self, epoch: int, start: int, draw: Draw) -> Iterator[Batch]:
        """As of any `Indexed`; one batch of all rows is not copied, small rows are gathered many batches at a time."""
        if len(self) > 1:
            fields = [f for f in (self.x, self.y, self.weight) if f is not None]
            plain = self.shuffle and all(isinstance(f, Tensor) and f.device.type == "cpu" for f in fields)
            return self._gathered(start, draw) if plain else super().batches(epoch, start, draw)
        if self._all is None:
            inputs = self.expand(self.x) if self.expand else self.x
            self._all = Batch(inputs, self.y, self.weight, torch.arange(self.n))
        return iter([self._all][start:])

    def _gathered(self, start: int, draw: Draw) -> Iterator[Batch]:
        size, row = self.batch_size, sum(f.nbytes for f in (self.x, self.y, self.weight) if f is not None) // self.n
        order = self.order(draw)[start * size :]
        for index in order.split(size * max(1, GATHERED // (size * row + 1))) if len(order) else ():
            parts = (repeat(None) if f is None else take(f, index).split(size) for f in (self.x, self.y, self.weight))
            for x, *rest in zip(*parts, index.split(size), strict=False):
                yield Batch(self.expand(x) if self.expand else x, *rest)


class Stream(_Stateless):
    """Batches from an iterator, an iterable or a function that returns one: `Batch`, (x, y), (x, y, weight) or x alone.

    An iterator goes on from epoch to epoch; an iterable (a `DataLoader`) or a function starts anew in each.
    An epoch has `length` batches.
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
            parts = item if isinstance(item, (tuple, list)) else (item,)
            if not 1 <= len(parts) <= 3 and not isinstance(item, Batch):
                needed = "a Batch, x, (x, y) or (x, y, weight) is needed"
                raise InputError(f"The stream gave {len(parts)} things; {needed}.")
            yield Batch(*parts)
        if count < self.length:
            advice = "give one that lasts, one that starts anew (a function), or a smaller length"
            raise InputError(f"The stream ended after {count} of {self.length} batches of epoch {epoch}: {advice}.")


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
            raise unequal(n, name, len(value))
    return n
