"""Which rule reaches a given loss in the fewest epochs, and which in the least time?

Question: 200 rows of y = sin x² with 25 % noise, 50 tanh units: epochs and CPU-seconds until the training error is at
most floor + 0.2 var(sin x²) = 0.097, for first-order rules, L-BFGS and Levenberg-Marquardt. (Data and network: see
`_race`; here the rate of the grid is the one that needs the fewest epochs.)

    floor = 0.25² var(sin x²),      cost of an epoch = seconds / epochs

Cost: about 20 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import optim, plots
from ...results import Table
from .._study import Evidence, Finding, pieces
from ._race import NAMES, VARIANCE, Task, Track, graded, race, tuned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B031": "corrected"}
RULES = tuple(rule for rule in NAMES if rule in optim.RULES)
DEAR = 1.5  # how many times a step of GD one of a Newton-type rule must cost to be seen
NEWTON = ("lbfgs", "lm")


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        level: Standard deviation of the noise, in those of the curve.
        above: Error above the noise's variance at which a race ends, in variances of the curve.
        hidden: Units of the network.
        rows: Training rows.
        epochs: Passes at most.
        seeds: Draws of rows, noise and weights.
    """

    level: float = 0.25
    above: float = 0.2
    hidden: int = 50
    rows: int = 200
    epochs: int = 1000
    seeds: int = 9


TINY = Config(above=0.8, hidden=10, rows=40, epochs=40, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Epochs and seconds to the goal, (R, S), NaN where it was not reached; rates (R,)."""
    goal = (config.level**2 + config.above) * VARIANCE
    task = Task(config.level, config.hidden, config.rows, config.epochs, goal=goal)
    found = pieces(_rule, [(task, rule, config.seeds) for rule in RULES], run)
    return {key: np.array([one[key] for one in found]) for key in found[0]} | {"rules": list(RULES), "goal": goal}


def _rule(task: Task, rule: str, seeds: int) -> Evidence:
    def epochs(track: Track) -> float:
        return len(track.train) - 1 if track.train[-1] <= task.goal else 2.0 * task.epochs

    rate = tuned(task, rule, 1, epochs)
    tracks = [race(task, rule, rate or None, seed) for seed in range(seeds)]
    return {
        "rates": rate,
        "epochs": np.array([len(track.train) - 1 for track in tracks]),
        "seconds": np.array([track.seconds[-1] for track in tracks]),
        "reached": np.array([track.train[-1] <= task.goal for track in tracks]),
    }


def _medians(evidence: Evidence) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
    """Epochs and seconds to the goal (infinite where most seeds never reach it) and seconds an epoch, by rule."""
    need = {key: np.where(evidence["reached"], evidence[key], np.inf) for key in ("epochs", "seconds")}
    each = np.median(evidence["seconds"] / evidence["epochs"], axis=1)
    epochs, seconds = (dict(zip(evidence["rules"], np.median(need[key], axis=1).tolist(), strict=True)) for key in need)
    return epochs, seconds, dict(zip(evidence["rules"], each.tolist(), strict=True))


def judge(evidence: Evidence) -> list[Finding]:
    """B031: GD is poor in epochs and in time, mini-batches need more epochs, a Newton-type step shows its cost."""
    epochs, seconds, each = _medians(evidence)
    newton = [rule for rule in NEWTON if rule in epochs]
    parts = {
        "GD needs most epochs": all(epochs["gd"] > epochs[rule] for rule in epochs if rule != "gd"),
        "GD needs most seconds": all(seconds["gd"] > seconds[rule] for rule in seconds if rule != "gd"),
        "mini-batch GD needs more epochs than Nesterov, Adam and L-BFGS": all(
            epochs["sgd"] > epochs[rule] for rule in ("nesterov", "adam", "lbfgs")
        ),
        f"a Newton-type epoch costs {DEAR} of GD's or more": all(each[r] >= DEAR * each["gd"] for r in newton),
    }
    verdict, words = graded(parts)
    said = ", ".join(f"{NAMES[r]} {epochs[r]:.0f} and {seconds[r]:.2g} ({1e3 * each[r]:.2g} ms each)" for r in epochs)
    why = f"Epochs and CPU-seconds until the training error is {evidence['goal']:.3f}: {said}. {words}."
    measured = [[epochs[r] if np.isfinite(epochs[r]) else None for r in epochs], list(each.values())]
    printed = "GD poor on both; others good; mini-batch possibly more epochs; Newton-type steps cost time"
    return [Finding("B031", printed, measured, evidence["epochs"].std(1, ddof=1).tolist(), verdict, why)]


def tables(evidence: Evidence) -> dict[str, Table]:
    """Rate, epochs and CPU-seconds to the goal, and milliseconds an epoch: medians over seeds."""
    epochs, seconds, each = _medians(evidence)
    columns = {
        "rule": [NAMES[rule] for rule in epochs],
        "rate": [float(rate) or None for rate in evidence["rates"]],
        "reached": [f"{share:.0%}" for share in evidence["reached"].mean(1)],
        "epochs": [epochs[r] if np.isfinite(epochs[r]) else None for r in epochs],
        "seconds": [seconds[r] if np.isfinite(seconds[r]) else None for r in epochs],
        "ms an epoch": [1e3 * value for value in each.values()],
    }
    return {"speed": Table(columns, f"To a training error of {evidence['goal']:.3f}, medians over seeds")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Epochs and CPU-seconds to the goal: quartiles over the seeds that reached it."""
    names = [NAMES[rule] for rule in evidence["rules"]]
    units = {"epochs": "epochs to the goal", "seconds": "CPU-seconds to the goal"}
    need = {key: np.where(evidence["reached"], evidence[key], np.nan) for key in units}
    need = {key: np.where(np.isnan(v).all(1, keepdims=True), evidence[key], v) for key, v in need.items()}
    q = {key: np.nanquantile(v, [0, 0.25, 0.5, 0.75, 1], axis=1).T for key, v in need.items()}
    return {key: plots.layers(names, q[key], label=label, log=True) for key, label in units.items()}
