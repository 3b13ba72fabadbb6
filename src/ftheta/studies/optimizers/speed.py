"""Which rule reaches a given loss first, in epochs and in time, and which gains most from a wider network?

200 rows of y = sin x² with 25 % noise and tanh units (see `_race`): epochs and CPU-seconds until the training error is
at most 0.25² v + 0.2 v = 0.097 with v = var(sin x²), for first-order rules, L-BFGS and Levenberg-Marquardt, at the rate
of the grid that needs the fewest epochs; and where five rules end after 200 epochs with 10, 50 and 100 units.

    gain of a on b:  log₁₀ (training error of b / training error of a) at 100 units, less the same at 10 units
"""

from functools import cache
from typing import Any

import numpy as np

from .. import Checks, Measured, Study, holds, less, missing, more
from ._race import VARIANCE, Task, Track, race, tuned

RULES = ("gd", "sgd", "nesterov", "adam", "lbfgs", "lm")
lowest_rate = cache(tuned)  # one search for all seeds of a cell


@cache
def fastest_rate(task: Task, rule: str) -> float:
    """The rate of the grid that needs the fewest epochs on three other draws."""
    return tuned(task, rule, 3, score=lambda track: _need(track, task)[1])


def _need(track: Track, task: Task) -> tuple[bool, float]:
    """Whether the goal is reached, and the epochs it takes; twice as many as there are where it is not."""
    reached = bool(track.train[-1] <= task.goal)
    return reached, float(len(track.train) - 1 if reached else 2 * task.epochs)


def to_goal(
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
    rate = fastest_rate(task, rule)
    track = race(task, rule, rate or None, seed)
    reached, needed = _need(track, task)
    seconds = track.seconds[-1]
    costs = {"seconds": seconds, "ms per epoch": 1e3 * seconds / (len(track.train) - 1)}
    return {"rate": rate, "reached": reached, "epochs": needed, **costs}


def wide(
    seed: int, units: int, rule: str, *, level: float = 0.25, rows: int = 200, epochs: int = 200, tuning: int = 3
) -> dict[str, Any]:
    """One training at the rate that suits rule and width, chosen on other draws."""
    task = Task(level, units, rows, epochs)
    rate = lowest_rate(task, rule, tuning)
    track = race(task, rule, rate or None, seed).padded(epochs)
    ends = {"training error": track.train[-1], "validation error": track.valid[-1]}
    return {"rate": rate, **ends, "training": track.train}


TINY = {"seeds": 2, "above": 0.8, "hidden": 10, "rows": 40, "epochs": 40}
goals = Study(to_goal, {"rule": RULES}, seeds=9, tiny=TINY)
widths = Study(wide, {"units": (10, 50, 100), "rule": RULES[:5]}, seeds=5, tiny={"seeds": 2, "rows": 30, "epochs": 4})


@goals.claim("B031", says="GD poor on both; others good; mini-batch possibly more epochs; Newton-type steps cost time")
def ranking(m: Measured) -> Checks:
    epochs, seconds = np.log(m["epochs"]), np.log(m["seconds"])  # (rule, seed)
    cost = np.log(m["ms per epoch"])
    yield more("gradient descent needs more epochs than each other rule (log)", epochs[0], epochs[1:])
    yield more("and more time (log of CPU-seconds)", seconds[0], seconds[1:])
    yield holds("the others reach the goal in nine of ten seeds", (m["reached"][1:].mean(1) >= 0.9).all())
    yield more("a Newton-type step costs half as much again or more (log)", cost[4:], cost[0], least=np.log(1.5))


@widths.claim("B029", says="larger networks favour Adam and mini-batch GD over NAG and L-BFGS; GD improves with size")
def favored(m: Measured) -> Checks:
    end = {rule: np.log10(m.at("training error", rule=rule)) for rule in m.axes["rule"]}  # (units, seed)
    for a, b in (("adam", "nesterov"), ("sgd", "nesterov"), ("adam", "lbfgs"), ("sgd", "lbfgs")):
        ahead = end[b] - end[a]
        yield more(f"{a} gains on {b} (decades)", ahead[-1], ahead[0])
    yield less("gradient descent improves with size (decades)", end["gd"][-1], end["gd"][0])
    yield missing("the data, and the network but for its units")
