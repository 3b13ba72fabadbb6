"""A hundred networks at once beside one of them, and beside a loop over all: whole fits, with checks and histories.

Bars: 100 networks 1-20-1 on 30 points in at most 5 times the time of one, so a ratio of at least 1/5; on 100 points 15
times as fast as the loop; 20-100-3 at batch 200 2.5 times as fast. A loop is timed over ten of the members.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification

from ftheta.models import MLPClassifier, MLPRegressor
from ftheta.train import fit_many

from ._report import Line, Report
from ._timing import Settings, alternate, ratios, summarise

__all__ = ["CASES", "Case", "difference", "run"]

MEMBERS = 100


class Case(NamedTuple):
    """What is trained, how many of it alone, and the ratio of that to the stack that is asked for."""

    title: str
    estimator: Any
    points: int
    epochs: int
    alone: int
    at_least: float

    def problems(self, count: int) -> list[dict[str, Any]]:
        """Data and a seed of its own for each of so many members."""
        make = _classes if isinstance(self.estimator, MLPClassifier) else _waves
        return [dict(zip("Xy", make(self.points, seed), strict=True), random_state=seed) for seed in range(count)]


WAVE = MLPRegressor(hidden=(20,), activation="tanh")
CASES = (
    Case("1-20-1 on 30 points, one network", WAVE, 30, 2000, 1, 1 / 5),
    Case("1-20-1 on 100 points, a loop", WAVE, 100, 2000, MEMBERS, 15),
    Case("20-100-3, batch 200, a loop", MLPClassifier(hidden=(100,), batch_size=200), 1000, 20, MEMBERS, 2.5),
)


def _waves(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A noisy sinusoid."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 1))
    return x, np.sin(3 * x[:, 0]) + 0.1 * rng.normal(size=n)


def _classes(n: int, seed: int) -> Any:
    return make_classification(n, 20, n_informative=10, n_redundant=5, n_classes=3, random_state=seed)


def run(settings: Settings) -> Report:
    """Each case in turns."""
    report = Report("stacked", f"{MEMBERS} networks at once, by fits of Adam", "a fit of all", against="alone/stacked")
    for case in CASES:
        estimator: Any = clone(case.estimator)
        estimator.set_params(epochs=2 if settings.quick else case.epochs)
        problems, few = case.problems(3 if settings.quick else MEMBERS), min(case.alone, 2 if settings.quick else 10)

        def alone(_: int, estimator: Any = estimator, few: Sequence[Any] = problems[:few]) -> None:
            for problem in few:
                _fit(estimator, problem)

        def stacked(_: int, estimator: Any = estimator, problems: Sequence[Any] = problems) -> None:
            fit_many(estimator, problems)

        alternate({"alone": alone, "stacked": stacked}, 1)  # warm-up
        times = alternate({"alone": alone, "stacked": stacked}, settings.repetitions)
        counted = [t * case.alone / few for t in times["alone"]]
        report.lines.append(Line(f"{case.title}: stacked", summarise(times["stacked"])))
        report.lines.append(
            Line(case.title, summarise(counted), None, ratios(counted, times["stacked"]), at_least=case.at_least)
        )
        short = estimator.set_params(epochs=min(100, estimator.epochs))
        apart = [difference(clone(short).set_params(dtype=d), problems[:3]) for d in ("float32", "float64")]  # type: ignore[union-attr]
        report.notes.append(
            f"{case.title}: after {short.epochs} epochs weights differ by {apart[0]:.1e} in float32 and {apart[1]:.1e} "
            "in float64 from those of the same network alone."
        )
    return report


def difference(estimator: Any, problems: Sequence[Any]) -> float:
    """The largest difference between a weight of a member and the same weight of the network trained alone."""
    pairs = zip(fit_many(estimator, problems), (_fit(estimator, problem) for problem in problems), strict=True)
    both = [zip(a.module_.parameters(), b.module_.parameters(), strict=True) for a, b in pairs]
    return max((p - q).abs().max().item() for pair in both for p, q in pair)


def _fit(estimator: Any, problem: dict[str, Any]) -> Any:
    member: Any = clone(estimator)
    return member.set_params(random_state=problem["random_state"]).fit(problem["X"], problem["y"])
