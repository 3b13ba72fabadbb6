"""Predictions of a saved forest and of saved boosting for 1,000,000 rows, beside scikit-learn's own.

    CPU time of predict, 20 columns, one thread

Ours were saved, loaded and checked; theirs are fitted to the same rows with the same settings. Bar: within 5 %.
"""

from __future__ import annotations

import tempfile
from time import process_time
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from ftheta import BoostingClassifier, ForestClassifier, load

from ._report import Line, Report
from ._timing import Settings, alternate, ratios, summarise, threads

__all__ = ["models", "run"]

ASKED = 1 / 1.05  # theirs / ours
TREES: dict[str, Any] = {"n_estimators": 30, "max_depth": 12, "random_state": 0}
STEPS: dict[str, Any] = {"max_iter": 100, "early_stopping": False, "random_state": 0}


def models(x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    """Ours, loaded from a file, and scikit-learn's."""
    found: dict[str, Any] = {}
    for name, made in {
        "forest": ForestClassifier(**TREES),
        "boosting": BoostingClassifier(n_estimators=STEPS["max_iter"], early_stopping=False, random_state=0),
    }.items():
        with tempfile.TemporaryDirectory() as folder:
            found[f"ours, {name}"] = load(made.fit(x, y).save(f"{folder}/model"))
    found["scikit-learn, forest"] = RandomForestClassifier(**TREES).fit(x, y)
    found["scikit-learn, boosting"] = HistGradientBoostingClassifier(**STEPS).fit(x, y)
    return found


def run(settings: Settings) -> Report:
    """All in turns, on one thread."""
    n, learned = (500, 300) if settings.quick else (1_000_000, 20_000)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, 20))
    y = np.digitize(x[:, 0] + np.sin(2 * x[:, 1]) + x[:, 2] * x[:, 3], [-0.5, 0.5])
    with threads(1):
        made = models(x[:learned], y[:learned])
        runs = {who: lambda _, model=model: model.predict(x) for who, model in made.items()}
        answers = {who: predict(0) for who, predict in runs.items()}
        times = alternate(runs, settings.repetitions, clock=process_time)
    report = Report("forest", f"predictions for {n:,} rows of 20 columns, saved models, CPU time", "all")
    for name in ("forest", "boosting"):
        ours, theirs = times[f"ours, {name}"], times[f"scikit-learn, {name}"]
        report.lines.append(Line(f"ours, {name}", summarise(ours), 1))
        report.lines.append(Line(f"scikit-learn, {name}", summarise(theirs), 1, ratios(theirs, ours), ASKED))
    same = np.mean(answers["ours, boosting"] == answers["scikit-learn, boosting"])
    report.notes = [f"Predictions of boosting that are the same: {same:.4%}."]
    return report
