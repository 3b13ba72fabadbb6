"""Boxes and primitives, and makers of derivative rules.

A primitive called with arrays gives an array; with a box, what the box's sweep makes of it. Rules by maker:

    y = f(x₁, x₂) entry by entry      x̄ₖ = unbroadcast(ȳ dₖ),    ẏ = Σₖ dₖ ẋₖ,    dₖ = ∂f/∂xₖ
"""

import operator
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import numpy as np

from ..errors import InputTypeError


class Primitive:
    """A function of arrays with its derivative rules.

    Args:
        value: What it computes: value(*args, **static).
        vjp: vjp(g, y, *args, **static): a function that gives the adjoint of argument k, or None.
        jvp: jvp(tangents, y, *args, **static): the tangent of y, or None; tangents are None where they are zero.
        kink: kink(*args, **static): where there is no derivative, and the rules take the one that they state.
    """

    def __init__(self, value: Callable, vjp: Callable, jvp: Callable, kink: Callable | None = None) -> None:
        self.name, self.__doc__ = value.__name__, value.__doc__
        self.value, self.vjp, self.jvp, self.kink = value, vjp, jvp, kink

    def __call__(self, *args: Any, **static: Any) -> Any:
        top = None
        for a in args:
            if isinstance(a, Box) and (top is None or a.sweep > top.sweep):
                top = a
        if top is None:
            return self.value(*args, **static)
        return top.step(self, args, static)

    def __repr__(self) -> str:
        return f"<primitive {self.name}>"


PRIMITIVES: dict[str, Primitive] = {}


def primitive(vjp: Callable, jvp: Callable, kink: Callable | None = None) -> Callable[[Callable], Primitive]:
    """Make a primitive of a NumPy function, and enter it into `PRIMITIVES`."""
    return lambda value: PRIMITIVES.setdefault(value.__name__, Primitive(value, vjp, jvp, kink))


def plain(x: Any) -> Any:
    """The array in any boxes."""
    while isinstance(x, Box):
        x = x.value
    return x


def _method(name: str) -> Callable[..., Any]:
    return lambda self, *args, **static: PRIMITIVES[name](self, *args, **static)


def _binary(name: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: PRIMITIVES[name](self, other)


def _swapped(name: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: PRIMITIVES[name](other, self)


def _comparison(compare: Callable) -> Callable[..., Any]:
    return lambda self, other: compare(plain(self), plain(other))


class Box:
    """A value within a sweep; it behaves like the array that it holds."""

    __slots__ = ("sweep", "value")

    def inner(self, args: tuple) -> list:
        """Arguments as this sweep sees them: its own boxes opened, all else constant."""
        sweep = self.sweep
        return [a.value if isinstance(a, Box) and a.sweep == sweep else a for a in args]

    def step(self, p: Primitive, args: tuple, static: dict) -> Any:
        """What this sweep makes of a call."""
        raise NotImplementedError

    def __array_ufunc__(self, ufunc: Callable, method: str, *args: Any, **static: Any) -> Any:
        if method != "__call__" or static:
            raise InputTypeError(f"np.{ufunc.__name__}.{method} writes or reduces, which is not recorded; use x + y.")
        return self.__array_function__(ufunc, (), args, static)

    def __array_function__(self, function: Callable, types: Any, args: tuple, static: dict) -> Any:
        name = function.__name__.replace("absolute", "abs")
        if name not in PRIMITIVES:
            raise InputTypeError(f"np.{name} has no derivative rule; there is one for {', '.join(sorted(PRIMITIVES))}.")
        return PRIMITIVES[name](*(args[0] if isinstance(args[0], list | tuple) else args[:1]), *args[1:], **static)

    def __setitem__(self, index: Any, value: Any) -> None:
        raise InputTypeError(f"x[{index}] = ... would change a recorded value; make a new one, as by where(...).")

    def __len__(self) -> int:
        return len(plain(self))

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(plain(self))

    def reshape(self, *shape: Any) -> Any:
        return PRIMITIVES["reshape"](self, shape[0] if len(shape) == 1 else shape)

    shape, dtype = property(lambda self: self.value.shape), property(lambda self: self.value.dtype)
    ndim, size = property(lambda self: self.value.ndim), property(lambda self: self.value.size)
    T, __getitem__ = property(_method("transpose")), _binary("getitem")
    __add__, __radd__ = _binary("add"), _swapped("add")
    __sub__, __rsub__ = _binary("subtract"), _swapped("subtract")
    __mul__, __rmul__ = _binary("multiply"), _swapped("multiply")
    __truediv__, __rtruediv__ = _binary("divide"), _swapped("divide")
    __pow__, __rpow__ = _binary("power"), _swapped("power")
    __matmul__, __rmatmul__ = _binary("matmul"), _swapped("matmul")
    __neg__, __abs__, swapaxes = _method("negative"), _method("abs"), _method("swapaxes")
    sum, mean, max, min = _method("sum"), _method("mean"), _method("max"), _method("min")
    __lt__, __le__ = _comparison(np.less), _comparison(np.less_equal)
    __gt__, __ge__ = _comparison(np.greater), _comparison(np.greater_equal)
    __eq__, __ne__, __hash__ = _comparison(np.equal), _comparison(np.not_equal), object.__hash__


def by_argument(*rules: Callable | None) -> Callable[..., Any]:
    """A VJP of one rule for each argument, None for one without derivative; those of constants cost nothing."""
    return lambda *given, **static: lambda k: (rule := rules[k]) and rule(*given, **static)


def elementwise(*derivatives: Any, kink: Callable | None = None) -> Callable[[Callable], Primitive]:
    """A primitive from its partial derivatives d(y, *args, **static), or 1, or -1."""

    def times(g: Any, d: Any, given: tuple, static: dict) -> Any:
        return (g if d == 1 else -g) if isinstance(d, int) else g * d(*given, **static)

    def rule(k: int, d: Any) -> Callable:
        if d == 1:
            return lambda g, y, *args, **static: unbroadcast(g, args[k])
        return lambda g, *given, **static: unbroadcast(times(g, d, given, static), given[k + 1])

    def jvp(tangents: list, y: Any, *args: Any, **static: Any) -> Any:
        pairs = zip(tangents, derivatives, strict=False)
        return total_of([times(t, d, (y, *args), static) for t, d in pairs if t is not None])

    return primitive(by_argument(*(rule(k, d) for k, d in enumerate(derivatives))), jvp, kink)


def linear_map(rule: Callable) -> Callable[[Callable], Primitive]:
    """A primitive that is linear in its first argument, from the rule for its adjoint; its JVP is itself."""

    def make(value: Callable) -> Primitive:
        jvp = lambda tangents, y, x, *args, **static: made(tangents[0], *args, **static)  # noqa: E731
        made = primitive(by_argument(rule), jvp)(value)
        return made

    return make


def total_of(parts: list) -> Any:
    """The sum of tangents; None, which is zero, of none."""
    return reduce(operator.add, parts) if parts else None


def unbroadcast(g: Any, like: Any) -> Any:
    """Sum over the axes along which an argument was broadcast."""
    shape = getattr(like, "shape", ())
    if g.shape == shape:
        return g
    lead = g.ndim - len(shape)
    axes = (*range(lead), *(lead + i for i, n in enumerate(shape) if n == 1 and g.shape[lead + i] != 1))
    return g.sum(axis=axes).reshape(shape)
