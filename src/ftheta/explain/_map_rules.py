"""How δ goes back through layers of maps: windows, their winners and means, and normalisation.

    convolution   z[i] = Σ_k W_k x[i S + k D]      δ_x[i S + k D] += W_kᵀ δ[i],   ∂ℓ/∂W_k = Σ_i δ[i] x[i S + k D]ᵀ
    max pooling   the winner of each window gets its δ;  mean pooling: all places in equal parts
    norm          x̂ = (x - μ) / s       δ_x = (δ̂ - mean δ̂ - x̂ mean(δ̂ ⊙ x̂)) / s,   δ̂ = γ ⊙ δ,   ∂ℓ/∂γ = Σ δ ⊙ x̂

Shapes: B rows, C channels, G groups; maps (B, C, ...). A window has offsets k, stride S and dilation D.
References: Dumoulin and Visin, arXiv:1603.07285 (2016); Ioffe and Szegedy, arXiv:1502.03167 (2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..nn.conv import Conv1d, Conv2d, per_axis
from ..nn.norm import BatchNorm1d, BatchNorm2d, GroupNorm, InstanceNorm1d, InstanceNorm2d, MapRMSNorm
from ..nn.pooling import AvgPool1d, AvgPool2d, MaxPool1d, MaxPool2d, MinPool1d, MinPool2d
from ._tape import Back, Call, Kind, Rule

__all__ = ["MAPS"]


def _windows(layer: Any, sizes: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[Any, ...]]]:
    """Each offset k in a window, and the places i S + k D that it has over all windows i."""
    dims = len(sizes)
    kernel, stride, dilation = (per_axis(getattr(layer, n, 1), dims) for n in ("kernel_size", "stride", "dilation"))
    for k in product(*map(range, kernel)):
        axes = zip(k, dilation, stride, sizes, strict=True)
        yield k, (..., *(slice(j * d, j * d + s * (n - 1) + 1, s) for j, d, s, n in axes))


def _pads(layer: Any, dims: int) -> list[int]:
    """Padding as F.pad takes it: the last axis first, both sides."""
    if hasattr(layer, "_reversed_padding_repeated_twice"):
        return list(layer._reversed_padding_repeated_twice)
    return [p for p in reversed(per_axis(layer.padding, dims)) for _ in range(2)]


def convolution(call: Call, deltas: Sequence[Tensor]) -> Back:
    layer: Any = call.layer
    (delta,), (x,), weight = deltas, call.inputs, call.theta["weight"]
    pads = _pads(layer, x.ndim - 2)
    x = F.pad(x, pads).unflatten(1, (layer.groups, -1))  # (B, G, C/G, ...)
    d = delta.unflatten(1, (layer.groups, -1)).flatten(3)  # (B, G, O/G, places)
    w = weight.unflatten(0, (layer.groups, -1))  # (G, O/G, C/G, ...)
    delta_x, gradient = torch.zeros_like(x), torch.zeros_like(w)
    for k, at in _windows(layer, delta.shape[2:]):
        gradient[(..., *k)] = torch.einsum("bgop,bgcp->goc", d, x[at].flatten(3))
        delta_x[at] += torch.einsum("bgop,goc->bgcp", d, w[(..., *k)]).view(x[at].shape)
    inside = F.pad(delta_x.flatten(1, 2), [-p for p in pads])
    return Back([inside], {"weight": gradient.flatten(0, 1), "bias": delta.transpose(0, 1).flatten(1).sum(1)})


def extremum(sign: float) -> Rule:
    """Each window's δ goes to its largest (sign 1) or smallest place, the first of equal ones."""

    def rule(call: Call, deltas: Sequence[Tensor]) -> Back:
        layer: Any = call.layer
        (delta,), (x,) = deltas, call.inputs
        pads = _pads(layer, x.ndim - 2)
        x = F.pad(sign * x, pads, value=-math.inf)
        windows = [at for _, at in _windows(layer, delta.shape[2:])]
        winner = torch.stack([x[at] for at in windows]).argmax(0)  # (B, C, ...)
        delta_x = torch.zeros_like(x)
        for k, at in enumerate(windows):
            delta_x[at] += delta * (winner == k)
        return Back([F.pad(delta_x, [-p for p in pads])])

    return rule


