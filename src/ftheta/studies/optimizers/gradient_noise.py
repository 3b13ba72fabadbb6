"""Does noise on the gradients help, and when is it too much?

Gradient descent on 50 rows of y = sin x² with 25 % noise, 50 tanh units, and Gaussian noise on every gradient. What are
training and test error at the end for eight scales σ? (Data and network: see `_race`.)

    θ <- θ - η (g + σ (1 + s)^-0.55 ε),    ε ~ N(0, I),    s: the update

Cost: about 45 CPU-seconds.
"""

from typing import Any

import numpy as np

from ...train import Training
from .. import Checks, Measured, Study, less, more
from ._race import Task, race


def measure(
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


TINY = {"seeds": 4, "hidden": 10, "epochs": 10}
study = Study(measure, {"sigma": (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 5.0, 10.0)}, seeds=12, tiny=TINY)


@study.claim("B018", says="can help; too much harms")
def help_and_harm(m: Measured) -> Checks:
    train, test = np.log(m["training error"]), np.log(m["test error"])  # (sigma, seed)
    gain = test - test[0]
    best = int(gain[1:-1, ::2].mean(1).argmin()) + 1  # chosen on every other seed, checked on the others
    yield less(f"some noise (σ = {m.axes['sigma'][best]:g}) lowers the test error (log)", gain[best, 1::2])
    yield more("the largest raises the training error by half or more (log)", train[-1] - train[0], np.log(1.5))
