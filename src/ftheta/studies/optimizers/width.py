"""Which of five rules gains most from a wider network?

Gradient descent, mini-batches, Nesterov, Adam and L-BFGS on networks of 10, 50 and 100 tanh units, 200 rows of
y = sin x² with 25 % noise, 200 epochs. Where does each end, and which does width favor? (Data, rates: see `_race`.)

    gain of a on b:  log₁₀ (training error of b / training error of a) at 100 units, less the same at 10 units

Cost: about 100 CPU-seconds.
"""

from functools import cache
from typing import Any

import numpy as np

from .. import Checks, Measured, Study, less, more
from ._race import Task, race, tuned

RULES = ("gd", "sgd", "nesterov", "adam", "lbfgs")
best_rate = cache(tuned)  # one search for all seeds of a cell


def measure(
    seed: int, units: int, rule: str, *, level: float = 0.25, rows: int = 200, epochs: int = 200, tuning: int = 3
) -> dict[str, Any]:
    """One training at the rate that suits rule and width, chosen on other draws."""
    task = Task(level, units, rows, epochs)
    rate = best_rate(task, rule, tuning)
    track = race(task, rule, rate or None, seed).padded(epochs)
    ends = {"training error": track.train[-1], "validation error": track.valid[-1]}
    return {"rate": rate, **ends, "training": track.train}


TINY = {"seeds": 2, "rows": 30, "epochs": 4, "tuning": 1}
study = Study(measure, {"units": (10, 50, 100), "rule": RULES}, seeds=5, tiny=TINY)


@study.claim("B029", says="larger networks favour Adam and mini-batch GD over NAG and L-BFGS; GD improves with size")
def favored(m: Measured) -> Checks:
    end = {rule: np.log10(m.at("training error", rule=rule)) for rule in RULES}  # (units, seed)
    for a, b in (("adam", "nesterov"), ("sgd", "nesterov"), ("adam", "lbfgs"), ("sgd", "lbfgs")):
        ahead = end[b] - end[a]
        yield more(f"{a} gains on {b} (decades)", ahead[-1], ahead[0])
    yield less("gradient descent improves with size (decades)", end["gd"][-1], end["gd"][0])
