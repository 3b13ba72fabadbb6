"""Persistent contrastive divergence: a restricted Boltzmann machine of 784-100 units, batch 10, beside scikit-learn's.

    W ~ N(0, 0.01²), rate 0.01, three epochs; rows in [0, 1] as users have them (float64), used as probabilities

Ours is the estimator, through the one training loop, in float32. The plain loop is the same arithmetic in PyTorch with
nothing around it. Bars: 4 times scikit-learn as it is installed, 1.5 times with the thread count that suits it best.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.neural_network import BernoulliRBM

from ftheta.models import RestrictedBoltzmannMachine
from ftheta.models.energy.rbm_net import RBM

from ._report import Line, Report
from ._timing import CORES, Settings, alternate, compare, fastest, ratios, summarise, threads
from .mnist_size import images

__all__ = ["run"]

ASKED = {"scikit-learn as installed": 4.0, "scikit-learn at its best": 1.5}
HIDDEN, BATCH, RATE, EPOCHS, SCORED = 100, 10, 0.01, 3, 100


class Weights(NamedTuple):
    """What was learned: W (H, V), b (V,), c (H,)."""

    weight: Any
    visible_bias: Any
    hidden_bias: Any


def ours(x: np.ndarray, seed: int) -> Weights:
    """The estimator."""
    knobs: dict[str, Any] = {"batch_size": BATCH, "lr": RATE, "epochs": EPOCHS, "random_state": seed}
    made = RestrictedBoltzmannMachine(n_hidden=HIDDEN, start_at_means=False, **knobs).fit(x)
    return Weights(*(made.module_.get_parameter(name) for name in Weights._fields))


def theirs(x: np.ndarray, seed: int) -> Weights:
    """scikit-learn's."""
    knobs: dict[str, Any] = {"batch_size": BATCH, "learning_rate": RATE, "n_iter": EPOCHS, "random_state": seed}
    made = BernoulliRBM(n_components=HIDDEN, **knobs).fit(x)
    return Weights(made.components_, made.intercept_visible_, made.intercept_hidden_)


def plain(x: np.ndarray, seed: int) -> Weights:
    """The same arithmetic, and nothing around it."""
    g, rows, rate = torch.Generator().manual_seed(seed), torch.tensor(x, dtype=torch.float32), RATE / BATCH
    w, h = 0.01 * torch.randn(HIDDEN, rows.shape[1], generator=g), torch.zeros(BATCH, HIDDEN)
    b, c = torch.zeros(rows.shape[1]), torch.zeros(HIDDEN)
    orders = [torch.randperm(len(rows), generator=g) for _ in range(EPOCHS)]
    for index in (part for order in orders for part in order.split(BATCH)):
        v = rows[index]
        p = torch.addmm(c, v, w.t()).sigmoid_()
        made = torch.addmm(b, h, w).sigmoid_()
        made = (torch.rand(made.shape, generator=g) < made).float()
        q = torch.addmm(c, made, w.t()).sigmoid_()
        w.addmm_(p.t(), v, alpha=rate).addmm_(q.t(), made, alpha=-rate)
        b.add_(v.sum(0) - made.sum(0), alpha=rate)
        c.add_(p.sum(0) - q.sum(0), alpha=rate)
        h = (torch.rand(q.shape, generator=g) < q).float()
    return Weights(w, b, c)


def score(weights: Weights, x: np.ndarray) -> float:
    """Mean log-pseudo-likelihood of the first rows over all bits, in nats."""
    machine = RBM(x.shape[1], HIDDEN)
    with torch.no_grad():
        for name, value in weights._asdict().items():
            machine.get_parameter(name).copy_(torch.as_tensor(value))
    return float(machine.log_conditionals(torch.tensor(x[:SCORED], dtype=torch.float32)).sum(1).mean())


def run(settings: Settings) -> Report:
    """Epochs over 12,000 digits, beginning and end of a fit included."""
    n = 100 if settings.quick else 12_000
    x, _, name = images(n)
    at = {count: lambda _: theirs(x[:2000], 0) for count in settings.counts}
    best = fastest(at, around=threads)
    contestants: dict[str, tuple[Callable[[np.ndarray, int], Weights], int]] = {
        "ours": (ours, CORES),
        "scikit-learn as installed": (theirs, CORES),
        "scikit-learn at its best": (theirs, best),
        "plain PyTorch loop": (plain, 1),
    }
    for fit, count in contestants.values():
        with threads(count):
            fit(x[:50], 0)  # warm up
    scores: dict[str, list[float]] = {who: [] for who in contestants}
    times = alternate(
        {who: lambda seed, f=fit: f(x, seed) for who, (fit, _) in contestants.items()},
        settings.repetitions,
        around=lambda who: threads(contestants[who][1]),
        done=lambda who, _, found: scores[who].append(score(found, x)),
    )
    report = Report("rbm", f"784-{HIDDEN} machine, PCD-1, batch {BATCH}, {n:,} rows of {name}", "an epoch")
    for who, t in times.items():
        against = None if who == "ours" else ratios(t, times["ours"])
        line = Line(who, summarise([seconds / EPOCHS for seconds in t]), contestants[who][1], against, ASKED.get(who))
        report.lines.append(line if who == "ours" else _scored(line, compare(scores[who], scores["ours"])))
    report.notes = ["The accuracy is the mean log-pseudo-likelihood over all bits, in nats, over seeds."]
    return report


def _scored(line: Line, accuracy: Any) -> Line:
    return Line(line.name, line.seconds, line.threads, line.ratio, line.at_least, accuracy=accuracy)
