"""Normalised gradient descent: every update has the same length.

    θ <- θ - η g / ‖g‖        g all gradients of the optimizer as one vector; g = 0 moves nothing

A cliff in the loss cannot throw θ away, and a plateau does not stop it; it does not come to rest below η without a
falling rate.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

__all__ = ["NormalizedGD"]


class NormalizedGD(Optimizer):
    """Steps of length lr along the negative gradient.

    Args:
        params: Parameters or groups of them; the norm is taken over all of them together.
        lr: Length η of a step.

    Example:
        >>> theta = torch.zeros(2, requires_grad=True)
        >>> (3e4 * theta[0] + 4e4 * theta[1]).backward()
        >>> NormalizedGD([theta], lr=0.5).step()
        >>> theta.detach()
        tensor([-0.3000, -0.4000])
    """

    def __init__(self, params: Iterable[Any], lr: float = 0.01) -> None:
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """One update; returns what the closure returns."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        gradients = [p.grad for group in self.param_groups for p in group["params"] if p.grad is not None]
        norm = nn.utils.get_total_norm(gradients)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None and norm > 0:
                    p.sub_(p.grad * (group["lr"] / norm))
        return loss
