"""Makers of rules: from derivatives to VJP and JVP, and from the rule of each argument to that of all.

y = f(x₁, x₂) entry by entry      x̄ₖ = unbroadcast(ȳ dₖ),    ẏ = Σₖ dₖ ẋₖ,    dₖ = ∂f/∂xₖ
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from ._boxes import Primitive, primitive

__all__ = ["by_argument", "elementwise", "linear_map", "total_of", "unbroadcast"]


class _Lazy:
    """Adjoints by argument, each computed when it is needed: those of constants cost nothing."""

    __slots__ = ("given", "rules", "static")

    def __init__(self, rules: Sequence[Callable | None], given: tuple, static: dict) -> None:
        self.rules, self.given, self.static = rules, given, static

    def __getitem__(self, k: int) -> Any:
        rule = self.rules[k]
        return None if rule is None else rule(*self.given, **self.static)

    def __len__(self) -> int:
        return len(self.rules)


def by_argument(*rules: Callable | None) -> Callable[..., Any]:
    """A VJP of one rule for each argument; None for one without derivative."""
    return lambda g, y, *args, **static: _Lazy(rules, (g, y, *args), static)


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
        made = primitive(by_argument(rule), lambda tangents, y, x, *args, **static: made(tangents[0], *args, **static))(
            value
        )
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
