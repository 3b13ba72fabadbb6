"""Rules that see the whole problem: θ and g as one vector, and a word on how the last update went.

θ = (θ₁, ..., θ_P), all parameters of all groups one after the other
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from ._function import Function

__all__ = ["Whole"]


class Whole(Optimizer):
    """Base of rules that evaluate the loss themselves.

    `facts` are numbers of the last update, for the history; `reason` says why the rule cannot go on, empty while it
    can. Memory lies in `memory`, which is in `state_dict`.

    Args:
        params: Parameters or groups of them, taken together.
        lr: Learning rate.
    """

    def __init__(self, params: Iterable[Any], lr: float) -> None:
        super().__init__(params, {"lr": lr})
        if len(self.param_groups) > 1:
            raise ValueError("it moves all parameters together, so groups with options of their own are not for it")
        self.facts: dict[str, float] = {}
        self.reason = ""

    @abstractmethod
    def step(self, closure: Function) -> Any:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        """One update of a problem."""

    @property
    def tensors(self) -> list[Tensor]:
        """The parameters, groups unfolded."""
        return [p for group in self.param_groups for p in group["params"]]

    @property
    def memory(self) -> dict[str, Any]:
        """What is kept from update to update: tensors and numbers."""
        return self.state[self.tensors[0]]

    @property
    def lr(self) -> float:
        """The rate of this update."""
        return self.param_groups[0]["lr"]

    def flat(self) -> Tensor:
        """θ as one vector, a copy: (P,)."""
        return torch.cat([p.detach().reshape(-1) for p in self.tensors])

    def gradient(self) -> Tensor:
        """The gradient as one vector, zero where there is none: (P,)."""
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in self.tensors]
        return torch.cat([g.detach().reshape(-1) for g in parts])

    @torch.no_grad()
    def move_to(self, theta: Tensor) -> None:
        """Set θ to a vector: (P,)."""
        for p, part in zip(self.tensors, theta.split([p.numel() for p in self.tensors]), strict=True):
            p.copy_(part.view_as(p))
