"""Momentum as an exponential average of gradients.

    m <- β m + (1 - β) g,    θ <- θ - η m

The classical rule is v <- μ v + g, θ <- θ - η v. Under a constant gradient g, m tends to g and v to g / (1 - μ): with
β = μ the two make the same steps where η of this rule is η / (1 - μ) of the classical one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.optim import Optimizer

from ..catalog import nearest
from ..errors import InputError

__all__ = ["EMAMomentum", "momentum_rate"]


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
        """One update; returns what the closure returns."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    m = self.state[p].setdefault("m", torch.zeros_like(p))
                    m.lerp_(p.grad, 1 - group["beta"])
                    p.sub_(m, alpha=group["lr"])
        return loss


def momentum_rate(lr: float, momentum: float, *, to: str) -> float:
    """The learning rate with which the other convention makes the same steps.

    Args:
        lr: A learning rate of the convention that is left.
        momentum: μ or β.
        to: "ema" (of a classical rate) or "classical" (of a rate for averages).

    Example:
        >>> round(momentum_rate(0.0198, 0.9, to="ema"), 12)
        0.198
    """
    if to not in ("ema", "classical"):
        raise InputError(nearest("convention of momentum", to, ("ema", "classical")))
    if not 0 <= momentum < 1:
        raise InputError(f"momentum={momentum}; it must be in [0, 1), e.g. 0.9.")
    return lr / (1 - momentum) if to == "ema" else lr * (1 - momentum)