def _mean_pool(call: Call, deltas: Sequence[Tensor]) -> Back:
    layer: Any = call.layer
    (delta,), (x,) = deltas, call.inputs
    pads, divisor = _pads(layer, x.ndim - 2), getattr(layer, "divisor_override", None)
    counted = F.pad(torch.ones_like(x), pads, value=float(layer.count_include_pad))
    windows = [at for _, at in _windows(layer, delta.shape[2:])]
    count = torch.stack([counted[at] for at in windows]).sum(0) if divisor is None else float(divisor)
    delta_x = torch.zeros_like(counted)
    for at in windows:
        delta_x[at] += delta / count
    return Back([F.pad(delta_x, [-p for p in pads])])


def _global_max(call: Call, deltas: Sequence[Tensor]) -> Back:
    (delta,), (x,) = deltas, call.inputs
    winner = F.one_hot(x.flatten(2).argmax(2), x.flatten(2).shape[2]).view(x.shape)
    return Back([delta * winner])


def _adaptive_mean(call: Call, deltas: Sequence[Tensor]) -> Back:
    """Window i of m over n places: from ⌊i n / m⌋ to ⌈(i + 1) n / m⌉, on each axis alike."""
    delta, x = deltas[0], call.inputs[0]
    for axis in range(2, x.ndim):
        n, m = x.shape[axis], delta.shape[axis]
        share = torch.zeros(m, n, dtype=torch.float64)
        for i in range(m):
            places = slice(i * n // m, -(-(i + 1) * n // m))
            share[i, places] = 1 / (places.stop - places.start)
        delta = (delta.movedim(axis, -1) @ share).movedim(-1, axis)
    return Back([delta])


def _is_map(call: Call) -> bool:
    dims = int(next((c for c in type(call.layer).__name__ if c.isdigit()), "2"))
    plain = not any(getattr(call.layer, name, False) for name in ("ceil_mode", "return_indices"))
    return call.inputs[0].ndim == dims + 2 and plain and getattr(call.layer, "padding_mode", "zeros") == "zeros"


def _to_one(call: Call) -> bool:
    return _is_map(call) and set(call.outputs[0].shape[2:]) == {1}


# ---- normalisation


def _normalised(x: Tensor, delta: Tensor, axes: list[int], eps: float, centred: bool = True) -> tuple[Tensor, Tensor]:
    """x̂ and δ_x where mean and variance, or the mean square alone, are taken over axes."""
    x = x - x.mean(axes, keepdim=True) if centred else x
    s = (x.square().mean(axes, keepdim=True) + eps).sqrt()
    hat = x / s
    inner = delta - delta.mean(axes, keepdim=True) if centred else delta
    return hat, (inner - hat * (delta * hat).mean(axes, keepdim=True)) / s


def _per_channel(values: Tensor | None, like: Tensor) -> Tensor | float:
    return 1.0 if values is None else values.view(-1, *(1 for _ in like.shape[2:]))  # (C, 1, ...)


def _scaled(call: Call, delta: Tensor, hat: Tensor, delta_x: Tensor, axes: list[int]) -> Back:
    """With the gradients of γ and β, summed over all axes that they do not have."""
    gradients = {"weight": (delta * hat).sum(axes), "bias": delta.sum(axes)}
    return Back(
        [delta_x], {n: g.view(call.theta[n].shape) for n, g in gradients.items() if n in call.theta}, {"x̂": hat}
    )


def _batch_norm(call: Call, deltas: Sequence[Tensor]) -> Back:
    layer: Any = call.layer
    (delta,), (x,) = deltas, call.inputs
    axes = [0, *range(2, x.ndim)]
    scaled = delta * _per_channel(call.theta.get("weight"), x)
    if _by_batch(call):
        return _scaled(call, delta, *_normalised(x, scaled, axes, layer.eps), axes)
    mean, var = (_per_channel(v.double().cpu(), x) for v in (layer.running_mean, layer.running_var))
    s = (var + layer.eps) ** 0.5
    return _scaled(call, delta, (x - mean) / s, scaled / s, axes)


def _by_batch(call: Call) -> bool:
    """Whether mean and variance are those of the batch, and not running averages."""
    layer: Any = call.layer
    return layer.training or layer.running_mean is None


def _layer_norm(call: Call, deltas: Sequence[Tensor]) -> Back:
    layer: Any = call.layer
    (delta,), (x,) = deltas, call.inputs
    own = len(layer.normalized_shape)
    axes, before = list(range(x.ndim - own, x.ndim)), list(range(x.ndim - own))
    eps = torch.finfo(call.outputs[0].dtype).eps if layer.eps is None else layer.eps
    scaled = delta * call.theta.get("weight", 1.0)
    return _scaled(call, delta, *_normalised(x, scaled, axes, eps, not isinstance(layer, nn.RMSNorm)), before)


def _group_norm(groups: Callable[[Any, Tensor], int], centred: bool = True) -> Rule:
    def rule(call: Call, deltas: Sequence[Tensor]) -> Back:
        layer: Any = call.layer
        (delta,), (x,) = deltas, call.inputs
        shape = (len(x), groups(layer, x), -1)
        scaled = delta * _per_channel(call.theta.get("weight"), x)
        hat, delta_x = _normalised(x.reshape(shape), scaled.reshape(shape), [2], layer.eps, centred)
        return _scaled(call, delta, hat.view(x.shape), delta_x.view(x.shape), [0, *range(2, x.ndim)])

    return rule


def _kept(call: Call) -> bool:
    """Whether the statistics are those of these rows."""
    return not getattr(call.layer, "track_running_stats", False) and call.inputs[0].ndim > 2


# ---- the table

_CONV = Kind(
    *("z[i] = Σ_k W_k x[i S + k D] + b", "δ_x[i S + k D] += W_kᵀ δ[i]", convolution, _is_map),
    "∂ℓ/∂W_k = Σ_i δ[i] x[i S + k D]ᵀ, ∂ℓ/∂b = Σ_i δ[i]",
)
_MAX = Kind("y[i] = max of window i", "δ_x of the winner += δ[i]", extremum(1.0), _is_map)
_MIN = Kind("y[i] = min of window i", "δ_x of the winner += δ[i]", extremum(-1.0), _is_map)
_MEAN = Kind("y[i] = mean of window i", "δ_x of each of K places += δ[i] / K", _mean_pool, _is_map)
_NORM = "x̂ = (x - μ) / s, y = γ x̂ + β", "δ_x = (δ̂ - mean δ̂ - x̂ mean(δ̂ ⊙ x̂)) / s, δ̂ = γ ⊙ δ"
_FIXED = "x̂ = (x - μ) / s, y = γ x̂ + β, μ and s fixed", "δ_x = γ ⊙ δ / s"
_SCALE = "∂ℓ/∂γ = Σ δ ⊙ x̂, ∂ℓ/∂β = Σ δ"
_RMS = "x̂ = x / s, y = γ x̂", "δ_x = (δ̂ - x̂ mean(δ̂ ⊙ x̂)) / s, δ̂ = γ ⊙ δ"

MAPS: dict[type, Kind] = {
    **dict.fromkeys((nn.Conv1d, nn.Conv2d, nn.Conv3d, Conv1d, Conv2d), _CONV),
    **dict.fromkeys((nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, MaxPool1d, MaxPool2d), _MAX),
    **dict.fromkeys((MinPool1d, MinPool2d), _MIN),
    **dict.fromkeys((nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d, AvgPool1d, AvgPool2d), _MEAN),
    **dict.fromkeys(
        (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d), _MEAN._replace(rule=_adaptive_mean)
    ),
    **dict.fromkeys(
        (nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d, nn.AdaptiveMaxPool3d),
        _MAX._replace(rule=_global_max, fits=_to_one),
    ),
    **dict.fromkeys(
        (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, BatchNorm1d, BatchNorm2d),
        Kind(*_NORM, _batch_norm, _by_batch, _SCALE, Kind(*_FIXED, _batch_norm, gradient=_SCALE)),
    ),
    nn.LayerNorm: Kind(*_NORM, _layer_norm, gradient=_SCALE),
    nn.RMSNorm: Kind(*_RMS, _layer_norm, gradient="∂ℓ/∂γ = Σ δ ⊙ x̂"),
    MapRMSNorm: Kind(*_RMS, _group_norm(lambda layer, x: 1, False), gradient="∂ℓ/∂γ = Σ δ ⊙ x̂"),
    **dict.fromkeys((nn.GroupNorm, GroupNorm), Kind(*_NORM, _group_norm(lambda p, x: p.num_groups), gradient=_SCALE)),
    **dict.fromkeys(
        (nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d, InstanceNorm1d, InstanceNorm2d),
        Kind(*_NORM, _group_norm(lambda layer, x: x.shape[1]), _kept, _SCALE),
    ),
}
"""Known layers of maps, and norms."""
