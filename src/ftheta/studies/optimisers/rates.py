"""Which learning rates are too small, right and too large?

Question: where do three rates end on a line, and where do the staples 0.1 and 0.01 fall on six problems?

    GD on a quadratic: every error component is multiplied by 1 - η λ a step, so that η > 2 / L diverges

Cost: about 25 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import plots
from ...data import Rows
from ...draw import Draw
from ...results import Table
from ...train import minimise
from .._study import Evidence, Finding, pieces
from ._line import Points, descend, half_mse, line_rows, stiffness
from ._race import LOST, Task, race

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "label", "measure", "tables"]

CLAIMS = {"B008": "confirmed", "A124": "corrected"}
THREE, PRINTED = (0.002, 0.2, 2.0), (3.212, 0.00523, 3.879)
GRID = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
STAPLES = (0.1, 0.01)
EDGE = (0.0199, 0.0201)  # on either side of 2 / 100
LABELS = ("diverged", "converged", "oscillating", "slow")
PROBLEMS = ("bowl x²/2", "bowl 100 x²/2", "line, GD", "network, GD", "network, mini-batch GD", "network, Adam")


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        rows: Points of the line.
        steps: Updates of the sweep on the line and the bowls, and epochs of the networks.
        seeds: Draws of points and weights.
    """

    rows: int = 200
    steps: int = 100
    seeds: int = 5


