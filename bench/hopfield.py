"""A thousand digits-sized cues recalled at once beside loops over them.

    x <- sign(W x),     N = 784 units, ten stored patterns of random signs, cues with 20 % of their signs changed

The loops are what tutorials show: each cue by itself until it rests, all units at once or one after the other. Ours
moves all cues together, by way of their overlaps with the patterns: W = V Vᵀ + diag(d) with ten columns in V. Everybody
has one thread and ends in the same states. Bars: 20 times the loop, in both ways of updating.
"""

from __future__ import annotations

import numpy as np

from ftheta.models import HopfieldNetwork

from ._report import Line, Report
from ._timing import Settings, alternate, ratios, summarise, threads

__all__ = ["at_once", "one_by_one", "run"]

AT_LEAST = 20.0
STEPS = 100


def at_once(w: np.ndarray, cues: np.ndarray) -> np.ndarray:
    """A loop over cues, all units of each at once."""
    ends = []
    for x in cues:
        for _ in range(STEPS):
            new = np.sign(w @ x)
            if np.array_equal(new, x):
                break
            x = new
        ends.append(x)
    return np.array(ends)


def one_by_one(w: np.ndarray, cues: np.ndarray) -> np.ndarray:
    """A loop over cues, one unit after the other in a random order."""
    rng, ends = np.random.default_rng(0), []
    for cue in cues:
        x = cue.copy()
        for _ in range(STEPS):
            before = x.copy()
            for i in rng.permutation(len(x)):
                x[i] = 1.0 if w[i] @ x >= 0 else -1.0
            if np.array_equal(before, x):
                break
        ends.append(x)
    return np.array(ends)


def run(settings: Settings) -> Report:
    """Recall of 1,000 cues."""
    n, part = (40, 20) if settings.quick else (1000, 20)
    rng = np.random.default_rng(0)
    patterns = rng.choice([-1.0, 1.0], (10, 784))
    meant = patterns[np.arange(n) % 10]
    cues = np.where(rng.random(meant.shape) < 0.2, -meant, meant)
    nets = {how: HopfieldNetwork(update=how, random_state=0).fit(patterns) for how in ("synchronous", "asynchronous")}
    w = nets["synchronous"].weights_
    runs = {
        "ours, synchronous": lambda _: nets["synchronous"].recall(cues),
        "loop, synchronous": lambda _: at_once(w, cues),
        "ours, asynchronous": lambda _: nets["asynchronous"].recall(cues),
        "loop, asynchronous": lambda _: one_by_one(w, cues[:part]),
    }
    with threads(1):
        right = {
            who: bool((np.asarray(f(0)) == meant[: part if "loop, a" in who else n]).all()) for who, f in runs.items()
        }
        times = alternate(runs, settings.repetitions)
    times["loop, asynchronous"] = [t * n / part for t in times["loop, asynchronous"]]
    report = Report("hopfield", f"recall of {n:,} cues, 784 units, 10 patterns", "all cues", dtype="float64")
    for who, t in times.items():
        loop = who.startswith("loop")
        ratio = ratios(t, times[who.replace("loop", "ours")]) if loop else None
        report.lines.append(Line(who, summarise(t), 1, ratio, AT_LEAST if loop else None))
    report.notes = [
        f"The asynchronous loop is timed over {part} cues and scaled to all.",
        f"Every cue ends in its pattern: {all(right.values())}.",
    ]
    return report
