"""What a net consists of: layers, shapes, parameters and multiply-adds.

    dense layer:  Ω_k (D_{k+1}, D_k),  β_k (D_{k+1},):    D_{k+1} (D_k + 1) parameters,  D_k D_{k+1} multiply-adds
    dense net:    Σ_{k=0}^{K} D_k D_{k+1}  multiply-adds for a row;    D_0 inputs, K hidden layers, D_{K+1} outputs

A multiply-add is one product that is added to a sum; biases, activations and normalisations are not counted.
Shapes: L layers, in the order in which they run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.rnn import RNNBase, RNNCellBase
from torch.nn.utils.parametrize import ParametrizationList

from .. import plots
from ..data import Batch, take
from ..errors import InputError
from ..nn import COSTS
from ..results import Result, Table
from ._probe import batch_of, first_tensor, forward, layers_of, module_of, untouched, watching
from ._registry import HasModule, explanation, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Summary", "summary"]


_LOOKUPS = (nn.Embedding, nn.EmbeddingBag)  # a matrix, and no product


@dataclass(frozen=True, eq=False)
class Summary(Result):
    """Layers of a net. A parameter that several layers share counts where it first appears.

    Args:
        names: Name of each layer.
        kinds: Its class.
        outputs: Shape of its output for one row (of the first tensor, where there are several); None if it never ran.
        shapes: Shapes of its own parameters, by their names.
        parameters: How many they are: (L,).
        frozen: How many of them do not train: (L,).
        statistics: Numbers that are kept and not trained, such as running means and variances: (L,).
        multiply_adds: For one row, all calls together: (L,).
        calls: How often each layer ran: (L,).
        uncounted: Kinds with matrices whose products are not in `multiply_adds`.
        dense: Whether every matrix belongs to a dense layer.
        feed_forward: Whether no layer is recurrent or used twice.
        chain: D_0 ... D_{K+1} if the net is both and the widths of its dense layers fit each other, else None.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    outputs: tuple[tuple[int, ...] | None, ...]
    shapes: tuple[dict[str, tuple[int, ...]], ...]
    parameters: np.ndarray
    frozen: np.ndarray
    statistics: np.ndarray
    multiply_adds: np.ndarray
    calls: np.ndarray
    uncounted: tuple[str, ...]
    dense: bool
    feed_forward: bool
    chain: tuple[int, ...] | None

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

    def table(self) -> Table:
        """One line a layer; the totals are in the caption."""
        columns: dict[str, Sequence[Any]] = {
            "layer": self.names,
            "kind": self.kinds,
            "output": [None if shape is None else _times(shape) for shape in self.outputs],
            "tensors": [", ".join(f"{name} {_times(shape)}" for name, shape in own.items()) for own in self.shapes],
            "parameters": self.parameters.tolist(),
            "frozen": self.frozen.tolist(),
            "statistics": self.statistics.tolist(),
            "multiply-adds": self.multiply_adds.tolist(),
            "calls": self.calls.tolist(),
        }
        usual = {"frozen": not self.frozen.any(), "statistics": not self.statistics.any()}
        usual |= {"calls": bool((self.calls == 1).all())}
        return Table({name: column for name, column in columns.items() if not usual.get(name)}, self._caption())

    def _caption(self) -> str:
        total, frozen = int(self.parameters.sum()), int(self.frozen.sum())
        trained = f"{total - frozen:,} trainable, {frozen:,} frozen" if frozen else "all trainable"
        said = [f"{total:,} parameters ({trained}), {int(self.multiply_adds.sum()):,} multiply-adds for a row."]
        if kept := int(self.statistics.sum()):
            said.append(f"With {kept:,} statistics, which are kept and not trained, {total + kept:,} numbers in all.")
        if self.uncounted:
            said.append(f"Products inside {', '.join(self.uncounted)} are not counted.")
        if self.widths is not None:
            hidden = f"hidden widths {', '.join(map(str, self.widths))}" if self.widths else "no hidden layer"
            size = f"depth {self.depth}, {self.hidden_units} hidden units"
            said.append(f"Dense, feed-forward, {'deep' if self.deep else 'shallow'}: {hidden}, {size}.")
        return " ".join(said)

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
        if self.kinds[i] in self.uncounted:
            return "not counted"
        return f"{self.multiply_adds[i]:,} multiply-adds" if self.multiply_adds[i] else ""


