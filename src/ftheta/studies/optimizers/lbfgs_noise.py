"""What does noise in the targets do to a network that L-BFGS trains?

50, 100 and 200 rows of y = sin x² with 0, 25 and 100 % noise, one network of 50 tanh units. When are training and
validation error good, and when does the network begin to learn the noise? (The source states no data, network or noise;
`_race` states ours. A level is the noise's standard deviation in those of the curve.)

    excess = (error - level² var(sin x²)) / var(sin x²):      good up to 0.1

Cost: about 30 CPU-seconds.
"""

from typing import Any

import numpy as np

from .. import Checks, Measured, Study, less, more
from ._race import VARIANCE, Task, race

GOOD = 0.1  # excess up to which an error is good
SOON = 25  # epochs within which the source has a good fit


def measure(seed: int, level: float, rows: int, *, hidden: int = 50, epochs: int = 100) -> dict[str, Any]:
    """One training: epochs until both errors are good, where validation is least, and both errors at the end."""
    track = race(Task(level, hidden, rows, epochs), "lbfgs", None, seed).padded(epochs)
    excess = np.maximum(track.train, track.valid) / VARIANCE - level**2
    return {
        "epochs until good": float(np.append(excess <= GOOD, True).argmax()),  # one more than were made: never
        "epoch of the least validation error": float(track.valid.argmin()),
        "training": track.train[-1] / VARIANCE,
        "validation": track.valid[-1] / VARIANCE,
        "curves": np.stack([track.train, track.valid]).min(0),
    }


TINY = {"seeds": 2, "hidden": 10, "rows": (30, 60), "epochs": 20}
study = Study(measure, {"level": (0.0, 0.25, 1.0), "rows": (50, 100, 200)}, seeds=10, tiny=TINY)


@study.claim("B016", says="good after 15 to 25 epochs at 0 and 25 %; high at 100 %, where it overfits from about 20")
def noise(m: Measured) -> Checks:
    until, turn = m["epochs until good"][:, 0], m["epoch of the least validation error"][-1]
    yield less(f"0 % is good within {SOON} epochs", until[0], SOON)
    yield less(f"25 % is good within {SOON} epochs", until[1], SOON)
    yield more("at 100 % the training error stays above half the curve's variance", m["training"][-1, 0], 0.5)
    yield more("there training ends below validation", m["validation"][-1, 0], m["training"][-1, 0])
    yield more("there validation is least after epoch 10, whatever the rows", turn, 10)
    yield less("and before epoch 40", turn, 40)
