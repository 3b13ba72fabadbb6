"""Initial weights: Gaussian, with a variance that keeps signals level from layer to layer.

    W ~ N(0, σ²),  b = 0        zeros: 0    normal: σ²    lecun: 1 / n_in    glorot: 2 / (n_in + n_out)    he: 2 / n_in

n_in and n_out count the connections into and out of a unit (channels times kernel size for a convolution). LeCun
suits linear units, Glorot is the compromise between forward and backward pass for tanh and sigmoid, He makes up for
the half of the signal that ReLU cuts off.

References: LeCun et al., Efficient BackProp (1998); Glorot and Bengio (2010); He et al., arXiv:1502.01852 (2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ..catalog import nearest
from ..errors import InputError

__all__ = ["SCHEMES", "initialize"]

SCHEMES: dict[str, Callable[[float, float, float], float]] = {  # (n_in, n_out, sigma) -> standard deviation
    "zeros": lambda n_in, n_out, sigma: 0.0,
    "normal": lambda n_in, n_out, sigma: sigma,
    "lecun": lambda n_in, n_out, sigma: math.sqrt(1 / n_in),
    "glorot": lambda n_in, n_out, sigma: math.sqrt(2 / (n_in + n_out)),
    "he": lambda n_in, n_out, sigma: math.sqrt(2 / n_in),
}
"""Standard deviation of the weights by the name of the scheme."""

_CONV = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


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
    if scheme not in SCHEMES:
        raise InputError(nearest("initializer", scheme, SCHEMES))
    if not 0 < sigma < math.inf:
        raise InputError(f"sigma of initialize={sigma!r}; it must be a float in the range (0, inf).")
    for layer in module.modules():
        if isinstance(layer, (nn.Linear, *_CONV, *_TRANSPOSED)) and not layer.weight.is_meta:  # drawing there is slow
            layer.weight.normal_(0, 1).mul_(SCHEMES[scheme](*_fans(layer), sigma))
            if layer.bias is not None:
                layer.bias.zero_()


def _fans(layer: Any) -> tuple[float, float]:
    """Connections into and out of one unit."""
    weight: Tensor = layer.weight  # (out, in / groups, ...), transposed convolutions (in, out / groups, ...)
    taps = math.prod(weight.shape[2:])
    groups = getattr(layer, "groups", 1)
    first, second = weight.shape[0] // groups * taps, weight.shape[1] * taps
    return (first, second) if isinstance(layer, _TRANSPOSED) else (second, first)
