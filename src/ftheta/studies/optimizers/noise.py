"""Which of five rules copes best with noise in the targets?

GD, mini-batch GD, Nesterov, Adam and L-BFGS start from the same weights on 200 rows of y = sin x² with 0, 25 and 100 %
noise. How far do they come in 200 epochs, and in what time? (Data, network, rates: see `_race`.)

    rises = share of the last three quarters of the epochs in which the training error grows
"""

from functools import cache
from typing import Any

import numpy as np

from .. import Checks, Measured, Study, missing, more
from ._race import VARIANCE, Task, race, tuned

RULES = ("gd", "sgd", "nesterov", "adam", "lbfgs")
best_rate = cache(tuned)  # one search for all seeds of a cell


def measure(
    seed: int, level: float, rule: str, *, hidden: int = 50, rows: int = 200, epochs: int = 200, tuning: int = 3
) -> dict[str, Any]:
    """One training at the rate that suits the rule and the noise, chosen on `tuning` other draws."""
    task = Task(level, hidden, rows, epochs)
    rate = best_rate(task, rule, tuning)
    track = race(task, rule, rate or None, seed).padded(epochs)
    rises = (np.diff(track.train[(epochs + 1) // 4 :]) > 0).mean()
    ends = {"training error": track.train[-1], "validation error": track.valid[-1], "seconds": track.seconds[-1]}
    return {"rate": rate, **ends, "rises": rises, "training": track.train}


TINY = {"seeds": 2, "hidden": 5, "rows": 30, "epochs": 4, "tuning": 1}
study = Study(measure, {"level": (0.0, 0.25, 1.0), "rule": RULES}, seeds=5, tiny=TINY)


@study.claim(
    "B026", says="GD converges poorly, mini-batch GD oscillates, the others converge well; 0, 25 and 100 % noise"
)
def ranking(m: Measured) -> Checks:
    end, rises = np.log10(m["training error"]), m["rises"]  # (level, rule, seed)
    yield more("GD ends last (decades)", end[:, 0], end[:, 1:].max(1))
    yield more("mini-batch GD rises most often", rises[:, 1], rises[:, [0, 2, 3, 4]].max(1))
    yield more("Nesterov, Adam and L-BFGS end below GD (decades)", end[:, :1], end[:, 2:])
    yield more("at 100 % all stay above half the noise", m["training error"][-1], VARIANCE / 2)
    yield missing("the data, the network, and what 25 % of noise is; 100 % is pure noise, here as large as the curve")
