"""What does noise in the targets do to a network that L-BFGS trains?

Question: 50 rows of y = sin x² with 0, 25 and 100 % noise, one network of 50 tanh units, one start: when are training
and validation error good, and when does the network begin to learn the noise? Does that depend on the number of rows?
(The source states no data, network or noise; `_race` states ours. A level is the noise's standard deviation in those of
the curve.)

    floor = level² · var(sin x²),     excess = (error - floor) / var(sin x²)

Cost: about 20 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import plots
from .._study import Evidence, Finding, give
from ._race import VARIANCE, Task, contest, graded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"B016": "corrected"}
LEVELS = (0.0, 0.25, 1.0)
GOOD = 0.1  # excess up to which an error is good: a tenth of the curve's variance
SOON = 25  # epochs within which the source has a good fit


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        hidden: Units of the network.
        rows: Training rows; the first number for all levels, the others for full noise only.
        epochs: Iterations of L-BFGS.
        seeds: Draws of rows, noise and weights.
    """

    hidden: int = 50
    rows: tuple[int, ...] = (50, 100, 200)
    epochs: int = 100
    seeds: int = 10


TINY = Config(hidden=10, rows=(30, 60), epochs=20, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Errors after each iteration: at three levels, then with more rows at the last of them: (3 + more, S, E + 1)."""
    first, *more = config.rows
    cells = [*((level, first) for level in LEVELS), *((LEVELS[-1], rows) for rows in more)]
    tasks = [Task(level, config.hidden, rows, config.epochs) for level, rows in cells]
    found = contest(tasks, ["lbfgs"], config.seeds, 0, run)
    return {key: found[key][:, 0] for key in ("train", "valid")} | {"rows": list(config.rows)}


def _until_good(evidence: Evidence) -> np.ndarray:
    """Epochs until both errors are good, E + 1 where they never are: (3, S)."""
    worse = np.maximum(evidence["train"], evidence["valid"])[: len(LEVELS)]
    excess = worse / VARIANCE - np.square(LEVELS)[:, None, None]
    good = np.concatenate([excess <= GOOD, np.ones_like(excess[..., :1], dtype=bool)], axis=-1)
    return good.argmax(-1)


def judge(evidence: Evidence) -> list[Finding]:
    """B016: a good fit soon at 0 and 25 %, a high error at 100 %, where training falls below validation later."""
    until, last = _until_good(evidence), evidence["train"][..., -1]
    turns = evidence["valid"][2:].argmin(-1)  # epochs of the least validation error at full noise, by rows: (K, S)
    middle, gap = np.median(turns, axis=1), (evidence["valid"][..., -1] - last)[2] / VARIANCE
    parts = {
        f"0 % good within {SOON} epochs": np.median(until[0]) <= SOON,
        f"25 % good within {SOON} epochs": np.median(until[1]) <= SOON,
        "100 % stays high": np.median(last[2]) > 0.5 * VARIANCE > np.median(last[1]),
        "at 100 % training ends below validation": (gap > 0).mean() >= 0.75,
        "there validation turns between epochs 10 and 40, whatever the rows": ((middle >= 10) & (middle <= 40)).all(),
    }
    verdict, words = graded(parts)
    said = ", ".join(f"{give(turn, '.0f')} with {n} rows" for n, turn in zip(evidence["rows"], turns, strict=True))
    why = (
        f"Epochs until both errors are good: {give(until[0], '.0f')} at 0 %, {give(until[1], '.0f')} at 25 %. At 100 % "
        f"training ends at {give(last[2] / VARIANCE)} of the noise's variance and validation {give(gap)} above it; "
        f"validation is least at epoch {said}. {words}."
    )
    spread = [float(v.std(ddof=1)) for v in (until[0], until[1], *turns)]
    measured = [float(np.median(v)) for v in (until[0], until[1], *turns)]
    return [Finding("B016", "good after 15 to 25 epochs; overfits from about 20", measured, spread, verdict, why)]


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Training and validation error against epochs, a panel a level and one a number of rows: medians over seeds."""
    at = np.arange(evidence["train"].shape[-1])
    names = {"training": "train", "validation": "valid"}
    levels = [f"{level:.0%} noise" for level in LEVELS]
    rows = [f"{n} rows" for n in evidence["rows"]]

    def panel(cell: int) -> dict:
        return {name: (at, np.median(evidence[key][cell], axis=0)) for name, key in names.items()}

    noise = {title: panel(i) for i, title in enumerate(levels)}
    more = {title: panel(i + 2) for i, title in enumerate(rows)}
    label = "mean squared error"
    return {
        "noise": plots.panels(noise, x="epoch", label=label, log=True),
        "rows": plots.panels(more, x="epoch", label=f"{label} at 100 % noise", log=True),
    }
