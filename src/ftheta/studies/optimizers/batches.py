"""What does the size of the batch decide: noise, or progress per epoch?

On 200 rows of y = sin x² with 25 % noise, does a growing batch do what a falling rate does? Do batch and rate
multiplied by k give the same curve per epoch? (Network: see `_race`.)

    noise of SGD ~ η / B,    Var(g_B) = Var(g₁) / B,    distance of two curves = mean |log₁₀ of their ratio| over epochs

Cost: about 35 CPU-seconds.
"""

from typing import Any

import numpy as np
import torch

from ...draw import Draw
from ...train import Training
from .. import Checks, Measured, Study, less, same
from ._line import batch_gradients, line_rows
from ._race import Task, race

STEPS = {"factor": 0.25, "at": (0.4, 0.7)}  # the rate to a quarter, or the batch fourfold, twice
METHODS: dict[str, dict[str, Any]] = {
    "constant rate": {},
    "falling rate": {"schedule": "step", "schedule_options": STEPS},
    "growing batch": {"schedule": "step", "schedule_options": STEPS, "grow_batch": True},
}


def train(seed: int, batch: int, lr: float, rows: int, epochs: int, hidden: int, **options: Any) -> np.ndarray:
    """Training error after each epoch, on a log scale: (E + 1,)."""
    task = Task(0.25, hidden, rows, epochs, batch=batch)
    return np.log10(race(task, "sgd", lr, seed, Training(threads=1, **options)).padded(epochs).train)


def grow(
    seed: int, method: str, *, rows: int = 200, epochs: int = 60, lr: float = 0.05, hidden: int = 50
) -> dict[str, Any]:
    """Training error with a constant rate, a falling rate or a growing batch."""
    return {"log error": train(seed, 5, lr, rows, epochs, hidden, **METHODS[method])}


def scale(
    seed: int, k: int, *, rows: int = 200, epochs: int = 60, lr: float = 0.01, hidden: int = 50
) -> dict[str, Any]:
    """Distance of the curve of batches k times as large from that of batches of 5 rows, with rate k η and with η."""
    first = train(seed, 5, lr, rows, epochs, hidden)
    curves = {name: train(seed, 5 * k, rate, rows, epochs, hidden) for name, rate in {"k η": k * lr, "η": lr}.items()}
    return {f"distance with rate {name}": np.abs(curve - first).mean() for name, curve in curves.items()}


def vary(seed: int, batch: int, *, rows: int = 200) -> dict[str, Any]:
    """Variance of a component of the gradient of a batch, on a line."""
    points, zero = line_rows(rows, Draw(seed).at("rates")), torch.zeros(2, dtype=torch.float64)
    gradients = batch_gradients(points, zero, batch, 5000, Draw(seed).at("batches", batch))
    return {"variance": float(gradients.var(0).mean())}


TINY = {"seeds": 2, "rows": 40, "epochs": 6, "hidden": 10}
growing = Study(grow, {"method": tuple(METHODS)}, seeds=5, tiny=TINY)
scaling = Study(scale, {"k": (2, 4, 8)}, seeds=5, tiny=TINY)
variance = Study(vary, {"batch": (1, 10, 50)}, seeds=5, tiny={"seeds": 2, "rows": 40})


@growing.claim("B010", says="increasing the batch size does what a decaying rate does")
def instead(m: Measured) -> Checks:
    constant, falling, batch = m["log error"][..., int(0.8 * m["log error"].shape[-1]) :]  # (seed, late epochs)
    together, apart = np.abs(batch - falling).mean(-1), np.abs(constant - falling).mean(-1)
    yield less("a growing batch ends nearer to the falling rate than the constant rate does (decades)", together, apart)


@variance.claim("B010", says="increasing the batch size reduces gradient noise", reference=[11.92, 1.214, 0.242])
def noise(m: Measured) -> Checks:
    law = np.log(m["variance"] * np.array([[1], [10], [50]]) / m["variance"][:1])[1:]
    yield same("the variance falls as 1/B (log ratio)", law, within=np.log(1.1))


@scaling.claim("A125", says="multiply batch and rate by k: the same curve per epoch")
def linear(m: Measured) -> Checks:
    scaled, plain = np.log(m["distance with rate k η"]), np.log(m["distance with rate η"])
    yield less("the scaled rate is nearer than the same rate (log ratio)", scaled, plain)
