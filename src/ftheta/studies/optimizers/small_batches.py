"""Do small batches regularize, and at what price?

40 rows of y = sin x² with 100 % noise, 100 tanh units (more than rows), batches of 1, 4, 10 and all 40 rows, each with
the rate of the grid that suits it, equal epochs. What are generalization gap and stability? (Data: see `_race`.)

    gap = validation error - training error at the end,      rises = share of the epochs in which training error grows

Cost: about 35 CPU-seconds.
"""

from functools import cache
from typing import Any

import numpy as np

from .. import Checks, Measured, Study, less, more
from ._race import Task, race, tuned

best_rate = cache(tuned)  # one search for all seeds of a cell


def measure(
    seed: int, batch: int, *, level: float = 1.0, hidden: int = 100, rows: int = 40, epochs: int = 150, tuning: int = 1
) -> dict[str, Any]:
    """One training; errors are means over the last tenth of the epochs."""
    task = Task(level, hidden, rows, epochs, batch=batch)
    rate = best_rate(task, "sgd", tuning)
    track = race(task, "sgd", rate, seed).padded(epochs)
    late = slice(-max(1, epochs // 10), None)
    train, valid = track.train[late].mean(), track.valid[late].mean()
    rises = (np.diff(track.train[epochs // 2 :]) > 0).mean()
    errors = {"training error": train, "validation error": valid, "gap": valid - train}
    return {"rate": rate, **errors, "rises": rises, "seconds": track.seconds[-1], "validation": track.valid}


TINY = {"seeds": 2, "batch": (5, 20), "hidden": 20, "rows": 20, "epochs": 8}
study = Study(measure, {"batch": (1, 4, 10, 40)}, seeds=6, tiny=TINY)


@study.claim("B027", says="small batches regularise, take longer and are less stable")
def regularize(m: Measured) -> Checks:
    yield less("single rows leave a smaller gap than all rows at once", m["gap"][0], m["gap"][-1])
    yield less("and a lower validation error", m["validation error"][0], m["validation error"][-1])
    yield more("the training error rises more often", m["rises"][0], m["rises"][-1])
    yield more("an epoch takes longer (log of CPU-seconds)", np.log(m["seconds"][0]), np.log(m["seconds"][-1]))
