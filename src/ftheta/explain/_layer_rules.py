"""How δ goes back through layers: the formula of each kind, for what goes in and for its parameters.

    dense         z = W h + b           δ_h = Wᵀ δ,   ∂ℓ/∂W = δ hᵀ,   ∂ℓ/∂b = δ
    activation    a = φ(z)              δ_z = φ'(z) ⊙ δ

Any other layer is a box: its VJP comes from automatic differentiation.
Shapes: B rows. Rules sum over rows: δ of one row alone gives its own gradient.
Reference: Rumelhart, Hinton and Williams, Nature 323 (1986).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..nn.activations import Bump, Sign, Sin, Step
from ..nn.dropout import Dropout
from ..nn.pooling import Subsample1d, Subsample2d
from ._tape import Back, Call, Kind, Rule

__all__ = ["BOX", "LAYERS", "SLOPES", "box", "route", "slope_of"]


def box(call: Call, deltas: Sequence[Tensor]) -> Back:
    """The vector-Jacobian product of any call, by automatic differentiation of a repetition."""
    leaves = [leaf.detach().clone().requires_grad_() for leaf in call.leaves if _is_float(leaf)]
    own = {} if call.layer is None else dict(call.layer.named_parameters(recurse=False))
    own = {name: p for name, p in own.items() if p.requires_grad}
    with torch.enable_grad():
        outputs = call.again(*(leaf.clone() for leaf in leaves))
        pairs = [(y, d.to(y)) for y, d in zip(outputs, deltas, strict=True) if y.requires_grad]
    if not pairs:
        return Back([None] * len(leaves))
    ends, seeds = zip(*pairs, strict=True)
    found = torch.autograd.grad(ends, [*leaves, *own.values()], seeds, allow_unused=True)
    doubles = [None if g is None else g.double().cpu() for g in found]
    gradients = {name: g for name, g in zip(own, doubles[len(leaves) :], strict=True) if g is not None}
    return Back(doubles[: len(leaves)], gradients)


def _is_float(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point()


BOX = Kind("y = f(x)", "δ_x = (∂f/∂x)ᵀ δ", box)


def route(call: Call, deltas: Sequence[Tensor]) -> Back:
    """Numbers that only change their places: δ goes back to where each came from."""
    sizes = [x.numel() for x in call.inputs]
    starts = [sum(sizes[:k]) for k in range(len(sizes))]
    places = [
        torch.arange(start, start + x.numel(), dtype=torch.float64).view(x.shape)  # exact up to 2⁵³
        for start, x in zip(starts, call.inputs, strict=True)
    ]
    total = torch.zeros(sum(sizes), dtype=torch.float64)
    for place, delta in zip(call.again(*places), deltas, strict=True):
        total.index_add_(0, place.long().reshape(-1), delta.reshape(-1))
    return Back([part.view(x.shape) for part, x in zip(total.split(sizes), call.inputs, strict=True)])


# ---- dense


def linear(call: Call, deltas: Sequence[Tensor]) -> Back:
    (delta,), (h,) = deltas, call.inputs  # (B, ..., O), (B, ..., I)
    flat = delta.reshape(-1, delta.shape[-1])
    return Back([delta @ call.theta["weight"]], {"weight": flat.T @ h.reshape(-1, h.shape[-1]), "bias": flat.sum(0)})


def _embedding(call: Call, deltas: Sequence[Tensor]) -> Back:
    layer: Any = call.layer
    places = next(leaf for leaf in call.leaves if isinstance(leaf, Tensor)).reshape(-1).cpu()
    gradient = torch.zeros_like(call.theta["weight"])
    gradient.index_add_(0, places, deltas[0].reshape(len(places), -1))
    if layer.padding_idx is not None:
        gradient[layer.padding_idx] = 0
    return Back([], {"weight": gradient})


def _is_summed(call: Call) -> bool:
    layer: Any = call.layer
    return not (layer.scale_grad_by_freq or layer.max_norm)


# ---- elementwise: φ'(z), from the layer, z and a = φ(z)

_PHI = lambda z: (1 + torch.erf(z / math.sqrt(2))) / 2  # noqa: E731
_NORMAL = lambda z: torch.exp(-z * z / 2) / math.sqrt(2 * math.pi)  # noqa: E731
_SELU = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717


def _gelu(layer: Any, z: Tensor, a: Tensor) -> Tensor:
    if layer.approximate == "none":
        return _PHI(z) + z * _NORMAL(z)
    c = math.sqrt(2 / math.pi)
    t = torch.tanh(c * (z + 0.044715 * z**3))
    return (1 + t) / 2 + z / 2 * (1 - t * t) * c * (1 + 3 * 0.044715 * z * z)


def _mish(layer: Any, z: Tensor, a: Tensor) -> Tensor:
    t, s = torch.tanh(torch.log1p(torch.exp(-z.abs())) + z.clamp(min=0)), _logistic(z)
    return t + z * (1 - t * t) * s


def _logistic(z: Tensor) -> Tensor:
    return torch.where(z > 0, 1 / (1 + torch.exp(-z.abs())), torch.exp(-z.abs()) / (1 + torch.exp(-z.abs())))


def _softplus(layer: Any, z: Tensor, a: Tensor) -> Tensor:
    return torch.where(z * layer.beta > layer.threshold, torch.ones_like(z), _logistic(layer.beta * z))


Slope = Callable[[Any, Tensor, Tensor], Tensor]
SLOPES: dict[type, tuple[str, str, Slope]] = {
    nn.Identity: ("z", "1", lambda p, z, a: torch.ones_like(z)),
    nn.ReLU: ("max(0, z)", "[z > 0]", lambda p, z, a: (z > 0).double()),
    nn.LeakyReLU: ("max(c z, z)", "1 or c", lambda p, z, a: torch.where(z > 0, 1.0, p.negative_slope)),
    nn.ELU: ("z or c (exp(z) - 1)", "1 or c exp(z)", lambda p, z, a: torch.where(z > 0, 1.0, p.alpha * torch.exp(z))),
    nn.CELU: (
        *("z or c (exp(z / c) - 1)", "1 or exp(z / c)"),
        lambda p, z, a: torch.where(z > 0, 1.0, torch.exp(z / p.alpha)),
    ),
    nn.SELU: (
        *("λ z or λ c (exp(z) - 1)", "λ or λ c exp(z)"),
        lambda p, z, a: _SELU[0] * torch.where(z > 0, 1.0, _SELU[1] * torch.exp(z)),
    ),
    nn.GELU: ("z Φ(z)", "Φ(z) + z φ(z)", _gelu),
    nn.SiLU: ("z σ(z)", "σ(z) (1 + z (1 - σ(z)))", lambda p, z, a: _logistic(z) * (1 + z * (1 - _logistic(z)))),
    nn.Mish: ("z tanh(softplus(z))", "tanh(s) + z (1 - tanh(s)²) σ(z)", _mish),
    nn.Softplus: ("log(1 + exp(z))", "σ(z)", _softplus),
    nn.Sigmoid: ("σ(z)", "a (1 - a)", lambda p, z, a: a * (1 - a)),
    nn.Tanh: ("tanh(z)", "1 - a²", lambda p, z, a: 1 - a * a),
    nn.Softsign: ("z / (1 + |z|)", "1 / (1 + |z|)²", lambda p, z, a: (1 + z.abs()) ** -2),
    nn.LogSigmoid: ("log σ(z)", "1 - σ(z)", lambda p, z, a: _logistic(-z)),
    nn.Hardtanh: ("z cut to [m, M]", "[m < z < M]", lambda p, z, a: ((z > p.min_val) & (z < p.max_val)).double()),
    nn.ReLU6: ("z cut to [0, 6]", "[0 < z < 6]", lambda p, z, a: ((z > 0) & (z < 6)).double()),
    nn.Hardsigmoid: ("z / 6 + 1/2 cut to [0, 1]", "[|z| < 3] / 6", lambda p, z, a: (z.abs() < 3).double() / 6),
    Sin: ("sin(z)", "cos(z)", lambda p, z, a: torch.cos(z)),
    Bump: ("exp(-z²)", "-2 z a", lambda p, z, a: -2 * z * a),
    Sign: ("sign(z)", "0", lambda p, z, a: torch.zeros_like(z)),
    Step: ("[z > 0]", "0", lambda p, z, a: torch.zeros_like(z)),
}
"""Activations: φ(z), φ'(z) in words, and φ' as a function."""


def slope_of(layer: Any, slope: Slope) -> Rule:
    """δ_z = φ'(z) ⊙ δ."""
    return lambda call, deltas: Back([slope(layer or call.layer, call.inputs[0], call.values[0]) * deltas[0]])


