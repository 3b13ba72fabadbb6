"""Logistic regression of many parameters and with an L1 penalty, as processes: one step is one round.

    QuasiNewton   θ = φ root,   φ moved by L-BFGS;   `root` makes the loss about as steep in all directions
    Orthant       θ <- Π(θ + t d),   d = -H⁻¹ ◇F over what may move,   Π sets to 0 what would change its sign

◇F is the subgradient of least norm of F = loss + Σ l1 |w|: the residual of the optimality conditions, 0 only at the
minimum. H is the Hessian where there are few parameters, else that of L-BFGS. Both compute in float32 while that has
the digits, then in float64; the last loss and gradient are always of float64.

Shapes: R raw outputs, D features, θ, φ and ◇F (R, D + 1), P = R (D + 1).
References: Nocedal, Mathematics of Computation 35 (1980); Andrew and Gao, Scalable Training of L1-Regularized
Log-Linear Models (2007); Schmidt, Graphical Model Structure Learning with L1-Regularization (2010).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..optim import LBFGS
from ..store import Tree
from ._softmax import Softmax, scaled_solve

__all__ = ["MOST_FOR_NEWTON", "Orthant", "QuasiNewton"]

MOST_FOR_NEWTON = 300  # parameters up to which a Hessian is cheaper than more steps without it
FLOOR, FALL = 2e-6, 1e-7  # the gradient, and the relative fall of the loss, below which float32 has no digits left
DAMP = 1e-8


class _At(NamedTuple):
    """What is known at φ: θ, the loss without the L1 term, and its gradient by θ."""

    phi: Tensor
    theta: Tensor
    value: Tensor
    gradient: Tensor


class _Descent(ABC):
    """Base: the loss in the precision of this moment, each θ evaluated once."""

    def __init__(self, model: Softmax, tol: float, start: Tensor) -> None:
        self.model, self.tol = model, tol
        self.phi = nn.Parameter(start)
        self.rule = LBFGS([self.phi], max_iter=1, tolerance_grad=0.0)
        self.double, self.rounds, self.reason = False, 0, ""
        self.known: _At | None = None

    def theta(self) -> Tensor:
        """Of standardised columns: (R, D + 1)."""
        return self.at(self.phi.detach()).theta

    def coefficients(self) -> tuple[Tensor, Tensor]:
        """w (R, D) and b (R,) in the units of x."""
        theta = self.theta()
        w = theta[:, :-1] / self.model.scale
        return w, theta[:, -1] - theta[:, :-1] @ (self.model.mean / self.model.scale)

    def at(self, phi: Tensor) -> _At:
        """What is known there."""
        if self.known is None or not torch.equal(self.known.phi, phi):
            phi = phi.clone()  # the parameter itself moves
            theta = self.turned(phi)
            self.known = _At(phi, theta, *self.model(theta, exact=self.double))
        return self.known

    def turned(self, phi: Tensor) -> Tensor:
        """θ of φ."""
        return phi

    @abstractmethod
    def move(self) -> str:
        """One step; why there was none, or nothing."""

    def residual(self, at: _At) -> tuple[Tensor, Tensor]:
        """F () and its subgradient of least norm (R, D + 1)."""
        return at.value, at.gradient

    def advance(self) -> dict[str, float]:
        """One step; float64 takes over where float32 has nothing more to say."""
        before, _ = self.residual(self.at(self.phi.detach()))
        stuck = self.move()
        value, slope = self.residual(self.at(self.phi.detach()))
        small = slope.abs().max() <= max(self.tol, FLOOR) or value >= before * (1 - FALL)
        if not self.double and (stuck or small):
            self.double, self.known, stuck = True, None, ""
            value, slope = self.residual(self.at(self.phi.detach()))
        self.rounds, self.reason = self.rounds + 1, stuck
        return {"step": self.rounds, "loss": float(value), "gradient": float(slope.abs().max())}

    def state_dict(self) -> Tree:
        """φ, the memory of L-BFGS, the precision and the count of steps."""
        memory = {name: list(map(list, v)) if name == "pairs" else v for name, v in self.rule.memory.items()}
        return {"phi": self.phi.detach().clone(), "memory": memory, "double": self.double, "rounds": self.rounds}

    def load_state_dict(self, tree: Tree) -> None:
        """Put them back."""
        self.phi.data.copy_(tree["phi"])
        self.rule.memory.clear()
        self.rule.memory.update(tree["memory"])
        self.double, self.rounds, self.known, self.reason = tree["double"], tree["rounds"], None, ""


class QuasiNewton(_Descent):
    """L-BFGS for a smooth penalty.

    Args:
        model: Loss and gradient.
        tol: Where the gradient is below it, float64 takes over.
    """

    def __init__(self, model: Softmax, tol: float) -> None:
        super().__init__(model, tol, model.start())
        root = model.root()  # (D, D) or (D,)
        self.roots = {dtype: root.to(dtype) for dtype in (torch.float32, torch.float64)}

    def turned(self, phi: Tensor) -> Tensor:
        """φ root, b as it is; of several classes around their mean, since a constant added to all changes nothing."""
        return self._centred(self._times(phi, turn=False))

    def move(self) -> str:
        """One direction and one search along it."""
        memory = dict(self.rule.memory)
        self.rule.step(self._closure)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        return "" if not self.rule.reason or (self.double and self._leapt(memory)) else self.rule.reason

    def _leapt(self, memory: dict[str, Any]) -> bool:
        """A step by the gradient alone, where rounding hides that the loss falls: taken if the gradient falls."""
        self.rule.memory.clear()
        self.rule.memory.update(memory)
        old, g = self.phi.detach().clone(), self._slope()
        d = self.rule.direction(g.flatten()).view_as(g)
        for t in (1.0, 0.5, 0.25, 0.125):
            self.phi.data.copy_(old + t * d)
            if (new := self._slope()).norm() < 0.98 * g.norm():
                self.rule.learn(t * d.flatten(), (new - g).flatten())
                return True
        self.phi.data.copy_(old)
        return False

    def _slope(self) -> Tensor:
        """The gradient by φ."""
        return self._times(self._centred(self.at(self.phi.detach()).gradient), turn=True)

    def _closure(self) -> Tensor:
        """F, with its gradient by φ in `.grad`."""
        self.phi.grad = self._slope()
        return self.at(self.phi.detach()).value

    @staticmethod
    def _centred(a: Tensor) -> Tensor:
        return a - a.mean(0) if len(a) > 1 else a

    def _times(self, a: Tensor, *, turn: bool) -> Tensor:
        """a root or, turned, a rootᵀ: (R, D + 1) -> (R, D + 1)."""
        root = self.roots[torch.float64 if self.double else torch.float32]
        w = a[:, :-1].to(root.dtype)
        w = w * root if root.ndim == 1 else w @ (root.T if turn else root)
        return torch.cat([w.double(), a[:, -1:]], 1)


class Orthant(_Descent):
    """Newton or L-BFGS within the orthant of θ, for an L1 penalty.

    Args:
        model: Loss and gradient of all but the L1 term.
        tol: Where ◇F is below it, float64 takes over.
        l1: Weight of Σ |w| in the units of x.
        newton: Take the Hessian.
    """

    def __init__(self, model: Softmax, tol: float, l1: float, *, newton: bool) -> None:
        super().__init__(model, tol, model.start())
        pull = (l1 / model.scale).clamp(max=1e300)
        self.pull = torch.cat([pull, pull.new_zeros(1)])  # of w, not b
        self.newton = self.double = newton

    def residual(self, at: _At) -> tuple[Tensor, Tensor]:
        """F and ◇F."""
        theta, g = at.theta, at.gradient
        still = g.sign() * (g.abs() - self.pull).clamp(min=0.0)  # where θ is 0
        return at.value + (self.pull * theta.abs()).sum(), torch.where(theta == 0, still, g + self.pull * theta.sign())

    def move(self) -> str:
        """One direction, tried with ever shorter steps; the way of ◇F where that fails."""
        at = self.at(self.phi.detach())
        value, slope = self.residual(at)
        for d in (self._direction(at, slope), -slope / (1 + self.model.ridge)):
            if (new := self._search(at.theta, value, slope, d)) is not None:
                self.phi.data.copy_(new.theta)
                if not self.newton:
                    self.rule.learn((new.theta - at.theta).flatten(), (new.gradient - at.gradient).flatten())
                return ""
            self.rule.memory.clear()
        self.known = at
        return "no step lowers the loss"

    def _direction(self, at: _At, slope: Tensor) -> Tensor:
        free = ((at.theta != 0) | (slope != 0)).flatten()
        g, d = slope.flatten(), torch.zeros_like(slope).flatten()
        if self.newton:
            h = self.model.hessian(at.theta)[free][:, free]
            h.diagonal().mul_(1 + DAMP)  # the L1 term may slope where nothing bends
            d[free] = -scaled_solve(h, g[free])
        else:
            d[free] = self.rule.direction(g)[free]
        d = d.view_as(slope)
        return torch.where((at.theta == 0) & (d * slope > 0), 0.0, d)  # from 0 only downhill

    def _search(self, theta: Tensor, value: Tensor, slope: Tensor, d: Tensor) -> _At | None:
        side = torch.where(theta == 0, -slope.sign(), theta.sign())
        t = 1.0 if self.newton or self.rule.memory else 1 / max(1.0, float(d.norm()))
        while t > 1e-12:
            new = theta + t * d
            new = torch.where((self.pull > 0) & (new * side < 0), 0.0, new)
            at = self.at(new)
            found, left = self.residual(at)
            promised, noise = 1e-4 * float((slope * (new - theta)).sum()), 1e-14 * abs(float(value))
            if found <= value + min(promised, 0.0) or (found <= value + noise and left.abs().max() < slope.abs().max()):
                return at if not torch.equal(new, theta) else None
            t /= 2
        return None
