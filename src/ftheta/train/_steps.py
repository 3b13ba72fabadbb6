"""Steps of optimizers without what a plain step does not need, and their states."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD, Optimizer

from .process import copied


def bare_step(optimizer: Optimizer) -> Callable[[], Any]:
    """Its step without torch's wrapper for profilers and hooks, if it has no hooks: a tenth of a small net's step."""
    step, hooks = type(optimizer).step, (optimizer._optimizer_step_pre_hooks, optimizer._optimizer_step_post_hooks)
    wrapped: Any = getattr(step, "__wrapped__", None) if getattr(step, "hooked", False) else None
    if wrapped is None or any(hooks):
        return optimizer.step
    extras = ("momentum", "weight_decay", "maximize", "differentiable")
    plain = type(optimizer) is SGD and not any(group[name] for group in optimizer.param_groups for name in extras)
    return partial(_descend if plain else wrapped, optimizer)


@torch.no_grad()
def _descend(optimizer: Optimizer) -> None:
    """θ <- θ - η g and nothing else, as SGD without its options does in three times the time."""
    for group in optimizer.param_groups:
        rate = float(group["lr"])
        for p in group["params"]:
            if p.grad is not None:  # alpha must be a float32, which the rate of a test or a schedule may not be
                p.add_(p.grad, alpha=-rate) if rate < 1e38 else p.sub_(p.grad * rate)


def restore(optimizer: Optimizer, state: Mapping[str, Any]) -> None:
    """Load a copy of a state, moments in the memory order of their parameters: torch's fused kernels rely on it."""
    optimizer.load_state_dict(copied(state))
    for p, own in optimizer.state.items():
        for name, value in own.items():
            if isinstance(value, Tensor) and value.shape == p.shape and value.stride() != p.stride():
                own[name] = torch.empty_like(p, dtype=value.dtype, device=value.device).copy_(value)
