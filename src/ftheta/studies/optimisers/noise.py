"""Which of five rules copes best with noise in the targets?

Question: GD, mini-batch GD, Nesterov, Adam and L-BFGS from identical weights on 200 rows of y = sin x² with 0, 25 and
100 % noise: how far do they come in 200 epochs, and in what time? (Data, network, rates: see `_race`.)

    rises = share of the last three quarters of the epochs in which the training error grows

Cost: about 100 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import plots
from ...results import Table
from .._study import Evidence, Finding
from ._race import NAMES, VARIANCE, Task, contest, graded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B026": "confirmed"}
LEVELS = (0.0, 0.25, 1.0)
RULES = ("gd", "sgd", "nesterov", "adam", "lbfgs")
GD, SGD, FAST = 0, 1, slice(2, 5)


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        hidden: Units of the network.
        rows: Training rows.
        epochs: Passes over them.
        seeds: Draws of rows, noise and weights.
        tuning: Draws on which the rates are chosen.
    """

    hidden: int = 50
    rows: int = 200
    epochs: int = 200
    seeds: int = 5
    tuning: int = 3


TINY = Config(hidden=5, rows=30, epochs=4, seeds=2, tuning=1)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Errors and seconds after each epoch: (3, 5, S, E + 1); rates (3, 5)."""
    tasks = [Task(level, config.hidden, config.rows, config.epochs) for level in LEVELS]
    return contest(tasks, RULES, config.seeds, config.tuning, run)


def judge(evidence: Evidence) -> list[Finding]:
    """B026: GD is the slowest, mini-batches oscillate, three rules are fast, and at 100 % all stay high."""
    ends = evidence["train"][..., -1]  # (C, R, S)
    middle, skip = np.median(ends, axis=-1), evidence["train"].shape[-1] // 4
    rises = (np.diff(evidence["train"][..., skip:]) > 0).mean((-1, -2))  # (C, R)
    parts = {
        "GD ends last at every level": (middle.argmax(1) == GD).all(),
        "mini-batch GD rises most often": (rises.argmax(1) == SGD).all(),
        "Adam, Nesterov and L-BFGS end below GD": ((ends[:, FAST] < ends[:, [GD]]).mean(-1) >= 0.75).all(),
        "at 100 % all stay above half the noise": (middle[2] > 0.5 * VARIANCE).all(),
    }
    verdict, words = graded(parts)
    said = "; ".join(
        f"{level:.0%}: " + ", ".join(f"{NAMES[rule]} {e:.2g}" for rule, e in zip(RULES, row, strict=True))
        for level, row in zip(LEVELS, middle, strict=True)
    )
    why = f"Median training error at the end, {said}. Epochs that rise, mini-batch GD: {rises[:, SGD].mean():.0%}. "
    spread = ends.std(-1, ddof=1).tolist()
    printed = "GD slowest; mini-batch oscillates; Adam, NAG, L-BFGS fast; at 100 % all plateau high"
    return [Finding("B026", printed, middle.tolist(), spread, verdict, f"{why}{words}.")]


def tables(evidence: Evidence) -> dict[str, Table]:
    """Rate, errors at the end, epochs and CPU-seconds by level and rule: medians over seeds."""
    cells = [(i, k) for i in range(len(LEVELS)) for k in range(len(RULES))]
    end = {key: np.median(evidence[key][..., -1], axis=-1) for key in ("train", "valid", "seconds")}
    columns = {
        "noise": [f"{LEVELS[i]:.0%}" for i, _ in cells],
        "rule": [NAMES[RULES[k]] for _, k in cells],
        "rate": [float(evidence["rates"][c]) or None for c in cells],
        "training error": [float(end["train"][c]) for c in cells],
        "validation error": [float(end["valid"][c]) for c in cells],
        "epochs": [evidence["train"].shape[-1] - 1] * len(cells),
        "seconds": [float(end["seconds"][c]) for c in cells],
    }
    return {"noise": Table(columns, "Mean squared errors at the end, medians over seeds")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Training error against epochs and against CPU-seconds, a panel a level: medians over seeds."""
    middle = {key: np.median(evidence[key], axis=2) for key in ("train", "seconds")}  # (C, R, E + 1)
    at = np.arange(middle["train"].shape[-1])
    titles = [f"{level:.0%} noise" for level in LEVELS]

    def lines(position: np.ndarray) -> dict:
        return {
            title: {NAMES[r]: (position[i, k], middle["train"][i, k]) for k, r in enumerate(RULES)}
            for i, title in enumerate(titles)
        }

    label, later = "training error (mean square)", middle["seconds"].copy()
    later[..., 0] = np.nan  # a log scale has no 0
    return {
        "epochs": plots.panels(
            lines(np.broadcast_to(at, middle["train"].shape)), x="epoch", label=label, log=True, share=False
        ),
        "time": plots.panels(lines(later), x="CPU-seconds", label=label, log_x=True, log=True, share=False),
    }
