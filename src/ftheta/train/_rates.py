"""The learning rates of a training: base rates, schedule, warm-up, plateau, and the batch that grows instead.

η_s = η · ramp(s) · shape(s) · factorᵏ        s counts updates from 0
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.optim import Optimizer

from .. import optim
from ..errors import InputError
from .training import Training


class Rates:
    """Sets the rates of all optimizers before each update.

    Args:
        training: Schedule, its settings and the warm-up.
        horizon: Updates in all, or None where it is not known yet.
        optimizers: With their rates at the start.
    """

    def __init__(self, training: Training, horizon: int | None, optimizers: Mapping[str, Optimizer]) -> None:
        self.training, self.horizon, self.optimizers = training, horizon, optimizers
        options: Any = training.schedule_options
        optim.check_schedule(training.schedule, options)
        self.base = {n: [g["lr"] for g in o.param_groups] for n, o in optimizers.items()}
        self.plateau = optim.Plateau(**options) if training.schedule == "plateau" else None
        self.moving = training.schedule != "constant" or training.warmup > 0

    def check_horizon(self) -> None:
        """Raise where the schedule needs to know the end, and it is not given."""
        if self.training.schedule not in ("constant", "plateau") and self.horizon is None:
            raise InputError(
                f"schedule={self.training.schedule!r} needs to know the end: call fit(epochs=...), or pass horizon=, "
                "the number of updates in all."
            )

    def shape(self, step: int, warmup: int = 0) -> float:
        """The factor of the schedule."""
        t, slowed = self.training, self.plateau.state[2] if self.plateau else 1.0
        return slowed * optim.factor(t.schedule, step, self.horizon or 1, warmup, t.schedule_options)

    def set(self, step: int) -> None:
        """The rates of update `step`; where the batch grows instead, only the warm-up counts."""
        t = self.training
        ramp = optim.factor("constant", step, 1, t.warmup)
        factor = ramp if t.grow_batch else self.shape(step, t.warmup)
        for name, optimizer in self.optimizers.items():
            for group, rate in zip(optimizer.param_groups, self.base[name], strict=True):
                group["lr"] = rate * factor

    def batch_size(self, first: int, done: int, n: int) -> int:
        """The size of a batch that grows, after so many updates of the first size."""
        return min(max(round(first / max(self.shape(done), 1e-9)), 1), n)
