"""Automatic differentiation: a program is a graph of primitives, and the chain rule walks it in either direction.

    reverse   v̄_N = 1,   v̄_k = Σ_{children c} v̄_c ∂c/∂v_k          one sweep for each output
    forward   v̇_k = Σ_{parents p} ∂v_k/∂p v̇_p                      one pass for each input

A primitive takes arrays, `Node`s (reverse: remember how they were made) or `Dual`s (forward: carry a tangent). Every
derivative opens a sweep of its own number; inner sweeps are unwrapped first, so derivatives nest. Rules are written
with primitives, so they are recorded too. A node knows its arguments and nobody knows it: what is not needed is freed.
Reference: Griewank and Walther, Evaluating Derivatives, 2nd edition (2008).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np

from ..errors import InputError, InputTypeError
from ._boxes import PRIMITIVES, Box, Primitive, plain
from ._inputs import as_float, as_tuple, basis, belongs_to, finite, joined, output, refuse_kink, seed_of

_numbers, _sweeps = count(1), count(1)  # of nodes; of derivatives that are being taken (0: `variable`)
_NONE: dict[str, Any] = {}


class Node(Box):
    """A value that remembers the primitive and the arguments that made it; a variable has none."""

    __slots__ = ("args", "name", "number", "primitive", "static")

    def __init__(self, value: Any, sweep: int, p: Primitive | None, args: tuple, static: dict) -> None:
        self.value, self.sweep, self.primitive, self.args, self.static = value, sweep, p, args, static
        self.number, self.name = next(_numbers), ""
        if isinstance(value, np.ndarray):
            self.value = value.view()
            self.value.flags.writeable = False
        elif isinstance(value, Box) and value.sweep >= sweep:
            raise InputError(f"{p} uses a recorded node that is not one of its arguments; give it as an argument.")

    @property
    def parents(self) -> list[Node]:
        """The nodes of the same sweep among the arguments."""
        return [a for a in self.args if isinstance(a, Node) and a.sweep == self.sweep]

    def step(self, p: Primitive, args: tuple, static: dict) -> Node:
        call = p if self.sweep else p.value  # within `variable` there are no other sweeps
        return Node(call(*self.inner(args), **static), self.sweep, p, args, static or _NONE)

    def __repr__(self) -> str:
        made = ", ".join(f"#{a.number}" if isinstance(a, Node) else "·" for a in self.args)
        how = f"{self.primitive.name}({made})" if self.primitive else f"variable {self.name}".rstrip()
        return f"node #{self.number} = {how}"


class Dual(Box):
    """A value with its tangent."""

    __slots__ = ("tangent",)

    def __init__(self, value: Any, sweep: int, tangent: Any) -> None:
        self.value, self.sweep, self.tangent = value, sweep, tangent

    def step(self, p: Primitive, args: tuple, static: dict) -> Any:
        tangents = [a.tangent if isinstance(a, Dual) and a.sweep == self.sweep else None for a in args]
        inner = self.inner(args)
        y = p(*inner, **static)
        dy = p.jvp(tangents, y, *inner, **static)
        if dy is None:
            return y
        return Dual(y, self.sweep, dy if dy.shape == y.shape else PRIMITIVES["broadcast_to"](dy, y.shape))


class Tape:
    """All nodes that one depends on, in the order in which they were recorded: parents first."""

    def __init__(self, end: Node) -> None:
        found, todo, sweep = {end.number: end}, [end], end.sweep
        while todo:
            for parent in todo.pop().args:
                if isinstance(parent, Node) and parent.sweep == sweep and parent.number not in found:
                    found[parent.number] = parent
                    todo.append(parent)
        self.nodes = [found[number] for number in sorted(found)]


class Adjoints:
    """Total derivatives of one node: `adjoints[node]`; zero for what does not matter."""

    def __init__(self, of: dict[int, Any]) -> None:
        self.of = of

    def __getitem__(self, node: Node) -> Any:
        if not isinstance(node, Node):
            raise InputTypeError(f"adjoints[...] takes a node, not {type(node).__name__}; keep what variable(x) gave.")
        found = self.of.get(node.number, np.zeros(node.shape))
        return found if isinstance(found, Box) else np.array(found, node.dtype)[()]  # a copy: rules share arrays


# ---- reverse mode


def _reverse(end: Node, seed: Any, strict: bool = False, keep: bool = False, watch: bool = False) -> Adjoints:
    """From the end to the variables: every node hands its adjoint to its parents by its rule; several uses add up."""
    of, nodes, sweep = {end.number: seed}, Tape(end).nodes, end.sweep
    for node in reversed(nodes):
        if strict:
            refuse_kink(node)
        if node.primitive is None or node.number not in of:
            continue
        g = of[node.number] if keep else of.pop(node.number)
        part_of = node.primitive.vjp(g, node.value, *node.inner(node.args), **node.static)
        for k, parent in enumerate(node.args):
            if isinstance(parent, Node) and parent.sweep == sweep and (part := part_of(k)) is not None:
                if watch and not finite(part):
                    raise InputError(f"The derivative of {node} is not finite; move away from this point.")
                of[parent.number] = of[parent.number] + part if parent.number in of else part
    if not watch and not all(finite(of[node.number]) for node in nodes if not node.args and node.number in of):
        _reverse(end, seed, watch=True)  # says where
    return Adjoints(of)


def variable(x: Any, name: str = "") -> Node:
    """An array to differentiate for: what is computed from it is recorded."""
    if isinstance(x, Box):
        raise InputTypeError(f"variable takes an array and got {x}, which is recorded already; use it as it is.")
    node = Node(as_float(x), 0, None, (), {})
    node.name = name
    return node


def backward(node: Node, seed: Any = None, strict: bool = False) -> Adjoints:
    """Adjoints of every node that this one depends on. The graph stays as it is: a second call gives the same.

    Args:
        node: A scalar, or anything with a seed.
        seed: The adjoint of the node itself, of its shape; None: 1.
        strict: Refuse kinks (relu at 0, ties of a maximum), where rules else take the subgradient that they state.
    """
    if not isinstance(node, Node) or node.sweep:
        raise InputTypeError(f"backward takes a node made of variable(x), not {node!r}; within grad, use grad again.")
    output(node, 0)
    with np.errstate(all="ignore"):
        return _reverse(node, seed_of(node, seed), strict, keep=True)


def partial(node: Node, parent: Node) -> Any:
    """The direct derivative of a node for an argument, all others held: shape of node + shape of parent."""
    p, args, static = node.primitive, node.args, node.static
    if p is None:
        return np.zeros(node.shape + parent.shape, node.dtype)[()]
    return jacobian(lambda x: p(*(x if a is parent else plain(a) for a in args), **static), parent.value)


def total(node: Node, parent: Node) -> Any:
    """The derivative of a node for any other along all paths: shape of node + shape of parent."""
    return joined([_reverse(node, e)[parent] for e in basis(node)], 0, node.shape + parent.shape)


def vjp(f: Callable, *x: Any, strict: bool = False) -> tuple[Any, Callable[[Any], Any]]:
    """f(*x), and the function v -> vᵀJ, which gives a tuple for several x."""
    sweep = next(_sweeps)
    inputs = [Node(as_float(a), sweep, None, (), {}) for a in x]
    with np.errstate(all="ignore"):
        y = output(f(*inputs), sweep)

    def pull(g: Any) -> Any:
        g = seed_of(y, g)
        with np.errstate(all="ignore"):
            adjoints = _reverse(y, g, strict) if belongs_to(y, sweep) else Adjoints({})
        return tuple(adjoints[v] for v in inputs) if len(x) != 1 else adjoints[inputs[0]]

    return y.value if belongs_to(y, sweep) else y, pull


def value_and_grad(f: Callable, argnum: int | tuple[int, ...] = 0, strict: bool = False) -> Callable[..., Any]:
    """The function that gives f(*x), a scalar, and its gradient for the arguments of these numbers."""
    places = as_tuple(argnum)

    def both(*x: Any) -> tuple[Any, Any]:
        if not all(0 <= k < len(x) for k in places):
            raise InputError(f"argnum is {argnum}, but f was given {len(x)} arguments; count them from 0.")

        def of(*free: Any) -> Any:
            return f(*({**dict(enumerate(x)), **dict(zip(places, free, strict=True))}.values()))

        y, pull = vjp(of, *(x[k] for k in places), strict=strict)
        found = pull(None)
        return y, (found,) if isinstance(argnum, tuple) and len(places) == 1 else found

    return both


def grad(f: Callable, argnum: int | tuple[int, ...] = 0, strict: bool = False) -> Callable[..., Any]:
    """The gradient of a scalar function, as a function."""
    return lambda *x: value_and_grad(f, argnum, strict)(*x)[1]


# ---- forward mode, and both


def jvp(f: Callable, x: Any, v: Any) -> tuple[Any, Any]:
    """f(x) and its derivative in direction v, in one pass that stores nothing; tuples for several arguments."""
    sweep, xs, vs = next(_sweeps), tuple(map(as_float, as_tuple(x))), as_tuple(v)
    if len(xs) != len(vs):
        raise InputError(f"{len(xs)} arguments and {len(vs)} directions were given; give each argument a direction.")
    with np.errstate(all="ignore"):
        y = f(*(Dual(a, sweep, seed_of(a, b)) for a, b in zip(xs, vs, strict=True)))
    outputs = [output(part, sweep) for part in as_tuple(y)]
    both = [(o.value, o.tangent) if belongs_to(o, sweep) else (o, np.zeros_like(plain(o))[()]) for o in outputs]
    if not all(finite(tangent) for _, tangent in both):
        raise InputError("The tangent is not finite: the function has no derivative here, or it overflows.")
    return (tuple(a for a, _ in both), tuple(b for _, b in both)) if isinstance(y, tuple) else both[0]


def jacobian(f: Callable, x: Any, mode: str = "reverse") -> Any:
    """Derivatives of all outputs for all inputs: shape of f(x) + shape of x; a tuple for a tuple of arguments."""
    xs = tuple(map(as_float, as_tuple(x)))
    if mode == "reverse":
        y, pull = vjp(f, *xs)
        parts = [as_tuple(pull(e)) for e in basis(y)]
        found = tuple(joined([p[k] for p in parts], 0, y.shape + a.shape) for k, a in enumerate(xs))
    elif mode == "forward":
        zeros = tuple(np.zeros(a.shape, a.dtype) for a in xs)
        parts = [[jvp(f, xs, (*zeros[:k], e, *zeros[k + 1 :]))[1] for e in basis(a)] for k, a in enumerate(xs)]
        shape = np.shape(plain(([column[0] for column in parts if column] or [f(*xs)])[0]))
        found = tuple(joined(column, -1, shape + a.shape) for column, a in zip(parts, xs, strict=True))
    else:
        raise InputError(f"mode is {mode!r}; it is 'reverse', a sweep an output, or 'forward', a pass an input.")
    return found if isinstance(x, tuple) else found[0]


def hvp(f: Callable, x: Any, v: Any) -> Any:
    """The Hessian of a scalar function times v, without the Hessian: forward over reverse; tuples as in `jvp`."""
    return jvp(grad(f, tuple(range(len(x))) if isinstance(x, tuple) else 0), x, v)[1]


def hessian(f: Callable, x: Any) -> Any:
    """Second derivatives of a scalar function: shape of x twice; a tuple of tuples for a tuple of arguments."""
    rows = tuple(jacobian(grad(f, k), x, mode="forward") for k in range(len(as_tuple(x))))
    return rows if isinstance(x, tuple) else rows[0]
