"""Does a larger learning rate make the gradient's estimate noisier, or only the loss?

Question: SGD on a line, y = 3x + 1 + 0.1 ε, from its best parameters, at three rates in batches of 1, 10 and 50 rows:
how much does the loss of all rows fluctuate, and how much does the gradient of a batch vary where SGD ended?

    near the minimum  E[F - F*] ~ η / B · tr Cov(g₁),      but the estimate has  Cov(g_B) = Cov(g₁) / B,  without η

Cost: about 25 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import plots
from ...data import Rows
from ...draw import Draw
from .._study import Evidence, Finding, pieces
from ._line import batch_gradients, best, descend, half_mse, line_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"B012": "corrected"}
NOISY, SIZES = (0.01, 0.03, 0.1), (1, 10, 50)


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        rows: Points of the line.
        updates: Updates of SGD.
        seeds: Draws of the points.
    """

    rows: int = 200
    updates: int = 1000
    seeds: int = 5


TINY = Config(rows=100, updates=100, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """For each seed, by rate and batch: jitter of the loss in the second half and variance of the estimate, (S, 3, 3),
    and losses above their least; for GD, mini-batches and Adam from 0: losses, and how often a step is longer."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    return {key: np.array([one[key] for one in found]) for key in found[0]}


def _seed(config: Config, seed: int) -> Evidence:
    points, draw = line_rows(config.rows, Draw(seed).at("rates")), Draw(seed).at("jitter")
    least = best(points)
    floor, sources = half_mse(points, least[None])[0], [Rows(*points, batch_size=size) for size in SIZES]
    jitter, variance, curves = np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3, config.updates + 1))
    for i, lr in enumerate(NOISY):
        for k, size in enumerate(SIZES):
            path = descend(sources[k], "sgd", lr, config.updates, seed=seed, start=least)
            curves[i, k] = (half_mse(points, path) - floor).clamp(min=0).numpy()
            jitter[i, k] = curves[i, k, config.updates // 2 :].std()
            drawn = batch_gradients(points, path[-1], size, 2000, draw.at(i, k))
            variance[i, k] = float(drawn.var(0).mean())
    whole, rules = Rows(*points, batch_size=len(points[1])), ("gd", "sgd", "adam")
    paths = [
        descend(whole if rule == "gd" else sources[1], rule, 0.1, config.updates // 4, seed=seed) for rule in rules
    ]
    steps = [path.diff(dim=0).norm(dim=1) for path in paths]
    return {
        "jitter": jitter,
        "variance": variance,
        "curves": curves,
        "rules": np.stack([half_mse(points, path).numpy() for path in paths]),
        "uneven": np.array([float((s.diff() > 0).double().mean()) for s in steps]),
    }


def judge(evidence: Evidence) -> list[Finding]:
    """B012: the loss fluctuates more with η and with 1/B; the variance of the estimate knows B only."""
    jitter, variance = np.median(evidence["jitter"], axis=0), np.median(evidence["variance"], axis=0)
    rate = (jitter[-1] / jitter[0]).min()
    size = (jitter[:, 0] / jitter[:, -1]).min()
    same = (variance.max(0) / variance.min(0)).max()
    batch = (variance[:, 0] / variance[:, -1]).min()
    if rate < 2 or size < 2:
        verdict = "refuted"
    elif same < 1.5:
        verdict = "corrected" if batch > 25 else "not reproduced"
    else:
        verdict = "confirmed" if same > 2 else "not reproduced"
    uneven = np.mean(evidence["uneven"], axis=0)
    why = (
        f"From η = {NOISY[0]} to {NOISY[-1]} the jitter of the loss grows {rate:.1f}-fold or more, from "
        f"B = {SIZES[-1]} to {SIZES[0]} {size:.0f}-fold or more. The variance of the gradient's estimate grows "
        f"{batch:.0f}-fold with 1/B, but changes by a factor of {same:.2f} at most with η. Steps longer than the one "
        f"before: GD {uneven[0]:.0%}, mini-batch {uneven[1]:.0%}, Adam {uneven[2]:.0%}."
    )
    spread = evidence["jitter"].std(0, ddof=1).tolist()
    return [Finding("B012", "a larger rate makes the estimate noisy", jitter.tolist(), spread, verdict, why)]


def figures(evidence: Evidence) -> dict[str, Figure]:
    """The loss of SGD from the minimum, by batch size and rate, and of three rules from 0: of the first seed."""
    noise, rules = evidence["curves"][0], evidence["rules"][0]
    later, at = np.arange(noise.shape[-1]), np.arange(rules.shape[-1])
    shown = {
        f"B = {size}": {f"η = {lr:g}": (later[1:], noise[i, k, 1:]) for i, lr in enumerate(NOISY)}
        for k, size in enumerate(SIZES)
    }
    names = ("GD", "mini-batch GD, B = 10", "Adam, B = 10")
    start = {"η = 0.1": {name: (at, rules[i]) for i, name in enumerate(names)}}
    return {
        "jitter": plots.panels(shown, x="update", label="loss above its least", log=True),
        "rules": plots.panels(start, x="update", label="half the mean squared error", log=True),
    }
