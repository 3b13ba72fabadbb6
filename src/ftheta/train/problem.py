"""One update of one player, as a function of θ alone: the same rows, noise and buffers at every evaluation.

    F(θ) = Σ_i w_i ℓ_i(θ) / Σ_i w_i + once(θ) + l2 Σ θ² + l1 Σ |θ|
    r, J      residuals and their Jacobian, mean loss = ‖r‖² / 2 + constant
    G         Σ w Jᵀ C J / Σ w + diag(c),   C the curvature of the likelihood, c of the penalty ½ Σ c θ²

First-order rules get `gradient()`; rules that evaluate more than once get the problem itself, which is a torch closure.
Shapes: P parameters, all in their order; N residuals; m rows, tokens or pixels of a chunk, R outputs of each.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from operator import add
from typing import Any, cast

import torch
from torch import Tensor, nn

from ..data.batch import Batch
from ..draw import Draw
from ..errors import InputError
from ..likelihoods import Likelihood
from ._jacobian import Jacobians, at_a_time, no_residuals, times_hessian
from .evaluating import Drawing
from .objective import Loss, Objective, Player, Supervised
from .process import Interrupted, copied
from .training import Training

OF_GRADIENTS = ("clip_norm", "clip_value", "gradient_noise")  # settings that change g and not F


class Problem:
    """Losses, gradients and residuals of one update; `bind` says of which rows and with which noise.

    Args:
        objective: What is minimized.
        player: Who moves.
        training: Penalties and clipping.
        pure: Restore buffers before every evaluation; needed where a rule evaluates more than once.
        drawing: What the objective draws from, where that is known.
    """

    def __init__(
        self,
        objective: Objective,
        player: Player,
        training: Training,
        *,
        pure: bool = False,
        drawing: Drawing | None = None,
    ) -> None:
        self.drawing = Drawing(objective) if drawing is None else drawing
        self.objective, self.player, self.training = objective, player.name, training
        self.parameters = player.tensors()
        self.device = self.parameters[0].device if self.parameters else torch.device("cpu")
        own = {id(p) for p in self.parameters}
        others = [p for p in objective.parameters() if p.requires_grad and id(p) not in own]
        self.inputs = self.parameters if others else None  # None: back-propagate to every leaf, which is cheaper
        self.penalized = [p for name, p in objective.named_parameters() if id(p) in own and _counts(name, p, training)]
        self.buffers = list(objective.buffers()) if pure else []
        self.closed = _place(objective, "gradient") <= _place(objective, "loss")  # of this loss, not of one above it
        self.cotangents: dict[float, Tensor] = {}
        self.first: Sequence[Loss] | None = None
        self.evaluations = 0
        self.caught: Sequence[BaseException] = ()
        self.jacobians = Jacobians(objective, self.parameters, self._prepare)
        self.bind([], Draw(0))

    def bind(self, batches: Sequence[Batch], draw: Draw) -> None:
        """The rows and the randomness of this update."""
        self.batches, self.draw, self.first = batches, draw, None
        self.kept = [b.clone() for b in self.buffers]

    def step(self, rule: Any, caught: Sequence[BaseException] = ()) -> None:
        """An update by a rule that evaluates F itself; what is caught meanwhile ends it, and all is as before."""
        self.caught, evaluations = caught, self.evaluations
        kept = copied(dict(rule.state)), [p.detach().clone() for p in self.parameters]
        try:
            rule.step(self)
        except Interrupted:
            self.caught, self.evaluations = (), evaluations
            rule.state.clear()
            rule.state.update(kept[0])
            for p, old in zip([*self.parameters, *self.buffers], [*kept[1], *self.kept], strict=True):
                p.data.copy_(old)
            raise

    def _count(self) -> None:
        if self.caught:
            raise Interrupted
        self.evaluations += 1

    def gradient(self) -> Sequence[Loss]:
        """∇F into `.grad`, clipped; the losses of the first evaluation stay in `first`."""
        self._count()
        for p in self.parameters:
            p.grad = None
        with self.drawing.scope(self.draw, seed=False):
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
        self._count()
        with torch.no_grad(), self.drawing.scope(self.draw, seed=False):
            losses = [self._loss(i) for i in range(len(self.batches))]
            self.first = self.first or losses
            return self._value(losses)

    def _prepare(self, micro: int) -> Draw:
        """The buffers and the noise of the first evaluation."""
        for buffer, kept in zip(self.buffers, self.kept, strict=True):
            buffer.data.copy_(kept)
        draw = self.draw.at(micro)
        if self.drawing:
            draw.seed_global()
        return draw

    def precision(self) -> AbstractContextManager[Any]:
        """bfloat16 where torch holds it for safe, if that is requested."""
        if self.training.precision == "full":
            return nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16, cache_enabled=False)  # weights move between evaluations

    def _loss(self, micro: int) -> Loss:
        draw = self._prepare(micro)
        with self.precision():
            return self.objective.loss(self.player, self.batches[micro], draw)

    def _backward_one(self) -> list[Loss]:
        if self.closed and (known := self.objective.gradient(self.player, self.batches[0], self._prepare(0))):
            for p, slope in known[1]:
                p.grad = slope if p.requires_grad else None  # what is frozen has none
            return [known[0]]
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
        for p in self.penalized if t.l2 or t.l1 else ():
            if p.grad is not None and t.l2:
                p.grad.add_(p.detach(), alpha=2 * t.l2)
            if p.grad is not None and t.l1:
                p.grad.add_(p.detach().sign(), alpha=t.l1)
        if t.clip_value is not None:
            nn.utils.clip_grad_value_(self.parameters, t.clip_value)
        if t.clip_norm is not None:
            nn.utils.clip_grad_norm_(self.parameters, t.clip_norm)

    def penalty(self) -> Tensor | None:
        """l2 Σ θ² + l1 Σ |θ|, or None where neither is used."""
        t = self.training
        if not (t.l2 or t.l1) or not self.penalized:
            return None
        flat = torch.cat([p.detach().reshape(-1) for p in self.penalized])
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

    # ---- second order

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
        likelihood = getattr(self.objective, "likelihood", None)
        own = type(self.objective).residual not in (Objective.residual, Supervised.residual)
        if not own and (likelihood is None or type(likelihood).residual is Likelihood.residual):
            return no_residuals(self.objective)
        function = getattr(self.objective, "penalty", None) is not None
        name = "l1" if self.training.l1 else "a penalty function" if function else ""
        advice = "Use l2 as the only penalty, or another optimizer, e.g. 'lbfgs'."
        return f"This optimizer works on a sum of squares, in which {name} cannot enter. {advice}" if name else ""

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

    @cached_property
    def decay(self) -> Tensor:
        """c of the penalty ½ Σ c θ², from l2: (P,)."""
        penalized, strength = {id(p) for p in self.penalized}, 2 * self.training.l2
        return torch.cat([p.new_full((p.numel(),), strength * (id(p) in penalized)) for p in self.parameters])

    def squares(self) -> tuple[Tensor, Tensor, Tensor]:
        """F but for a constant as a sum of squares, with penalty: ½‖r‖² (), Jᵀr (P,), JᵀJ (P, P), in float64 and
        without all of J at once."""
        sums: Any = (0.0, 0.0, 0.0, 0.0)
        for r, jacobian, w in self._jacobians("residual"):
            weight = float(len(r) if w is None else w.sum())
            if w is not None:
                r, jacobian = w.sqrt()[:, None] * r, w.sqrt()[:, None, None] * jacobian
            r, jacobian = r.flatten().double(), jacobian.flatten(0, 1).double()  # (N,), (N, P)
            sums = tuple(map(add, sums, (torch.dot(r, r) / 2, r @ jacobian, jacobian.T @ jacobian, weight)))
        cost, g, matrix, weight = sums
        decay, theta = self.decay.double(), torch.cat([p.detach().reshape(-1) for p in self.parameters]).double()
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
        return matrix / weight + self.decay.double().diag()

    def hessian(self) -> Tensor:
        """∇²F: (P, P)."""
        self._count()
        decay, rows = self.decay, sum(batch.n for batch in self.batches)
        unit = torch.eye(len(decay)).to(decay).split(at_a_time(self.parameters, rows=rows))

        def of(f: Tensor) -> Tensor:
            return torch.cat([times_hessian(f, self.parameters, some) for some in unit])

        total, weight, once = torch.zeros(()), 0.0, None
        with torch.enable_grad(), self.drawing.scope(self.draw, seed=False):
            for micro in range(len(self.batches)):
                loss = self._loss(micro)
                total, weight, once = total + of(loss.total), weight + loss.weight, loss.once
            found = total / weight if once is None else total / weight + of(once)
        return (found + found.T) / 2 + decay.diag()

    def _jacobians(self, what: str) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
        """Outputs (m, R), Jacobians (m, R, P) and weights (m,) in chunks."""
        self._count()
        with self.drawing.scope(self.draw, seed=False):
            yield from self.jacobians(what, self.batches)


def _place(objective: Objective, method: str) -> int:
    """How many classes up from the objective's own a method is written."""
    return next(i for i, kind in enumerate(type(objective).__mro__) if method in vars(kind))


def _counts(name: str, p: Tensor, training: Training) -> bool:
    """Whether penalties count this parameter: weights have two axes or more, biases are named so."""
    return p.ndim >= 2 or (training.penalize_bias and name.split(".")[-1].startswith("bias"))
