"""Is the gradient of a mini-batch the gradient of all rows, but for noise?

Question: on a line, y = 3x + 1 + 0.1 ε, what are mean and variance of mini-batch gradients at θ = 0, what does added
noise do to them, and does descent by single rows arrive?

    E[g_B] = g,     Var(g_B) = Var(g₁) / B   (batches drawn with replacement),     Var(g + ε) = Var(g) + Var(ε)

Cost: about 20 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from ... import plots
from ...data import Rows
from ...draw import Draw
from ...train import Training
from .._study import Evidence, Finding, give, pieces
from ._line import Points, batch_gradients, best, descend, half_mse, line_rows, row_gradients
from ._race import LOST, graded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"B013": "confirmed", "A130": "confirmed", "B017": "confirmed", "A129": "corrected"}
SIZES = (1, 10, 50)
FULL, VARIANCES = (-2.781, -1.037), (11.92, 1.214, 0.242)  # printed, of one draw of the same law
OWN, ADDED, SIMULATED = 4.0, 0.25, 4.261  # variances of g and of the noise, and the printed result


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        rows: Points of the line.
        batches: Mini-batches of each size.
        updates: Single-row updates.
        seeds: Draws of the points.
    """

    rows: int = 200
    batches: int = 5000
    updates: int = 2000
    seeds: int = 10


