"""What a trainer refuses, in one sentence each; and steps of its optimizers without what a plain step does not need."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD, Optimizer

from .. import check, optim
from ..data.sources import Stream
from ..errors import InputError
from .problem import Problem
from .process import copied
from .training import Training


def as_source(given: Any) -> Any:
    """A source as it is; a `DataLoader` or another iterable with a length as a stream, which resumes inexactly."""
    if hasattr(given, "batches"):
        return given
    if not hasattr(given, "__iter__") or not hasattr(given, "__len__"):
        rest = "pass Rows(x, y, batch_size=...), a DataLoader, or Stream(batches, length=...)."
        raise InputError(f"source is a {type(given).__name__}; {rest}")
    return Stream(given, len(given))


def check_settings(trainer: Any, optimizer: optim.Choice, lr: float | None) -> None:
    """Values of `Training`, and settings that do not go together."""
    t, objective = trainer.training, trainer.objective
    kind = type(objective).__name__
    check.parameters("Training", check.constraints(Training, vars(t)), vars(t))
    for name, key, value in (("optimizer", "rule", None if optimizer == "adam" else optimizer), ("lr", "lr", lr)):
        if value is not None and all(key in p.optim for p in trainer.players.values()):
            advice = "Leave it out, or change the objective."
            raise InputError(f"{name}={value!r} has no effect: every player of {kind} has its own. {advice}")
    if t.accumulate > 1 and not objective.separable:
        raise InputError(
            f"accumulate={t.accumulate}, but {kind} is not a sum over rows; use accumulate=1 and a larger batch_size."
        )
    if trainer.closures and objective.simultaneous:
        raise InputError(
            f"{kind} moves its players from the same θ, which a rule that evaluates the loss itself cannot do. Use a "
            "rule that needs the gradient only, e.g. optimizer='adam'."
        )
    if t.grow_batch and (t.schedule == "constant" or not hasattr(trainer.source, "resized")):
        raise InputError("grow_batch=True needs a schedule and a source of rows, e.g. schedule='step' and Rows(x, y).")


def check_rule(trainer: Any, problem: Problem, name: optim.Choice) -> None:
    """What a rule needs, and the rows and memory that it needs it of."""
    rule, n = optim.rule(name), getattr(trainer.source, "n", 0)
    problem.check(rule.needs)
    if rule.full_batch and trainer.length > trainer.training.accumulate:
        raise InputError(
            f"optimizer={name!r} needs all {n or ''} rows in one batch, but batch_size={trainer.first_size}. Use "
            "batch_size='auto' or another optimizer."
        )
    if rule.needs != "gradient":
        dtype = str(problem.parameters[0].dtype).removeprefix("torch.") if problem.parameters else "float32"
        optim.refuse_large(name, sum(p.numel() for p in problem.parameters), n, dtype=dtype)


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
