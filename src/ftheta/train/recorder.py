"""The path of a training through weight space.

    θ_0, θ_k, θ_2k, ...      flat, as float64: what a landscape is drawn around, and how jagged a descent is

Shapes: T + 1 points, P parameters of the first player, in the order of the objective.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch

from ..errors import InputError
from .callbacks import Callback, Context

if TYPE_CHECKING:
    from .trainer import Trainer

__all__ = ["Recorder"]


class Recorder(Callback):
    """Keeps the weights at the start and after every round, or every `every` steps; they go into the checkpoint.

    Args:
        every: Steps between two points; None: one point a round (epoch).

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
        if every is not None and every < 1:
            raise InputError(f"every={every}; a Recorder keeps a point every 1, 2, ... steps, or every=None a round.")
        self.every = every
        self.state: dict[str, list] = {"steps": [], "points": []}

    @property
    def steps(self) -> np.ndarray:
        """Updates made before each point: (T + 1,)."""
        return np.array(self.state["steps"], dtype=int)

    @property
    def path(self) -> np.ndarray:
        """The points: (T + 1, P)."""
        if not self.state["points"]:
            raise InputError("This Recorder has seen no training; pass it to iterate(..., callbacks=[recorder]).")
        return torch.stack(self.state["points"]).double().numpy()

    def on_start(self, ctx: Context) -> None:
        """The point of departure, unless a resumed run has one."""
        if not self.state["points"]:
            self._keep(ctx)

    def on_step(self, ctx: Context) -> None:
        """Every so many steps."""
        if self.every is not None and ctx.step % self.every == 0:
            self._keep(ctx)

    def on_row(self, ctx: Context, row: Mapping[str, float]) -> None:
        """Every round."""
        if self.every is None:
            self._keep(ctx)

    def _keep(self, ctx: Context) -> None:
        trainer: Trainer = ctx.process  # type: ignore[assignment]
        own = {id(p) for p in trainer.objective.player_list[0].tensors() if p.requires_grad}
        tensors = [p.detach().cpu().flatten() for p in trainer.objective.parameters() if id(p) in own]
        self.state["steps"].append(ctx.step)
        self.state["points"].append(torch.cat(tensors))
