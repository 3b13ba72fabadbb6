"""One step of an optimizer, with as little around it as there can be.

θ <- θ - η g        plain gradient descent; all other rules by their own step
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.optim import SGD, Optimizer
from torch.optim.optimizer import _global_optimizer_post_hooks as _post_hooks
from torch.optim.optimizer import _global_optimizer_pre_hooks as _pre_hooks

__all__ = ["step"]


def step(optimizer: Optimizer) -> None:
    """`optimizer.step()` without torch's wrapper for profilers and hooks, where none is registered: it is a tenth of a
    small net's step. Of plain gradient descent nothing but θ <- θ - η g is left."""
    plain = getattr(type(optimizer).step, "__wrapped__", None)
    heard = optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks or _pre_hooks or _post_hooks
    if plain is None or heard:
        optimizer.step()
    elif type(optimizer) is SGD and all(map(_is_plain, optimizer.param_groups)):
        _descend(optimizer)
    else:
        plain(optimizer)


def _is_plain(group: Mapping[str, Any]) -> bool:
    """Whether a group of SGD moves by -η g and keeps nothing."""
    return group["fused"] and not (group["momentum"] or group["weight_decay"] or group["maximize"])


def _descend(optimizer: Optimizer) -> None:
    for group in optimizer.param_groups:
        moved = [p for p in group["params"] if p.grad is not None]
        if moved:
            numbers, slopes = [p.detach() for p in moved], [p.grad for p in moved]  # cheaper than no_grad
            torch._foreach_add_(numbers, slopes, alpha=-group["lr"])  # pyright: ignore[reportPrivateImportUsage]
