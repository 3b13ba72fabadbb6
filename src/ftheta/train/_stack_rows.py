"""The rows of all members of a stack, lying one after another, and which of them make a batch.

    row j of batch b of member m  =  offset_m + order_m[b B_m + j],      order_m drawn from (seed_m, epoch) as alone

Where members have fewer rows than the longest, the batch is filled with rows of weight 0.
Shapes: M members, B rows a batch, N rows in all, S slots of an epoch (Σ over batches of the largest batch).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ..data.batch import Batch
from ..data.sources import Rows
from ..draw import Draw
from ..errors import InputError

__all__ = ["StackedRows"]


class StackedRows:
    """Batches (M, B, ...) of several sources; a source that several members share is kept once.

    Args:
        sources: Rows of each member.
        draws: The draw of each member, from which the order of its rows comes.
    """

    def __init__(self, sources: Sequence[Rows], draws: Sequence[Draw]) -> None:
        _check(sources)
        distinct = list({id(s): s for s in sources}.values())
        starts = dict(zip(map(id, distinct), accumulate((s.n for s in distinct), initial=0), strict=False))
        self.offset = torch.tensor([[starts[id(s)]] for s in sources])  # (M, 1)
        self.x = torch.cat([s.x if s._expand is None else s._expand(s.x) for s in distinct])  # (N, ...)
        self.y = None if distinct[0].y is None else torch.cat([s.y for s in distinct])
        self.weight = _weights(distinct, self.x)
        self.one = len(distinct) == 1
        self.sizes, self.draws, self.shuffle = torch.tensor([s.n for s in sources]), list(draws), sources[0].shuffle
        self._lay_out(torch.tensor([s.batch_size for s in sources]), len(sources[0]))
        self.begin(0)

    def _lay_out(self, batch: Tensor, length: int) -> None:
        """The slots of an epoch: positions in each member's order, and which of them are real."""
        first = torch.arange(length) * batch[:, None]  # (M, L): where batch b begins
        counts = torch.minimum(batch[:, None], self.sizes[:, None] - first)  # (M, L): its rows
        widths = counts.amax(0)  # (L,)
        self.ends = [0, *widths.cumsum(0).tolist()]
        number = torch.repeat_interleave(torch.arange(length), widths)  # (S,): the batch of a slot
        place = torch.arange(self.ends[-1]) - torch.tensor(self.ends)[number]  # (S,): its place there
        real = place < counts[:, number]  # (M, S)
        self.slots = torch.where(real, first[:, number] + place, 0)
        self.real = None if real.all() else real

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def most(self) -> int:
        """Rows of the largest batch."""
        return max(high - low for low, high in pairwise(self.ends))

    @property
    def padded(self) -> bool:
        """Whether some member has rows of weight 0 to fill its batches."""
        return self.real is not None

    def take(self, index: np.ndarray) -> StackedRows:
        """The same rows for some of the members."""
        some, kept = copy(self), torch.from_numpy(index)
        some.offset, some.sizes, some.slots = self.offset[kept], self.sizes[kept], self.slots[kept]
        some.real = None if self.real is None else self.real[kept]
        some.index, some._whole = self.index[kept], None
        some.draws = [self.draws[i] for i in index]
        return some

    def begin(self, epoch: int) -> None:
        """Draw the order of every member's rows in this epoch."""
        self._whole: Batch | None = getattr(self, "_whole", None)
        if self.shuffle and len(self) > 1:
            drawn = [d.at("order", epoch).generator("order") for d in self.draws]
            orders = [torch.randperm(int(n), generator=g) for n, g in zip(self.sizes, drawn, strict=True)]
            self.index = pad_sequence(orders, batch_first=True).gather(1, self.slots) + self.offset
        elif epoch == 0:
            self.index = self.slots + self.offset

    def batch(self, b: int) -> Batch:
        """Batch b of all members, x (M, B, ...); where an epoch is one batch it is put together once."""
        if self._whole is not None:
            return self._whole
        low, high = self.ends[b], self.ends[b + 1]
        found = self._gather(self.index[:, low:high], None if self.real is None else self.real[:, low:high])
        self._whole = found if len(self) == 1 else None
        return found

    def _gather(self, index: Tensor, real: Tensor | None) -> Batch:
        device = self.x.device
        index = index.to(device)

        def rows(of: Any) -> Any:
            if of is None:
                return None
            if self.one and len(self) == 1:
                return of.expand(len(index), *of.shape)
            return of.index_select(0, index.flatten()).unflatten(0, index.shape)

        weight = rows(self.weight)
        if real is not None:
            real = real.to(device, self.x.dtype)
            weight = real if weight is None else weight * real
        return Batch(rows(self.x), rows(self.y), weight)


def _check(sources: Sequence[Rows]) -> None:
    for source in sources:
        if not isinstance(source, Rows) or (source._expand is None and not isinstance(source.x, Tensor)):
            raise InputError("A stack trains on rows in memory whose x is one tensor: pass Rows(x, y, batch_size=...).")
    lengths = sorted({len(s) for s in sources})
    if len(lengths) > 1:
        raise InputError(
            f"Members of a stack step together, but their rows make {lengths[0]} to {lengths[-1]} batches an epoch. "
            "Give all as many rows, or a batch_size that makes as many batches of them."
        )


def _weights(sources: Sequence[Rows], x: Tensor) -> Tensor | None:
    if all(s.weight is None for s in sources):
        return None
    return torch.cat([x.new_ones(s.n) if s.weight is None else s.weight.to(x) for s in sources])