TINY = Config(rows=60, steps=8, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """For each seed: three rates on the line, and the grid on six problems."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    edge = np.array([_bowl(100.0, lr, config.steps)[[0, -1]] for lr in EDGE])  # (2, 2)
    return {key: np.array([one[key] for one in found]) for key in found[0]} | {"edge": edge}


def _seed(config: Config, seed: int) -> Evidence:
    points = line_rows(config.rows, Draw(seed).at("rates"))
    swept = [_swept(config, points, seed, lr) for lr in GRID]
    losses = np.array(swept).transpose(1, 0, 2)  # (P, G, T + 1)
    return {
        "three": np.array([_loss(points, lr, config.steps) for lr in THREE]),  # (3, T + 1)
        "limit": 2 / stiffness(points),
        "labels": np.array([_labels(curves) for curves in losses]),  # (P, G)
        "ends": losses[..., -1] / losses[..., 0],
    }


def _loss(points: Points, lr: float, steps: int) -> np.ndarray:
    """Loss of GD on the line after every step: (T + 1,)."""
    path = descend(Rows(*points, batch_size=len(points[1])), "gd", lr, steps)
    return _whole(half_mse(points, path).numpy(), steps)


def _bowl(curvature: float, lr: float, steps: int) -> np.ndarray:
    """Value of curvature · x²/2 along GD from 1: (T + 1,)."""
    return _whole(minimise(lambda x: curvature * x.square().sum() / 2, [1.0], lr=lr, steps=steps).values, steps)


def _whole(losses: np.ndarray, steps: int) -> np.ndarray:
    """A curve of full length: what ended early has arrived or is lost."""
    end = LOST if not losses[-1] <= losses[0] else losses[-1]
    return np.minimum(np.pad(losses, (0, steps + 1 - len(losses)), constant_values=end), LOST)


def _swept(config: Config, points: Points, seed: int, lr: float) -> list[np.ndarray]:
    """Losses of one rate on the six problems."""
    steps, task = config.steps, Task(0.25, rows=config.rows, epochs=config.steps)
    nets = [race(task, rule, lr, seed).padded(steps).train for rule in ("gd", "sgd", "adam")]
    return [_bowl(1.0, lr, steps), _bowl(100.0, lr, steps), _loss(points, lr, steps), *nets]


def label(losses: np.ndarray, least: float) -> str:
    """diverged: above its start, or rising in all of the last quarter; converged: 95 % of the way to `least` is done;
    oscillating: rises in a quarter of the steps; else slow."""
    moves = np.diff(losses)
    if losses[-1] - least <= 0.05 * (losses[0] - least):
        return "converged"
    if losses[-1] > losses[0] or (moves[-max(1, len(moves) // 4) :] > 0).all():
        return "diverged"
    return "oscillating" if (moves > 0).mean() > 0.25 else "slow"


def _labels(curves: np.ndarray) -> np.ndarray:
    """Numbers of the labels of one problem, rate by rate: (G, T + 1) -> (G,)."""
    least = float(curves.min())
    return np.array([LABELS.index(label(curve, least)) for curve in curves])


# ---- judging


def judge(evidence: Evidence) -> list[Finding]:
    """B008: three rates. A124: two staples."""
    return [_three(evidence), _staples(evidence)]


def _three(evidence: Evidence) -> Finding:
    """Slow, converged, diverging; the first two numbers within two standard deviations, the third is a matter of L."""
    losses, limit = evidence["three"], evidence["limit"]
    words = [[label(curve, float(seed.min())) for curve in seed] for seed in losses]
    right = [w == ["slow", "converged", "diverged"] for w in words]
    ends = losses[..., -1]
    near = np.abs(ends.mean(0) - PRINTED)[:2] <= 2 * ends.std(0, ddof=1)[:2]
    obeys = (np.asarray(limit) < THREE[2]) == (np.array([w[2] for w in words]) == "diverged")
    if np.mean(right) < 0.5:
        verdict = "refuted" if not any(right) else "not reproduced"
    else:
        verdict = "confirmed" if near.all() and obeys.all() else "corrected"
    why = (
        f"Slow, converged, diverged in that order in {np.mean(right):.0%} of the draws; 0.002 and 0.2 end where "
        f"printed, within two standard deviations: {near.tolist()}. 2.0 diverges exactly where 2/L is below it: "
        f"{obeys.all()}; 2/L is {np.min(limit):.3f} to {np.max(limit):.3f}, and its end, {np.median(ends[:, 2]):.2g} "
        f"in the median, 3.879 in print, says how far L is above 1."
    )
    middle = np.median(ends, axis=0).tolist()
    return Finding("B008", list(PRINTED), middle, ends.std(0, ddof=1).tolist(), verdict, why)


def _common(evidence: Evidence) -> np.ndarray:
    """The most frequent label over seeds: (P, G)."""
    counts = np.stack([(evidence["labels"] == i).sum(0) for i in range(len(LABELS))])
    return counts.argmax(0)


def _staples(evidence: Evidence) -> Finding:
    """0.1 is a staple unless it diverges; 100 x²/2 diverges above 0.02."""
    common = _common(evidence)
    at = {lr: [LABELS[i] for i in common[:, GRID.index(lr)]] for lr in STAPLES}
    (low, below), (first, above) = evidence["edge"]
    share = np.mean([word == "diverged" for word in at[0.1]])
    if not below < low or not above > first:
        verdict = "not reproduced"
    else:
        verdict = "confirmed" if share == 0 else "corrected" if share < 0.5 else "refuted"
    said = "; ".join(f"{lr}: " + ", ".join(f"{p} {w}" for p, w in zip(PROBLEMS, at[lr], strict=True)) for lr in STAPLES)
    adam = np.median(evidence["ends"][:, PROBLEMS.index("network, Adam")], axis=0)
    why = (
        f"{said}. On 100 x²/2 the value goes from {low:g} to {below:.2g} at {EDGE[0]} and to {above:.2g} at {EDGE[1]}. "
        f"Adam's best rate of the grid on the network is {GRID[int(adam.argmin())]:g}."
    )
    return Finding("A124", "0.1, then 0.01", float(share), None, verdict, why)


def tables(evidence: Evidence) -> dict[str, Table]:
    """What each rate of the grid does on each problem, the most frequent label over seeds."""
    common = _common(evidence)
    columns = {f"{lr:g}": [LABELS[i] for i in common[:, g]] for g, lr in enumerate(GRID)}
    return {"rates": Table({"problem": PROBLEMS, **columns}, "Learning rates")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Three rates on the line, and the end of training against the rate."""
    three, ends = evidence["three"][0], np.median(evidence["ends"], axis=0).clip(1e-4, 1e4)
    three = np.where(three < LOST, three, np.nan)
    at = np.arange(three.shape[-1])
    sweep = {problem: (GRID, ends[i]) for i, problem in enumerate(PROBLEMS)}
    rates = {f"η = {lr:g}": (at, three[i]) for i, lr in enumerate(THREE)}
    return {
        "line": plots.panels({"A line": rates}, x="update", label="half the mean squared error", log=True),
        "sweep": plots.panels(
            {"End of training, clipped to 10⁻⁴ ... 10⁴": sweep},
            x="learning rate",
            label="loss at the end / at the start",
            log_x=True,
            log=True,
        ),
    }
