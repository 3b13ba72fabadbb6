"""Does lowering the learning rate help, and does raising it slowly at first?

Stochastic gradient descent in batches of 10 on a line, y = 3x + 1 + 0.1 ε: where does a constant rate end, and where
the same rate with seven schedules? And Adam at the rate 0.3 on the network of `_race`: does a linear warm-up remove its
first spike?

    plateau = mean loss above its least over the last tenth of the updates,      spike = largest error / error at first
"""

from typing import Any

import numpy as np

from ...data import Rows
from ...draw import Draw
from ...train import Training
from .. import Checks, Measured, Study, less, more
from ._line import best, descend, half_mse, line_rows
from ._race import Task, race

SCHEDULES = ("constant", "step", "exponential", "inverse", "inverse-sqrt", "cosine", "linear", "plateau")


def decay(seed: int, schedule: str, *, rows: int = 200, updates: int = 2000, lr: float = 0.2) -> dict[str, Any]:
    """The loss above its least with one schedule."""
    points = line_rows(rows, Draw(seed).at("rates"))
    options = {"patience": 5, "factor": 0.3} if schedule == "plateau" else {}
    training = Training(schedule=schedule, schedule_options=options, threads=1)
    path = descend(Rows(*points, batch_size=10), "sgd", lr, updates, seed=seed, training=training)
    above = (half_mse(points, path) - half_mse(points, best(points)[None])).clamp(min=0).numpy()
    return {"plateau": above[-max(1, updates // 10) :].mean(), "loss": above[:: max(1, updates // 200)]}


def warm(
    seed: int, warmup: int, *, rows: int = 200, hidden: int = 50, epochs: int = 120, fast: float = 0.3
) -> dict[str, Any]:
    """The error of Adam at a high rate, without and with a warm-up."""
    errors = race(Task(0.25, hidden, rows, epochs), "adam", fast, seed, Training(warmup=warmup, threads=1)).padded(
        epochs
    )
    return {"spike": errors.train.max() / errors.train[0], "training error": errors.train[-1], "training": errors.train}


decayed = Study(decay, {"schedule": SCHEDULES}, seeds=8, tiny={"seeds": 2, "rows": 60, "updates": 60})
warmed = Study(warm, {"warmup": (0, 50)}, seeds=8, tiny={"seeds": 2, "rows": 60, "hidden": 20, "epochs": 20})


@decayed.claim("B009", says="decay adapts the learning rate, with the aim of speeding up convergence")
def lower(m: Measured) -> Checks:
    plateau = np.log10(m["plateau"])
    for name, values in zip(SCHEDULES[1:], plateau[1:], strict=True):
        yield less(f"{name} ends below the constant rate (decades)", values, plateau[0])


@warmed.claim("B028", says="loss spikes in the first epochs may require a warm-up")
def spike(m: Measured) -> Checks:
    yield more("without a warm-up the training error rises by half or more (log)", np.log(m["spike"][0]), np.log(1.5))
    yield less("with one it does not (log)", np.log(m["spike"][1]), np.log(1.5))
