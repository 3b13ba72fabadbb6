"""What a trainer refuses, in one sentence each."""

from typing import Any

from .. import check, optim
from ..data.sources import Stream
from ..errors import InputError
from .problem import Problem
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
