"""What does noise do to training: on the gradients, from small batches, in the targets?

Networks of tanh units learn y = sin x² (see `_race`). What are the errors of gradient descent with Gaussian noise on
every gradient, and of batches of 1 to 40 rows, each with the rate that suits it? And when are the errors of L-BFGS good
on targets with 0, 25 and 100 % noise, and when does it begin to learn the noise? (The source states no data.)

    θ <- θ - η (g + σ (1 + s)^-0.55 ε),    ε ~ N(0, I),    s: the update
    gap = validation error - training error at the end,      rises = share of the epochs in which training error grows
    excess = (error - level² var(sin x²)) / var(sin x²):  good up to 0.1;   level: sd of the noise in those of the curve
"""

from functools import cache
from typing import Any

import numpy as np

from ...train import Training
from .. import Checks, Measured, Study, less, missing, more
from ._race import VARIANCE, Task, race, tuned

GOOD = 0.1  # excess up to which an error is good
SOON = 25  # epochs within which the source has a good fit
best_rate = cache(tuned)  # one search for all seeds of a cell


def added(
    seed: int,
    sigma: float,
    *,
    level: float = 0.25,
    hidden: int = 50,
    rows: int = 50,
    epochs: int = 300,
    lr: float = 0.1,
) -> dict[str, Any]:
    """One training with noise on its gradients."""
    noise = Training(gradient_noise=sigma, threads=1)
    track = race(Task(level, hidden, rows, epochs), "gd", lr, seed, noise)
    return {"training error": track.train[-1], "test error": track.valid[-1]}


def batches(
    seed: int, batch: int, *, level: float = 1.0, hidden: int = 100, rows: int = 40, epochs: int = 150, tuning: int = 1
) -> dict[str, Any]:
    """One training with more units than rows; errors are means over the last tenth of the epochs."""
    task = Task(level, hidden, rows, epochs, batch=batch)
    rate = best_rate(task, "sgd", tuning)
    track = race(task, "sgd", rate, seed).padded(epochs)
    late = slice(-max(1, epochs // 10), None)
    train, valid = track.train[late].mean(), track.valid[late].mean()
    rises = (np.diff(track.train[epochs // 2 :]) > 0).mean()
    errors = {"training error": train, "validation error": valid, "gap": valid - train}
    return {"rate": rate, **errors, "rises": rises, "seconds": track.seconds[-1], "validation": track.valid}


def targets(seed: int, level: float, rows: int, *, hidden: int = 50, epochs: int = 100) -> dict[str, Any]:
    """L-BFGS: epochs until both errors are good, where validation is least, and both errors at the end."""
    track = race(Task(level, hidden, rows, epochs), "lbfgs", None, seed).padded(epochs)
    excess = np.maximum(track.train, track.valid) / VARIANCE - level**2
    return {
        "epochs until good": float(np.append(excess <= GOOD, True).argmax()),  # one more than were made: never
        "epoch of the least validation error": float(track.valid.argmin()),
        "training": track.train[-1] / VARIANCE,
        "validation": track.valid[-1] / VARIANCE,
        "curves": np.stack([track.train, track.valid]).min(0),
    }


SIGMAS, ROWS = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 5.0, 10.0), (50, 100, 200)
TINY = {"seeds": 2, "hidden": 10, "epochs": 10}
on_gradients = Study(added, {"sigma": SIGMAS}, seeds=12, tiny=TINY | {"seeds": 4})
small = Study(batches, {"batch": (1, 4, 10, 40)}, seeds=6, tiny=TINY | {"batch": (5, 20), "rows": 20})
in_targets = Study(targets, {"level": (0.0, 0.25, 1.0), "rows": ROWS}, seeds=10, tiny=TINY | {"rows": (30, 60)})


@on_gradients.claim("B018", says="can help; too much harms")
def help_and_harm(m: Measured) -> Checks:
    train, test = np.log(m["training error"]), np.log(m["test error"])  # (sigma, seed)
    gain = test - test[0]
    best = int(gain[1:-1, ::2].mean(1).argmin()) + 1  # chosen on every other seed, checked on the others
    yield less(f"some noise (σ = {m.axes['sigma'][best]:g}) lowers the test error (log)", gain[best, 1::2])
    yield more("the largest raises the training error by half or more (log)", train[-1] - train[0], np.log(1.5))


@small.claim("B027", says="small batches often act as regularisation at the cost of stability and runtime")
def regularize(m: Measured) -> Checks:
    yield less("single rows leave a smaller gap than all rows at once", m["gap"][0], m["gap"][-1])
    yield less("and a lower validation error", m["validation error"][0], m["validation error"][-1])
    yield more("the training error rises more often", m["rises"][0], m["rises"][-1])
    yield more("an epoch takes longer (log of CPU-seconds)", np.log(m["seconds"][0]), np.log(m["seconds"][-1]))


@in_targets.claim(
    "B016", says="good after 15 to 25 epochs at 0 and 25 %; high at 100 %, where it overfits from about 20"
)
def of_lbfgs(m: Measured) -> Checks:
    until, turn = m["epochs until good"][:, 0], m["epoch of the least validation error"][-1]
    yield less(f"0 % is good within {SOON} epochs", until[0], SOON)
    yield less(f"25 % is good within {SOON} epochs", until[1], SOON)
    yield more("at 100 % the training error stays above half the curve's variance", m["training"][-1, 0], 0.5)
    yield more("there training ends below validation", m["validation"][-1, 0], m["training"][-1, 0])
    yield more("there validation is least after epoch 10, whatever the rows", turn, 10)
    yield less("and before epoch 40", turn, 40)
    yield missing("the data, the network, and what 25 % of noise is; 100 % is pure noise, here as large as the curve")