def _prelu(call: Call, deltas: Sequence[Tensor]) -> Back:
    (delta,), (z,), c = deltas, call.inputs, call.theta["weight"]
    gradient = (delta * z.clamp(max=0)).transpose(0, min(1, z.ndim - 1))
    gradient = gradient.flatten(1).sum(1) if len(c) > 1 else gradient.sum()[None]
    c = c.view(-1, *(1 for _ in z.shape[2:])) if len(c) > 1 else c  # (C, 1, ...)
    return Back([delta * torch.where(z > 0, 1.0, c)], {"weight": gradient})


def _softmax(call: Call, deltas: Sequence[Tensor]) -> Back:
    layer: Any = call.layer
    (delta,), (a,) = deltas, call.values
    return Back([a * (delta - (delta * a).sum(layer.dim, keepdim=True))])


def _log_softmax(call: Call, deltas: Sequence[Tensor]) -> Back:
    layer: Any = call.layer
    (delta,), (a,) = deltas, call.values
    return Back([delta - a.exp() * delta.sum(layer.dim, keepdim=True)])


def _along_an_axis(call: Call) -> bool:
    return getattr(call.layer, "dim", None) is not None


def _dropout(call: Call, deltas: Sequence[Tensor]) -> Back:
    """The same units are silent, the others scaled as they were."""
    (mask,) = call.again(torch.ones_like(call.outputs[0]))
    return Back([deltas[0] * mask.double().cpu()])


