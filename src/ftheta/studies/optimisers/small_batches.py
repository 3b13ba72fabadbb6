"""Do small batches regularise, and at what price?

Question: 40 rows of y = sin x² with 100 % noise, 100 tanh units (more than rows), batches of 1, 4, 10 and all 40 rows,
each with the rate of the grid that suits it, equal epochs: what are generalisation gap, run time and stability? (Data
and network: see `_race`.)

    gap = validation error - training error at the end,      rises = share of the epochs in which training error grows

Cost: about 35 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import plots
from ...results import Table
from .._study import Evidence, Finding, give
from ._race import Task, contest, graded

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B027": "corrected"}


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        level: Standard deviation of the noise, in those of the curve.
        hidden: Units of the network.
        rows: Training rows.
        sizes: Rows a batch, from small to all.
        epochs: Passes over the rows.
        seeds: Draws of rows, noise and weights.
        tuning: Draws on which the rates are chosen.
    """

    level: float = 1.0
    hidden: int = 100
    rows: int = 40
    sizes: tuple[int, ...] = (1, 4, 10, 40)
    epochs: int = 150
    seeds: int = 6
    tuning: int = 1


TINY = Config(hidden=20, rows=20, sizes=(5, 20), epochs=8, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Errors and seconds by batch size: (Z, S, E + 1); rates (Z,)."""
    tasks = [Task(config.level, config.hidden, config.rows, config.epochs, batch=size) for size in config.sizes]
    found = contest(tasks, ["sgd"], config.seeds, config.tuning, run)
    return {key: value[:, 0] for key, value in found.items()} | {"sizes": list(config.sizes)}


def _numbers(evidence: Evidence) -> dict[str, np.ndarray]:
    """By size and seed, (Z, S): gap, seconds, rises, and both errors at the end, averaged over the last tenth."""
    late = slice(-max(1, evidence["train"].shape[-1] // 10), None)
    train, valid = (evidence[key][..., late].mean(-1) for key in ("train", "valid"))
    half = evidence["train"].shape[-1] // 2
    rises = (np.diff(evidence["train"][..., half:]) > 0).mean(-1)
    seconds = evidence["seconds"][..., -1]
    return {"gap": valid - train, "seconds": seconds, "rises": rises, "train": train, "valid": valid}


def judge(evidence: Evidence) -> list[Finding]:
    """B027: the smallest batch has a smaller gap and validation error than all rows, more run time, less stability."""
    found, sizes = _numbers(evidence), evidence["sizes"]
    parts = {
        "smaller gap": (found["gap"][0] < found["gap"][-1]).mean() >= 0.75,
        "lower validation error": (found["valid"][0] < found["valid"][-1]).mean() >= 0.75,
        "longer run time": (found["seconds"][0] > found["seconds"][-1]).mean() >= 0.75,
        "rises more often": (found["rises"][0] > found["rises"][-1]).mean() >= 0.75,
    }
    verdict, words = graded(parts)
    if not (parts["smaller gap"] or parts["lower validation error"]):
        verdict = "refuted"  # whatever it costs, it does not regularise
    said = "; ".join(
        f"B = {size}: {give(found['gap'][i])}, {np.median(found['seconds'][i]):.2g} s, {found['rises'][i].mean():.0%}"
        for i, size in enumerate(sizes)
    )
    why = f"Gap, CPU-seconds and epochs that rise, {said}. Batches of {sizes[0]} against all rows: {words}."
    gap = found["gap"]
    return [
        Finding("B027", "small batches regularise", gap.mean(1).tolist(), gap.std(1, ddof=1).tolist(), verdict, why)
    ]


def tables(evidence: Evidence) -> dict[str, Table]:
    """Rate, errors, gap, time and stability by batch size: means over seeds."""
    means = {key: value.mean(1).tolist() for key, value in _numbers(evidence).items()}
    columns = {
        "batch": evidence["sizes"],
        "rate": np.asarray(evidence["rates"]).tolist(),
        "training error": means["train"],
        "validation error": means["valid"],
        "gap": means["gap"],
        "seconds": means["seconds"],
        "epochs that rise": [f"{share:.0%}" for share in means["rises"]],
    }
    return {"sizes": Table(columns, "Means over seeds")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Training and validation error against epochs by batch size: medians over seeds."""
    at = np.arange(evidence["train"].shape[-1])
    lines = {
        title: {f"B = {size}": (at, np.median(evidence[key][i], axis=0)) for i, size in enumerate(evidence["sizes"])}
        for key, title in (("train", "training"), ("valid", "validation"))
    }
    return {"sizes": plots.panels(lines, x="epoch", label="mean squared error", log=True)}
