"""Does noise on the gradients help, and when is it too much?

Question: GD on 50 rows of y = sin x² with 25 % noise, 50 tanh units, and Gaussian noise of standard deviation
σ (1 + s)^-0.55 on every gradient of update s: what are training and test error at the end for eight σ? (Data and
network: see `_race`.)

    θ <- θ - η (g + σ (1 + s)^-0.55 ε),    ε ~ N(0, I)

Cost: about 30 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import plots
from ...results import Table
from ...train import Training
from .._study import Evidence, Finding, pieces
from ._race import Task, race

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B018": "confirmed"}
SCALES = (0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 5.0, 10.0)
HARM = 1.5  # how many times the training error without noise is harm


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        level: Standard deviation of the noise in the targets, in those of the curve.
        hidden: Units of the network.
        rows: Training rows.
        epochs: Updates.
        lr: Learning rate.
        seeds: Draws of rows, weights and noise.
    """

    level: float = 0.25
    hidden: int = 50
    rows: int = 50
    epochs: int = 300
    lr: float = 0.1
    seeds: int = 8


TINY = Config(hidden=10, epochs=10, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Training and test errors at the end: (S, 8)."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    return {key: np.array([one[key] for one in found]) for key in found[0]}


def _seed(config: Config, seed: int) -> Evidence:
    task = Task(config.level, config.hidden, config.rows, config.epochs)
    tracks = [race(task, "gd", config.lr, seed, Training(gradient_noise=s, threads=1)) for s in SCALES]
    return {"train": np.array([t.train[-1] for t in tracks]), "valid": np.array([t.valid[-1] for t in tracks])}


def judge(evidence: Evidence) -> list[Finding]:
    """B018: a larger scale never harms fewer seeds, the largest most of them; a smaller one helps on the test rows."""
    train, valid = evidence["train"], evidence["valid"]
    middle = np.median(train, axis=0)
    hurt = (train > HARM * train[:, :1]).mean(0)  # share of seeds, by scale
    harm = bool((np.diff(hurt) >= 0).all() and hurt[-1] >= 0.75)
    share = (valid[:, 1:-1] < valid[:, :1]).mean(0)  # of seeds that gain, by scale
    gain = (valid[:, 1:-1] / valid[:, :1]).mean(0)
    k = int(gain.argmin())
    helps = bool(share[k] >= 0.75 and gain[k] < 0.98)
    safe = [
        s for s, ratio in zip(SCALES[1:], np.median(train[:, 1:] / train[:, :1], axis=0), strict=True) if ratio < 1.1
    ]
    if harm:
        verdict = "confirmed" if helps else "corrected"
    else:
        verdict = "not reproduced" if helps else "refuted"
    said = ", ".join(
        f"{s:g}: {a:.3f}, {b:.3f}" for s, a, b in zip(SCALES, middle, np.median(valid, axis=0), strict=True)
    )
    why = (
        f"Training and test error by σ, {said}. No harm to training up to {max(safe, default=0):g}; the best is "
        f"{SCALES[k + 1]:g}, where the test error is {gain[k]:.2f} of that without noise, lower in {share[k]:.0%} of "
        f"the seeds ({'a benefit' if helps else 'no sure benefit'}), training error {_ratio(train, k + 1):.2f}. "
        f"Share of seeds whose training error is {HARM} times as high or more: {', '.join(f'{h:.0%}' for h in hurt)}."
    )
    return [Finding("B018", "can help; too much harms", middle.tolist(), train.std(0, ddof=1).tolist(), verdict, why)]


def _ratio(errors: np.ndarray, k: int) -> float:
    """Mean ratio of the errors at a scale to those without noise."""
    return float((errors[:, k] / errors[:, 0]).mean())


def tables(evidence: Evidence) -> dict[str, Table]:
    """Errors by scale: medians over seeds."""
    columns = {key: np.median(evidence[key], axis=0).tolist() for key in ("train", "valid")}
    return {"noise": Table({"σ": SCALES, "training error": columns["train"], "test error": columns["valid"]})}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Errors at the end against the scale of the noise, the point furthest left without: medians over seeds."""
    at = np.array([SCALES[1] / 3, *SCALES[1:]])
    names = {"training": "train", "test": "valid"}
    lines = {name: (at, np.median(evidence[key], axis=0)) for name, key in names.items()}
    x = "σ of the gradient's noise, leftmost: none"
    return {"noise": plots.panels({"GD with noise": lines}, x=x, label="mean squared error", log_x=True, log=True)}
