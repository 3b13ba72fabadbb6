"""Functions of functions that stand on the engine: mapping over rows, recomputing, and counting what modes cost.

    vmap(f)(X)[i] = f(X[i])          checkpoint(f): forward again in backward, instead of stored
    full Jacobian of f: Rⁿ -> Rᵐ     forward n passes, keeps O(1);   reverse m sweeps, keeps every intermediate

Reference: Griewank and Walther, Evaluating Derivatives, 2nd edition, chapters 3, 4 and 12 (2008).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..results import Table
from ._boxes import PRIMITIVES, Primitive, plain
from ._inputs import as_tuple
from .engine import Node, Tape, jvp, variable, vjp

__all__ = ["Cost", "checkpoint", "cost", "vmap"]


def vmap(f: Callable) -> Callable[..., Any]:
    """The function of one sample, mapped over the first axis of its arguments."""

    def mapped(*x: Any) -> Any:
        lengths = {len(a) for a in x}
        if len(lengths) != 1 or 0 in lengths:
            raise InputError(
                f"First axes of lengths {sorted(lengths)} were given; give each argument the same rows, at least one."
            )
        return PRIMITIVES["stack"](*(f(*row) for row in zip(*x, strict=True)))

    return mapped


def checkpoint(f: Callable) -> Callable[..., Any]:
    """f, of which only the arguments are stored: backward computes it a second time.

    Args:
        f: A function of arrays of floats that gives one array; all that is differentiated for is an argument.
    """

    def forward(tangents: list, y: Any, *args: Any) -> Any:
        directions = (np.zeros(np.shape(plain(a))) if t is None else t for t, a in zip(tangents, args, strict=True))
        return jvp(f, args, tuple(directions))[1]

    return Primitive(f, lambda g, y, *args: as_tuple(vjp(f, *args)[1](g)), forward)


class Cost(NamedTuple):
    """What the full Jacobian of a function costs in either mode, counted."""

    inputs: int  # numbers n that go in: passes of forward mode
    outputs: int  # numbers m that come out: sweeps of reverse mode
    operations: int  # primitives that one evaluation calls
    stored: int  # numbers that reverse mode keeps until its sweep: all that were computed
    live: int  # numbers that forward mode keeps at once at most: values and tangents that are still to be used
    bytes: int  # size of what reverse mode keeps

    @property
    def entries(self) -> int:
        """Of the explicit Jacobian: n m."""
        return self.inputs * self.outputs

    def table(self) -> Table:
        """A row for each mode."""
        passes, kept = [self.inputs, self.outputs], [self.live, self.stored]
        columns = {"mode": ["forward", "reverse"], "passes": passes, "numbers kept": kept}
        return Table(columns, f"{self.operations} operations; the explicit Jacobian has {self.entries} entries.")


def cost(f: Callable, *x: Any) -> Cost:
    """Passes, operations and memory of both modes for f at x, which gives one array, counted on its graph."""
    inputs = [variable(a) for a in x]
    end = f(*inputs)
    nodes = [node for node in Tape(end).nodes if node.primitive] if isinstance(end, Node) else []
    last = {parent.number: i for i, node in enumerate(nodes) for parent in node.parents if parent.primitive}
    leaving = [[m for m in node.parents if last.get(m.number) == i] for i, node in enumerate(nodes)]
    now = most = 0
    for node, gone in zip(nodes, leaving, strict=True):
        now += node.size
        most = max(most, now)
        now -= sum(m.size for m in set(gone))
    stored, size = sum(node.size for node in nodes), sum(node.value.nbytes for node in nodes)
    return Cost(sum(v.size for v in inputs), np.size(plain(end)), len(nodes), stored, 2 * most, size)
