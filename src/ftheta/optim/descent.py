"""Descent: a direction, and a search along it.

    θ <- θ + t d,    d·g < 0,    t by a line search (`line_search.py`)

A direction that does not descend, or along which nothing is gained, is given up for -g with an empty memory; if that
fails too, θ stays and the reason is said. The rules differ in d: steepest below, conjugate.py, bfgs.py, lbfgs.py.

Shapes: θ, g, d (P,), all parameters one after the other.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from ..catalog import nearest
from ..errors import InputError
from ._function import Function
from ._whole import Whole
from .line_search import SEARCHES, Found

__all__ = ["Descent", "Steepest"]

STALLED = "neither the loss nor its gradient falls along this direction"


class Descent(Whole):
    """Base of rules that search along a direction.

    Args:
        params: Parameters, taken together.
        lr: The first step that is tried, in units of what the rule expects to be right.
        search: A key of `SEARCHES`.
        max_iter: Directions an update. F at the start of an update is evaluated anew, so more of them save evaluations.
        tolerance_grad: A gradient whose entries are all below this ends the training.
    """

    curvature = 0.9  # c₂ of the Wolfe conditions
    scaled = False  # whether t = 1 is expected to be right

    def __init__(self, params: Iterable[Any], lr: float, search: str, max_iter: int, tolerance_grad: float) -> None:
        super().__init__(params, lr)
        if search not in SEARCHES:
            raise InputError(nearest("line search", search, SEARCHES))
        if not max_iter >= 1:
            raise InputError(f"max_iter={max_iter}; it must be at least 1.")
        self.search, self.max_iter, self.tolerance_grad = search, max_iter, tolerance_grad

    @abstractmethod
    def direction(self, g: Tensor) -> Tensor:
        """d for the gradient g, -g while the memory is empty: (P,) -> (P,)."""

    def learn(self, s: Tensor, y: Tensor) -> None:
        """See how the gradient has changed by y over the step s: (P,), (P,)."""

    def step(self, closure: Function) -> Tensor:
        """One update; returns F at its start. That it is at an end, it says before it moves: F there is known then."""
        self.facts = dict.fromkeys(("iterations", "trials", "restarts", "step_length"), 0.0)
        self.reason = ""
        start, g = self.evaluate(closure)
        value, end = start, self._rests(start, g)
        while not end and self.facts["iterations"] < self.max_iter:
            value, g, found = self._iterate(closure, value, g)
            self.facts |= {"step_length": found.t, "iterations": self.facts["iterations"] + bool(found.t)}
            self.reason, end = found.reason if found.t else "", found.reason or self._rests(value, g)
        self.reason = self.reason if self.facts["iterations"] else end
        self.facts["gradient_norm"] = g.norm().item()
        return start

    def evaluate(self, closure: Function) -> tuple[Tensor, Tensor]:
        """F and g where θ is now: (), (P,)."""
        self.facts["trials"] += 1
        value = closure().detach()
        return value, self.gradient()

    def _rests(self, value: Tensor, g: Tensor) -> str:
        """Why there is nothing to do here."""
        if not (value.isfinite() and g.norm().isfinite()):
            return "the loss or its gradient is not finite"
        return f"the gradient is below {self.tolerance_grad:g}" if g.abs().max() <= self.tolerance_grad else ""

    def _iterate(self, closure: Function, value: Tensor, g: Tensor) -> tuple[Tensor, Tensor, Found]:
        """One direction and one search; F and g where it ends."""
        known = bool(self.memory)
        line, found = self._search(closure, value, g)
        if known and not line.gains(found.t):
            line.at(0.0)
            self.memory.clear()
            self.facts["restarts"] += 1
            line, found = self._search(closure, value, g)
        if not line.gains(found.t):
            found = found._replace(t=0.0, reason=found.reason or STALLED)
        value, new = line.at(found.t)
        if found.t:
            self.memory["t"] = found.t
            self.learn(found.t * line.d, new - g)
        return value, new, found

    def _search(self, closure: Function, value: Tensor, g: Tensor) -> tuple[Line, Found]:
        last = self.memory.get("t", 0.0), self.memory.get("slope", 0.0)
        d = self.direction(g)
        slope = self.memory["slope"] = (g @ d).item()
        line, options = Line(self, closure, d, value, g), {"eps": torch.finfo(g.dtype).eps}
        if self.search == "wolfe":
            options["c2"] = self.curvature
        return line, SEARCHES[self.search](line, value.item(), slope, self._first(g, slope, *last), **options)

    def _first(self, g: Tensor, slope: float, t: float, before: float) -> float:
        """The step that is tried first, from the last t and the slope at its start."""
        if not t:
            return self.lr / max(1.0, g.norm().item())
        if self.scaled:
            return self.lr
        return self.lr * t * (2.0 if self.search == "backtracking" else min(10.0, before / (slope or 1.0)))


class Line:
    """φ of a line search: F and its slope at θ + t d."""

    def __init__(self, rule: Descent, closure: Function, d: Tensor, value: Tensor, g: Tensor) -> None:
        self.rule, self.closure, self.theta, self.d = rule, closure, rule.flat(), d
        self.start = self.last = (value, g)
        self.t = 0.0

    def __call__(self, t: float) -> tuple[float, float]:
        """φ(t) and φ'(t)."""
        value, g = self.at(t)
        return value.item(), (g @ self.d).item()

    def gains(self, t: float) -> bool:
        """Whether loss or gradient are less than at the start; rounding may hide the one, not both."""
        (value, g), (before, old) = self.at(t), self.start
        return bool(value < before or g.norm() < old.norm())

    def at(self, t: float) -> tuple[Tensor, Tensor]:
        """F and its gradient, and θ stays there: (), (P,)."""
        if t != self.t:
            self.rule.move_to(self.theta + t * self.d if t else self.theta)
            self.t, self.last = t, self.rule.evaluate(self.closure) if t else self.start
        return self.last


class Steepest(Descent):
    """Steepest descent, d = -g: gradient descent whose rate is searched for.

    Args:
        params: Parameters, taken together.
        lr: The first step that is tried, in units of what the last one makes expect.
        search: A key of `SEARCHES`.
        max_iter: Steps an update.
        tolerance_grad: A gradient whose entries are all below this ends the training.

    Example:
        >>> theta = torch.tensor([3.0, 4.0], requires_grad=True)
        >>> rule = Steepest([theta], search="exact")
        >>> def closure():
        ...     theta.grad = 2 * theta.detach()
        ...     return theta.detach().square().sum()
        >>> rule.step(closure)
        tensor(25.)
        >>> theta.detach(), rule.facts["step_length"]
        (tensor([0., 0.]), 0.5)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        *,
        search: str = "wolfe",
        max_iter: int = 1,
        tolerance_grad: float = 1e-10,
    ) -> None:
        super().__init__(params, lr, search, max_iter, tolerance_grad)

    def direction(self, g: Tensor) -> Tensor:
        """-g."""
        return -g
