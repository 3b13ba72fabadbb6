"""The second-order side of a problem, for rules that need more than a gradient.

    r, J          residuals and their Jacobian, mean loss = ‖r‖² / 2 + constant
    ∇²F v, ∇²F    products with the Hessian, and the Hessian
    G             Σ w Jᵀ C J / Σ w + diag(c),   C the curvature of the likelihood, c of the penalty ½ Σ c θ²

Shapes: P parameters, all in their order; N residuals; m rows, tokens or pixels of a chunk, R outputs of each.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from operator import add
from typing import Any, cast

import torch
from torch import Tensor, nn

from ..data.batch import Batch
from ..draw import Draw
from ..errors import InputError
from ..likelihoods import Likelihood
from ._drawing import Drawing
from ._jacobian import Jacobians, at_a_time, no_residuals, times_hessian
from .objective import Loss, Objective, Supervised
from .training import Training

__all__ = ["Curvature"]

OF_GRADIENTS = ("clip_norm", "clip_value", "gradient_noise")  # settings that change g and not F


class Curvature:
    """Residuals, Hessian and Gauss-Newton matrix of a `Problem`, whose base it is."""

    objective: Objective
    training: Training
    parameters: list[nn.Parameter]
    penalized: list[nn.Parameter]
    batches: Sequence[Batch]
    evaluations: int
    drawing: Drawing
    draw: Draw

    def __init__(self) -> None:
        self.decays: Tensor | None = None
        self.jacobians = Jacobians(self.objective, self.parameters, self._prepare)

    @abstractmethod
    def _prepare(self, micro: int) -> Draw:
        """The buffers and the noise of the first evaluation."""

    @abstractmethod
    def _loss(self, micro: int) -> Loss:
        """The loss of a batch."""

    def check(self, needs: str) -> None:
        """One sentence if a rule needs what this objective or these settings do not give."""
        if needs != "gradient" and self.training.precision != "full":
            raise InputError(
                f"precision={self.training.precision!r} is too coarse for a rule that compares losses. Leave it out, "
                "or use a rule that needs the gradient only, e.g. optimizer='adam'."
            )
        for name in OF_GRADIENTS if needs != "gradient" else ():
            if getattr(self.training, name):
                raise InputError(
                    f"{name} changes the gradient and not the loss, which a rule that evaluates both cannot follow. "
                    "Leave it out, or use a rule that needs the gradient only, e.g. optimizer='sgd'."
                )
        missing = {"residuals": self._without_residuals, "curvature": self._without_curvature}.get(needs)
        if missing is not None and (sentence := missing()):
            raise InputError(sentence)

    def _without_residuals(self) -> str:
        likelihood, words = getattr(self.objective, "likelihood", None), "This optimizer works on a sum of squares, in"
        own = type(self.objective).residual not in (Objective.residual, Supervised.residual)
        if not own and (likelihood is None or type(likelihood).residual is Likelihood.residual):
            return no_residuals(self.objective)
        function = getattr(self.objective, "penalty", None) is not None
        name = "l1" if self.training.l1 else "a penalty function" if function else ""
        advice = "Use l2 as the only penalty, or another optimizer, e.g. 'lbfgs'."
        return f"{words} which {name} cannot enter. {advice}" if name else ""

    def _without_curvature(self) -> str:
        likelihood = getattr(self.objective, "likelihood", None)
        if likelihood is None:
            return (
                f"{type(self.objective).__name__} has no likelihood, whose curvature this optimizer needs. "
                "Give it a likelihood instead of a function, or use another optimizer, e.g. 'lbfgs'."
            )
        if any(p is q for p in likelihood.parameters() for q in self.parameters):
            return (
                f"{type(likelihood).__name__} learns a parameter of its own, which has no curvature in the outputs. "
                "Use a likelihood without one, e.g. Gaussian(), or another optimizer, e.g. 'lbfgs'."
            )
        return ""

    def decay(self) -> Tensor:
        """c of the penalty ½ Σ c θ², from l2: (P,)."""
        if self.decays is None:
            penalized, strength = {id(p) for p in self.penalized}, 2 * self.training.l2
            parts = [p.new_full((p.numel(),), strength * (id(p) in penalized)) for p in self.parameters]
            self.decays = torch.cat(parts)
        return self.decays

    def residuals(self) -> tuple[Tensor, Tensor]:
        """Residuals and their Jacobian in θ: r (N,), J (N, P), with mean loss = ‖r‖² / 2 + constant."""
        with self.drawing.scope(self.draw, seed=False):
            parts = [_weighed(*part) for part in self._jacobians("residual")]
        root = sum(weight for *_, weight in parts) ** 0.5
        return torch.cat([r for r, _, _ in parts]) / root, torch.cat([j for _, j, _ in parts]) / root

    def squares(self) -> tuple[Tensor, Tensor, Tensor]:
        """F but for a constant as a sum of squares, with penalty: ½‖r‖² (), Jᵀr (P,), JᵀJ (P, P), in float64 and
        without all of J at once."""
        sums: tuple[Any, ...] | None = None
        with self.drawing.scope(self.draw, seed=False):
            for r, jacobian, weight in (_weighed(*part) for part in self._jacobians("residual")):
                r, jacobian = r.double(), jacobian.double()
                part = torch.dot(r, r) / 2, r @ jacobian, jacobian.T @ jacobian, weight
                sums = part if sums is None else tuple(map(add, sums, part))
        cost, g, matrix, weight = cast(tuple[Any, ...], sums)
        decay, theta = self.decay().double(), torch.cat([p.detach().reshape(-1) for p in self.parameters]).double()
        pull, matrix = decay * theta, matrix / weight
        matrix.diagonal().add_(decay)
        return cost / weight + torch.dot(pull, theta) / 2, g / weight + pull, matrix

    def ggn(self) -> Tensor:
        """Σ w Jᵀ C J / Σ w + diag(decay), C the likelihood's curvature in the raw outputs and J their Jacobian: (P, P),
        in float64."""
        curvature = cast(Likelihood, self.objective.likelihood).curvature
        matrix, weight = torch.zeros(()), 0.0
        with self.drawing.scope(self.draw, seed=False):
            for raw, jacobian, w in self._jacobians("raw"):
                bend = curvature(raw) if w is None else w[:, None, None] * curvature(raw)  # (m, R, R)
                flat, bent = jacobian.flatten(0, 1).double(), (bend @ jacobian).flatten(0, 1).double()  # (m R, P)
                matrix, weight = matrix + flat.T @ bent, weight + (len(raw) if w is None else float(w.sum()))
        return matrix / weight + self.decay().double().diag()

    def hvp(self, v: Tensor) -> Tensor:
        """∇²F v: (P,) -> (P,)."""
        return self._second(lambda f: times_hessian(f, self.parameters, v[None])[0]) + self.decay() * v

    def hessian(self) -> Tensor:
        """∇²F: (P, P)."""
        decay, rows = self.decay(), sum(batch.n for batch in self.batches)
        unit = torch.eye(len(decay)).to(decay).split(at_a_time(self.parameters, rows=rows))
        found = self._second(lambda f: torch.cat([times_hessian(f, self.parameters, some) for some in unit]))
        return (found + found.T) / 2 + decay.diag()

    def _second(self, of: Callable[[Tensor], Tensor]) -> Tensor:
        """A linear function of ∇²F, penalty aside, from that of the parts of F."""
        self.evaluations += 1
        total, weight, once = torch.zeros(()), 0.0, None
        with torch.enable_grad(), self.drawing.scope(self.draw, seed=False):
            for micro in range(len(self.batches)):
                loss = self._loss(micro)
                total, weight, once = total + of(loss.total), weight + loss.weight, loss.once
            return total / weight if once is None else total / weight + of(once)

    def _jacobians(self, what: str) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
        self.evaluations += 1
        return self.jacobians(what, self.batches)


def _weighed(r: Tensor, jacobian: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor, float]:
    """√w r (N,) and √w J (N, P) of residuals (m, R), and Σ w."""
    if weight is None:
        return r.flatten(), jacobian.flatten(0, 1), float(len(r))
    root = weight.sqrt()[:, None]
    return (root * r).flatten(), (root[..., None] * jacobian).flatten(0, 1), float(weight.sum())
