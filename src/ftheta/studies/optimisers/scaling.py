"""Which way of minimising can afford many parameters?

Question: on one smooth convex function of d parameters, what do gradient descent, Newton's method and a genetic
algorithm reach, in which time and memory, as d grows?

    f(θ) = Σ_i s_i log cosh(θ_i - a_i) + (Σ_i θ_i - a_i)² / 2d,    s from 1 to 10,  least value 0 at a ~ N(0, 4)

GD: steps of 0.1 whatever d is. Newton: to its own end. Genetic: a number of generations of 50, elites kept.
Shapes: D dimensions.

Cost: about 60 CPU-seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ... import plots
from ...draw import Draw
from ...formulas import softplus
from ...optim import memory
from ...train import minimise
from .._study import Evidence, Finding, Verdict, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"A115": "confirmed"}
NAMES = {"gd": "gradient descent", "newton": "Newton", "genetic": "genetic algorithm"}
ABSENT = -1.0  # too large to be tried


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        dimensions: Numbers of parameters, ascending.
        newton_up_to: The largest with which Newton's method is tried.
        steps: Steps of gradient descent.
        generations: Generations of the genetic algorithm.
        seeds: Its runs.
    """

    dimensions: tuple[int, ...] = (2, 10, 100, 1000, 10_000)
    newton_up_to: int = 1000
    steps: int = 200
    generations: int = 200
    seeds: int = 3


TINY = Config(dimensions=(2, 10, 30), newton_up_to=10, steps=60, generations=5, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """What is left of the loss at the start, and seconds, by rule and dimension: (D,) each, (D, seeds) for genetic."""
    keys = [(config, name, d) for d in config.dimensions for name in NAMES]
    found = np.array(pieces(_race, keys, run)).reshape(len(config.dimensions), 3, 2, config.seeds)
    needed = {name: np.array([memory(name, d) for d in config.dimensions], dtype=float) for name in NAMES}
    return {
        "dimensions": np.array(config.dimensions),
        "left": {name: found[:, i, 0] for i, name in enumerate(NAMES)},
        "seconds": {name: found[:, i, 1] for i, name in enumerate(NAMES)},
        "bytes": needed,
    }


def _race(config: Config, name: str, d: int) -> np.ndarray:
    """Share of the loss that is left, and seconds, by seed: (2, seeds); rules that do not draw run once."""
    if name == "newton" and d > config.newton_up_to:
        return np.full((2, config.seeds), ABSENT)
    steps, lr = {"gd": (config.steps, 0.1), "newton": (100, 1.0), "genetic": (config.generations, 0.1)}[name]
    best = 2 * torch.randn(d, generator=Draw(0).at("scaling", d).generator(), dtype=torch.double)
    weights = torch.logspace(0, 1, d, dtype=torch.double)

    def f(theta: Tensor) -> Tensor:
        away = theta - best
        log_cosh = softplus(2 * away) - away - math.log(2)
        return (weights * log_cosh).sum() + away.sum().square() / (2 * d)

    runs = range(config.seeds if name == "genetic" else 1)
    paths = [minimise(f, torch.zeros(d), optimizer=name, lr=lr, steps=steps, seed=seed) for seed in runs]
    found = np.array([[max(0.0, path.values[-1] / path.values[0]), path.seconds[-1]] for path in paths]).T
    return np.broadcast_to(found, (2, config.seeds)).copy()


# ---- judging


def judge(evidence: Evidence) -> list[Finding]:
    """A115: GD reaches the minimum at every d in time that grows no faster than d; its rivals do not."""
    d, left = evidence["dimensions"], {name: values.mean(1) for name, values in evidence["left"].items()}
    seconds = {name: values.mean(1) for name, values in evidence["seconds"].items()}
    tried = left["newton"] != ABSENT
    growth = {"gd": _power(d, seconds["gd"]), "newton": _power(d[tried], seconds["newton"][tried])}
    space = _power(d, evidence["bytes"]["newton"])
    stalls = left["genetic"][-1] > 0.1 and left["genetic"][-1] > 10 * left["genetic"][0]
    heavy = abs(space - 2) < 0.1 and seconds["newton"][tried][-1] > seconds["gd"][tried][-1]
    good = bool((left["gd"] < 1e-6).all() and growth["gd"] < 1.3 and stalls and heavy)
    verdict: Verdict = "confirmed" if good else "not reproduced"
    why = (
        f"At d = {d[-1]} gradient descent leaves {left['gd'][-1]:.1g} of the loss after {seconds['gd'][-1]:.2f} s, the "
        f"genetic algorithm {left['genetic'][-1]:.2f} after {seconds['genetic'][-1]:.1f} s ({left['genetic'][0]:.1g} "
        f"at d = {d[0]}). Newton needs {evidence['bytes']['newton'][-1] / 1e9:.2g} GB there (power {space:.2f} of d); "
        f"at d = {d[tried][-1]} it leaves {left['newton'][tried][-1]:.1g} after {seconds['newton'][tried][-1]:.2f} s, "
        f"gradient descent {left['gd'][tried][-1]:.1g} after {seconds['gd'][tried][-1]:.2f} s. Time grows with the "
        f"power {growth['gd']:.2f} of d for gradient descent and {growth['newton']:.2f} for Newton (last two sizes)."
    )
    measured = [left[name][tried if name == "newton" else slice(None)][-1].item() for name in NAMES]
    spread = [0.0, 0.0, float(evidence["left"]["genetic"][-1].std(ddof=1))]
    return [Finding("A115", "GD scales better", measured, spread, verdict, why)]


def _power(size: np.ndarray, cost: np.ndarray) -> float:
    """The power of the size in a cost, from the last two."""
    return float(np.log(cost[-1] / cost[-2]) / np.log(size[-1] / size[-2]))


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Loss that is left, seconds and memory against the number of parameters."""
    d = evidence["dimensions"]
    shown = lambda values: np.where(values == ABSENT, np.nan, values).mean(-1)  # noqa: E731
    left = {NAMES[name]: np.maximum(shown(values), 1e-17) for name, values in evidence["left"].items()}
    seconds = {NAMES[name]: shown(values) for name, values in evidence["seconds"].items()}
    space = {NAMES[name]: np.where(values == 0, np.nan, values / 1e6) for name, values in evidence["bytes"].items()}
    draw = lambda lines, label: plots.panels(  # noqa: E731
        {"": {name: (d, values) for name, values in lines.items()}}, x="parameters d", label=label, log_x=True, log=True
    )
    return {
        "left": draw(left, "share of the first loss that is left"),
        "seconds": draw(seconds, "time (s)"),
        "memory": draw(space, "working memory (MB); gradient descent: 0"),
    }
