"""The graph of a computation with all its numbers; mapping over rows, recomputing, and counting what modes cost.

    v_j = f_j(its parents),      v̄_i = Σ_j v̄_j ∂v_j/∂v_i,   the sum over the children j of i

∂v_j/∂v_i is the direct derivative of one step; v̄_i is the total one, along all ways from i to the end.

    vmap(f)(X)[i] = f(X[i])          checkpoint(f): forward again in backward, instead of stored
    full Jacobian of f: Rⁿ -> Rᵐ     forward n passes, keeps O(1);   reverse m sweeps, keeps every intermediate

Shapes: N nodes in the order in which they were computed; ∂v_j/∂v_i has the shape of v_j and then that of v_i.
Reference: Griewank and Walther, Evaluating Derivatives, 2nd edition, chapters 3, 4 and 12 (2008).
"""

from collections.abc import Callable
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError, InputTypeError
from ..plots import Figure, boxes, format_array, short
from ..results import Result, Table
from ._boxes import PRIMITIVES, Primitive, plain
from ._inputs import as_tuple
from .engine import Node, Tape, backward, jvp, partial, variable, vjp

MAX_ENTRIES, MAX_NODES = 10_000, 60  # of a direct derivative that is kept; of a picture that can be read
_SIGNS = {"add": "+", "subtract": "-", "multiply": "·", "divide": "/", "matmul": "@", "power": "^"}


class Graph(Result):
    """A computation, node by node."""

    names: tuple[str, ...]  # of the nodes: their own, or v and the number from 1 on
    steps: tuple[str, ...]  # what each is computed by, in the names of others; empty for a variable
    parents: tuple[tuple[int, ...], ...]  # positions of the nodes that each is computed from
    values: tuple[np.ndarray, ...]
    adjoints: tuple[np.ndarray, ...]  # total derivative of the last node (with its seed) for each
    partials: tuple[tuple[np.ndarray | None, ...], ...]  # direct, for each parent; None above 10,000 entries

    def columns(self) -> dict[str, Any]:
        """One row per node."""
        return {
            "node": self.names,
            "step": self.steps,
            "value": list(map(format_array, self.values)),
            "adjoint": list(map(format_array, self.adjoints)),
            "direct derivatives": [", ".join(self._direct(i)) for i in range(len(self.names))],
        }

    def text(self) -> str:
        """Numbered lines in the order of the computation: step, value, adjoint, direct derivatives."""
        n, columns = len(self.names), self.columns()
        cells = [[self._equation(i) for i in range(n)], [f"value {v}" for v in columns["value"]]]
        cells += [[f"adjoint {a}" for a in columns["adjoint"]], columns["direct derivatives"]]
        padded = [[cell.ljust(max(map(len, column))) for cell in column] for column in cells]
        numbers = [str(i + 1).rjust(len(str(n))) for i in range(n)]
        return "\n".join("  ".join(row).rstrip() for row in zip(numbers, *padded, strict=True))

    def figure(self) -> Figure:
        """Boxes with values (to the right) and adjoints (to the left), an arrow from each parent."""
        n = len(self.names)
        if n > MAX_NODES:
            raise InputError(f"The graph has {n:,} nodes, and {MAX_NODES} can be read in a picture; use text or table.")
        pairs = zip(self.values, self.adjoints, strict=True)
        numbers = [f"{format_array(v)} →\n← {format_array(a)}" for v, a in pairs]
        words = [f"{short(self._equation(i), 28)}\n{numbers[i]}" for i in range(n)]
        return boxes(words, self.parents, title=f"Computation graph: {n} nodes")

    def _equation(self, i: int) -> str:
        return f"{self.names[i]} = {self.steps[i]}" if self.steps[i] else self.names[i]

    def _direct(self, i: int) -> list[str]:
        """∂child/∂parent = number, for each parent."""
        pairs = zip(self.parents[i], self.partials[i], strict=True)
        found = [(self.names[p], "large" if d is None else format_array(d)) for p, d in pairs]
        return [f"∂{self.names[i]}/∂{name} = {number}" for name, number in found]


def graph(of: Node | Callable[..., Any], *x: Any, seed: Any = None) -> Graph:
    """The graph that ends in a node, or that a function makes of these arguments.

    Args:
        of: A node made of `variable(x)`, or a function of arrays.
        x: Arguments of the function; each becomes a variable with the name of its parameter.
        seed: The adjoint of the last node, of its shape; None: 1, for a scalar.

    Example:
        >>> print(graph(lambda a, b: a * b + a, 2.0, 3.0).text())
        1  a            value 2  adjoint 4
        2  b            value 3  adjoint 2
        3  v3 = a · b   value 6  adjoint 1  ∂v3/∂a = 3, ∂v3/∂b = 2
        4  v4 = v3 + a  value 8  adjoint 1  ∂v4/∂v3 = 1, ∂v4/∂a = 1
    """
    end = of if isinstance(of, Node) else of(*_variables(of, x))
    if not isinstance(end, Node):
        raise InputTypeError(f"graph got {of!r}, which gave {end!r}, not a node; compute it from its arguments.")
    adjoints, nodes = backward(end, seed), Tape(end).nodes
    position = {node.number: i for i, node in enumerate(nodes)}
    names = tuple(node.name or f"v{i + 1}" for i, node in enumerate(nodes))
    parents = tuple(tuple(dict.fromkeys(position[parent.number] for parent in node.parents)) for node in nodes)
    return Graph(
        names,
        tuple(_step(node, names, position) for node in nodes),
        parents,
        tuple(np.asarray(node.value) for node in nodes),
        tuple(np.asarray(adjoints[node]) for node in nodes),
        tuple(tuple(_direct(node, nodes[p]) for p in above) for node, above in zip(nodes, parents, strict=True)),
    )


def _variables(f: Callable[..., Any], x: tuple[Any, ...]) -> list[Node]:
    """Arguments with the names of the parameters that take them; those of *args are numbered."""
    try:
        parameters = signature(f).parameters.values()
        signature(f).bind(*x)
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            f"graph got {f!r} with {len(x)} arguments: {error}; give a node, or a function and all that it takes."
        ) from error
    names = [
        name
        for p in parameters
        for name in ([f"{p.name}{i + 1}" for i in range(len(x))] if p.kind is p.VAR_POSITIONAL else [p.name])
    ]
    return [variable(value, name) for value, name in zip(x, names, strict=False)]


def _step(node: Node, names: tuple[str, ...], position: dict[int, int]) -> str:
    """The primitive with its arguments by name; constants as numbers or shapes."""
    if node.primitive is None:
        return ""
    words = [
        names[position[a.number]] if isinstance(a, Node) and a.sweep == node.sweep else _constant(a) for a in node.args
    ]
    sign = _SIGNS.get(node.primitive.name)
    return f" {sign} ".join(words) if sign and len(words) == 2 else f"{node.primitive.name}({', '.join(words)})"


def _constant(value: Any) -> str:
    value = plain(value)
    if not isinstance(value, np.ndarray | np.generic | float | int):
        return str(value)
    return format_array(np.asarray(value)[()]).partition(", norm")[0]


def _direct(node: Node, parent: Node) -> np.ndarray | None:
    return np.asarray(partial(node, parent)) if np.size(node.value) * np.size(parent.value) <= MAX_ENTRIES else None


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

    return Primitive(f, lambda g, y, *args: as_tuple(vjp(f, *args)[1](g)).__getitem__, forward)


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
