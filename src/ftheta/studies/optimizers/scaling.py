"""Which way of minimizing can afford many parameters?

On one smooth convex function of d parameters, what do gradient descent, Newton's method and a genetic algorithm reach,
with which memory, as d grows?

    f(θ) = Σ_i s_i log cosh(θ_i - a_i) + (Σ_i θ_i - a_i)² / 2d,    s from 1 to 10,  least value 0 at a ~ N(0, 4)

Gradient descent: 200 steps of 0.1 whatever d is. Newton: to its end, up to d = 1000. Genetic: 200 generations of 50.
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...draw import Draw
from ...formulas import softplus
from ...optim import memory
from ...train import minimize
from .. import Checks, Measured, Study, holds, less, more

RATES = {"gd": 0.1, "newton": 1.0, "genetic": 0.1}


def measure(
    seed: int, d: int, rule: str, *, steps: int = 200, generations: int = 200, newton_up_to: int = 1000
) -> dict[str, Any]:
    """Share of the first loss that is left, working memory in bytes and seconds; NaN where it was not tried."""
    if rule == "newton" and d > newton_up_to:
        return {"left": np.nan, "seconds": np.nan, "bytes": float(memory(rule, d))}
    best = 2 * torch.randn(d, generator=Draw(seed).at("scaling", d).generator(), dtype=torch.double)
    weights = torch.logspace(0, 1, d, dtype=torch.double)

    def f(theta: Tensor) -> Tensor:
        away = theta - best
        log_cosh = softplus(2 * away) - away - math.log(2)
        return (weights * log_cosh).sum() + away.sum().square() / (2 * d)

    count = {"gd": steps, "newton": 100, "genetic": generations}[rule]
    path = minimize(f, torch.zeros(d), optimizer=rule, lr=RATES[rule], steps=count, seed=seed)
    left = max(0.0, path.values[-1] / path.values[0])
    return {"left": left, "seconds": path.seconds[-1], "bytes": float(memory(rule, d))}


TINY = {"seeds": 2, "d": (2, 10), "steps": 60, "generations": 5}
study = Study(measure, {"d": (2, 10, 100, 1000, 10_000), "rule": tuple(RATES)}, seeds=3, tiny=TINY)


@study.claim("A115", says="gradient descent scales better to many parameters than its rivals")
def scales(m: Measured) -> Checks:
    left, genetic = m.at("left", rule="gd"), np.log10(m.at("left", rule="genetic"))
    yield less("gradient descent leaves less than a millionth of the loss at every d", left, 1e-6)
    text = "the genetic algorithm leaves ten times as much at the largest d as at the smallest (decades)"
    yield more(text, genetic[-1], genetic[0], least=1)
    needed, d = m.at("bytes", rule="newton")[:, 0], np.array(m.axes["d"], dtype=float)
    power = np.log(needed[-1] / needed[-2]) / np.log(d[-1] / d[-2])
    yield holds("Newton's memory grows as d²", abs(power - 2) < 0.1, f"power {power:.2f}")