TINY = Config(rows=100, batches=500, updates=200, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """For each seed: mean and variance of mini-batch gradients, of gradients with noise, and descents row by row."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    return {key: np.array([one[key] for one in found]) for key in found[0]} | {"batches": config.batches}


def _seed(config: Config, seed: int) -> Evidence:
    points, draw = line_rows(config.rows, Draw(seed).at("rates")), Draw(seed).at("gradients")
    zero = torch.zeros(2, dtype=torch.float64)
    full = row_gradients(points, zero).mean(0)
    drawn = [batch_gradients(points, zero, size, config.batches, draw.at(size)) for size in SIZES]
    errors = [(g - full).square().sum(1).mean().sqrt() for g in drawn]
    return {
        "full": full.numpy(),
        "mean": torch.stack([g.mean(0) for g in drawn]).numpy(),  # (3, 2)
        "variance": torch.stack([g.var(0) for g in drawn]).numpy(),
        "error": torch.stack(errors).numpy(),
        "epoch": _epoch(points, draw).numpy(),
        "noisy": _noisy(config.batches, draw),
        **_single(config, points, seed),
    }


def _epoch(points: Points, draw: Draw) -> torch.Tensor:
    """The mean of the gradients of equal batches that make one epoch, less the gradient of all rows: (2,)."""
    theta, source = torch.tensor([0.5, -0.5], dtype=torch.float64), Rows(*points, batch_size=10)
    parts = [row_gradients((batch.x, batch.y), theta).mean(0) for batch in source.batches(0, 0, draw.at("order"))]
    return torch.stack(parts).mean(0) - row_gradients(points, theta).mean(0)


def _noisy(n: int, draw: Draw) -> np.ndarray:
    """Mean and variance of n values of g + ε, g ~ N(1, 4), ε ~ N(0, 0.25)."""
    g, noise = torch.randn(2, n, generator=draw.generator("noisy"), dtype=torch.float64)
    values = 1 + OWN**0.5 * g + ADDED**0.5 * noise
    return np.array([float(values.mean()), float(values.var())])


def _single(config: Config, points: Points, seed: int) -> Evidence:
    """Losses above the least, one row an update: as printed (η = 1), at a constant rate, at one that falls as 1/t."""
    source, floor = Rows(*points, batch_size=1), half_mse(points, best(points)[None])[0]
    falling = Training(schedule="inverse", shape={"end": 0.01}, threads=1)
    ways = [(1.0, None), (0.1, None), (0.1, falling)]
    paths = [descend(source, "sgd", lr, config.updates, seed=seed, training=knobs) for lr, knobs in ways]
    above = [(half_mse(points, path) - floor).clamp(0, LOST).numpy() for path in paths]
    return {"single": np.stack([np.pad(a, (0, config.updates + 1 - len(a)), constant_values=LOST) for a in above])}


# ---- judging


def judge(evidence: Evidence) -> list[Finding]:
    """B013: unbiased. A130: exact over an epoch, 1/√B for one batch. B017: variances add. A129: a rate is needed."""
    return [_unbiased(evidence), _epochs(evidence), _added(evidence), _rows(evidence)]


def _unbiased(evidence: Evidence) -> Finding:
    full, variance = evidence["full"], evidence["variance"]
    error = np.abs(evidence["mean"] - full[:, None]) / np.sqrt(variance / evidence["batches"])  # (S, 3, 2)
    each = variance.mean(-1)  # (S, 3)
    law = each * SIZES / each[:, :1]
    near = np.abs(full.mean(0) - FULL) <= 2 * full.std(0, ddof=1)
    spread = np.abs(each.mean(0) - VARIANCES) <= 2 * each.std(0, ddof=1)
    parts = {
        "means within four standard errors": error.max() < 4,
        "variance falls as 1/B": np.abs(law.mean(0) - 1).max() < 0.1,
        "full gradient as printed": near.all(),
        "variances as printed": spread.all(),
    }
    verdict, words = graded(parts)
    if error.max() >= 4:
        verdict = "refuted"
    why = (
        f"Full gradient ({give(full[:, 0])}, {give(full[:, 1])}), printed (-2.781, -1.037); the mean of "
        f"{evidence['batches']} batches is at most {error.max():.1f} standard errors from it. Variance a component: "
        f"{', '.join(give(v, '.3g') for v in each.T)} for B = 1, 10, 50, printed 11.92, 1.214, 0.242. {words}."
    )
    return Finding("B013", list(FULL), full.mean(0).tolist(), full.std(0, ddof=1).tolist(), verdict, why)


def _epochs(evidence: Evidence) -> Finding:
    slopes = np.array([np.polyfit(np.log(SIZES), np.log(error), 1)[0] for error in evidence["error"]])
    off = float(np.abs(evidence["epoch"]).max())
    parts = {"the mean over an epoch is exact": off < 1e-12, "error as 1/√B": abs(slopes.mean() + 0.5) < 0.05}
    verdict, words = graded(parts)
    why = (
        f"Largest difference {off:.1e}; the error of one batch falls as B to the power {give(slopes, '.3f')}. {words}."
    )
    return Finding("A130", -0.5, float(slopes.mean()), float(slopes.std(ddof=1)), verdict, why)


def _added(evidence: Evidence) -> Finding:
    mean, variance = evidence["noisy"].T
    error = (OWN + ADDED) * np.sqrt(2 / evidence["batches"])  # of one simulated variance
    parts = {
        "the mean stays": abs(mean.mean() - 1) < 4 * np.sqrt((OWN + ADDED) / evidence["batches"] / len(mean)),
        "variances add": abs(variance.mean() - OWN - ADDED) < 4 * error / np.sqrt(len(mean)),
        "4.261 is within the spread": abs(SIMULATED - variance.mean()) < 2 * max(error, variance.std(ddof=1)),
    }
    verdict, words = graded(parts)
    why = f"Mean {give(mean, '.3f')} for 1, variance {give(variance, '.3f')} for 4 + 0.25. {words}."
    return Finding("B017", SIMULATED, float(variance.mean()), float(variance.std(ddof=1)), verdict, why)


def _rows(evidence: Evidence) -> Finding:
    """Without a rate it stays far away; with one it falls, not at every step; with one that falls it ends lower."""
    single = evidence["single"]  # (S, 3, T + 1)
    ends = single[..., -max(1, single.shape[-1] // 10) :].mean(-1)
    lost = ends[:, 0] > 100 * ends[:, 1]
    falls = ends[:, 1] < 0.01 * single[:, 1, 0]
    noisy = (np.diff(single[:, 1]) > 0).mean()
    arrives = ends[:, 2] < 0.5 * ends[:, 1]
    works = falls.mean() >= 0.75 and noisy > 0.1 and arrives.mean() >= 0.75
    verdict = "not reproduced" if not works else "corrected" if lost.mean() >= 0.75 else "confirmed"
    why = (
        f"As printed, without a rate (η = 1), the loss ends {np.median(ends[:, 0]):.1e} above its least in the median. "
        f"At 0.1 it ends {give(ends[:, 1], '.1e')} above, a hundredth of that in {lost.mean():.0%} of the draws, "
        f"though it rises in {noisy:.0%} of the updates; at a rate that falls as 1/t to 0.001 "
        f"{give(ends[:, 2], '.1e')}, less than half of that in {arrives.mean():.0%}."
    )
    middle = np.median(ends, axis=0).tolist()
    return Finding("A129", "θ <- θ - ∇ℓ_i", middle, ends.std(0, ddof=1).tolist(), verdict, why)


def figures(evidence: Evidence) -> dict[str, Figure]:
    """The variance of the estimate against the size of the batch, and the descents row by row of the first seed."""
    each, single = evidence["variance"].mean(-1).mean(0), evidence["single"][0]
    lines = {"measured": (SIZES, each), "1/B": (SIZES, each[0] / np.array(SIZES))}
    names = ("η = 1 (no rate)", "η = 0.1", "η = 0.1 falling as 1/t")
    at = np.arange(single.shape[-1])
    shown = {name: (at, single[i]) for i, name in enumerate(names)}
    return {
        "variance": plots.panels({"Mini-batches": lines}, x="rows a batch", label="variance", log_x=True, log=True),
        "single": plots.panels({"One row an update": shown}, x="update", label="loss above its least", log=True),
    }
