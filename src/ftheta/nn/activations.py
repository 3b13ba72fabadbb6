"""Activations: a table of the usual ones, with formula, derivative, range and advice; and initial weights for them.

    a = σ(z),      da/dz = σ'(z)        elementwise
    W ~ N(0, s²),  b = 0     s²: zeros 0, normal sigma², lecun 1 / n_in, glorot 2 / (n_in + n_out), he 2 / n_in

Formulas and derivatives are written so that Python can read them (names of `math`). At a kink the derivative is that
of the left side: 0 for ReLU at 0; at a jump the value is that of the left side too, and the derivative is 0. A round
bracket in a range is an end that is never reached; in floats tanh(20) rounds to 1 all the same.

n_in and n_out count the connections into and out of a unit (channels times kernel size for a convolution). LeCun
suits linear units, Glorot is the compromise between forward and backward pass for tanh and sigmoid, He makes up for
the half of the signal that ReLU cuts off.
References: LeCun et al., Efficient BackProp (1998); Glorot and Bengio (2010); He et al., arXiv:1502.01852 (2015).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

from ..catalog import check_known
from ..errors import InputError


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
    "relu": Activation(nn.ReLU, "max(0, z)", "1 if z > 0 else 0", "[0, inf)", True, "he",
        "Hidden layers: the default. A unit that is negative on all rows learns no more."),
    "leaky_relu": Activation(nn.LeakyReLU, "z if z > 0 else 0.01 * z", "1 if z > 0 else 0.01", _REAL, True, "he",
        "Hidden layers where ReLU units die.", {"negative_slope": 0.01}),
    "elu": Activation(nn.ELU, "z if z > 0 else exp(z) - 1", "1 if z > 0 else exp(z)", "(-1, inf)", True, "he",
        "Hidden layers: smooth at 0, mean activation near 0.", {"alpha": 1.0}),
    "gelu": Activation(nn.GELU, f"z * {_PHI}", f"{_PHI} + z * exp(-z * z / 2) / sqrt(2 * pi)",
        "[-0.169971, inf)", False, "he", "Hidden layers of transformers."),
    "silu": Activation(nn.SiLU, "z / (1 + exp(-z))", f"(1 + z / (1 + exp(z))) * {_LOGISTIC}",
        "[-0.278465, inf)", False, "he", "Hidden layers: smooth, also called swish."),
    "tanh": Activation(nn.Tanh, "tanh(z)", "1 - tanh(z) * tanh(z)", "(-1, 1)", True, "glorot",
        "Hidden layers of small or recurrent nets; outputs inside (-1, 1), never ±1: scale targets to less."),
    "sigmoid": Activation(nn.Sigmoid, _LOGISTIC, f"{_LOGISTIC} * (1 - {_LOGISTIC})", "(0, 1)", True, "glorot",
        "Gates; outputs inside (0, 1). For classes leave the output raw: the Bernoulli likelihood applies it stably."),
    "softplus": Activation(nn.Softplus, "log(1 + exp(z))", _LOGISTIC, _POSITIVE, True, "he",
        "Outputs that must be positive: rates, variances."),
    "identity": Activation(nn.Identity, "z", "1", _REAL, True, "lecun",
        "Outputs of any size and sign. Layers with it collapse to one affine map."),
    "sin": Activation(Sin, "sin(z)", "cos(z)", "[-1, 1]", False, "lecun",
        "Periodic targets; coordinates to signals."),
    "bump": Activation(Bump, "exp(-z * z)", "-2 * z * exp(-z * z)", "(0, 1]", False, "lecun",
        "Local features: one unit solves XOR."),
    "sign": Activation(Sign, "1 if z > 0 else -1", "0", "[-1, 1]", True, "lecun",
        "A perceptron: -1 or 1. Gradients do not pass it; the perceptron rule trains it."),
    "step": Activation(Step, "1 if z > 0 else 0", "0", "[0, 1]", True, "he",
        "Threshold units and logic gates: 0 or 1, with weights set by hand. Gradients do not pass it."),
}  # fmt: skip


def activation(name: str, options: Mapping[str, Any] | None = None) -> nn.Module:
    """A new activation module by its name.

    Args:
        name: A key of `ACTIVATIONS`.
        options: Parameters other than the defaults of the table.

    Example:
        >>> activation("leaky_relu", {"negative_slope": 0.2})
        LeakyReLU(negative_slope=0.2)
    """
    check_known("activation", name, ACTIVATIONS)
    entry, given = ACTIVATIONS[name], options or {}
    for key in given:
        check_known(f"option of activation {name!r}:", key, entry.options)
    return entry.factory(**{**entry.options, **given})


SCHEMES: dict[str, Callable[[float, float, float], float]] = {  # (n_in, n_out, sigma) -> standard deviation
    "zeros": lambda n_in, n_out, sigma: 0.0,
    "normal": lambda n_in, n_out, sigma: sigma,
    "lecun": lambda n_in, n_out, sigma: math.sqrt(1 / n_in),
    "glorot": lambda n_in, n_out, sigma: math.sqrt(2 / (n_in + n_out)),
    "he": lambda n_in, n_out, sigma: math.sqrt(2 / n_in),
}


@torch.no_grad()
def initialize(module: nn.Module, scheme: str, sigma: float = 0.01) -> None:
    """Draw the weights of all linear and convolution layers anew from torch's global generator; biases become 0.

    Args:
        module: A layer or a net; other layers (norms, embeddings) keep their values.
        scheme: A key of `SCHEMES`.
        sigma: Standard deviation for the scheme `normal`.

    Example:
        >>> layer = nn.Linear(3, 2)
        >>> initialize(layer, "zeros")
        >>> layer.weight.any().item()
        False
    """
    check_known("initializer", scheme, SCHEMES)
    if not 0 < sigma < math.inf:
        raise InputError(f"sigma of initialize={sigma!r}; it must be a float in the range (0, inf).")
    for layer in module.modules():
        if isinstance(layer, nn.Linear | _ConvNd) and not layer.weight.is_meta:  # drawing there is slow
            layer.weight.normal_(0, 1).mul_(SCHEMES[scheme](*_fans(layer), sigma))
            if layer.bias is not None:
                layer.bias.zero_()


def _fans(layer: Any) -> tuple[float, float]:
    """Connections into and out of one unit."""
    weight: Tensor = layer.weight  # (out, in / groups, ...), transposed convolutions (in, out / groups, ...)
    taps = math.prod(weight.shape[2:])
    groups = getattr(layer, "groups", 1)
    first, second = weight.shape[0] // groups * taps, weight.shape[1] * taps
    return (first, second) if isinstance(layer, _ConvTransposeNd) else (second, first)
