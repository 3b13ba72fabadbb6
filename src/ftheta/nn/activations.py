"""Activations: a table of the usual ones, with formula, derivative, range and advice.

    a = σ(z),      da/dz = σ'(z)        elementwise

Formulas and derivatives are written so that Python can read them (names of `math`). At a kink the derivative is that
of the left side: 0 for ReLU at 0; at a jump the value is that of the left side too, and the derivative is 0. A round
bracket in a range is an end that is never reached; in floats tanh(20) rounds to 1 all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from ..catalog import nearest
from ..errors import InputError

__all__ = ["ACTIVATIONS", "Activation", "Bump", "Sign", "Sin", "Step", "activation"]


class Sin(nn.Module):
    """sin(z)."""

    def forward(self, z: Tensor) -> Tensor:
        return z.sin()


class Bump(nn.Module):
    """exp(-z²): one unit answers to a strip instead of a half-space."""

    def forward(self, z: Tensor) -> Tensor:
        return (-z.square()).exp()


class Sign(nn.Module):
    """1 above 0, else -1; its derivative is 0 everywhere."""

    def forward(self, z: Tensor) -> Tensor:
        return torch.sign(torch.sign(z) - 0.5)


class Step(nn.Module):
    """1 above 0, else 0: the threshold of McCulloch and Pitts; its derivative is 0 everywhere."""

    def forward(self, z: Tensor) -> Tensor:
        return torch.relu(torch.sign(z))


@dataclass(frozen=True)
class Activation:
    """What there is to know of an activation.

    Example:
        >>> ACTIVATIONS["relu"].slope(torch.tensor([-1.0, 0.0, 2.0]))
        tensor([0., 0., 1.])
    """

    factory: Callable[..., nn.Module]  # makes the module; takes the options
    formula: str  # σ(z)
    derivative: str  # σ'(z), with the value at a kink
    range: str  # where the values lie
    monotone: bool  # whether σ never falls
    init: str  # the scheme of `initialize` that keeps the variance of a layer with this activation level
    advice: str  # where it is used
    options: Mapping[str, Any] = field(default_factory=dict)  # parameters and defaults, as in formula and derivative

    def slope(self, z: Tensor) -> Tensor:
        """σ'(z) of each entry, by automatic differentiation."""
        z = z.detach().requires_grad_()
        with torch.enable_grad():
            return torch.autograd.grad(self.factory(**self.options)(z).sum(), z)[0]


_REAL, _POSITIVE = "(-inf, inf)", "(0, inf)"
_PHI = "(1 + erf(z / sqrt(2))) / 2"
_LOGISTIC = "1 / (1 + exp(-z))"

ACTIVATIONS: dict[str, Activation] = {
    "relu": Activation(
        nn.ReLU,
        *("max(0, z)", "1 if z > 0 else 0", "[0, inf)", True, "he"),
        "Hidden layers: the default. A unit that is negative on all rows learns no more.",
    ),
    "leaky_relu": Activation(
        nn.LeakyReLU,
        *("z if z > 0 else 0.01 * z", "1 if z > 0 else 0.01", _REAL, True, "he"),
        "Hidden layers where ReLU units die.",
        {"negative_slope": 0.01},
    ),
    "elu": Activation(
        nn.ELU,
        *("z if z > 0 else exp(z) - 1", "1 if z > 0 else exp(z)", "(-1, inf)", True, "he"),
        "Hidden layers: smooth at 0, mean activation near 0.",
        {"alpha": 1.0},
    ),
    "gelu": Activation(
        nn.GELU,
        *(f"z * {_PHI}", f"{_PHI} + z * exp(-z * z / 2) / sqrt(2 * pi)", "[-0.169971, inf)", False, "he"),
        "Hidden layers of transformers.",
    ),
    "silu": Activation(
        nn.SiLU,
        *("z / (1 + exp(-z))", f"(1 + z / (1 + exp(z))) * {_LOGISTIC}", "[-0.278465, inf)", False, "he"),
        "Hidden layers: smooth, also called swish.",
    ),
    "tanh": Activation(
        nn.Tanh,
        *("tanh(z)", "1 - tanh(z) * tanh(z)", "(-1, 1)", True, "glorot"),
        "Hidden layers of small or recurrent nets; outputs inside (-1, 1): ±1 is never reached, scale targets to less.",
    ),
    "sigmoid": Activation(
        nn.Sigmoid,
        *(_LOGISTIC, f"{_LOGISTIC} * (1 - {_LOGISTIC})", "(0, 1)", True, "glorot"),
        "Gates; outputs inside (0, 1). For classes leave the output raw: the Bernoulli likelihood applies it stably.",
    ),
    "softplus": Activation(
        nn.Softplus,
        *("log(1 + exp(z))", _LOGISTIC, _POSITIVE, True, "he"),
        "Outputs that must be positive: rates, variances.",
    ),
    "identity": Activation(
        nn.Identity,
        *("z", "1", _REAL, True, "lecun"),
        "Outputs of any size and sign. Layers with it collapse to one affine map.",
    ),
    "sin": Activation(
        Sin,
        *("sin(z)", "cos(z)", "[-1, 1]", False, "lecun"),
        "Periodic targets; coordinates to signals.",
    ),
    "bump": Activation(
        Bump,
        *("exp(-z * z)", "-2 * z * exp(-z * z)", "(0, 1]", False, "lecun"),
        "Local features: one unit solves XOR.",
    ),
    "sign": Activation(
        Sign,
        *("1 if z > 0 else -1", "0", "[-1, 1]", True, "lecun"),
        "A perceptron: -1 or 1. Gradients do not pass it; the perceptron rule trains it.",
    ),
    "step": Activation(
        Step,
        *("1 if z > 0 else 0", "0", "[0, 1]", True, "he"),
        "Threshold units and logic gates: 0 or 1, with weights set by hand. Gradients do not pass it.",
    ),
}


def activation(name: str, options: Mapping[str, Any] | None = None) -> nn.Module:
    """A new activation module by its name.

    Args:
        name: A key of `ACTIVATIONS`.
        options: Parameters other than the defaults of the table.

    Example:
        >>> activation("leaky_relu", {"negative_slope": 0.2})
        LeakyReLU(negative_slope=0.2)
    """
    if name not in ACTIVATIONS:
        raise InputError(nearest("activation", name, ACTIVATIONS))
    entry, given = ACTIVATIONS[name], options or {}
    for key in given:
        if key not in entry.options:
            raise InputError(nearest(f"option of activation {name!r}:", key, entry.options))
    return entry.factory(**{**entry.options, **given})
