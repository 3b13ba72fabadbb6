"""Which columns of an MLP matter: 5,000 rows, 30 columns, 10 permutations of each, beside scikit-learn's function.

    growth of the mean absolute error,      300 predictions of 5,000 rows

Ours is `explain.importance`, with its intervals and the correlations of the columns; the permutations are the same.
`permutation_importance` copies the table for each column and asks for every prediction anew. Ours keeps the sums of the
net's first layer, to which the change of one column is added. Behind a `TableEncoder`, the rows are encoded once.
Bar: 2 times as fast on an array; both give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.inspection import permutation_importance
from sklearn.pipeline import make_pipeline

from ftheta import MLPRegressor, explain
from ftheta.data import TableEncoder

from ._report import Line, Report
from ._timing import Settings, alternate, ratios, summarise, threads

__all__ = ["problems", "run"]

REPEATS = 10
ASKED = {"scikit-learn": 2.0}
Problem = tuple[Any, Any, np.ndarray]


def problems(n: int = 5000, d: int = 30) -> dict[str, Problem]:
    """A fitted net, rows and targets: of an array, and of a frame in which every third column has levels."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, d))
    y = x @ rng.normal(size=d) + 0.5 * rng.normal(size=n)
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(d)])
    for j in range(0, d, 3):
        frame[f"x{j}"] = np.array(["low", "middle", "high"])[np.digitize(x[:, j], [-0.5, 0.5])]
    net = partial(MLPRegressor, epochs=2, random_state=0)
    return {"": (net().fit(x, y), x, y), ", a frame": (make_pipeline(TableEncoder(), net()).fit(frame, y), frame, y)}


def ours(model: Any, x: Any, y: np.ndarray) -> np.ndarray:
    """Growth of the error (D, R)."""
    found = explain.importance(model, x, y, repeats=REPEATS)
    order = np.argsort([places[0] if len(places) == 1 else x.shape[1] for places in found.members], kind="stable")
    return found.repeats[order[: x.shape[1]]]


def scikit_learn(model: Any, x: Any, y: np.ndarray) -> np.ndarray:
    """The same by its function, on one thread."""
    how: dict[str, Any] = {"scoring": "neg_mean_absolute_error", "n_repeats": REPEATS, "random_state": 0}
    found: Any = permutation_importance(model, x, y, **how)
    return found["importances"]


CONTESTANTS: dict[str, Callable[..., np.ndarray]] = {"ours": ours, "scikit-learn": scikit_learn}


def run(settings: Settings) -> Report:
    """All in turns, on one thread."""
    found: dict[str, np.ndarray] = {}
    with threads(1):
        data = problems(200, 4) if settings.quick else problems()
        runs = {f"{who}{what}": lambda _, f=f, p=p: f(*p) for what, p in data.items() for who, f in CONTESTANTS.items()}
        for solve in runs.values():
            solve(0)  # warm up
        times = alternate(runs, settings.repetitions, done=lambda who, _, made: found.update({who: made}))
    n, d = data[""][1].shape
    report = Report("importance", f"importance of an MLP, {n:,} rows, {d} columns, {REPEATS} permutations", "all")
    base = {who: times[who.replace("scikit-learn", "ours")] for who in times}
    report.lines = [
        Line(who, summarise(t), 1, None if base[who] is t else ratios(t, base[who]), ASKED.get(who))
        for who, t in times.items()
    ]
    away = max(float(np.abs(found[f"ours{what}"] - found[f"scikit-learn{what}"]).max()) for what in data)
    report.notes = [f"Ours and scikit-learn's differ by at most {away:.1e}."]
    return report
