"""Does a limit on the norm of the gradient make an exploding recurrent net trainable?

A plain net of 20 relu units adds up 30 numbers. Its orthogonal recurrent weights are multiplied by 1.8 at the start, so
that a gradient grows by a factor of up to 1.8³⁰ = 5·10⁷ on its way to the first number. 1,000 steps of gradient descent
at six rates that fall along a cosine, without a limit and with one: what is the lowest error?

    y = Σ_t x_t / √T,   x_t ~ U(-√3, √3),   Var y = 1;      g <- g min(1, 1 / ‖g‖): the direction is kept

An error is at most 1, that of a constant; so is that of a training that ends with numbers that are not finite.

Reference: Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural networks (2013).
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from ...draw import Draw
from ...errors import NonFiniteError
from ...nn import Recurrent
from ...train import Training
from .. import Checks, Measured, Study, holds, less, missing, more
from ._reader import Reader, train


def sums(n: int, rng: Generator, *, steps: int) -> tuple[Tensor, Tensor]:
    """Numbers (n, T, 1) and their scaled sums (n,)."""
    x = 12**0.5 * (torch.rand(n, steps, generator=rng) - 0.5)
    return x[..., None], x.sum(1) / steps**0.5


def squared(raw: Tensor, y: Tensor) -> Tensor:
    return (raw[:, 0] - y).square()


def measure(
    seed: int,
    limit: float,
    rate: float,
    *,
    steps: int = 30,
    stretch: float = 1.8,
    updates: int = 1000,
    rows: int = 1000,
) -> dict[str, Any]:
    """Norm of the gradient before training, and the mean squared error after it."""
    with Draw(seed).at("build").scope():
        net = Reader(Recurrent(1, 20, "rnn", activation="relu"), 1)
    net.recurrent.cells[0][0].weight_h.data.mul_(stretch)  # type: ignore[index]
    made, training = partial(sums, steps=steps), Training(clip_norm=limit or None, schedule="cosine")
    x, y = made(rows, Draw(seed).at("test").generator("rows"))
    gradient = torch.autograd.grad(squared(net(x), y).mean(), list(net.parameters()))
    error = np.inf
    try:
        train(net, squared, made, steps=updates, batch=32, lr=rate, seed=seed, optimizer="sgd", training=training)
        error = squared(net(x), y).mean().item()
    except NonFiniteError:
        pass
    return {"gradient": torch.nn.utils.get_total_norm(gradient).item(), "error": np.fmin(error, 1.0)}


TINY = {"seeds": 2, "rate": (0.001, 0.1), "steps": 5, "updates": 5, "rows": 20}
RATES = (1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.3)
study = Study(measure, {"limit": (0.0, 1.0), "rate": RATES}, seeds=5, tiny=TINY)


@study.claim("A142", says="gradient clipping: a heading without text")
def trainable(m: Measured) -> Checks:
    error, least = m["error"].min(1), m["gradient"].min()  # (limit, seed)
    yield holds("the norm of the gradient is above 100 at the start, in every seed", least > 100, f"{least:.3g}")
    yield more("without a limit: at every rate more than half of the variance is left", error[0], 0.5)
    yield less("with a limit of 1: at the best rate less than 5 % is left", error[1], 0.05)
    yield missing("the text under the heading")
