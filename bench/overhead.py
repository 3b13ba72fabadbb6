"""What the trainer and its callbacks cost beside the bare loop, in alternating whole epochs of one long training.

    k epochs of ours, k of the bare loop, k of ours, ...      with start-up: whole trainings, from building to the end

The callbacks are those of `fit` with `patience`: early stopping that keeps the best weights, and progress, off-screen.
Bar: at most 10 % more on both nets.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from math import ceil
from time import perf_counter
from typing import NamedTuple

import torch
from torch import Tensor

from ftheta.data import Rows
from ftheta.likelihoods import Categorical
from ftheta.nn import MLP
from ftheta.train import Callback, Context, EarlyStopping, Progress, Supervised, Trainer, iterate

from . import bare, mnist_size, small
from ._peers import Shape
from ._report import Line, Report
from ._timing import Settings, alternate, ratios, summarise, threads

__all__ = ["Turns", "run"]

WARM = 2  # blocks that only warm up


class Turns(Callback):
    """Every `block` rounds: stop the clock of ours, time the other, go on. Comes last of the callbacks.

    Args:
        other: Makes one round of the other, with `count` threads.
        block: Rounds of a turn.
        count: Threads of the other.
        clock: Seconds.
    """

    def __init__(
        self, other: Callable[[], None], block: int, count: int, clock: Callable[[], float] = perf_counter
    ) -> None:
        self.other, self.block, self.count, self.clock = other, block, count, clock
        self.ours: list[float] = []
        self.others: list[float] = []

    def on_start(self, ctx: Context) -> None:
        """Our clock runs."""
        self.begin = self.clock()

    def on_row(self, ctx: Context, row: Mapping[str, float]) -> None:
        """The turn of the other."""
        if ctx.round % self.block:
            return
        self.ours.append(self.clock() - self.begin)
        gc.collect(1)
        own = torch.get_num_threads()
        torch.set_num_threads(self.count)
        begin = self.clock()
        for _ in range(self.block):
            self.other()
        self.others.append(self.clock() - begin)
        torch.set_num_threads(own)
        gc.collect(1)
        self.begin = self.clock()


class Task(NamedTuple):
    """A net, its rows and the best of the bare loop on them."""

    shape: Shape
    x: Tensor
    y: Tensor
    choice: bare.Choice
    block: int

    @property
    def steps(self) -> int:
        """Steps of a block."""
        return self.block * ceil(len(self.x) / self.shape.batch_size)

    def trainer(self) -> Trainer:
        """Ours."""
        net = MLP(self.shape.widths[0], self.shape.widths[-1], self.shape.widths[1:-1])
        source = Rows(self.x, self.y, batch_size=self.shape.batch_size)
        return Trainer(Supervised(net, Categorical()), source, lr=self.shape.lr)

    def bare_epoch(self) -> Callable[[], None]:
        """One epoch of the bare loop, on a net of its own."""
        net = bare.net(self.shape.widths)
        opt = bare.optimizer(net, self.shape.lr, self.choice.kernel)
        return lambda: bare.epoch(net, opt, self.x, self.y, self.shape.batch_size)


def callbacks() -> list[Callback]:
    """What `fit` uses when it has `patience`; without validation the training loss is watched."""
    return [EarlyStopping(None), Progress(False)]


def run(settings: Settings) -> Report:
    """Both nets, without and with start-up."""
    report = Report("overhead", "Trainer, EarlyStopping and Progress beside the bare loop", "a step")
    for name, task in _tasks(settings).items():
        with threads(max(settings.counts)):  # of which ours takes what it likes
            turns = _in_turns(task, WARM + (2 if settings.quick else 5 * settings.repetitions))
        report.lines += _lines(name, turns.ours[WARM:], turns.others[WARM:], task, 1, mnist_size.WITHIN)
        blocks = 1 if settings.quick else 5
        whole = _whole(task, blocks, settings)
        report.lines += _lines(f"{name} with start-up", whole["ours"], whole["bare"], task, blocks, None)
    return report


def _tasks(settings: Settings) -> dict[str, Task]:
    n, blocks = (256, (1, 1)) if settings.quick else (6000, (10, 2))
    given = {"20-100-3": (small.SHAPE, small.rows(0)), "784-256-64-10": (mnist_size.SHAPE, mnist_size.rows(0, n))}
    tasks = {}
    for (name, (shape, rows)), block in zip(given.items(), blocks, strict=True):
        x, y = torch.from_numpy(rows.narrow), torch.from_numpy(rows.y)
        choice = bare.best(x, y, shape.widths, shape.batch_size, settings)
        tasks[name] = Task(shape, x, y, choice, block)
    return tasks


def _in_turns(task: Task, blocks: int) -> Turns:
    turns = Turns(task.bare_epoch(), task.block, task.choice.threads)
    iterate(task.trainer(), rounds=blocks * task.block, callbacks=[*callbacks(), turns])
    return turns


def _whole(task: Task, blocks: int, settings: Settings) -> dict[str, list[float]]:
    def trained(seed: int) -> None:
        iterate(task.trainer(), rounds=blocks * task.block, callbacks=callbacks())

    def bare_loop(seed: int) -> None:
        epoch = task.bare_epoch()
        for _ in range(blocks * task.block):
            epoch()

    counts = {"ours": max(settings.counts), "bare": task.choice.threads}
    runs = {"ours": trained, "bare": bare_loop}
    return alternate(runs, settings.repetitions, around=lambda name: threads(counts[name]))


def _lines(
    name: str, ours: list[float], others: list[float], task: Task, blocks: int, asked: float | None
) -> list[Line]:
    each = 1 / (blocks * task.steps)
    return [
        Line(f"{name}: ours", summarise(ours).scaled(each)),
        Line(
            f"{name}: bare loop, {task.choice.kernel}",
            summarise(others).scaled(each),
            task.choice.threads,
            ratios(others, ours),
            asked,
        ),
    ]