# ---- the table

_DENSE = Kind("z = W h + b", "δ_h = Wᵀ δ", linear, gradient="∂ℓ/∂W = δ hᵀ, ∂ℓ/∂b = δ")
_PLACES = Kind("the same numbers at other places", "δ_x = δ at the places they came from", route)

LAYERS: dict[type, Kind] = {
    nn.Linear: _DENSE,
    nn.Embedding: Kind(
        *("z = W[token]", "", _embedding, _is_summed),
        "∂ℓ/∂W[token] += δ",
    ),
    **{kind: Kind(f"a = {f}", f"δ_z = φ'(z) ⊙ δ, φ' = {df}", slope_of(None, s)) for kind, (f, df, s) in SLOPES.items()},
    nn.PReLU: Kind("a = max(0, z) + c min(0, z)", "δ_z = δ or c δ", _prelu, gradient="∂ℓ/∂c = Σ δ ⊙ min(0, z)"),
    nn.Softmax: Kind("a = softmax(z)", "δ_z = a ⊙ (δ - aᵀ δ)", _softmax, _along_an_axis),
    nn.LogSoftmax: Kind(
        *("a = log softmax(z)", "δ_z = δ - exp(a) Σ δ", _log_softmax),
        _along_an_axis,
    ),
    **dict.fromkeys(
        (nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, Dropout), Kind("a = m ⊙ h", "δ_h = m ⊙ δ", _dropout)
    ),
    **dict.fromkeys((nn.Flatten, nn.Unflatten, nn.PixelShuffle, nn.PixelUnshuffle, Subsample1d, Subsample2d), _PLACES),
}
"""Known layers."""
