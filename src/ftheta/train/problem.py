"""One update of one player, as a function of θ alone: the same rows, noise and buffers at every evaluation.

    F(θ) = Σ_i w_i ℓ_i(θ) / Σ_i w_i + once(θ) + l2 Σ θ² + l1 Σ |θ|

First-order rules get `gradient()`; rules that evaluate more than once get the problem itself, which is a torch closure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import add
from typing import Any, cast

import torch
from torch import Tensor, nn

from ..data.batch import Batch
from ..draw import Draw
from ..errors import InputError
from ..likelihoods import Likelihood
from ._jacobian import Jacobians, at_a_time, no_residuals, times_hessian
from .objective import Loss, Objective, Player, Supervised
from .training import Training

__all__ = ["Problem"]

NO_SQUARES = ("l1", "clip_norm", "clip_value", "gradient_noise")  # settings that a sum of squares cannot follow


class Problem:
    """Losses, gradients and residuals of one update; `bind` says of which rows and with which noise.

    Args:
        objective: What is minimised.
        player: Who moves.
        training: Penalties and clipping.
        pure: Put buffers back before every evaluation; needed where a rule evaluates more than once.
    """

    def __init__(self, objective: Objective, player: Player, training: Training, *, pure: bool = False) -> None:
        self.objective, self.player, self.training = objective, player.name, training
        self.parameters = player.tensors()
        own = {id(p) for p in self.parameters}
        others = [p for p in objective.parameters() if p.requires_grad and id(p) not in own]
        self.inputs = self.parameters if others else None  # None: back-propagate to every leaf, which is cheaper
        self.penalised = [p for name, p in objective.named_parameters() if id(p) in own and _counts(name, p, training)]
        self.buffers = list(objective.buffers()) if pure else []
        self.cotangents: dict[float, Tensor] = {}
        self.first: Sequence[Loss] | None = None
        self.evaluations = 0
        self.decays: Tensor | None = None
        self.jacobians = Jacobians(objective, self.parameters, self._prepare)
        self.bind([], Draw(0))

    def bind(self, batches: Sequence[Batch], draw: Draw) -> None:
        """The rows and the randomness of this update."""
        self.batches, self.draw, self.first = batches, draw, None
        self.kept = [b.clone() for b in self.buffers]

    def check(self, needs: str) -> None:
        """One sentence if a rule needs what this objective or these settings do not give."""
        missing = {"residuals": self._without_residuals, "curvature": self._without_curvature}.get(needs)
        if missing is not None and (sentence := missing()):
            raise InputError(sentence)

    def _without_residuals(self) -> str:
        likelihood, owner = getattr(self.objective, "likelihood", None), type(self.objective)
        own = owner.residual is not Objective.residual and not isinstance(self.objective, Supervised)
        if not own and (likelihood is None or type(likelihood).residual is Likelihood.residual):
            return no_residuals(self.objective)
        asked = [name for name in NO_SQUARES if getattr(self.training, name, None)]
        asked += ["a penalty function"] if getattr(self.objective, "penalty", None) is not None else []
        return (
            f"This optimizer works on a sum of squares, in which {' and '.join(asked)} cannot enter. "
            "Use l2 as the only penalty and no clipping or noise, or another optimizer, e.g. 'lbfgs'."
            if asked
            else ""
        )

    def _without_curvature(self) -> str:
        likelihood, owner = getattr(self.objective, "likelihood", None), type(self.objective).__name__
        if likelihood is None:
            return (
                f"{owner} has no likelihood, whose curvature this optimizer needs. "
                "Give it a likelihood instead of a function, or use another optimizer, e.g. 'lbfgs'."
            )
        learned = [p for p in likelihood.parameters() if any(p is q for q in self.parameters)]
        return (
            f"{type(likelihood).__name__} learns a parameter of its own, on which its curvature in the outputs says "
            "nothing. Use a likelihood without one, e.g. Gaussian(), or another optimizer, e.g. 'lbfgs'."
            if learned
            else ""
        )

    def gradient(self) -> Sequence[Loss]:
        """∇F into `.grad`, clipped; the losses of the first evaluation stay in `first`."""
        self.evaluations += 1
        for p in self.parameters:
            p.grad = None
        losses = self._backward_one() if len(self.batches) == 1 else self._backward_many()
        self._finish_gradient()
        self.first = self.first or losses
        return losses

    def __call__(self) -> Tensor:
        """F(θ) with its gradient: what torch calls a closure."""
        with torch.enable_grad():
            return self._value(self.gradient())

    def value(self) -> Tensor:
        """F(θ) alone."""
        self.evaluations += 1
        with torch.no_grad():
            losses = [self._loss(i) for i in range(len(self.batches))]
            self.first = self.first or losses
            return self._value(losses)

    # ---- second order: vectors and matrices over P = all parameters, in their order

    def decay(self) -> Tensor:
        """c of the penalty ½ Σ c θ², from l2: (P,)."""
        if self.decays is None:
            penalised, strength = {id(p) for p in self.penalised}, 2 * self.training.l2
            parts = [p.new_full((p.numel(),), strength * (id(p) in penalised)) for p in self.parameters]
            self.decays = torch.cat(parts)
        return self.decays

    def residuals(self) -> tuple[Tensor, Tensor]:
        """Residuals and their Jacobian in θ: r (N,), J (N, P), with mean loss = ‖r‖² / 2 + constant."""
        parts = [_weighed(*part) for part in self._jacobians("residual")]
        root = sum(weight for *_, weight in parts) ** 0.5
        return torch.cat([r for r, _, _ in parts]) / root, torch.cat([j for _, j, _ in parts]) / root

    def squares(self) -> tuple[Tensor, Tensor, Tensor]:
        """F but for a constant as a sum of squares, with penalty: ½‖r‖² (), Jᵀr (P,), JᵀJ (P, P), in float64 and
        without all of J at once."""
        sums: tuple[Any, ...] | None = None
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
        with torch.enable_grad():
            for micro in range(len(self.batches)):
                loss = self._loss(micro)
                total, weight, once = total + of(loss.total), weight + loss.weight, loss.once
        return total / weight if once is None else total / weight + of(once)

    def _jacobians(self, what: str) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
        self.evaluations += 1
        return self.jacobians(what, self.batches)

    def _prepare(self, micro: int) -> Draw:
        """The buffers and the noise of the first evaluation."""
        for buffer, kept in zip(self.buffers, self.kept, strict=True):
            buffer.data.copy_(kept)
        draw = self.draw.at(micro)
        draw.seed_global()
        return draw

    def _loss(self, micro: int) -> Loss:
        return self.objective.loss(self.player, self.batches[micro], self._prepare(micro))

    def _backward_one(self) -> list[Loss]:
        loss = self._loss(0)
        roots, cotangents = [loss.total], [self._inverse(loss)]
        if loss.once is not None and loss.once.requires_grad:
            roots.append(loss.once)
            cotangents.append(torch.ones_like(loss.once))
        torch.autograd.backward(roots, cotangents, inputs=self.inputs)
        return [loss]

    def _backward_many(self) -> list[Loss]:
        losses = []
        for micro in range(len(self.batches)):
            losses.append(self._loss(micro))
            torch.autograd.backward(losses[-1].total, inputs=self.inputs, retain_graph=losses[-1].once is not None)
        weight = sum(loss.weight for loss in losses)
        for grad in self._gradients():
            grad.div_(weight)
        if losses[-1].once is not None and losses[-1].once.requires_grad:
            torch.autograd.backward(losses[-1].once, inputs=self.inputs)
        return losses

    def _inverse(self, loss: Loss) -> Tensor:
        """1 / weight as a cotangent; the few plain batch sizes are kept."""
        if isinstance(loss.weight, Tensor):
            return loss.weight.detach().reciprocal().to(loss.total.dtype)
        if loss.weight not in self.cotangents:
            self.cotangents[loss.weight] = loss.total.new_tensor(1 / loss.weight)
        return self.cotangents[loss.weight]

    def _gradients(self) -> list[Tensor]:
        return [p.grad for p in self.parameters if p.grad is not None]

    def _finish_gradient(self) -> None:
        t = self.training
        for p in self.penalised:
            if p.grad is not None and t.l2:
                p.grad.add_(p.detach(), alpha=2 * t.l2)
            if p.grad is not None and t.l1:
                p.grad.add_(p.detach().sign(), alpha=t.l1)
        if t.clip_value is not None:
            nn.utils.clip_grad_value_(self.parameters, t.clip_value)
        if t.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.parameters, t.clip_norm)

    def penalty(self) -> Tensor | None:
        """l2 Σ θ² + l1 Σ |θ|, or None when neither is asked for."""
        t = self.training
        if not (t.l2 or t.l1) or not self.penalised:
            return None
        flat = torch.cat([p.detach().reshape(-1) for p in self.penalised])
        squares = t.l2 * torch.dot(flat, flat)
        return squares + t.l1 * flat.abs().sum() if t.l1 else squares

    def _value(self, losses: Sequence[Loss]) -> Tensor:
        with torch.no_grad():
            total, weight = losses[0].total, losses[0].weight
            for loss in losses[1:]:
                total, weight = total + loss.total, weight + loss.weight
            value = total / weight
            for extra in (losses[-1].once, self.penalty()):
                value = value if extra is None else value + extra
            return value


def _counts(name: str, p: Tensor, training: Training) -> bool:
    """Whether penalties count this parameter: weights have two axes or more, biases are named so."""
    return p.ndim >= 2 or (training.penalise_bias and name.split(".")[-1].startswith("bias"))


def _weighed(r: Tensor, jacobian: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor, float]:
    """√w r (N,) and √w J (N, P) of residuals (m, R), and Σ w."""
    if weight is None:
        return r.flatten(), jacobian.flatten(0, 1), float(len(r))
    root = weight.sqrt()[:, None]
    return (root * r).flatten(), (root[..., None] * jacobian).flatten(0, 1), float(weight.sum())
