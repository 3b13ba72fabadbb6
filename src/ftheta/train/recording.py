"""What is kept of the weights while they are trained: their average, their path, and norms, step by step.

    Average:         θ̄ ← d_t θ̄ + (1 - d_t) θ,   d_t = min(d, (1 + t) / (10 + t))   after update t
    Recorder:        θ_0, θ_k, θ_2k, ...      flat, as float64: what a landscape is drawn around
    GradientNorms:   ‖g_t‖,  ‖θ_t‖            of each tensor; g as the rule saw it: with penalties, after clipping

Shapes: T + 1 points of P parameters of the first player; T recorded steps of P tensors that train.
Reference: Polyak and Juditsky, Acceleration of stochastic approximation by averaging (1992).
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import check
from ..errors import InputError
from .callbacks import Callback, Context
from .objective import Objective


class Average:
    """Averaged weights of an objective, in `values`: what validation sees and what stays at the end.

    Training goes on from θ. Early on d_t is small, so that the start is forgotten. Running statistics (batch norm) are
    averaged too; integers are copied.

    Args:
        objective: Whose weights.
        decay: d, below 1; 0.999 averages over about a thousand updates.
    """

    def __init__(self, objective: Objective, decay: float) -> None:
        self.objective, self.decay = objective, decay
        self.values = objective.weights()
        self.trained: dict[str, Tensor] | None = None  # θ, while the objective has the average

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take the weights after update `step`, counted from 0, in."""
        share = 1 - min(self.decay, (1 + step) / (10 + step))
        now = self.objective.state_dict()
        real = [name for name, value in self.values.items() if value.is_floating_point()]
        torch._foreach_lerp_([self.values[n] for n in real], [now[n] for n in real], share)  # type: ignore[operator]
        for name in self.values.keys() - set(real):
            self.values[name].copy_(now[name])

    def _show(self, averaged: bool) -> None:
        if averaged and self.trained is None:
            self.trained = self.objective.weights()
            self.objective.set_weights(self.values)
        elif not averaged and self.trained is not None:
            self.objective.set_weights(self.trained)
            self.trained = None

    @contextmanager
    def shown(self, averaged: bool) -> Iterator[None]:
        """The averaged weights, or those that are trained, for a while; the others afterwards."""
        self._show(averaged)
        try:
            yield
        finally:
            self._show(not averaged)


class _Records(Callback):
    """What is kept goes into the checkpoint."""

    state: dict[str, Any]

    @property
    def steps(self) -> np.ndarray:
        """Updates made by each record: (T,), or (T + 1,) with the start."""
        return np.array(self.state["steps"], dtype=int)

    def _stacked(self, key: str) -> np.ndarray:
        if not self.state[key]:
            raise InputError(
                f"This {type(self).__name__} has seen no training; pass it to iterate(..., callbacks=[...])."
            )
        return torch.stack(self.state[key]).double().cpu().numpy()


class Recorder(_Records):
    """Keeps the weights at the start and after every round, or every `every` steps; they go into the checkpoint.

    Args:
        every: Steps between two points; None: one point per round (epoch).

    Example:
        >>> from ftheta.data import Rows
        >>> from ftheta.train import Supervised, Trainer, iterate
        >>> x, net = torch.linspace(-1, 1, 8)[:, None], torch.nn.Linear(1, 1)
        >>> objective = Supervised(net, lambda raw, y: (raw[:, 0] - y) ** 2)
        >>> recorder = Recorder()
        >>> history = iterate(Trainer(objective, Rows(x, x[:, 0], batch_size=8)), rounds=3, callbacks=[recorder])
        >>> recorder.path.shape
        (4, 2)
    """

    def __init__(self, every: int | None = None) -> None:
        self.every = None if every is None else check.at_least("every", every, 1, integer=True)
        self.state = {"steps": [], "points": []}

    @property
    def path(self) -> np.ndarray:
        """The points: (T + 1, P)."""
        return self._stacked("points")

    def on_start(self, ctx: Context) -> None:
        if not self.state["points"]:
            self._keep(ctx)

    def on_step(self, ctx: Context) -> None:
        if self.every is not None and ctx.step % self.every == 0:
            self._keep(ctx)

    def on_row(self, ctx: Context, row: Mapping[str, float]) -> None:
        if self.every is None:
            self._keep(ctx)

    def _keep(self, ctx: Context) -> None:
        trainer: Any = ctx.process
        own = {id(p) for p in trainer.objective.player_list[0].tensors() if p.requires_grad}
        tensors = [p.detach().cpu().flatten() for p in trainer.objective.parameters() if id(p) in own]
        self.state["steps"].append(ctx.step)
        self.state["points"].append(torch.cat(tensors))


class GradientNorms(_Records):
    """Keeps the norms of gradients and tensors; they go into the checkpoint.

    Args:
        every: Steps between two records.
    """

    def __init__(self, every: int = 1) -> None:
        self.every = check.at_least("every", every, 1, integer=True)
        self.state = {"start": None, "steps": [], "norms": []}
        self.names: tuple[str, ...] = ()  # of the tensors, without the `module.` of the objective
        self.axes = np.zeros(0, int)  # of each tensor: (P,)
        self.kinds: tuple[str, ...] = ()  # classes of all modules of the objective

    @property
    def gradient(self) -> np.ndarray:
        """‖g‖: (T, P)."""
        return self._stacked("norms")[:, 0]

    @property
    def parameter(self) -> np.ndarray:
        """‖θ‖ at the record before, for the first at the start: (T, P)."""
        before = self.state["start"].double().cpu().numpy()[None]
        return np.concatenate([before, self._stacked("norms")[:-1, 1]])

    def on_start(self, ctx: Context) -> None:
        trainer: Any = ctx.process
        own = {id(p) for player in trainer.players.values() for p in player.tensors() if p.requires_grad}
        named = [(name.removeprefix("module."), p) for name, p in trainer.objective.named_parameters() if id(p) in own]
        self._tensors = [p for _, p in named]
        self.names, self.axes = tuple(name for name, _ in named), np.array([p.ndim for p in self._tensors], dtype=int)
        self.kinds = tuple(sorted({type(part).__name__ for part in trainer.objective.modules()}))
        if self.state["start"] is None:
            self.state["start"] = _lengths(self._tensors)

    def on_step(self, ctx: Context) -> None:
        if (ctx.step - 1) % self.every == 0:
            gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._tensors]
            self.state["steps"].append(ctx.step)
            self.state["norms"].append(torch.stack([_lengths(gradients), _lengths(self._tensors)]))


def _lengths(tensors: Sequence[Tensor]) -> Tensor:
    return torch.stack([t.detach().norm() for t in tensors])
