"""Which rule reaches a given loss in the fewest epochs, and which in the least time?

200 rows of y = sin x² with 25 % noise, 50 tanh units: epochs and CPU-seconds until the training error is at most
0.25² v + 0.2 v = 0.097 with v = var(sin x²), for first-order rules, L-BFGS and Levenberg-Marquardt. (Data and network:
see `_race`; here the rate of the grid is the one that needs the fewest epochs.)

Cost: about 25 CPU-seconds.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from .. import Checks, Measured, Study, holds, more
from ._race import VARIANCE, Task, Track, race, tuned

RULES = ("gd", "sgd", "nesterov", "adam", "lbfgs", "lm")


@cache
def best_rate(task: Task, rule: str) -> float:
    """The rate of the grid that needs the fewest epochs on three other draws."""
    return tuned(task, rule, 3, score=lambda track: _need(track, task)[1])


def _need(track: Track, task: Task) -> tuple[bool, float]:
    """Whether the goal is reached, and the epochs it takes; twice as many as there are where it is not."""
    reached = bool(track.train[-1] <= task.goal)
    return reached, float(len(track.train) - 1 if reached else 2 * task.epochs)


def measure(
    seed: int,
    rule: str,
    *,
    level: float = 0.25,
    above: float = 0.2,
    hidden: int = 50,
    rows: int = 200,
    epochs: int = 1000,
) -> dict[str, Any]:
    """One race to the goal."""
    task = Task(level, hidden, rows, epochs, goal=(level**2 + above) * VARIANCE)
    rate = best_rate(task, rule)
    track = race(task, rule, rate or None, seed)
    reached, needed = _need(track, task)
    seconds = track.seconds[-1]
    costs = {"seconds": seconds, "ms per epoch": 1e3 * seconds / (len(track.train) - 1)}
    return {"rate": rate, "reached": reached, "epochs": needed, **costs}


TINY = {"seeds": 2, "above": 0.8, "hidden": 10, "rows": 40, "epochs": 40}
study = Study(measure, {"rule": RULES}, seeds=9, tiny=TINY)


@study.claim("B031", says="GD poor on both; others good; mini-batch possibly more epochs; Newton-type steps cost time")
def ranking(m: Measured) -> Checks:
    epochs, seconds = np.log(m["epochs"]), np.log(m["seconds"])  # (rule, seed)
    cost = np.log(m["ms per epoch"])
    yield more("gradient descent needs more epochs than each other rule (log)", epochs[0], epochs[1:])
    yield more("and more time (log of CPU-seconds)", seconds[0], seconds[1:])
    yield holds("the others reach the goal in nine of ten seeds", (m["reached"][1:].mean(1) >= 0.9).all())
    yield more("a Newton-type step costs half as much again or more (log)", cost[4:], cost[0], least=np.log(1.5))
