"""First-order rules that `torch.optim` does not have.

    EMAMomentum:     m <- β m + (1 - β) g,    θ <- θ - η m
    NormalizedGD:    θ <- θ - η g / ‖g‖,      g all gradients of the optimizer as one vector; g = 0 moves nothing

The classical momentum is v <- μ v + g, θ <- θ - η v. Under a constant gradient g, m tends to g and v to g / (1 - μ):
with β = μ the two make the same steps where η of the average is η / (1 - μ) of the classical rule. Steps of one length
are not thrown far by a cliff in the loss nor stopped by a plateau, but do not come to rest without a falling rate.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from ..errors import InputError


class EMAMomentum(Optimizer):
    """Steps along the average m of past gradients, kept in `state[parameter]["m"]`.

    Args:
        params: Parameters or groups of them.
        lr: Learning rate η.
        beta: Share β of the old average, in [0, 1).

    Example:
        >>> theta = torch.zeros(1, requires_grad=True)
        >>> theta.grad = torch.tensor([100.0])
        >>> EMAMomentum([theta], lr=0.001).step()
        >>> theta.detach()
        tensor([-0.0100])
    """

    def __init__(self, params: Iterable[Any], lr: float = 0.1, beta: float = 0.9) -> None:
        if not 0 <= beta < 1:
            raise InputError(f"beta={beta}; it must be in [0, 1), e.g. 0.9.")
        super().__init__(params, {"lr": lr, "beta": beta})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        loss = torch.enable_grad()(closure)() if closure else None
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    m = self.state[p].setdefault("m", torch.zeros_like(p))
                    m.lerp_(p.grad, 1 - group["beta"])
                    p.sub_(m, alpha=group["lr"])
        return loss


class NormalizedGD(Optimizer):
    """Steps of length lr along the negative gradient; the norm is taken over all parameters together.

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
        loss = torch.enable_grad()(closure)() if closure else None
        gradients = [p.grad for group in self.param_groups for p in group["params"] if p.grad is not None]
        norm = nn.utils.get_total_norm(gradients)
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None and norm > 0:
                    p.sub_(p.grad * (group["lr"] / norm))
        return loss
