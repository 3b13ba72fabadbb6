"""What a net consists of, and what its layers give: shapes, parameters, multiply-adds; dead and saturated units.

    dense layer:  Ω_k (D_{k+1}, D_k),  β_k (D_{k+1},):    D_{k+1} (D_k + 1) parameters,  D_k D_{k+1} multiply-adds
    dense net:    Σ_{k=0}^{K} D_k D_{k+1}  multiply-adds for a row;    D_0 inputs, K hidden layers, D_{K+1} outputs
    dead:         h_j(x) = 0 for all rows x: a ReLU unit that no longer learns
    saturated:    h_j(x) within 1 % of an end of the range of a bounded activation, where its slope is nearly 0

A multiply-add is one product that is added to a sum; biases, activations and normalizations are not counted.
Shapes: L layers, in the order in which they run; B rows, Q = 5 quantiles.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from copy import deepcopy
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.rnn import RNNBase, RNNCellBase
from torch.nn.utils.parametrize import ParametrizationList
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map
from torch.utils.flop_counter import flop_registry

from ...data import Batch
from ...data.batch import take
from ...errors import InputError
from ...nn import Recurrent
from ...plots import Figure, layers
from ...results import Result
from .. import _probe
from .._probe import calls, module_of, numbered, untouched
from .._registry import explanation

EDGE = 0.01  # of the range: where a unit counts as saturated
MANY = 100_000  # numbers of a layer whose quantiles are exact; of more, those of evenly spaced rows
RECURRENT = (RNNBase, RNNCellBase, Recurrent)
FUSED = (RNNBase, Recurrent, nn.MultiheadAttention, nn.TransformerEncoderLayer)
_RANGES = {nn.Sigmoid: (0.0, 1.0), nn.Hardsigmoid: (0.0, 1.0), nn.Tanh: (-1.0, 1.0), nn.Softsign: (-1.0, 1.0)}


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
        lines = [f"{total:,} parameters ({trained}){self._cost}."]
        if kept := int(self.statistics.sum()):
            lines.append(f"With {kept:,} statistics, which are kept and not trained, {total + kept:,} numbers in all.")
        if self.widths is not None:
            hidden = f"hidden widths {', '.join(map(str, self.widths))}" if self.widths else "no hidden layer"
            size = f"depth {self.depth}, {self.hidden_units} hidden units"
            lines.append(f"Dense, feed-forward, {'deep' if self.deep else 'shallow'}: {hidden}, {size}.")
        return " ".join(lines)

    def figure(self) -> Figure:
        """Parameters of the layers that have any."""
        total = int(self.parameters.sum())
        kept = np.flatnonzero(self.parameters) if self.parameters.any() else np.arange(len(self.names))
        costs = [f"{n:,} multiply-adds" if n else "" for n in self.multiply_adds.tolist()]
        notes = [costs[i] if self.calls[i] else "never called" for i in kept]
        names, title = [self.names[i] for i in kept], f"{total:,} parameters{self._cost}"
        return layers(names, self.parameters[kept], label="parameters", title=title, notes=notes)

    @property
    def _cost(self) -> str:
        cost = int(self.multiply_adds.sum())  # 0 where nothing that is counted ran, as in a machine of energies
        return f", {cost:,} multiply-adds for a row" if cost else ""


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
    module, batch = module_of(obj), Batch(take(_probe.rows_for(obj, X, input_shape, 2).x, slice(0, 2)))
    with untouched(module), calls(module) as seen:
        _probe.forward(obj, batch)
    parts = {call.name: call.layer for call in seen}
    parts |= {name: part for name, part in _probe.layers_of(module) if part._parameters and name not in parts}
    cost, n = _multiply_adds(obj, batch, list(parts)), batch.n
    own, known = [], set()
    for part in parts.values():
        found = {name: p for name, p in part.named_parameters(recurse=_is_whole(part)) if id(p) not in known}
        known |= set(map(id, found.values()))
        own.append(found)
    ran = [sum(call.name == name for call in seen) for name in parts]
    first = {call.name: call.out.shape for call in reversed(seen)}
    shapes = [first.get(name) for name in parts]
    dense = all(
        isinstance(part, nn.Linear) and count
        for part, count in zip(parts.values(), ran, strict=True)
        if any(p.ndim > 1 for p in part.parameters(recurse=_is_whole(part)))
        and not isinstance(part, ParametrizationList)  # which hands its matrix to its layer
    )
    straight = max(ran, default=0) <= 1 and not any(isinstance(p, RECURRENT) for p in parts.values())
    kept = [list(part.buffers(recurse=_is_whole(part))) for part in parts.values()]  # numbers that are not counters
    sides = [(part.in_features, part.out_features) for part in parts.values() if isinstance(part, nn.Linear)]
    fits = all(before[1] == after[0] for before, after in pairwise(sides))
    return Summary(
        names=tuple(parts),
        kinds=tuple(type(part).__name__ for part in parts.values()),
        outputs=tuple(None if shape is None else tuple(shape[shape[:1] == (n,) :]) for shape in shapes),
        shapes=tuple({name: tuple(p.shape) for name, p in found.items()} for found in own),
        parameters=np.array([sum(p.numel() for p in found.values()) for found in own], dtype=int),
        frozen=np.array([sum(p.numel() for p in found.values() if not p.requires_grad) for found in own], dtype=int),
        statistics=np.array([sum(b.numel() for b in some if b.is_floating_point()) for some in kept], dtype=int),
        multiply_adds=np.array([cost[name] // n for name in parts], dtype=int),
        calls=np.array(ran, dtype=int),
        dense=dense,
        feed_forward=straight,
        chain=(sides[0][0], *(width for _, width in sides)) if dense and straight and sides and fits else None,
    )


def _multiply_adds(obj: Any, batch: Batch, names: list[str]) -> dict[str, int]:
    """Of each layer without the layers inside it, for all rows; fused ones are taken apart on "meta"."""
    module = module_of(obj)
    if any(isinstance(part, FUSED) for part in module.modules()):
        with suppress(RuntimeError, TypeError, NotImplementedError, AttributeError):  # it reads numbers
            copy, given = deepcopy(module).to("meta").eval(), []
            with untouched(module), module.register_forward_pre_hook(lambda _, x: given.append(x)):
                _probe.forward(obj, batch)  # an estimator may make other inputs of its rows
            rows = tree_map(lambda v: v.to("meta") if isinstance(v, Tensor) else v, given)
            with torch.no_grad():
                return _counted(copy, names, lambda: [copy(*x) for x in rows])
    with untouched(module):
        return _counted(module, names, lambda: _probe.forward(obj, batch))


class _Spent(TorchDispatchMode):
    """Multiply-adds of all that runs, by torch's formulas; torch's own counter imports for a second."""

    spent = 0

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # what is skipped there imports it

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        cost = flop_registry.get(func._overloadpacket)
        self.spent += cost(*args, **(kwargs or {}), out_val=out) // 2 if cost else 0
        return out


def _counted(module: nn.Module, names: list[str], run: Callable[[], Any]) -> dict[str, int]:
    """Multiply-adds of each layer while something runs; what a layer inside counts, its outer one does not."""
    own, running = dict.fromkeys(names, 0), []
    counter = _Spent()

    def leave(name: str) -> None:
        spent = counter.spent - running.pop()[1]
        own[name] += spent
        if running:
            own[running[-1][0]] -= spent

    with ExitStack() as hooks, counter:
        for name in names:
            part = _probe.layer_named(module, name)
            enter = lambda *_, name=name: running.append((name, counter.spent))  # noqa: E731
            hooks.enter_context(part.register_forward_pre_hook(enter))
            hooks.enter_context(part.register_forward_hook(lambda *_, name=name: leave(name)))
        run()
    return own


def _is_whole(part: nn.Module) -> bool:
    """Whether the tensors of the parts count as its own."""
    return isinstance(part, Recurrent)


class Activations(Result):
    """Statistics of the output of every layer (of its first tensor, where it returns several)."""

    names: tuple[str, ...]  # of the layers; a layer that ran twice is there twice, as name[1] and name[2]
    kinds: tuple[str, ...]  # their classes
    mean: np.ndarray  # over rows and units: (L,)
    std: np.ndarray  # over rows and units: (L,)
    zeros: np.ndarray  # share of the numbers that are 0: (L,)
    dead: np.ndarray  # share of the units that are 0 for every row: (L,)
    saturated: np.ndarray  # share of the numbers near an end of the range: (L,); NaN where the range has no two ends
    quantiles: np.ndarray  # 5, 25, 50, 75 and 95 %: (L, Q)
    values: dict[str, np.ndarray]  # the outputs themselves by name, (B, ...) each, if they were kept
    n: int  # number of rows

    def columns(self) -> dict[str, Any]:
        """One row per layer; shares in per cent."""
        return {
            "layer": self.names,
            "kind": self.kinds,
            "mean": self.mean,
            "std": self.std,
            "5 %": self.quantiles[:, 0],
            "median": self.quantiles[:, 2],
            "95 %": self.quantiles[:, 4],
            "zero %": 100 * self.zeros,
            "dead %": 100 * self.dead,
            "saturated %": None if np.isnan(self.saturated).all() else 100 * self.saturated,
        }

    @property
    def caption(self) -> str:
        broken = [name for name, mean in zip(self.names, self.mean, strict=True) if not np.isfinite(mean)]
        lost = f" Numbers that are not finite in {', '.join(broken)}." if broken else ""
        most = self.names[int(self.dead.argmax())] if self.dead.any() else ""
        dead = f"Most dead units: {most}, {100 * self.dead.max():.2g} %." if most else "No unit is dead."
        return f"Activations of {self.n} rows.{lost} {dead}"

    def figure(self) -> Figure:
        """Quantiles of each layer, with the shares of dead and saturated units beside them."""
        shares = [{"dead": d, "saturated": s} for d, s in zip(self.dead, self.saturated, strict=True)]
        notes = [", ".join(f"{100 * v:.2g} % {name}" for name, v in each.items() if v > 0) for each in shares]
        label, title = "activation: median, 25-75 %, 5-95 %", f"Activations of {self.n} rows"
        return layers(self.names, self.quantiles, label=label, title=title, log=False, notes=notes)


@explanation(
    "activations",  # of parts that compute by a forward pass, and do not only lend their parameters
    when=lambda obj: any(type(p).forward is not nn.Module.forward for _, p in _probe.layers_of(module_of(obj))),
    otherwise="has no layers but parameters alone; {} needs some",
)
def activations(obj: Any, X: Any, *, training: bool = False, keep: bool = False) -> Activations:
    """Statistics of the output of every layer for these rows.

    Args:
        X: Rows; all are taken at once.
        keep: Keep the outputs, so that every pre-activation and activation can be read in `values`.

    Example:
        >>> found = activations(nn.Sequential(nn.Identity(), nn.ReLU()), [[-1.0, 2.0], [-3.0, 4.0]], keep=True)
        >>> found.values["1"].tolist(), found.dead.tolist()
        ([[0.0, 2.0], [0.0, 4.0]], [0.0, 0.5])
    """
    module, batch = module_of(obj), _probe.batch_of(obj, X)
    with untouched(module, training=training), calls(module, clone=True) as seen:
        _probe.forward(obj, batch)
    seen = [call for call in seen if call.out.numel()]
    if not seen:
        raise InputError(f"{type(module).__name__} has no layers to look at: none of its parts ran and gave a tensor.")
    outs = [call.out.float() if call.out.dtype is torch.bfloat16 else call.out for call in seen]  # for NumPy
    values = [out.detach().cpu().numpy() for out in outs]
    found = []
    with np.errstate(invalid="ignore", over="ignore"):  # infinite activations give NaN
        for call, kept in zip(seen, values, strict=True):
            h, layer = kept.astype(np.float64), call.layer
            ends = next((ends for kind, ends in _RANGES.items() if isinstance(layer, kind)), None)
            if isinstance(layer, nn.Hardtanh):  # ReLU6 is one
                ends = layer.min_val, layer.max_val
            edge = EDGE * (ends[1] - ends[0]) if ends else np.nan
            saturated = ((h <= ends[0] + edge) | (h >= ends[1] - edge)).mean() if ends else np.nan
            zero, quantiles = h == 0, np.quantile(h[:: -(-h.size // MANY)], _probe.QUANTILES)
            found.append((h.mean(), h.std(), zero.mean(), zero.all(0).mean(), saturated, quantiles))
    names = numbered([call.name for call in seen])
    kinds = tuple(type(call.layer).__name__ for call in seen)
    kept = dict(zip(names, values, strict=True)) if keep else {}
    return Activations(names, kinds, *map(np.array, zip(*found, strict=True)), values=kept, n=batch.n)
