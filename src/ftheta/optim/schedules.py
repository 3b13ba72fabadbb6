"""Schedules: the factor of the learning rate at an update.

    η_s = η · ramp(s) · shape(t),    ramp(s) = min(1, (s + 1) / warmup),    t = (s - warmup) / (horizon - warmup) in
    [0, 1]

| name | shape(t) |
|---|---|
| constant | 1 |
| step | 1, then 0.1 from t = 1/2, then 0.01 from t = 3/4 |
| exponential | 0.01^t |
| cosine | (1 + cos πt) / 2 |
| linear | 1 - t: with a warm-up, a trapezium without a top |

Shapes: s counts updates from 0, horizon is the number of updates in all.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..catalog import nearest
from ..errors import InputError

__all__ = ["SCHEDULES", "factor"]

SCHEDULES: dict[str, Callable[[float], float]] = {
    "constant": lambda t: 1.0,
    "step": lambda t: 1.0 if t < 0.5 else 0.1 if t < 0.75 else 0.01,
    "exponential": lambda t: 0.01**t,
    "cosine": lambda t: (1 + math.cos(math.pi * t)) / 2,
    "linear": lambda t: 1 - t,
}
"""Shape of the rate over the share t of the updates that are done."""


def factor(name: str, step: int, horizon: int, warmup: int = 0) -> float:
    """What the learning rate is multiplied by at update `step`.

    Args:
        name: A key of `SCHEDULES`.
        step: Updates done before this one.
        horizon: Updates in all; the rate keeps its last value after them.
        warmup: Updates over which the rate grows linearly to its full value first; they are part of the horizon.

    Example:
        >>> [round(factor("linear", step, horizon=6, warmup=2), 2) for step in range(6)]
        [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    """
    if name not in SCHEDULES:
        raise InputError(nearest("schedule", name, SCHEDULES))
    if step < warmup:
        return (step + 1) / warmup
    return SCHEDULES[name](min(1.0, (step - warmup) / max(1, horizon - warmup)))
