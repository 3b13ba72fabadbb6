"""Schedules: the factor of the learning rate at an update.

    η_s = η · ramp(s) · shape(t),    ramp(s) = min(1, (s + 1) / warmup),    t = (s - warmup) / (horizon - warmup) in
    [0, 1]

| name | shape(t) | settings |
|---|---|---|
| constant | 1 | |
| step | factorᵏ, k the number of places `at` that t has reached | factor = 0.1, at = (0.5, 0.75) |
| exponential | endᵗ | end = 0.01 |
| inverse | 1 / (1 + (1/end - 1) t) | end = 0.01 |
| inverse-sqrt | 1 / √(1 + (1/end² - 1) t) | end = 0.1 |
| cosine | end + (1 - end) (1 + cos πt) / 2 | end = 0 |
| linear | 1 - (1 - end) t: with a warm-up, a trapezium without a top | end = 0 |
| plateau | factorᵏ, k the number of times that `patience` epochs brought no better loss | factor = 0.1, patience = 10 |

Shapes: s counts updates from 0, horizon is the number of updates in all.
"""

import math
from collections.abc import Callable, Mapping
from inspect import signature
from numbers import Real
from typing import Any

from ..catalog import nearest
from ..errors import InputError

SCHEDULES: dict[str, Callable[..., float]] = {
    "constant": lambda t: 1.0,
    "step": lambda t, factor=0.1, at=(0.5, 0.75): factor ** sum(t >= place for place in at),
    "exponential": lambda t, end=0.01: end**t,
    "inverse": lambda t, end=0.01: 1 / (1 + (1 / end - 1) * t),
    "inverse-sqrt": lambda t, end=0.1: 1 / math.sqrt(1 + (1 / end**2 - 1) * t),
    "cosine": lambda t, end=0.0: end + (1 - end) * (1 + math.cos(math.pi * t)) / 2,
    "linear": lambda t, end=0.0: 1 - (1 - end) * t,
    "plateau": lambda t, factor=0.1, patience=10: 1.0,  # what has happened decides, see `Plateau`
}
"""Shape of the rate over the share t of the updates that are done, with its settings."""


def factor(
    name: str | Callable[[float], float],
    step: int,
    horizon: int,
    warmup: int = 0,
    options: Mapping[str, Any] | None = None,
) -> float:
    """What the learning rate is multiplied by at update `step`.

    Args:
        name: A key of `SCHEDULES`, or a function of the share t in [0, 1] of the updates that are done.
        step: Updates done before this one.
        horizon: Updates in all; the rate keeps its last value after them.
        warmup: Updates over which the rate grows linearly to its full value first; they are part of the horizon.
        options: Settings of the schedule other than its own.

    Example:
        >>> [round(factor("linear", step, horizon=6, warmup=2), 2) for step in range(6)]
        [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
        >>> factor(lambda t: 1 - t**2, 3, horizon=6)
        0.75
    """
    if isinstance(name, str) and name not in SCHEDULES:
        raise InputError(nearest("schedule", name, SCHEDULES))
    if step < warmup:
        return (step + 1) / warmup
    t = min(1.0, (step - warmup) / max(1, horizon - warmup))
    return (SCHEDULES[name] if isinstance(name, str) else name)(t, **(options or {}))


def check_schedule(name: str | Callable[[float], float], options: Mapping[str, Any]) -> None:
    """Raise for an unknown schedule, an unknown setting of it, and a value that is not one."""
    factor(name, 0, 1)
    known = list(signature(SCHEDULES[name] if isinstance(name, str) else name).parameters)[1:]
    for key, value in options.items():
        if key not in known:
            raise InputError(nearest(f"setting of schedule {name!r}:", key, known))
        places = isinstance(value, list | tuple) and all(isinstance(place, Real) for place in value)
        least = 0.0 if key == "end" and name in ("cosine", "linear") else math.ulp(0.0)
        if isinstance(name, str) and not (places if key == "at" else isinstance(value, Real) and float(value) >= least):
            wanted = "a list of numbers from 0 to 1" if key == "at" else "0 or above" if not least else "above 0"
            raise InputError(f"The setting {key!r} of schedule {name!r} must be {wanted}. Got {value!r} instead.")


class Plateau:
    """Slows down where the loss stops falling: factorᵏ after k waits of `patience` epochs without a better loss.

    Example:
        >>> slow = Plateau(factor=0.5, patience=2)
        >>> [slow.see(loss) for loss in (3.0, 2.0, 2.5, 2.0, 1.0)]
        [1.0, 1.0, 1.0, 0.5, 0.5]
    """

    def __init__(self, factor: float = 0.1, patience: int = 10) -> None:
        self.factor, self.patience = factor, patience
        self.state = [math.inf, 0, 1.0]  # best loss, epochs since, factor now

    def see(self, loss: float) -> float:
        """The factor after an epoch of this loss."""
        best, since, now = self.state
        since = 0 if loss < best else since + 1
        worn = since >= self.patience
        self.state = [min(best, loss), 0 if worn else since, now * self.factor if worn else now]
        return self.state[2]
