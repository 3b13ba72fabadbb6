"""What does it bring to lower the learning rate, and to raise it slowly at first?

Question: SGD in batches of 10 on a line, y = 3x + 1 + 0.1 ε: where does a constant rate end, and where the same rate
with seven schedules? And Adam at the rate 0.3 on the network of `_race`: does a linear warm-up remove its first spike?

    plateau = mean loss above its least over the last tenth of the updates,      spike = largest error / error at first

Cost: about 45 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import plots
from ...data import Rows
from ...draw import Draw
from ...results import Table
from ...train import Training
from .._study import Evidence, Finding, give, pieces
from ._line import best, descend, half_mse, line_rows
from ._race import Task, race

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B009": "confirmed", "B028": "confirmed"}
SHAPES: dict[str, dict[str, Any]] = {
    "constant": {},
    "step": {},
    "exponential": {},
    "inverse": {},
    "inverse-sqrt": {},
    "cosine": {},
    "linear": {},
    "plateau": {"patience": 5, "factor": 0.3},
}
LEVEL = 0.25


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        rows: Training rows.
        updates: Updates of SGD.
        lr: The rate that is constant, or decayed.
        hidden: Units of the network.
        epochs: Updates of Adam.
        fast: Adam's rate, high enough for a spike.
        warmup: Updates of the warm-up.
        seeds: Draws of rows, noise and weights.
    """

    rows: int = 200
    updates: int = 2000
    lr: float = 0.2
    hidden: int = 50
    epochs: int = 120
    fast: float = 0.3
    warmup: int = 50
    seeds: int = 8


TINY = Config(rows=60, updates=60, hidden=20, epochs=20, warmup=15, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """For each seed: losses of SGD with each schedule, and errors of Adam without and with a warm-up."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    return {key: np.array([one[key] for one in found]) for key in found[0]}


def _seed(config: Config, seed: int) -> Evidence:
    task = Task(LEVEL, config.hidden, config.rows, config.epochs)
    warmed = [
        race(task, "adam", config.fast, seed, Training(warmup=n, threads=1)).padded(config.epochs).train
        for n in (0, config.warmup)
    ]
    return {"decayed": _decayed(config, seed), "warmed": np.stack(warmed)}  # (8, T + 1), (2, E + 1)


def _decayed(config: Config, seed: int) -> np.ndarray:
    """Loss above its least after every update, by schedule: (8, T + 1)."""
    points = line_rows(config.rows, Draw(seed).at("rates"))
    source, least = Rows(*points, batch_size=10), half_mse(points, best(points)[None])
    knobs = [Training(schedule=name, shape=shape, threads=1) for name, shape in SHAPES.items()]
    paths = [descend(source, "sgd", config.lr, config.updates, seed=seed, training=each) for each in knobs]
    return np.stack([(half_mse(points, path) - least).clamp(min=0).numpy() for path in paths])


def _plateaus(evidence: Evidence) -> np.ndarray:
    """Mean loss above its least over the last tenth of the updates: (S, 8)."""
    curves = evidence["decayed"]
    return curves[..., -max(1, curves.shape[-1] // 10) :].mean(-1)


def judge(evidence: Evidence) -> list[Finding]:
    """B009: every decayed rate ends lower than the constant one. B028: a warm-up removes the spike."""
    return [_decay(evidence), _spike(evidence)]


def _decay(evidence: Evidence) -> Finding:
    ends = _plateaus(evidence)
    lower = (ends[:, 1:] < ends[:, :1]).mean(0)
    sure = lower >= 0.75
    verdict = "confirmed" if sure.all() else "refuted" if (lower <= 0.25).all() else "not reproduced"
    if verdict == "not reproduced" and sure.mean() >= 0.5:
        verdict = "corrected"
    said = ", ".join(f"{name} {give(ends[:, i], '.1e')}" for i, name in enumerate(SHAPES))
    worse = [name for name, holds in zip(list(SHAPES)[1:], sure, strict=True) if not holds]
    why = f"Plateaus: {said}. Not lower than the constant rate in three of four seeds: {', '.join(worse) or 'none'}."
    return Finding("B009", "lower", ends.mean(0).tolist(), ends.std(0, ddof=1).tolist(), verdict, why)


def _spike(evidence: Evidence) -> Finding:
    spike = evidence["warmed"].max(-1) / evidence["warmed"][..., 0]  # (S, 2)
    there, gone = (spike[:, 0] > 1.5).mean(), (spike[:, 1] < 1.1).mean()
    smaller = (spike[:, 1] < spike[:, 0]).mean()
    if there < 0.75:
        verdict = "not reproduced"
    elif gone >= 0.75:
        verdict = "confirmed"
    else:
        verdict = "corrected" if smaller >= 0.75 else "refuted"
    ends = evidence["warmed"][..., -1]
    why = (
        f"Without a warm-up the training error rises to {give(spike[:, 0], '.1f')} times its start, with one to "
        f"{give(spike[:, 1], '.2f')} times; it ends at {give(ends[:, 0], '.3f')} and {give(ends[:, 1], '.3f')}."
    )
    return Finding("B028", "the spike disappears", spike.mean(0).tolist(), spike.std(0, ddof=1).tolist(), verdict, why)


def tables(evidence: Evidence) -> dict[str, Table]:
    """Plateau of each schedule: mean and standard deviation over seeds, and the share of seeds below the constant."""
    ends = _plateaus(evidence)
    columns = {
        "schedule": list(SHAPES),
        "plateau": ends.mean(0).tolist(),
        "sd": ends.std(0, ddof=1).tolist(),
        "below constant": [None, *(f"{share:.0%}" for share in (ends[:, 1:] < ends[:, :1]).mean(0))],
    }
    return {"schedules": Table(columns, "Loss above its least over the last tenth of the updates")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Loss by schedule, and error of Adam without and with a warm-up: medians over seeds."""
    decayed, warmed = (np.median(evidence[key], axis=0) for key in ("decayed", "warmed"))
    every = max(1, decayed.shape[-1] // 200)
    at, later = np.arange(decayed.shape[-1])[::every], np.arange(warmed.shape[-1])
    chosen = {name: i for i, name in enumerate(SHAPES) if name in ("constant", "step", "cosine", "inverse")}
    curves = {name: (at, decayed[i, ::every]) for name, i in chosen.items()}
    warm = {"none": (later, warmed[0]), "warm-up": (later, warmed[1])}
    return {
        "decay": plots.panels({"SGD on a line": curves}, x="update", label="loss above its least", log=True),
        "warmup": plots.panels({"Adam on a network": warm}, x="epoch", label="training error (mean square)", log=True),
    }