def _times(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "1"


@explanation("summary", needs=nn.Module | HasModule)
def summary(obj: Any, X: Any = None, *, input_shape: Sequence[int] | None = None) -> Summary:
    """Layers of a net with shapes, parameters and multiply-adds, as seen in one pass.

    Args:
        obj: A module, or a fitted estimator with one.
        X: Rows to run (two are taken); an estimator knows the shape of its rows and needs none.
        input_shape: Shape of one row of zeros, where there is no X.

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
    require(obj, nn.Module | HasModule, "summary")
    module, batch = module_of(obj), _two_rows(obj, X, input_shape)
    ran: dict[str, _Layer] = {}

    def see(name: str, layer: nn.Module, inputs: Any, output: Any) -> None:
        ran.setdefault(name, _Layer(name, layer)).saw(first_tensor(inputs), first_tensor(output), batch.n)

    with untouched(module), watching(module, see):
        forward(obj, batch)
    silent = [_Layer(name, part) for name, part in layers_of(module) if name not in ran and part._parameters]
    return _summary([*ran.values(), *silent])


def _two_rows(obj: Any, X: Any, shape: Sequence[int] | None) -> Batch:
    if X is not None:
        return Batch(take(batch_of(obj, X).x, slice(0, 2)))
    spec = getattr(obj, "input_", None)
    shape = spec.shape if shape is None and spec is not None else shape
    if shape is None:
        raise InputError(
            f"{type(obj).__name__} does not say what its rows look like; pass X, or input_shape=, the shape of one row."
        )
    like = next(module_of(obj).parameters(), torch.zeros(()))
    return Batch(torch.zeros(2, *shape, dtype=like.dtype, device=like.device))


@dataclass(eq=False)
class _Layer:
    """A layer and what was seen of it."""

    name: str
    module: nn.Module
    output: tuple[int, ...] | None = None
    cost: int = 0
    calls: int = 0

    def saw(self, x: Tensor | None, out: Tensor | None, n: int) -> None:
        """One call, for n rows."""
        if out is not None and self.output is None:
            self.output = tuple(out.shape[1:] if out.shape[:1] == (n,) else out.shape)
        cost = next((f for kind, f in COSTS if isinstance(self.module, kind)), None)
        if cost is not None and x is not None and out is not None:
            self.cost += cost(self.module, x, out) // n
        self.calls += 1

    @property
    def has_matrix(self) -> bool:
        own = any(p.ndim > 1 for p in self.module.parameters(recurse=False))
        return own and not isinstance(self.module, ParametrizationList)  # which hands it to its layer

    @property
    def counted(self) -> bool:
        known = self.calls > 0 and isinstance(self.module, tuple(kind for kind, _ in COSTS))
        return known or isinstance(self.module, _LOOKUPS) or not self.has_matrix


def _summary(layers: list[_Layer]) -> Summary:
    own, seen = [], set()
    for layer in layers:
        found = {name: p for name, p in layer.module.named_parameters(recurse=False) if id(p) not in seen}
        seen |= set(map(id, found.values()))
        own.append(found)
    dense = all(isinstance(layer.module, nn.Linear) and layer.calls for layer in layers if layer.has_matrix)
    straight = not any(layer.calls > 1 or isinstance(layer.module, RNNBase | RNNCellBase) for layer in layers)
    return Summary(
        names=tuple(layer.name for layer in layers),
        kinds=tuple(type(layer.module).__name__ for layer in layers),
        outputs=tuple(layer.output for layer in layers),
        shapes=tuple({name: tuple(p.shape) for name, p in found.items()} for found in own),
        parameters=np.array([sum(p.numel() for p in found.values()) for found in own], dtype=int),
        frozen=np.array([sum(p.numel() for p in found.values() if not p.requires_grad) for found in own], dtype=int),
        statistics=np.array([_statistics(layer.module) for layer in layers], dtype=int),
        multiply_adds=np.array([layer.cost for layer in layers], dtype=int),
        calls=np.array([layer.calls for layer in layers], dtype=int),
        uncounted=_uncounted(layers),
        dense=dense,
        feed_forward=straight,
        chain=_chain(layers) if dense and straight else None,
    )


def _statistics(module: nn.Module) -> int:
    """Numbers in its own buffers; counters are none."""
    return sum(b.numel() for b in module.buffers(recurse=False) if b.is_floating_point())


def _uncounted(layers: list[_Layer]) -> tuple[str, ...]:
    """Kinds of the layers with matrices and no formula; their parts go without saying."""
    found = [layer for layer in layers if not layer.counted]
    inner = [layer for layer in found if any(layer.name.startswith(f"{outer.name}.") for outer in found)]
    return tuple(dict.fromkeys(type(layer.module).__name__ for layer in found if layer not in inner))


def _chain(layers: list[_Layer]) -> tuple[int, ...] | None:
    """D_0 ... D_{K+1} if each dense layer takes what the one before gives."""
    pairs = [(la.module.in_features, la.module.out_features) for la in layers if isinstance(la.module, nn.Linear)]
    fits = all(before[1] == after[0] for before, after in pairwise(pairs))
    return (pairs[0][0], *(width for _, width in pairs)) if pairs and fits else None
