"""Descent: a direction, and a search along it.

    θ <- θ + t d,    d·g < 0,    t by a line search (`line_search.py`)

A direction that does not descend, or along which nothing is gained, is given up for -g with an empty memory; if that
fails too, θ stays and `stop_reason` says why. The rules differ in d: steepest below, conjugate.py, bfgs.py, lbfgs.py.

Shapes: θ, g, d (P,), all parameters one after the other.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from .. import check
from ..catalog import nearest
from ..errors import InputError
from ._closure import ClosureOptimizer, ClosureProblem
from .line_search import SEARCHES, StepResult

__all__ = ["Descent", "Steepest"]

STALLED = "neither the loss nor its gradient falls along this direction"


class Descent(ClosureOptimizer):
    """Base of rules that search along a direction.

    Args:
        params: Parameters, taken together.
        lr: The first step that is tried, in units of what the rule expects to be right.
        search: A key of `SEARCHES`.
        max_iter: Directions per update. F at its start is evaluated anew, so more of them save evaluations.
        tolerance_grad: A gradient whose entries are all below this ends the training.
    """

    curvature = 0.9  # c₂ of the Wolfe conditions
    scaled = False  # whether t = 1 is expected to be right

    directions = 1  # `max_iter` where it is not given

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        *,
        search: str = "wolfe",
        max_iter: int | None = None,
        tolerance_grad: float = 1e-10,
    ) -> None:
        super().__init__(params, lr)
        if search not in SEARCHES:
            raise InputError(nearest("line search", search, SEARCHES))
        self.search, self.tolerance_grad = search, tolerance_grad
        self.max_iter = check.at_least("max_iter", self.directions if max_iter is None else max_iter, 1, integer=True)

    @abstractmethod
    def direction(self, g: Tensor) -> Tensor:
        """d for the gradient g, -g while the memory is empty: (P,) -> (P,)."""

    def learn(self, s: Tensor, y: Tensor) -> None:
        """See how the gradient has changed by y over the step s: (P,), (P,)."""

    def step(self, closure: ClosureProblem) -> Tensor:
        """One update; returns F at its start. That it is at an end, it says before it moves: F there is known then."""
        self.info = dict.fromkeys(("iterations", "trials", "restarts", "step_length"), 0.0)
        self.stop_reason = ""
        start, g = self.evaluate(closure)
        value, end = start, self._converged(start, g)
        while not end and self.info["iterations"] < self.max_iter:
            value, g, found = self._iterate(closure, value, g)
            self.info |= {"step_length": found.t, "iterations": self.info["iterations"] + bool(found.t)}
            self.stop_reason, end = found.reason if found.t else "", found.reason or self._converged(value, g)
        self.stop_reason = self.stop_reason if self.info["iterations"] else end
        self.info["gradient_norm"] = g.norm().item()
        return start

    def evaluate(self, closure: ClosureProblem) -> tuple[Tensor, Tensor]:
        """F and g where θ is now: (), (P,)."""
        self.info["trials"] += 1
        value = closure().detach()
        return value, self.gradient()

    def _converged(self, value: Tensor, g: Tensor) -> str:
        """Why there is nothing to do here."""
        if not (value.isfinite() and g.norm().isfinite()):
            return "the loss or its gradient is not finite"
        return f"the gradient is below {self.tolerance_grad:g}" if g.abs().max() <= self.tolerance_grad else ""

    def _iterate(self, closure: ClosureProblem, value: Tensor, g: Tensor) -> tuple[Tensor, Tensor, StepResult]:
        """One direction and one search; F and g where it ends."""
        known = bool(self.memory)
        line, found = self._search(closure, value, g)
        if known and not line.improves(found.t):
            line.at(0.0)
            self.memory.clear()
            self.info["restarts"] += 1
            line, found = self._search(closure, value, g)
        if not line.improves(found.t):
            found = found._replace(t=0.0, reason=found.reason or STALLED)
        value, new = line.at(found.t)
        if found.t:
            self.memory["t"] = found.t
            self.learn(found.t * line.d, new - g)
        return value, new, found

    def _search(self, closure: ClosureProblem, value: Tensor, g: Tensor) -> tuple[Line, StepResult]:
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

    def __init__(self, rule: Descent, closure: ClosureProblem, d: Tensor, value: Tensor, g: Tensor) -> None:
        self.rule, self.closure, self.theta, self.d = rule, closure, rule.flat(), d
        self.start = self.last = (value, g)
        self.t = 0.0

    def __call__(self, t: float) -> tuple[float, float]:
        """φ(t) and φ'(t)."""
        value, g = self.at(t)
        return value.item(), (g @ self.d).item()

    def improves(self, t: float) -> bool:
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

    Example:
        >>> theta = torch.tensor([3.0, 4.0], requires_grad=True)
        >>> rule = Steepest([theta], search="exact")
        >>> def closure():
        ...     theta.grad = 2 * theta.detach()
        ...     return theta.detach().square().sum()
        >>> rule.step(closure)
        tensor(25.)
        >>> theta.detach(), rule.info["step_length"]
        (tensor([0., 0.]), 0.5)
    """

    def direction(self, g: Tensor) -> Tensor:
        """-g."""
        return -g
