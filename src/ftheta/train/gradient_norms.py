"""The gradients of a training, tensor by tensor and step by step: how long each is.

    ‖g_t‖,  ‖θ_t‖     of each tensor, every `every` steps; g as the rule saw it: with penalties, after clipping

Shapes: T recorded steps, P tensors that train.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError
from .callbacks import Callback, Context

if TYPE_CHECKING:
    from .trainer import Trainer

__all__ = ["GradientNorms"]


class GradientNorms(Callback):
    """Keeps the norms of gradients and tensors; they go into the checkpoint.

    Args:
        every: Steps between two records.

    Example:
        >>> from ftheta.data import Rows
        >>> from ftheta.train import Supervised, Trainer, iterate
        >>> x, net = torch.linspace(-1, 1, 8)[:, None], torch.nn.Linear(1, 1)
        >>> objective = Supervised(net, lambda raw, y: (raw[:, 0] - y) ** 2)
        >>> norms = GradientNorms()
        >>> history = iterate(Trainer(objective, Rows(x, x[:, 0], batch_size=8)), rounds=3, callbacks=[norms])
        >>> norms.names, norms.gradient.shape
        (('weight', 'bias'), (3, 2))
    """

    def __init__(self, every: int = 1) -> None:
        if every < 1:
            raise InputError(f"every={every}; norms are kept every 1, 2, ... steps.")
        self.every = every
        self.state: dict[str, Any] = {"names": [], "axes": [], "kinds": [], "start": None, "steps": [], "norms": []}

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each tensor, without the `module.` of the objective."""
        return tuple(self.state["names"])

    @property
    def axes(self) -> np.ndarray:
        """Number of axes of each tensor: (P,)."""
        return np.array(self.state["axes"], dtype=int)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Names of the classes of all modules of the objective."""
        return tuple(self.state["kinds"])

    @property
    def steps(self) -> np.ndarray:
        """Number of each recorded update, from 1: (T,)."""
        return np.array(self.state["steps"], dtype=int)

    @property
    def gradient(self) -> np.ndarray:
        """‖g‖: (T, P)."""
        return self._norms[:, 0]

    @property
    def parameter(self) -> np.ndarray:
        """‖θ‖ at the record before, for the first at the start: (T, P)."""
        before = self.state["start"].double().cpu().numpy()[None]
        return np.concatenate([before, self._norms[:-1, 1]])

    @property
    def _norms(self) -> np.ndarray:
        if not self.state["norms"]:
            raise InputError("This GradientNorms has seen no step; pass it to iterate(..., callbacks=[norms]).")
        return torch.stack(self.state["norms"]).double().cpu().numpy()  # (T, 2, P)

    def on_start(self, ctx: Context) -> None:
        """Which tensors there are."""
        trainer: Trainer = ctx.process  # type: ignore[assignment]
        own = {id(p) for player in trainer.players.values() for p in player.tensors() if p.requires_grad}
        named = [(name.removeprefix("module."), p) for name, p in trainer.objective.named_parameters() if id(p) in own]
        self._tensors = [p for _, p in named]
        self.state["names"], self.state["axes"] = [name for name, _ in named], [p.ndim for p in self._tensors]
        self.state["kinds"] = sorted({type(part).__name__ for part in trainer.objective.modules()})
        if self.state["start"] is None:
            self.state["start"] = _lengths(self._tensors)

    def on_step(self, ctx: Context) -> None:
        """The norms, on the device."""
        if (ctx.step - 1) % self.every == 0:
            gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._tensors]
            self.state["steps"].append(ctx.step)
            self.state["norms"].append(torch.stack([_lengths(gradients), _lengths(self._tensors)]))


def _lengths(tensors: Sequence[Tensor]) -> Tensor:
    return torch.stack([t.detach().norm() for t in tensors])
