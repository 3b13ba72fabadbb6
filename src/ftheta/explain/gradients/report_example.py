"""Back-propagation by hand: a small network with sigmoid units, three points, and one step at rate 1.

    ξ₁ = W₁ x,   x₁ = σ(ξ₁),   ξ₂ = W₂ x₁,        E = ½ (output - target)²,        W ← W - η ∂E/∂W

Inputs and hidden units count a constant 1 as their first component: 3-3-1. Here its weights are biases: 2-2-1.
There are three readings of the output unit:

    printed    output ξ₂, but δ₂ = (ξ₂ - target) σ'(ξ₂): the pre-activation, and the derivative of a sigmoid
    linear     output ξ₂,     δ₂ = ξ₂ - target
    sigmoid    output σ(ξ₂),  δ₂ = (σ(ξ₂) - target) σ'(ξ₂)

The first is the gradient of no loss. Shapes: 3 points of 2 inputs, 2 hidden units, 1 output.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import torch
from torch import Tensor, nn

from ...catalog import nearest
from ...errors import InputError

__all__ = ["HybridOutput", "report_example"]

_POINTS = torch.tensor([[1, 1], [0, -2], [-1, 1]], dtype=torch.float64)
_TARGETS = torch.tensor([-1, 1, 1], dtype=torch.float64)
_WEIGHTS = ([[0.4, 0.2, -1.2], [0.7, -0.7, -0.7]], [[0.4, -0.5, 2.3]])  # the weight of the constant 1 first


class _Mixed(torch.autograd.Function):
    """z forward, σ'(z) backward."""

    @staticmethod
    def forward(ctx: Any, z: Tensor) -> Tensor:
        ctx.save_for_backward(z)
        return z.clone()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        (z,) = ctx.saved_tensors
        return grad_outputs[0] * z.sigmoid() * (1 - z.sigmoid())


class HybridOutput(nn.Module):
    """An output unit that gives z and passes back σ'(z) δ: a mistake that is easily made, kept to be looked at."""

    def forward(self, z: Tensor) -> Tensor:
        return _Mixed.apply(z)  # pyright: ignore[reportReturnType]


_VARIANTS = {"printed": HybridOutput, "linear": nn.Identity, "sigmoid": nn.Sigmoid}


def report_example(variant: str = "printed") -> tuple[nn.Sequential, Tensor, Tensor, str]:
    """The network, its three points, their targets and the loss, as `backprop` takes them.

    Args:
        variant: Of the output unit: printed, linear or sigmoid.

    Example:
        >>> from ftheta import explain
        >>> found = explain.backprop(*explain.report_example("linear"))
        >>> round(found.loss, 6), round(found.loss_after, 6)
        (0.92399, 0.664982)
    """
    if variant not in _VARIANTS:
        raise InputError(nearest("variant", variant, _VARIANTS))
    layers = [nn.Linear(2, len(weights), dtype=torch.float64) for weights in _WEIGHTS]
    with torch.no_grad():
        for layer, weights in zip(layers, _WEIGHTS, strict=True):
            both = torch.tensor(weights, dtype=torch.float64)
            layer.bias.copy_(both[:, 0])
            layer.weight.copy_(both[:, 1:])
    parts = {"hidden": layers[0], "sigmoid": nn.Sigmoid(), "output": layers[1], "unit": _VARIANTS[variant]()}
    return nn.Sequential(OrderedDict(parts)), _POINTS.clone(), _TARGETS.clone(), "half-square"
