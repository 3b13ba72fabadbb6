"""Logistic regression beside scikit-learn's lbfgs: 20,000 MNIST digits, 10 classes, pixels in [0, 1], C = 1.

    Σ_i -log p(y_i | x_i) / n + Σ w² / (2n)        the loss of everybody is computed again in float64

Everybody stops at a gradient of 1e-4, the tolerance that scikit-learn comes with. scikit-learn runs as installed, then
with the count of threads that is best for it; then once so with steps enough to reach its tolerance, which those it
comes with do not. Bars: 2 times as fast as installed and 1.5 times at its best, at a loss that is not above theirs, for
float64; float32 is told beside it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as Peer

from ftheta.data import load
from ftheta.models import LogisticRegression

from ._report import Line, Report
from ._timing import Settings, alternate, fastest, ratios, summarise, threads

__all__ = ["digits", "loss", "run"]

N, ENOUGH, MOST = 20_000, 1000, 5  # rows, steps and repetitions: each takes seconds
LONGER = f"best threads, {ENOUGH} steps"
ASKED = {"as installed": 2.0, "best threads": 1.5}


def digits(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The first digits of MNIST, or as many made ones where there is no MNIST to be found in a quick run."""
    if n < N:
        rng = np.random.default_rng(0)
        return rng.uniform(size=(n, 784)), np.arange(n) % 10
    data = load("mnist")
    return np.asarray(data.x[:n], dtype=np.float64) / np.max(data.x[:n]), np.asarray(data.y)[:n].astype(int)


def loss(model: Any, x: np.ndarray, y: np.ndarray) -> float:
    """What all of them minimize, in float64."""
    w, b = model.coef_.astype(np.float64), model.intercept_.astype(np.float64)
    raw = x @ w.T + b
    return float(np.mean(logsumexp(raw, axis=1) - raw[np.arange(len(y)), y]) + np.sum(w * w) / (2 * len(y)))


def theirs(x: np.ndarray, y: np.ndarray, steps: int, repetition: int = 0) -> Peer:
    """scikit-learn's, its warning that 100 steps are too few put aside."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return Peer(C=1.0, max_iter=steps).fit(x, y)


def ours(x: np.ndarray, y: np.ndarray, repetition: int = 0) -> LogisticRegression:
    """Ours, with the tolerance of scikit-learn."""
    return LogisticRegression(l2=1 / (2 * len(x)), epochs=ENOUGH, tol=1e-4).fit(x, y)


def run(settings: Settings) -> Report:
    """float64 first, then float32."""
    x, y = digits(200 if settings.quick else N)
    report = Report("logistic", f"{len(x):,} x 784, 10 classes, C = 1", "fit", dtype="float64 and float32")
    for dtype in (np.float64, np.float32):
        _compared(report, x.astype(dtype), x, y, settings)
    return report


def _compared(report: Report, given: np.ndarray, x: np.ndarray, y: np.ndarray, settings: Settings) -> None:
    name, found = given.dtype.name, {}
    runs: dict[str, Callable[[int], Any]] = {"ours": partial(ours, given, y)}
    counts: dict[str, int | None] = {"ours": None}
    if not settings.quick:
        few = {count: partial(theirs, given, y, 10) for count in settings.counts}
        best = fastest(few, 2, around=threads)
        counts |= {"as installed": None, "best threads": best}
        runs |= {who: partial(theirs, given, y, 100) for who in ASKED}
    around = lambda who: threads(count) if (count := counts[who]) else nullcontext()  # noqa: E731
    timed = partial(alternate, around=around, done=lambda who, _, model: found.update({who: model}))
    times = timed(runs, min(settings.repetitions, MOST))
    if not settings.quick and given.dtype == np.float64:
        counts[LONGER] = counts["best threads"]
        times |= timed({LONGER: partial(theirs, given, y, ENOUGH)}, 1)
    bars = ASKED if given.dtype == np.float64 else {}
    for who, t in times.items():
        ratio = None if who == "ours" else ratios(t, times["ours"][-len(t) :])
        label = who if who == "ours" else f"scikit-learn, {who}"
        report.lines.append(Line(f"{label} ({name})", summarise(t), counts[who], ratio, bars.get(who)))
        model = found[who]
        steps = int(np.max(model.n_iter_))
        report.notes.append(f"{name}, {label}: loss {loss(model, x, y):.8f} after {steps} steps.")
