"""Which of five rules gains most from a wider network?

Question: GD, mini-batch GD, Nesterov, Adam and L-BFGS on networks of 10, 50 and 100 tanh units, 200 rows of y = sin x²
with 25 % noise, 200 epochs: who ends where, and whom does width favour? (Data, rates: see `_race`.)

    advantage of a over b at a width:  log₁₀ (training error of b / training error of a) at the end

Cost: about 100 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import plots
from ...results import Table
from .._study import Evidence, Finding
from ._race import NAMES, Task, contest, graded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B029": "not reproduced"}
WIDTHS = (10, 50, 100)
RULES = ("gd", "sgd", "nesterov", "adam", "lbfgs")
PAIRS = [("adam", "nesterov"), ("sgd", "nesterov"), ("adam", "lbfgs"), ("sgd", "lbfgs")]


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        level: Standard deviation of the noise, in those of the curve.
        rows: Training rows.
        epochs: Passes over them.
        seeds: Draws of rows, noise and weights.
        tuning: Draws on which the rates are chosen.
    """

    level: float = 0.25
    rows: int = 200
    epochs: int = 200
    seeds: int = 5
    tuning: int = 3


TINY = Config(rows=30, epochs=4, seeds=2, tuning=1)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Errors and seconds after each epoch: (3, 5, S, E + 1); rates (3, 5)."""
    tasks = [Task(config.level, width, config.rows, config.epochs) for width in WIDTHS]
    return contest(tasks, RULES, config.seeds, config.tuning, run)


def judge(evidence: Evidence) -> list[Finding]:
    """B029: from 10 to 100 units Adam and mini-batch GD gain on Nesterov and L-BFGS, and GD itself improves."""
    ends = np.log10(evidence["train"][..., -1])  # (C, R, S)
    at = {rule: ends[:, k] for k, rule in enumerate(RULES)}
    gains = {(a, b): (at[b] - at[a])[-1] - (at[b] - at[a])[0] for a, b in PAIRS}
    parts = {f"{NAMES[a]} gains on {NAMES[b]}": (gain > 0).mean() >= 0.75 for (a, b), gain in gains.items()}
    better = at["gd"][0] - at["gd"][-1]
    verdict, words = graded({**parts, "GD improves with size": (better > 0).mean() >= 0.75})
    said = "; ".join(
        f"{width} units: " + ", ".join(f"{NAMES[rule]} {10 ** np.median(at[rule][i]):.2g}" for rule in _order(ends[i]))
        for i, width in enumerate(WIDTHS)
    )
    ahead = _order(ends[-1])
    lead = ", ".join(NAMES[rule] for rule in ahead[:2])
    why = f"Training errors at the end, best first: {said}. At {WIDTHS[-1]} units {lead} lead. {words}."
    kept = np.stack([*gains.values(), better])
    printed = "larger networks favour Adam and mini-batch GD over NAG and L-BFGS; GD improves with size"
    return [Finding("B029", printed, kept.mean(-1).tolist(), kept.std(-1, ddof=1).tolist(), verdict, why)]


def _order(ends: np.ndarray) -> list[str]:
    """Rules by their median error, best first, from (R, S)."""
    return [RULES[k] for k in np.median(ends, axis=-1).argsort()]


def tables(evidence: Evidence) -> dict[str, Table]:
    """The ranking by size: place, rule, rate, errors at the end and CPU-seconds, medians over seeds."""
    end = {key: np.median(evidence[key][..., -1], axis=-1) for key in ("train", "valid", "seconds")}
    cells = [(i, int(k)) for i in range(len(WIDTHS)) for k in end["train"][i].argsort()]
    columns = {
        "units": [WIDTHS[i] for i, _ in cells],
        "place": [1 + n % len(RULES) for n in range(len(cells))],
        "rule": [NAMES[RULES[k]] for _, k in cells],
        "rate": [float(evidence["rates"][c]) or None for c in cells],
        "training error": [float(end["train"][c]) for c in cells],
        "validation error": [float(end["valid"][c]) for c in cells],
        "seconds": [float(end["seconds"][c]) for c in cells],
    }
    return {"ranking": Table(columns, "Mean squared errors at the end, medians over seeds")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Training error against epochs, a panel a size: medians over seeds."""
    middle = np.median(evidence["train"], axis=2)  # (C, R, E + 1)
    at = np.arange(middle.shape[-1])
    lines = {
        f"{width} units": {NAMES[rule]: (at, middle[i, k]) for k, rule in enumerate(RULES)}
        for i, width in enumerate(WIDTHS)
    }
    return {"width": plots.panels(lines, x="epoch", label="training error (mean square)", log=True)}
