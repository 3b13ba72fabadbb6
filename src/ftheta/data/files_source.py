"""A source that decodes pictures in a thread while the batches before them are trained on.

    thread: files -> uint8 -> queue (bounded in bytes);     batch b of an epoch = rows order[bB : (b + 1)B] / 255

The order is that of Rows for the same draw, and what comes depends on (seed, epoch, position) alone.
Shapes: B rows a batch, channels C, height H, width W.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import prod
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..draw import Draw
from ..errors import FileFormatError, InputError
from ..store.files import readable
from ._ahead import ahead
from .batch import Batch, take
from .picture_files import Pictures, Reader
from .sources import _common_rows, _tensors

__all__ = ["Files"]

AHEAD, MOST_AHEAD = 1 << 26, 8  # bytes and batches that wait in the queue, at least one batch
MOST = 1 << 29  # bytes of one batch as floats


class Files:
    """Pictures in files as batches (B, C, H, W) in [0, 1], decoded ahead of time in bounded memory.

    Where bad files are skipped, their rows are missing in their batch; a batch that would be empty holds the next good
    picture of the order.

    Args:
        pictures: Of `open_images`.
        y: Targets, (n, ...), or None.
        weight: Weights, (n,) or (n, ...), or None.
        batch_size: Rows a batch; the last one may be shorter. From n on, an epoch is one batch in the order given.
        shuffle: Whether each epoch has an order of its own.
        device: Where batches go; bytes are moved and made floats there.
        dtype: Of x.
        cache: As in `open_images`; None: as the pictures have it.
    """

    exact = True

    def __init__(
        self,
        pictures: Pictures,
        y: Any = None,
        weight: Any = None,
        *,
        batch_size: int,
        shuffle: bool = True,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        cache: bool | int | None = None,
    ) -> None:
        self.x, self.shuffle, self.cache = pictures, shuffle, cache
        self.device, self.dtype = torch.device(device), dtype
        self.y, self.weight = (v.to(device) if isinstance(v, Tensor) else v for v in map(_tensors, (y, weight)))
        self.n = _common_rows(pictures, self.y, self.weight)
        if not isinstance(batch_size, Integral) or batch_size < 1:
            raise InputError(f"batch_size is {batch_size!r}; it must be a whole number of rows, at least 1.")
        self.batch_size = int(batch_size)
        self._bytes = min(self.batch_size, self.n) * prod(pictures.shape[1:])
        if self._bytes * dtype.itemsize > MOST:
            _, _, height, width = pictures.shape
            raise InputError(
                f"A batch of {self.batch_size} pictures of {width}x{height} pixels takes "
                f"{readable(self._bytes * dtype.itemsize)}, at most {readable(MOST)} are held: "
                "give open_images a smaller size=(H, W), or a smaller batch_size."
            )

    def __len__(self) -> int:
        return -(-self.n // self.batch_size)

    def batches(self, epoch: int, start: int, draw: Draw) -> Iterator[Batch]:
        """The batches of an epoch from number `start` on, the same whether or not those before were asked for."""
        mixed = self.shuffle and len(self) > 1
        order = torch.randperm(self.n, generator=draw.generator("order")) if mixed else torch.arange(self.n)
        depth = max(1, min(MOST_AHEAD, AHEAD // self._bytes))
        make = partial(_decoded, self.x, order.numpy(), start * self.batch_size, self.batch_size, self.cache)
        for x, rows in ahead(make, depth):
            index = torch.from_numpy(rows)
            floats = torch.from_numpy(x).to(self.device).to(self.dtype).div_(255)
            yield Batch(floats, take(self.y, index), take(self.weight, index), index)

    def resized(self, batch_size: int) -> Files:
        """The same pictures in batches of another size."""
        knobs = {"shuffle": self.shuffle, "device": self.device, "dtype": self.dtype, "cache": self.cache}
        return Files(self.x, self.y, self.weight, batch_size=batch_size, **knobs)

    def state_dict(self) -> dict[str, Any]:
        """Nothing: epoch and position say it all."""
        return {}

    def load_state_dict(self, tree: dict[str, Any]) -> None:
        """Nothing to put back."""


def _decoded(
    pictures: Pictures, order: np.ndarray, start: int, size: int, cache: bool | int | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Bytes (B, C, H, W) and row numbers (B,), batch by batch; it runs in the thread."""
    with pictures.reader(cache) as reader:
        for low in range(start, len(order), size):
            x, rows = reader.read(order[low : low + size])
            yield (x, rows) if len(rows) else _next_good(reader, np.roll(order, -low))


def _next_good(reader: Reader, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    for row in order:
        x, rows = reader.read(np.array([row]))
        if len(rows):
            return x, rows
    root = reader.listing.root
    raise FileFormatError(f"{root}: none of the {len(order)} pictures can be decoded. Check the folder.")
