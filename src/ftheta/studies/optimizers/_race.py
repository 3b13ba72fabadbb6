"""The races of this chapter: one curve, one network, several rules from the same start.

    y = sin(x²) + level · sd(sin x²) · ε,   x ~ U[0, 3],   ε ~ N(0, 1);      z = (x - 1.5) √(4/3), which has variance 1
    f(z) = one hidden layer of tanh units, LeCun's start;    minimized: half the mean squared error;    shown: the whole

One epoch is one pass over the rows: one update from all of them, or N / B from batches of B; for L-BFGS one iteration,
which evaluates the loss as often as its line search asks for. Rates come from the grid 1, 0.3, 0.1, 0.03, 0.01, chosen
on draws that no race uses. Seconds are those of the process on its CPU; looking at the errors does not count.

Shapes: C cells, R rules, S seeds, E epochs; curves start before the first update, so that they have E + 1 points.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...data import Rows
from ...draw import Draw
from ...errors import NonFiniteError
from ...likelihoods import Gaussian
from ...nn import MLP
from ...train import Callback, Context, Supervised, Trainer, Training, iterate

RATES = (1.0, 0.3, 0.1, 0.03, 0.01)
OWN_STEP = ("lbfgs", "lm")  # rules that find the length of their steps themselves
BATCH = 25  # rows a batch of `sgd`, where nothing else is said
VALID = 1000  # validation rows
DIVERGED = 1e6  # mean squared error from which on a training has diverged
TUNING = 1000  # first of the seeds on which rates are chosen
VARIANCE = 0.3703  # of sin x² over [0, 3]


class Task(NamedTuple):
    """What is learned, by which network and for how long."""

    level: float = 0.0  # standard deviation of the noise, in those of the curve
    hidden: int = 50  # units
    rows: int = 200  # of training
    epochs: int = 200
    batch: int = 0  # its rows; 0: all, and `BATCH` for `sgd`
    goal: float = 0.0  # training error at which a race ends


class Track(NamedTuple):
    """One training, epoch by epoch: mean squared errors on training and validation rows, CPU-seconds."""

    train: np.ndarray  # (E + 1,)
    valid: np.ndarray
    seconds: np.ndarray

    def padded(self, epochs: int) -> Track:
        """What ended early stays where it is."""
        return Track(*(np.pad(part, (0, epochs + 1 - len(part)), mode="edge") for part in self))


def curve_rows(n: int, level: float, draw: Draw) -> tuple[Tensor, Tensor]:
    """n rows of the curve: z (n, 1) and y (n,)."""
    generator = draw.generator("rows")
    x = 3 * torch.rand(n, generator=generator, dtype=torch.float64)
    noise = torch.randn(n, generator=generator, dtype=torch.float64)
    return ((x - 1.5) * math.sqrt(4 / 3))[:, None], torch.sin(x**2) + level * math.sqrt(VARIANCE) * noise


class _Watch(Callback):
    """Notes the errors on all rows before training and after each epoch, and stops its clock while it looks."""

    def __init__(self, net: MLP, parts: Sequence[tuple[Tensor, Tensor]], goal: float) -> None:
        self.net, self.parts, self.goal = net, parts, goal
        self.found: list[list[float]] = []
        self.spent = 0.0

    def on_start(self, ctx: Context) -> None:
        self.clock = time.process_time()
        self.on_row(ctx, {})
        self.found[0][-1] = self.spent = 0.0

    def on_row(self, ctx: Context, row: Mapping[str, float]) -> None:
        self.spent += time.process_time() - self.clock
        with torch.no_grad():
            errors = [float((self.net(z)[:, 0] - y).square().mean()) for z, y in self.parts]
        self.found.append([*errors, self.spent])
        if not self.goal < errors[0] < DIVERGED:
            ctx.stop("arrived or diverged")
        self.clock = time.process_time()


def race(task: Task, rule: str, lr: float | None, seed: int, training: Training | None = None) -> Track:
    """Train with one rule; rows and start depend on the seed and the task, not on the rule."""
    sizes = {"train": task.rows, "valid": VALID}
    parts = [curve_rows(n, task.level, Draw(seed).at(part)) for part, n in sizes.items()]
    with Draw(seed).at("build").scope():
        net = MLP(1, 1, (task.hidden,), activation="tanh", init="lecun").double()
    source = Rows(*parts[0], batch_size=task.batch or (BATCH if rule == "sgd" else task.rows))
    trainer = Trainer(
        Supervised(net, Gaussian()),
        source,
        optimizer=rule,
        lr=lr,
        training=training or Training(options={"max_iter": 1} if rule == "lbfgs" else {}, threads=1),
        horizon=task.epochs * len(source),
        seed=seed,
    )
    watch = _Watch(net, parts, task.goal)
    try:
        iterate(trainer, rounds=task.epochs, callbacks=[watch])
    except NonFiniteError:
        watch.found.append([DIVERGED, DIVERGED, watch.spent])
    return Track(*np.minimum(watch.found, DIVERGED).T)


def _log_mean(track: Track) -> float:
    """Mean of the log of the training error over epochs: low for what is fast, and for what ends low."""
    return float(np.log(track.train).mean())


def tuned(
    task: Task, rule: str, seeds: int, score: Callable[[Track], float] = _log_mean, training: Training | None = None
) -> float:
    """The rate of the grid with the least score, summed over seeds of its own; 0 for rules that need none."""

    def total(lr: float) -> float:
        tracks = [race(task, rule, lr, TUNING + seed, training) for seed in range(seeds)]
        return sum(score(track if task.goal else track.padded(task.epochs)) for track in tracks)

    return 0.0 if rule in OWN_STEP else min(RATES, key=total)
