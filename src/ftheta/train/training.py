"""The rarely used settings of training, in one frozen dataclass, and the learning rates that follow from them.

minimized:  mean loss + l2 Σ θ² + l1 Σ |θ|      over weights, not biases
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le
from torch.optim import Optimizer

from .. import optim
from ..check import Count, NonNegative, Positive, Setting, Share
from ..errors import InputError


@dataclass(frozen=True)
class Training:
    """How an update is made and when training ends.

    Sources that add λ Σ θ² to the *sum* of the losses mean `l2 = λ / n` here.

    Args:
        l2: Weight of Σ θ² beside the mean loss.
        l1: Weight of Σ |θ| beside the mean loss.
        penalize_bias: Also penalize biases.
        clip_norm: Largest Euclidean norm of a player's gradient.
        clip_value: Largest size of one component of the gradient.
        accumulate: Batches whose sums make one update.
        shuffle: A new order of rows for every pass of an estimator; else theirs. A source of your own says it itself.
        schedule: How the rate moves: constant, step, exponential, inverse, inverse-sqrt, cosine, linear, plateau, or a
            function of the share of the updates that are done.
        schedule_options: Settings of the schedule, e.g. {"factor": 0.5, "at": (0.3, 0.6, 0.9)} of step.
        grow_batch: Let the batch grow by what the schedule would shrink the rate; the rate stays.
        warmup: Updates over which the rate rises from zero.
        gradient_noise: Standard deviation σ of Gaussian noise added to every gradient, σ (1 + s)^-0.55 at update s.
        options: Options of the optimizer, e.g. {"weight_decay": 1e-4}.
        freeze: Patterns of parameter names that stay as they are, e.g. ("hidden1.*",).
        rate_factors: Factors of the rate by pattern of parameter names, e.g. {"conv1.*": 0.1}; the first match counts.
        ema: Decay of an average of the weights, e.g. 0.999: validation sees it, and it stays at the end; 0 for none.
        restore_best: With `patience` and validation rows, restore the best weights at the end.
        min_delta: Improvement that counts for `patience`.
        start: First epoch that counts for it.
        precision: "full": that of the weights; "bf16": bfloat16 in the loss, where torch holds it for safe.
        seconds: Time budget.
        every: Seconds between checkpoints.
        threads: Threads of torch, at most 1024; None chooses by the size of the work.
        progress: Show progress; None: on a terminal or in a notebook.

    Example:
        >>> Training(clip_norm=1.0).clip_norm
        1.0
    """

    l2: NonNegative = 0.0
    l1: NonNegative = 0.0
    penalize_bias: bool = False
    clip_norm: Positive | None = None
    clip_value: Positive | None = None
    accumulate: Count = 1
    shuffle: bool = True
    schedule: str | Callable[[float], float] = "constant"
    schedule_options: Mapping[str, Setting] = field(default_factory=dict)
    grow_batch: bool = False
    warmup: Annotated[int, Ge(0)] = 0
    gradient_noise: NonNegative = 0.0
    options: Mapping[str, Setting] = field(default_factory=dict)
    freeze: tuple[str, ...] = ()
    rate_factors: Mapping[str, float] = field(default_factory=dict)
    ema: Share = 0.0
    restore_best: bool = True
    min_delta: NonNegative = 0.0
    start: Count = 1
    precision: Literal["full", "bf16"] = "full"
    seconds: float = inf
    every: NonNegative = 30.0
    threads: Annotated[int, Ge(1), Le(1024)] | None = None
    progress: bool | None = None


class Rates:
    """Sets the rates of all optimizers before each update: η_s = η · ramp(s) · shape(s) · factorᵏ, s counted from 0.

    `horizon`: updates in all, or None where it is not known yet; `optimizers` have their rates at the start.
    """

    def __init__(self, training: Training, horizon: int | None, optimizers: Mapping[str, Optimizer]) -> None:
        self.training, self.horizon, self.optimizers = training, horizon, optimizers
        options: Any = training.schedule_options
        optim.check_schedule(training.schedule, options)
        self.base = {n: [g["lr"] for g in o.param_groups] for n, o in optimizers.items()}
        self.plateau = optim.Plateau(**options) if training.schedule == "plateau" else None
        self.moving = training.schedule != "constant" or training.warmup > 0

    def check_horizon(self) -> None:
        """Raise where the schedule needs to know the end, and it is not given."""
        if self.training.schedule not in ("constant", "plateau") and self.horizon is None:
            rest = "call fit(epochs=...), or pass horizon=, the number of updates in all."
            raise InputError(f"schedule={self.training.schedule!r} needs to know the end: {rest}")

    def shape(self, step: int, warmup: int = 0) -> float:
        """The factor of the schedule."""
        t, slowed = self.training, self.plateau.state[2] if self.plateau else 1.0
        return slowed * optim.factor(t.schedule, step, self.horizon or 1, warmup, t.schedule_options)

    def set(self, step: int) -> None:
        """The rates of update `step`; where the batch grows instead, only the warm-up counts."""
        t = self.training
        ramp = optim.factor("constant", step, 1, t.warmup)
        factor = ramp if t.grow_batch else self.shape(step, t.warmup)
        for name, optimizer in self.optimizers.items():
            for group, rate in zip(optimizer.param_groups, self.base[name], strict=True):
                group["lr"] = rate * factor

    def batch_size(self, first: int, done: int, n: int) -> int:
        """The size of a batch that grows, after so many updates of the first size."""
        return min(max(round(first / max(self.shape(done), 1e-9)), 1), n)
