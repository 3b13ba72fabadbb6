"""A net drawn as it runs: its layers with channels and sizes, and every skip connection.

    block -> block -> ...        a step to the right for each halving of the map: a U-Net goes there and back
    a skip                       from where a value is computed to the sum or concatenation that takes it up again

The graph is followed in one pass, so it holds for any module: layers are those that run, joins are operations on what
comes from different layers.

Shapes: N nodes in the order in which they ran, the input first; E edges.
References: Ronneberger, Fischer and Brox, arXiv:1505.04597 (2015); He et al., arXiv:1603.05027 (2016).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import log2
from textwrap import fill
from typing import Any, Self

from torch import nn

from ...data import Batch
from ...errors import InputError
from ...plots import Figure, boxes
from ...results import Result
from .._probe import NO_MAPS, first_tensor, fitting, has_maps, module_of, rows_for, untouched
from .._registry import explanation
from ..gradients._passes import Record

_JOINS = {"add": "+", "sub": "-", "mul": "×", "cat": "concat", "concat": "concat", "truediv": "/", "iadd": "+"}
MAX_SINGLE = 12  # nodes that are drawn one by one
LETTERS = 30  # of a line in a box


@dataclass(frozen=True)
class Node:
    """A box of the diagram: the input, layers in a row, or a join."""

    name: str  # of the layer, from first to last where there are several; "input"; the sign of a join
    kinds: tuple[str, ...]  # classes of its layers, in words; empty for the input and joins
    shape: tuple[int, ...]  # of its output, without the rows: channels first
    level: int  # how often the map was halved on the way here
    sources: tuple[int, ...]  # numbers of the nodes whose values it takes


class Diagram(Result):
    """The graph of a net."""

    title: str  # class of the net and its count of parameters
    nodes: tuple[Node, ...]  # layers and joins as they ran

    @property
    def skips(self) -> list[tuple[int, int]]:
        """Edges that go past other nodes: (from, to)."""
        return [(a, i) for i, node in enumerate(self.nodes) for a in node.sources if a != i - 1]

    def blocks(self) -> Self:
        """Layers in a row on one level, of which only the last is taken by others, as one node; a join may be first."""
        taken = {a for i, node in enumerate(self.nodes) for a in node.sources if a != i - 1}

        def starts(i: int) -> bool:
            node, before = self.nodes[i], self.nodes[i - 1]
            plain = bool(node.kinds) and i > 1 and node.sources == (i - 1,)
            return not plain or i - 1 in taken or node.level != before.level or len(node.shape) != len(before.shape)

        block, of = -1, []
        for i in range(len(self.nodes)):
            block += i == 0 or starts(i)
            of.append(block)
        merged = []
        for _, group in groupby(range(len(self.nodes)), of.__getitem__):
            members = [self.nodes[i] for i in group]
            first, last = members[0], members[-1]
            alone = first is last
            name = first.name if alone else f"{first.name} - {last.name}"
            kinds = tuple(kind for node in members for kind in node.kinds or (() if alone else (node.name,)))
            merged.append(Node(name, kinds, last.shape, last.level, tuple(of[a] for a in first.sources)))
        return replace(self, nodes=tuple(merged))

    def columns(self) -> dict[str, Any]:
        return {
            "node": range(len(self.nodes)),
            "layer": [node.name for node in self.nodes],
            "kind": [_counted(node.kinds) for node in self.nodes],
            "output": [" × ".join(map(str, node.shape)) for node in self.nodes],
            "level": [node.level for node in self.nodes],
            "inputs": [", ".join(map(str, node.sources)) for node in self.nodes],
        }

    @property
    def caption(self) -> str:
        return f"{self.title}; edges past other nodes: {len(self.skips)}."

    def figure(self) -> Figure:
        """Boxes from top to bottom, a step right for each halving, arrows of all edges; long nets in blocks."""
        nodes = self.nodes if len(self.nodes) <= MAX_SINGLE else self.blocks().nodes
        kinds = [(_counted(n.kinds) or n.name).replace(" ", "\0").replace(",\0", ", ") for n in nodes]
        lines = [fill(kind, LETTERS).replace("\0", " ") for kind in kinds]  # which end after a comma
        words = [f"{text}\n{'×'.join(map(str, n.shape))}" for text, n in zip(lines, nodes, strict=True)]
        levels = [n.level for n in nodes]
        return boxes(words, [n.sources for n in nodes], levels=levels, down=True, title=self.title)


@explanation("diagram", when=has_maps, otherwise=f"{NO_MAPS}; explain.network draws dense ones")
def diagram(obj: Any, X: Any = None, input_shape: Sequence[int] | None = None) -> Diagram:
    """The graph of a net with convolutions: every layer that runs, its output, and every skip.

    Args:
        X: Rows to run (one is taken); an estimator knows the shape of its rows and needs none.

    Example:
        >>> from ftheta.nn import Residual
        >>> diagram(Residual(nn.Conv2d(2, 2, 3, padding=1)), input_shape=(2, 8, 8)).skips
        [(0, 2)]
    """
    module = module_of(obj)
    x = first_tensor(rows_for(obj, X, input_shape, 1).x)
    if x is None or x.ndim < 3:
        raise InputError(f"diagram got rows of shape {None if x is None else tuple(x.shape)}; expected maps.")
    record, x = Record(), x[:1]
    with untouched(module), fitting(module, Batch(x)):
        given = record.start(x.detach().requires_grad_())
        with record.of(module):
            module(given)
    nodes, of = [], []  # layers and operations on what comes from different nodes; the node of each step
    for step in record.steps:
        sources = tuple(sorted({of[s] for s in step.sources}))
        passes = step.idle if step.layer is not None else len(sources) == 1
        if nodes and passes:
            of.append(sources[0])
            continue
        out = step.value
        level = round(log2(max(x.shape[-1] / out.shape[-1], 1))) if out.ndim == x.ndim else nodes[sources[-1]].level
        name = step.name if step.layer is not None or not nodes else _JOINS.get(step.name, step.name)
        kinds = () if step.layer is None else (_kind(step.layer),)
        of.append(len(nodes))
        nodes.append(Node(name, kinds, tuple(out.shape[1:]), level, sources))
    count = sum(p.numel() for p in module.parameters())
    return Diagram(f"{type(module).__name__}, {count:,} parameters", tuple(nodes))


def _kind(layer: nn.Module) -> str:
    """Class, kernel and stride of a layer in words: Conv2d 3×3 /2."""
    kernel, stride = getattr(layer, "kernel_size", None), getattr(layer, "stride", None)
    if not isinstance(kernel, int | tuple):
        return type(layer).__name__
    dims = int(digit) if (digit := type(layer).__name__[-2:-1]).isdigit() else 1
    sides = kernel if isinstance(kernel, tuple) else (kernel,) * dims
    steps = {stride} if isinstance(stride, int) else set(stride or ())
    return f"{type(layer).__name__} {'×'.join(map(str, sides))}" + "".join(f" /{s}" for s in steps if s != 1)


def _counted(kinds: Sequence[str]) -> str:
    """Kinds in the order in which they first come, with their number."""
    return ", ".join(f"{n} {kind}" if (n := list(kinds).count(kind)) > 1 else kind for kind in dict.fromkeys(kinds))
