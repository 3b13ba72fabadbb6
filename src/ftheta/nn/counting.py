"""Multiply-adds of a forward pass by layer: dense, convolution and recurrent layers.

    dense: D_in · D_out       convolution: (C_in / groups) · k² · C_out · H' · W'        of one row

Two rows of zeros pass through a copy of the module. torch's FlopCounterMode gives the same numbers, and tensors on
torch's device "meta" need no memory, but the first use of either imports for a second or more.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd
from torch.nn.modules.rnn import RNNBase, RNNCellBase

from ..draw import Kept
from .recurrent.layers import Recurrent


def _each_step(layer: Any, x: Tensor, out: Tensor) -> int:
    """Every matrix once per time step: (..., D) has steps × D entries."""
    return x.numel() // x.shape[-1] * sum(p.numel() for p in layer.parameters() if p.ndim == 2)


COSTS: tuple[tuple[type, Callable[[Any, Tensor, Tensor], int]], ...] = (
    (nn.Linear, lambda layer, x, out: out.numel() * layer.in_features),
    (_ConvTransposeNd, lambda layer, x, out: x.numel() * layer.weight[0].numel()),  # weight (in, out / groups, ...)
    (_ConvNd, lambda layer, x, out: out.numel() * layer.weight[0].numel()),  # weight (out, in / groups, ...)
    (RNNBase, _each_step),
    (Recurrent, _each_step),
    (RNNCellBase, _each_step),
)
"""Kind of layer and its multiply-adds: (layer, input, output) -> a number, for all rows together."""


def multiply_adds(module: nn.Module, shape: Sequence[int]) -> dict[str, int]:
    """Multiply-adds of one row by layer; a layer that the module calls twice counts twice.

    Args:
        module: Any module that takes (B, *shape).
        shape: Of one row.

    Example:
        >>> multiply_adds(nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(144, 2)), (1, 8, 8))
        {'0': 1296, '2': 288}
    """
    copy, rows, counts = deepcopy(module).eval(), 2, dict[str, int]()

    def count(name: str, cost: Callable[[Any, Tensor, Tensor], int], layer: Any, inputs: Any, output: Any) -> None:
        out = output if isinstance(output, Tensor) else output[0]
        counts[name] = counts.get(name, 0) + cost(layer, inputs[0], out) // rows

    for name, layer in copy.named_modules():
        if cost := next((f for kind, f in COSTS if isinstance(layer, kind)), None):
            layer.register_forward_hook(partial(count, name, cost))
    like = next(module.parameters(), torch.empty(0))
    with Kept(), torch.no_grad():
        copy(torch.zeros(rows, *shape, device=like.device, dtype=like.dtype))
    return counts
