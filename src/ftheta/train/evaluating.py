"""Which losses draw from the global generators, and what their evaluation needs.

| a loss of | draws from | needs |
|---|---|---|
| layers of torch and fθ | nothing | nothing |
| the same, with dropout | torch, in training mode | torch's generator seeded, under the lock |
| another objective of fθ than `Supervised`, e.g. with chains | torch | the same, in both modes |
| a module, function or hook of the user's | anything | all generators seeded, under the lock |

The lock covers the backward pass too: a checkpointed module computes its forward pass again there.
"""

import random
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count
from typing import Any

import numpy as np
import torch
from torch import nn

from ..data.batch import Batch
from ..data.sources import Source
from ..draw import Draw, Kept
from ..nn import StochasticDepth
from .objective import Objective

__all__ = ["Drawing", "Foreign", "batches_of", "evaluate", "is_foreign"]

OURS = tuple(f"ftheta.{name}." for name in ("nn", "likelihoods", "train", "models", "data"))
KNOWN = ("abc.", "builtins.", "weakref.", "torch.", *OURS)  # where what draws is one of the layers below
RANDOM = (
    nn.modules.dropout._DropoutNd,
    nn.FractionalMaxPool2d,
    nn.FractionalMaxPool3d,
    nn.MultiheadAttention,
    nn.RNNBase,
    nn.RReLU,
    StochasticDepth,
)


class Foreign:
    """The scope of calls of the user's code. The first call shows whether it draws from NumPy or Python: saving these
    generators costs fifty times as much as saving torch's, and few modules use them."""

    only_torch: bool | None = None  # None: not known yet

    def scope(self, draw: Draw, *, seed: bool = True) -> AbstractContextManager[None]:
        """All generators that it draws from seeded, the states of before restored."""
        return self._first(draw) if self.only_torch is None else _scope(draw, seed, only_torch=self.only_torch)

    @contextmanager
    def _first(self, draw: Draw) -> Iterator[None]:
        with draw.scope():
            before = _others()
            yield
            self.only_torch = _others() == before


class Drawing:
    """What the evaluations of an objective, or of a module, draw from.

    Args:
        module: Looked at once; it may be in any mode.
    """

    def __init__(self, module: nn.Module) -> None:
        parts = list(module.modules())
        self.dropout = any(isinstance(part, RANDOM) for part in parts)
        self.sampled = any(isinstance(part, Objective) and part.global_noise for part in parts)
        self.foreign = {mode: Foreign() for mode in (True, False)} if any(map(_has_foreign, parts)) else None

    def __bool__(self) -> bool:
        """Whether there is anything to seed in training mode."""
        return self.dropout or self.sampled or self.foreign is not None

    def scope(self, draw: Draw, *, training: bool = True, seed: bool = True) -> AbstractContextManager[None]:
        """What one evaluation needs, in this mode; not `seed`: torch is seeded inside."""
        if self.foreign:
            return self.foreign[training].scope(draw, seed=seed)
        if self.sampled or (self.dropout and training):
            return _scope(draw, seed, only_torch=True)
        return nullcontext()


def batches_of(source: Source, epoch: int, start: int, draw: Draw) -> Iterator[Batch]:
    """The batches of an epoch; a plain iterator, e.g. a `DataLoader`, may draw from the global generators."""
    stream = source.batches(epoch, start, draw)
    return stream if source.exact else _seeded(stream, start, draw)


def _seeded(stream: Iterator[Batch], start: int, draw: Draw) -> Iterator[Batch]:
    foreign = Foreign()
    for number in count(start):
        with foreign.scope(draw.at(number)):
            batch = next(stream, None)
        if batch is None:
            return
        yield batch


def evaluate(objective: Objective, source: Source, draw: Draw, drawing: Drawing | None = None) -> dict[str, float]:
    """What the objective reports over all batches of a source, in evaluation mode: each Σ total / Σ weight; a mean
    of means would weigh a short last batch wrongly."""
    sums: dict[str, list[Any]] = {}
    modes = [(module, module.training) for module in objective.modules()]
    drawing = Drawing(objective) if drawing is None else drawing
    objective.eval()
    with torch.no_grad():
        for i, batch in enumerate(batches_of(source, 0, 0, draw.at("order"))):
            here = draw.at(i)
            with drawing.scope(here, training=False):
                found = objective.evaluate(batch, here)
            for name, loss in found.items():
                kept = sums.setdefault(name, [0.0, 0.0])
                kept[0], kept[1] = kept[0] + loss.total.detach().double(), kept[1] + loss.weight
    for module, mode in modes:
        module.training = mode
    return {name: float(total / weight) for name, (total, weight) in sums.items()}


def is_foreign(thing: Any) -> bool:
    """Whether a function, or a class that an object is made from, is neither torch's nor ours."""
    homes = [thing] if hasattr(thing, "__name__") else type(thing).__mro__
    return not all(f"{home.__module__}.".startswith(KNOWN) for home in homes)


def _has_foreign(part: nn.Module) -> bool:
    """Whether a module runs code of the user's: its class, a hook, or a function that it holds."""
    held = [*vars(part).values(), *part._forward_hooks.values(), *part._forward_pre_hooks.values()]
    flat = [item for value in held for item in (value if isinstance(value, list | tuple) else [value])]
    return is_foreign(part) or any(callable(item) and is_foreign(item) for item in flat)


def _scope(draw: Draw, seed: bool, *, only_torch: bool) -> AbstractContextManager[None]:
    return draw.scope(only_torch=only_torch) if seed or not only_torch else Kept(only_torch=True)


def _others() -> tuple[Any, ...]:
    numpy: Any = np.random.get_state()
    return numpy[1].tobytes(), *numpy[2:], random.getstate()
