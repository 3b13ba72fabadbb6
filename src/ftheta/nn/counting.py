"""The work of a forward pass, counted layer by layer.

    dense: D_in · D_out       convolution: (C_in / groups) · k² · C_out · H' · W'        multiply-adds of one row

Nothing is computed for it: the module passes shapes through a copy whose tensors have no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["multiply_adds"]

_COUNTED = (nn.Linear, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


def multiply_adds(module: nn.Module, shape: Sequence[int]) -> dict[str, int]:
    """Multiply-adds of one row by layer; a layer that the module calls twice counts twice.

    Args:
        module: Any module that takes (B, *shape).
        shape: Of one row.

    Example:
        >>> multiply_adds(nn.Sequential(nn.Conv2d(1, 4, 3), nn.Flatten(), nn.Linear(144, 2)), (1, 8, 8))
        {'0': 1296, '2': 288}
    """
    copy, rows, found = deepcopy(module).to("meta").eval(), 2, dict[str, int]()
    for name, layer in copy.named_modules():
        if isinstance(layer, _COUNTED):
            layer.register_forward_hook(_counter(name, rows, found))
    dtype = next((p.dtype for p in module.parameters()), torch.get_default_dtype())
    with torch.no_grad():
        copy(torch.empty(rows, *shape, device="meta", dtype=dtype))
    return found


def _counter(name: str, rows: int, found: dict[str, int]) -> Any:
    def count(layer: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        transposed = isinstance(layer, nn.modules.conv._ConvTransposeNd)
        places = (inputs[0].numel() if transposed else output.numel()) // rows  # each meets one slice of the weights
        found[name] = found.get(name, 0) + places * layer.weight[0].numel()

    return count
