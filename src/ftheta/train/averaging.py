"""An exponential average of the weights, beside those that are trained.

    θ̄ ← d_t θ̄ + (1 - d_t) θ,      d_t = min(d, (1 + t) / (10 + t))      after update t

The average is what validation sees and what stays at the end; training goes on from θ. Early on d_t is small, so that
the start is forgotten. Averages of running statistics (batch norm) are kept too; integers are copied.

Reference: Polyak and Juditsky, Acceleration of stochastic approximation by averaging (1992).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from .objective import Objective

__all__ = ["Average"]


class Average:
    """Averaged weights of an objective, in `values`.

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

    def show(self, averaged: bool) -> None:
        """Let the objective have the averaged weights, or those that are trained."""
        if averaged and self.trained is None:
            self.trained = self.objective.weights()
            self.objective.set_weights(self.values)
        elif not averaged and self.trained is not None:
            self.objective.set_weights(self.trained)
            self.trained = None

    @contextmanager
    def shown(self, averaged: bool) -> Iterator[None]:
        """The averaged weights, or those that are trained, for a while; the others afterwards."""
        self.show(averaged)
        try:
            yield
        finally:
            self.show(not averaged)
