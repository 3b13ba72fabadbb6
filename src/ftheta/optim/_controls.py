"""What keeps the steps of a quadratic model honest.

    (B + λ I) d = -g,      gain = (F(θ) - F(θ + d)) / what the model promised

| control | a step that gains too little, or has no finite F, is tried again with |
|---|---|
| damping | a larger λ: λ ν, λ ν 2ν, ...; each step that gains multiplies it by max(1/3, 1 - (2 gain - 1)³) |
| region | a smaller radius r of the trust region ‖d‖ <= r, which is doubled by steps that gain |
| halving | half of d; λ is as given, and more only where B + λ I is not positive definite |
| none | nothing: Newton's own step, wherever it leads |

Reference: Madsen, Nielsen and Tingleff, Methods for non-linear least squares problems, 2nd edition (2004).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor

from .quadratic import damped_step, trust_step

START = 1e-3  # of the largest entry of B: the first λ above 0


class Control:
    """Proposes the trial steps of one update and learns from them; `memory` outlives the update.

    Args:
        memory: Numbers kept from update to update: damping and radius.
        B: Matrix of the model.
        g: Its gradient.
        damping: λ that the user gave.
    """

    attempts = 40  # trial steps of an update
    enough = 1e-4  # share of the promised fall that a step must bring

    def __init__(self, memory: dict[str, Any], B: Tensor, g: Tensor, damping: float) -> None:
        self.memory, self.B, self.g, self.given = memory, B, g, damping
        self.damping = damping
        self.unit = START * max(float(B.diagonal().abs().max()), float(g.abs().max()))

    @abstractmethod
    def propose(self) -> Tensor | None:
        """The next trial step, None if there is none at this λ: (P,)."""

    def failed(self, length: float) -> None:
        """The step of this length did not gain."""

    def gained(self, gain: float, length: float) -> None:
        """The step of this length did."""


class Damping(Control):
    """Larger λ for shorter steps, nearer to -g."""

    def __init__(self, memory: dict[str, Any], B: Tensor, g: Tensor, damping: float) -> None:
        super().__init__(memory, B, g, damping)
        self.damping, self.rise = memory.get("damping", damping), 2.0

    def propose(self) -> Tensor | None:
        return damped_step(self.B, self.g, self.damping)

    def failed(self, length: float) -> None:
        self.damping, self.rise = self.damping * self.rise or self.unit, self.rise * 2

    def gained(self, gain: float, length: float) -> None:
        damping = self.damping * max(1 / 3, 1 - (2 * gain - 1) ** 3)
        self.memory["damping"] = 0.0 if self.given == 0 and damping < self.unit / 10 else damping


class Region(Control):
    """A radius for the steps."""

    def propose(self) -> Tensor:
        d, self.damping = trust_step(self.B, self.g, self.memory["radius"])
        return d

    def failed(self, length: float) -> None:
        self.memory["radius"] = min(length, self.memory["radius"]) / 4

    def gained(self, gain: float, length: float) -> None:
        if gain < 0.25:
            self.failed(length)
        elif gain > 0.75 and self.damping > 0:
            self.memory["radius"] *= 2


class Halving(Control):
    """The direction stays, the step is halved."""

    def __init__(self, memory: dict[str, Any], B: Tensor, g: Tensor, damping: float) -> None:
        super().__init__(memory, B, g, damping)
        self.d, self.share = damped_step(B, g, damping), 1.0
        while self.d is None and self.damping < 1e9 * self.unit:
            self.damping = max(10 * self.damping, 1e-7 * self.unit)
            self.d = damped_step(B, g, self.damping)

    def propose(self) -> Tensor | None:
        return None if self.d is None else self.share * self.d

    def failed(self, length: float) -> None:
        self.share /= 2


class FullStep(Control):
    """The solution of the equations, a way down or not."""

    attempts = 1
    enough = -math.inf

    def propose(self) -> Tensor | None:
        values, vectors = torch.linalg.eigh(self.B)
        values = values + self.damping
        singular = values.abs().min() <= len(values) * torch.finfo(values.dtype).eps * values.abs().max()
        return None if singular else -(vectors @ (vectors.T @ self.g / values))


CONTROLS: dict[str, type[Control]] = {"damping": Damping, "region": Region, "halving": Halving, "none": FullStep}
