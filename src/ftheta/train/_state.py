"""State as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

__all__ = ["copied", "restore"]


def copied(tree: Any) -> Any:
    """The tree with tensors of its own."""
    if isinstance(tree, Tensor):
        return tree.detach().clone()
    if isinstance(tree, Mapping):
        return {k: copied(v) for k, v in tree.items()}
    return type(tree)(map(copied, tree)) if isinstance(tree, list | tuple) else tree


def restore(optimizer: Optimizer, state: Mapping[str, Any]) -> None:
    """Load a copy of a state; moments lie in memory as their parameters do, since torch's fused kernels pair numbers by
    their place there."""
    optimizer.load_state_dict(copied(state))
    for p, own in optimizer.state.items():
        for name, value in own.items():
            if isinstance(value, Tensor) and value.shape == p.shape and value.stride() != p.stride():
                own[name] = torch.empty_like(p, dtype=value.dtype, device=value.device).copy_(value)
