"""Descent: a direction, and a search along it.

    θ <- θ + t d,    d·g < 0,    t by a line search (`line_search.py`)

| rule | direction d |
|---|---|
| Steepest | -g |
| ConjugateGradient | -g + β d₋, β = g·g / g₋·g₋ (Fletcher-Reeves) or g·(g - g₋) / g₋·g₋ (Polak-Ribière) |
| BFGS | -H g, H <- (I - ρ s yᵀ) H (I - ρ y sᵀ) + ρ s sᵀ, ρ = 1 / (s·y) |
| LBFGS | the same H, as a product over the last m pairs (s, y), without the matrix |

s is the last step, y the change of the gradient over it, both of the same rows and noise; minus marks what was before.
On a quadratic with Hessian A and exact line search the directions of the conjugate gradient are A-conjugate, dᵢᵀ A dⱼ =
0, and P steps reach its minimum; where abs(g·g₋) > 0.2 g·g, far from a quadratic, β = 0. H = I at first and
(s·y / y·y) I before the first change; it stays positive definite, as a pair without s·y > 0 is not learned. L-BFGS:

    r <- g;  newest to oldest: α <- ρ s·r, r <- r - α y;  r <- (s·y / y·y) r;  oldest to newest: r <- r + (α - ρ y·r) s

A direction that does not descend, or along which nothing is gained, is given up for -g with an empty memory; if that
fails too, θ stays and `stop_reason` says why.

Shapes: θ, g, d, s, y (P,), all parameters one after the other; H (P, P).
References: Nocedal and Wright, Numerical Optimization, 2nd edition, chapters 5 to 7 (2006); Nocedal, Updating
Quasi-Newton Matrices with Limited Storage (1980).
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

STALLED = "neither the loss nor its gradient falls along this direction"
BETAS = ("polak-ribiere", "fletcher-reeves")


class Descent(ClosureOptimizer):
    """Base of rules that search along a direction.

    Args:
        params: Parameters, taken together.
        lr: The first step that is tried, in units of what the rule expects to be right.
        search: A key of `SEARCHES`.
        max_iter: Directions per update, of which each but the first saves an evaluation.
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
        return closure().detach(), self.gradient()

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
    """Steepest descent, d = -g: gradient descent with a line search for the rate."""

    def direction(self, g: Tensor) -> Tensor:
        return -g


class ConjugateGradient(Descent):
    """Directions that do not undo what the last one has gained; `beta` is "polak-ribiere" or "fletcher-reeves", other
    options are those of `Descent`."""

    curvature = 0.1  # Fletcher-Reeves descends for every c₂ below ½

    def __init__(self, params: Iterable[Any], lr: float = 1.0, *, beta: str = "polak-ribiere", **options: Any) -> None:
        super().__init__(params, lr, **options)
        if beta not in BETAS:
            raise InputError(nearest("beta", beta, BETAS))
        self.beta = beta

    def direction(self, g: Tensor) -> Tensor:
        kept, d = self.memory, -g
        if "d" in kept:
            old = kept["g"]
            beta = g @ (g - old if self.beta == "polak-ribiere" else g) / (old @ old)
            kept["beta"] = 0.0 if (g @ old).abs() > 0.2 * (g @ g) else beta.item()
            d = d + kept["beta"] * kept["d"]
        kept["g"], kept["d"] = g, d
        return d


class BFGS(Descent):
    """A quasi-Newton rule that keeps a dense inverse Hessian, P² numbers; options as `Descent`."""

    scaled = True

    def direction(self, g: Tensor) -> Tensor:
        return -(self.memory["inverse"] @ g) if "inverse" in self.memory else -g

    def learn(self, s: Tensor, y: Tensor) -> None:
        sy = s @ y
        if not sy > torch.finfo(y.dtype).eps * s.norm() * y.norm():
            return
        if "inverse" not in self.memory:
            self.memory["inverse"] = torch.eye(len(y), dtype=y.dtype, device=y.device) * (sy / (y @ y))
        h = self.memory["inverse"]
        u = h @ y  # (I - ρ s yᵀ) H (I - ρ y sᵀ) = H - ρ (u sᵀ + s uᵀ) + ρ² (y·u) s sᵀ
        h.addr_(s, ((1 + y @ u / sy) * s - u) / sy).addr_(u, s / sy, alpha=-1)


class LBFGS(Descent):
    """A quasi-Newton rule that keeps m = `history_size` pairs; options as `Descent`, with 20 directions per update."""

    scaled = True
    directions = 20

    def __init__(self, params: Iterable[Any], lr: float = 1.0, *, history_size: int = 20, **options: Any) -> None:
        super().__init__(params, lr, **options)
        self.history_size = check.at_least("history_size", history_size, 1, integer=True)

    def direction(self, g: Tensor) -> Tensor:
        pairs = self.memory.get("pairs", [])
        r, alphas = g.clone(), []
        for s, y, rho in reversed(pairs):
            alphas.append(rho * (s @ r).item())
            r.sub_(y, alpha=alphas[-1])
        for _, y, rho in pairs[-1:]:
            r.div_(rho * (y @ y))
        for (s, y, rho), alpha in zip(pairs, reversed(alphas), strict=True):
            r.add_(s, alpha=alpha - rho * (y @ r).item())
        return r.neg_()

    def learn(self, s: Tensor, y: Tensor) -> None:
        """One more pair, if it has s·y > 0; the oldest goes."""
        sy = (s @ y).item()
        if sy > torch.finfo(y.dtype).eps * s.norm() * y.norm():
            self.memory["pairs"] = [*self.memory.get("pairs", []), [s, y, 1 / sy]][-self.history_size :]
