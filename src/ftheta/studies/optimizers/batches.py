"""What do the size of the batch and the learning rate decide: noise, or progress per epoch?

On 200 rows of y = sin x² with 25 % noise, does a growing batch do what a falling rate does? Do batch and rate
multiplied by k give the same curve per epoch? (Network: see `_race`.) And at the best parameters of a line (`_line`),
how much does the loss of all rows fluctuate under SGD, and how much does the gradient of a batch vary?

    noise of SGD ~ η / B,    Var(g_B) = Var(g₁) / B, without η,    near the minimum  E[F - F*] ~ η / B · tr Cov(g₁)
    distance of two curves = mean |log₁₀ of their ratio| over epochs
"""

from typing import Any

import numpy as np
import torch

from ...data import Rows
from ...draw import Draw
from ...train import Training
from .. import Checks, Measured, Study, less, more, same
from ._line import batch_gradients, best, descend, half_mse, line_rows
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


def fluctuate(seed: int, lr: float, batch: int, *, rows: int = 200, updates: int = 1000) -> dict[str, Any]:
    """Fluctuation of the loss in the second half of training, and variance of the estimate where it ends."""
    points = line_rows(rows, Draw(seed).at("rates"))
    least = best(points)
    path = descend(Rows(*points, batch_size=batch), "sgd", lr, updates, seed=seed, start=least)
    above = (half_mse(points, path) - half_mse(points, least[None])[0]).clamp(min=0).numpy()
    sampled = batch_gradients(points, path[-1], batch, 2000, Draw(seed).at("jitter", str(lr), batch))
    return {"fluctuation": above[updates // 2 :].std(), "variance": float(sampled.var(0).mean()), "loss": above}


TINY = {"seeds": 2, "rows": 40, "epochs": 6, "hidden": 10}
growing = Study(grow, {"method": tuple(METHODS)}, seeds=5, tiny=TINY)
scaling = Study(scale, {"k": (2, 4, 8)}, seeds=5, tiny=TINY)
variance = Study(vary, {"batch": (1, 10, 50)}, seeds=5, tiny=TINY)
SHORT = {"seeds": 2, "rows": 100, "updates": 100}
jitter = Study(fluctuate, {"lr": (0.01, 0.03, 0.1), "batch": (1, 10, 50)}, seeds=5, tiny=SHORT)


@growing.claim("B010", says="increasing the batch size does what a decaying rate does")
def instead(m: Measured) -> Checks:
    constant, falling, batch = m["log error"][..., int(0.8 * m["log error"].shape[-1]) :]  # (seed, late epochs)
    together, apart = np.abs(batch - falling).mean(-1), np.abs(constant - falling).mean(-1)
    yield less("a growing batch ends nearer to the falling rate than the constant rate does (decades)", together, apart)


@variance.claim("B010", says="increasing the batch size reduces gradient noise", reference=[11.92, 1.214, 0.242])
def noise(m: Measured) -> Checks:
    law = np.log(m["variance"] * np.array([[1], [10], [50]]) / m["variance"][:1])[1:]
    yield same("the variance falls as 1/B (log ratio)", law, within=np.log(1.1))


@scaling.claim("A125", says="rules of thumb relate batch number or size to the rate")
def linear(m: Measured) -> Checks:
    scaled, plain = np.log(m["distance with rate k η"]), np.log(m["distance with rate η"])
    yield less("the scaled rate is nearer than the same rate (log ratio)", scaled, plain)


@jitter.claim(
    "B012", says="with a larger rate mini-batches give a noisy estimate; larger batches reduce gradient noise"
)
def noisy(m: Measured) -> Checks:
    loss, variance = np.log(m["fluctuation"]), np.log(m["variance"])  # (lr, batch, seed)
    yield more("the loss fluctuates more at a larger rate (log ratio)", loss[-1], loss[0], least=np.log(2))
    yield more("and with smaller batches (log ratio)", loss[:, 0], loss[:, -1], least=np.log(2))
    yield more("the estimate varies more with smaller batches (log ratio)", variance[:, 0], variance[:, -1])
    yield more("the estimate varies more at a larger rate (log ratio)", variance[-1], variance[0], least=np.log(2))
