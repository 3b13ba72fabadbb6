"""Does noise, or a large step, find flatter minima, and are they better?

A small network is trained to one training loss by gradient descent and by stochastic gradient descent, each with a
small and a large rate. How sharp is the loss there, how wrong is the network on new points, and do batches agree?

    f(x) = Σ_h v_h tanh(w_h x + b_h) + c,  30 units,      24 points of y = sin 2x + 0.2 ε on [-2, 2]
    sharpness   λ_max(∇²L)             excess error   mean (f - sin 2x)²  on a grid
    batches     mean_b ‖∇L_b - ∇L‖²    and the standard deviation of L_b,  over random batches of 4

Each run stops at the first update at which the training MSE is at most 0.035; the noise of each seed has mean square
0.04. All numbers are logarithms, NaN where that loss was not reached.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, jacrev, vmap

from ...draw import Draw
from .. import Checks, Measured, Study, less


def answer(theta: Tensor, x: Tensor) -> Tensor:
    """f at the points: (P,), (n,) -> (n,)."""
    w, b, v, c = theta.split([*[theta.shape[-1] // 3] * 3, 1])
    return torch.tanh(x[:, None] * w + b) @ v + c


def mse(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Mean squared error."""
    return (answer(theta, x) - y).square().mean()


def problem(seed: int, n: int, hidden: int, noise: float) -> tuple[Tensor, Tensor, Tensor]:
    """Points, targets and the start of the weights."""
    rng = np.random.default_rng(Draw(seed).at("flatness").key())
    x, e = np.sort(rng.uniform(-2, 2, n)), rng.standard_normal(n)
    y = np.sin(2 * x) + noise * e / np.sqrt(np.mean(e**2))
    w, b, v = 0.5 * rng.standard_normal(hidden), rng.standard_normal(hidden), rng.standard_normal(hidden) / hidden**0.5
    return torch.tensor(x), torch.tensor(y), torch.tensor(np.concatenate([w, b, v, [0.0]]))


def measure(
    seed: int,
    rule: str,
    lr: float,
    *,
    n: int = 24,
    hidden: int = 30,
    batch: int = 4,
    target: float = 0.035,
    updates: int = 20_000,
    noise: float = 0.2,
    partitions: int = 20,
) -> dict[str, Any]:
    """One training to the target, and what is found there."""
    x, y, theta = problem(seed, n, hidden, noise)
    rng, slope, order = np.random.default_rng(Draw(seed).at("flatness", "order").key()), grad(mse), np.arange(n)
    for k in range(updates):
        if float(mse(theta, x, y)) <= target:
            break
        if k * batch % n == 0 and rule == "sgd":
            order = rng.permutation(n)
        rows = order[k * batch % n :][:batch] if rule == "sgd" else order
        theta = theta - lr * slope(theta, x[rows], y[rows])
    else:
        theta = theta * torch.nan
    parts = torch.tensor(np.stack([rng.permutation(n) for _ in range(partitions)])).reshape(partitions, -1, batch)
    slopes, losses = vmap(vmap(lambda rows: (slope(theta, x[rows], y[rows]), mse(theta, x[rows], y[rows]))))(parts)
    places = torch.linspace(-2, 2, 400, dtype=torch.double)
    found = {
        "sharpness": torch.linalg.eigvalsh(jacrev(slope)(theta, x, y).nan_to_num())[-1] + 0 * theta[0],
        "excess error": (answer(theta, places) - torch.sin(2 * places)).square().mean(),
        "variance of batch gradients": (slopes - slopes.mean(1, keepdim=True)).square().sum(-1).mean(),
        "deviation of batch losses": losses.std(1).mean(),
    }
    return {name: float(value.log()) for name, value in found.items()}


TINY = {"seeds": 2, "target": 0.3, "updates": 200, "partitions": 2}
study = Study(measure, {"rule": ("gd", "sgd"), "lr": (0.02, 0.1)}, seeds=12, tiny=TINY)


def complete(m: Measured, name: str) -> np.ndarray:
    """One measurement of the seeds in which all four runs reached the loss: (rule, lr, seed)."""
    return m[name][..., np.isfinite(m["sharpness"]).all((0, 1))]


@study.claim("C165", says="SGD favours flatter minima", reference=[27.0, 15.4, 26.6, 11.8])
def flatter(m: Measured) -> Checks:
    sharp = complete(m, "sharpness")
    yield less("SGD is flatter than gradient descent at the small rate (log ratio)", sharp[1, 0], sharp[0, 0])
    yield less("and at the large rate (log ratio)", sharp[1, 1], sharp[0, 1])


@study.claim(
    "C166",
    says="models trained with higher learning rates often generalize better",
    reference=[0.0140, 0.0158, 0.0195, 0.0306],
)
def better(m: Measured) -> Checks:
    error = complete(m, "excess error")
    yield less("the large rate has the smaller error with gradient descent (log ratio)", error[0, 1], error[0, 0])
    yield less("and with SGD (log ratio)", error[1, 1], error[1, 0])


@study.claim(
    "C167",
    says="SGD penalizes variance between batches, for solutions where all data fit well",
    reference=[0.816, 0.591, 0.784, 0.457],
)
def equally(m: Measured) -> Checks:
    for name in ("variance of batch gradients", "deviation of batch losses"):
        value = complete(m, name)
        yield less(f"SGD has the smaller {name} at both rates (log ratio)", value[1], value[0])
