"""What a net consists of: layers, shapes, parameters and multiply-adds.

    dense layer:  Ω_k (D_{k+1}, D_k),  β_k (D_{k+1},):    D_{k+1} (D_k + 1) parameters,  D_k D_{k+1} multiply-adds
    dense net:    Σ_{k=0}^{K} D_k D_{k+1}  multiply-adds for a row;    D_0 inputs, K hidden layers, D_{K+1} outputs

A multiply-add is one product that is added to a sum; biases, activations and normalizations are not counted.
Shapes: L layers, in the order in which they run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.rnn import RNNBase, RNNCellBase
from torch.nn.utils.parametrize import ParametrizationList
from torch.utils._pytree import tree_map
from torch.utils.flop_counter import FlopCounterMode

from ... import plots
from ...data import Batch
from ...data.batch import take
from ...plots import Figure
from ...results import Result
from .._probe import Call, calls, forward, layer_named, layers_of, module_of, rows_for, untouched
from .._registry import explanation

__all__ = ["Summary", "summary"]


@dataclass(frozen=True, eq=False)
class Summary(Result):
    """Layers of a net. A parameter that several layers share counts where it first appears."""

    names: tuple[str, ...]  # of the layers
    kinds: tuple[str, ...]  # their classes
    outputs: tuple[tuple[int, ...] | None, ...]  # shape for one row (of the first tensor); None: it never ran
    shapes: tuple[dict[str, tuple[int, ...]], ...]  # of its own parameters, by their names
    parameters: np.ndarray  # how many they are: (L,)
    frozen: np.ndarray  # how many of them do not train: (L,)
    statistics: np.ndarray  # numbers that are kept and not trained, such as running means and variances: (L,)
    multiply_adds: np.ndarray  # for one row, all calls together: (L,)
    calls: np.ndarray  # how often each layer ran: (L,)
    dense: bool  # whether every matrix belongs to a dense layer
    feed_forward: bool  # whether no layer is recurrent or used twice
    chain: tuple[int, ...] | None  # D_0 ... D_{K+1} if it is both and the widths of its dense layers fit, else None

    @property
    def widths(self) -> tuple[int, ...] | None:
        """Widths D_1 ... D_K of the hidden layers; None where there is no chain."""
        return None if self.chain is None else self.chain[1:-1]

    @property
    def depth(self) -> int | None:
        """Number K of hidden layers."""
        return None if self.widths is None else len(self.widths)

    @property
    def hidden_units(self) -> int | None:
        """D_1 + ... + D_K."""
        return None if self.widths is None else sum(self.widths)

    @property
    def deep(self) -> bool | None:
        """Whether there is more than one hidden layer."""
        return None if self.depth is None else self.depth > 1

    def columns(self) -> dict[str, Any]:
        """One row per layer; the totals are in the caption."""
        return {
            "layer": self.names,
            "kind": self.kinds,
            "output": [None if shape is None else _times(shape) for shape in self.outputs],
            "tensors": [", ".join(f"{name} {_times(shape)}" for name, shape in own.items()) for own in self.shapes],
            "parameters": self.parameters,
            "frozen": self.frozen if self.frozen.any() else None,
            "statistics": self.statistics if self.statistics.any() else None,
            "multiply-adds": self.multiply_adds,
            "calls": None if (self.calls == 1).all() else self.calls,
        }

    @property
    def caption(self) -> str:
        total, frozen = int(self.parameters.sum()), int(self.frozen.sum())
        trained = f"{total - frozen:,} trainable, {frozen:,} frozen" if frozen else "all trainable"
        lines = [f"{total:,} parameters ({trained}), {int(self.multiply_adds.sum()):,} multiply-adds for a row."]
        if kept := int(self.statistics.sum()):
            lines.append(f"With {kept:,} statistics, which are kept and not trained, {total + kept:,} numbers in all.")
        if self.widths is not None:
            hidden = f"hidden widths {', '.join(map(str, self.widths))}" if self.widths else "no hidden layer"
            size = f"depth {self.depth}, {self.hidden_units} hidden units"
            lines.append(f"Dense, feed-forward, {'deep' if self.deep else 'shallow'}: {hidden}, {size}.")
        return " ".join(lines)

    def figure(self) -> Figure:
        """Parameters of the layers that have any."""
        total, cost = int(self.parameters.sum()), int(self.multiply_adds.sum())
        kept = np.flatnonzero(self.parameters) if self.parameters.any() else np.arange(len(self.names))
        return plots.layers(
            [self.names[i] for i in kept],
            self.parameters[kept],
            label="parameters",
            title=f"{total:,} parameters, {cost:,} multiply-adds for a row",
            notes=[self._note(i) for i in kept.tolist()],
        )

    def _note(self, i: int) -> str:
        if not self.calls[i]:
            return "never called"
        return f"{self.multiply_adds[i]:,} multiply-adds" if self.multiply_adds[i] else ""


def _times(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "1"


@explanation("summary")
def summary(obj: Any, X: Any = None, *, input_shape: Sequence[int] | None = None) -> Summary:
    """Layers of a net with shapes, parameters and multiply-adds, as seen in one pass.

    Args:
        X: Rows to run (two are taken); an estimator knows the shape of its rows and needs none.

    Example:
        >>> print(summary(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), input_shape=(3,)).table())
        26 parameters (all trainable), 20 multiply-adds for a row.
        Dense, feed-forward, shallow: hidden widths 4, depth 1, 4 hidden units.
        layer  kind    output  tensors             parameters  multiply-adds
        -----  ------  ------  ------------------  ----------  -------------
        0      Linear  4       weight 4×3, bias 4          16             12
        1      ReLU    4                                    0              0
        2      Linear  2       weight 2×4, bias 2          10              8
    """
    module, batch = module_of(obj), Batch(take(rows_for(obj, X, input_shape, 2).x, slice(0, 2)))
    with untouched(module), calls(module) as seen:
        forward(obj, batch)
    parts = {call.name: call.layer for call in seen}
    parts |= {name: part for name, part in layers_of(module) if part._parameters and name not in parts}
    return _summary(parts, seen, _multiply_adds(obj, batch, list(parts)), batch.n)


def _multiply_adds(obj: Any, batch: Batch, names: list[str]) -> dict[str, int]:
    """Of each layer without the layers inside it, for all rows; on "meta", where fused layers are taken apart."""
    module = module_of(obj)
    try:
        copy = deepcopy(module).to("meta").eval()
        rows = tree_map(lambda v: v.to("meta") if isinstance(v, Tensor) else v, batch.x)
        with torch.no_grad():
            return _counted(copy, names, lambda: copy(rows))
    except (RuntimeError, TypeError, NotImplementedError, AttributeError):  # it reads numbers, or has no forward
        with untouched(module):
            return _counted(module, names, lambda: forward(obj, batch))


def _counted(module: nn.Module, names: list[str], run: Callable[[], Any]) -> dict[str, int]:
    """Multiply-adds of each layer while something runs; what a layer inside counts, its outer one does not."""
    own, running = dict.fromkeys(names, 0), []
    counter = FlopCounterMode(display=False)

    def leave(name: str) -> None:
        spent = counter.get_total_flops() // 2 - running.pop()[1]
        own[name] += spent
        if running:
            own[running[-1][0]] -= spent

    handles = []
    for name in names:
        part = layer_named(module, name)
        enter = lambda *_, name=name: running.append((name, counter.get_total_flops() // 2))  # noqa: E731
        handles += [part.register_forward_pre_hook(enter)]
        handles += [part.register_forward_hook(lambda *_, name=name: leave(name))]
    try:
        with counter:
            run()
    finally:
        for handle in handles:
            handle.remove()
    return own


def _summary(parts: dict[str, nn.Module], seen: list[Call], cost: dict[str, int], n: int) -> Summary:
    own, known = [], set()
    for part in parts.values():
        found = {name: p for name, p in part.named_parameters(recurse=False) if id(p) not in known}
        known |= set(map(id, found.values()))
        own.append(found)
    ran = [sum(call.name == name for call in seen) for name in parts]
    first = {call.name: call.out.shape for call in reversed(seen)}
    shapes = [first.get(name) for name in parts]
    matrices = [(part, count) for part, count in zip(parts.values(), ran, strict=True) if _has_matrix(part)]
    dense = all(isinstance(part, nn.Linear) and count for part, count in matrices)
    straight = max(ran, default=0) <= 1 and not any(isinstance(p, RNNBase | RNNCellBase) for p in parts.values())
    return Summary(
        names=tuple(parts),
        kinds=tuple(type(part).__name__ for part in parts.values()),
        outputs=tuple(None if shape is None else tuple(shape[shape[:1] == (n,) :]) for shape in shapes),
        shapes=tuple({name: tuple(p.shape) for name, p in found.items()} for found in own),
        parameters=np.array([sum(p.numel() for p in found.values()) for found in own], dtype=int),
        frozen=np.array([sum(p.numel() for p in found.values() if not p.requires_grad) for found in own], dtype=int),
        statistics=np.array([_statistics(part) for part in parts.values()], dtype=int),
        multiply_adds=np.array([cost[name] // n for name in parts], dtype=int),
        calls=np.array(ran, dtype=int),
        dense=dense,
        feed_forward=straight,
        chain=_chain(list(parts.values())) if dense and straight else None,
    )


def _has_matrix(part: nn.Module) -> bool:
    own = any(p.ndim > 1 for p in part.parameters(recurse=False))
    return own and not isinstance(part, ParametrizationList)  # which hands it to its layer


def _statistics(module: nn.Module) -> int:
    """Numbers in its own buffers; counters are none."""
    return sum(b.numel() for b in module.buffers(recurse=False) if b.is_floating_point())


def _chain(parts: list[nn.Module]) -> tuple[int, ...] | None:
    """D_0 ... D_{K+1} if each dense layer takes the output of the one before."""
    pairs = [(part.in_features, part.out_features) for part in parts if isinstance(part, nn.Linear)]
    fits = all(before[1] == after[0] for before, after in pairwise(pairs))
    return (pairs[0][0], *(width for _, width in pairs)) if pairs and fits else None
