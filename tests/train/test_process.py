"""Processes of a few attributes, several in order as one, and observers of every loop in a block."""

from contextlib import contextmanager
from math import inf

import numpy as np
import pytest
import torch
from torch import nn

from ftheta.data import Rows
from ftheta.errors import FThetaError
from ftheta.store import Run
from ftheta.train import Callback, EarlyStopping, Phases, Steps, Supervised, Trainer, iterate, watched
from tests.train._toys import line, same, seeded, square


class Halving(Steps):
    """x <- x / 2 until it is below 1; two steps per round."""

    kept = ("x", "n", "trail")

    def __init__(self, x):
        self.x, self.n, self.trail = np.array([float(x)]), 0, []

    def advance(self):
        self.x /= 2
        self.n += 1
        self.trail.append(self.x.copy())
        self.reason = "below 1" if self.x[0] < 1 else ""
        return {"x": float(self.x[0])} if self.n % 2 == 0 or self.reason else None


def test_the_state_of_steps_is_a_copy_of_its_attributes():
    process = Halving(64)
    iterate(process, steps=3)
    kept = process.state_dict()
    process.advance()
    assert kept["x"] == 8 and kept["n"] == 3 and len(kept["trail"]) == 3
    other = Halving(1)
    other.load_state_dict(kept)
    other.advance()
    assert same(other.state_dict(), process.state_dict()) and kept["x"] == 8


def test_steps_resume_and_end_by_themselves(tmp_path):
    alone = iterate(Halving(64))
    assert [row["x"] for row in alone] == [16, 4, 1, 0.5]
    iterate(Halving(64), steps=3, run=Run(tmp_path))
    assert iterate(Halving(64), run=Run(tmp_path)) == alone
    assert iterate(Halving(64), run=Run(tmp_path)) == alone  # nothing left to do


def test_the_scope_of_each_phase_is_open_while_it_is_under_way():
    seen = []

    class Scoped(Halving):
        @contextmanager
        def scope(self):
            seen.append("open")
            yield
            seen.append("closed")

        def advance(self):
            seen.append("step")
            return super().advance()

    iterate(Phases([(lambda: Scoped(64), 1), (lambda: Scoped(64), 1)]))
    assert seen == 2 * ["open", "step", "step", "closed"]


def two_layers():
    """A first layer is trained, then a second one on its outputs."""
    x, y = line()
    first, second = seeded(lambda: (nn.Linear(3, 1).double(), nn.Linear(1, 1).double()))

    def train(net, inputs):
        source = Rows(inputs, y, batch_size=8)
        return Trainer(Supervised(net, square), source, lr=0.1, validation=Rows(inputs, y, batch_size=24))

    phases = [
        (lambda: train(first, x), 3),
        (lambda: pytest.fail("no rounds"), 0),
        (lambda: train(second, first(x).detach()), 4),
    ]
    return Phases(phases), first, second


def test_phases_are_what_one_trainer_after_the_other_is():
    x, y = line()
    process, first, second = two_layers()
    history = iterate(process)
    one, two = seeded(lambda: (nn.Linear(3, 1).double(), nn.Linear(1, 1).double()))
    a = iterate(Trainer(Supervised(one, square), Rows(x, y, batch_size=8), lr=0.1), rounds=3)
    b = iterate(Trainer(Supervised(two, square), Rows(one(x).detach(), y, batch_size=8), lr=0.1), rounds=4)
    assert torch.equal(first.weight, one.weight) and torch.equal(second.weight, two.weight)
    assert [row["loss"] for row in history] == [row["loss"] for row in [*a, *b]]
    assert [row["phase"] for row in history] == [1, 1, 1, 2, 2, 2, 2]
    assert [row["epoch"] for row in history] == [1, 2, 3, 4, 5, 6, 7]
    assert [row["step"] for row in history] == [3, 6, 9, 12, 15, 18, 21] and history[-1]["rows"] == 7 * 24
    seconds = [row["seconds"] for row in history]
    assert seconds == sorted(seconds) and process.reason == "rounds"


@pytest.mark.parametrize("steps", [1, 8, 9, 10, 20, 21])
def test_phases_resume_bit_for_bit_in_any_phase(tmp_path, steps):
    process, first, second = two_layers()
    alone = iterate(process)
    iterate(two_layers()[0], steps=steps, run=Run(tmp_path))
    process, again, also = two_layers()
    history = iterate(process, run=Run(tmp_path))
    assert [{**row, "seconds": 0} for row in history] == [{**row, "seconds": 0} for row in alone]
    assert torch.equal(again.weight, first.weight) and torch.equal(also.weight, second.weight)


def test_a_phase_may_end_by_itself_and_only_the_last_is_stopped_early(tmp_path):
    def halvings():
        return Phases([(lambda: Halving(8), inf), (lambda: Halving(2), inf)])

    history = iterate(halvings())
    assert [(row["phase"], row["x"]) for row in history] == [(1, 2), (1, 0.5), (2, 0.5)]
    for steps in (4, 5):  # where the first has ended, and a step later
        folder = Run(tmp_path / str(steps))
        iterate(halvings(), steps=steps, run=folder)
        assert iterate(halvings(), run=folder) == history
    stop, kept = EarlyStopping(1, monitor="loss", min_delta=1e9, restore=False), []
    iterate(two_layers()[0], callbacks=[stop], history=kept)
    assert [row["phase"] for row in kept] == [1, 1, 1, 2, 2]
    with pytest.raises(FThetaError, match="at least 1 round"):
        Phases([(lambda: Halving(8), 0)])


class Noted(Callback):
    def __init__(self):
        self.calls, self.state = [], {"of": "the watcher"}

    def on_row(self, ctx, row):
        self.calls.append(row["x"])

    def on_end(self, ctx):
        self.calls.append(ctx.reason)


def test_watchers_see_every_loop_in_their_block_and_leave_no_trace_in_the_run(tmp_path):
    inner, outer = Noted(), Noted()
    with watched(outer):
        iterate(Halving(16), rounds=1)
        with watched(inner):
            iterate(Halving(16), rounds=1, run=Run(tmp_path / "watched"))
        iterate(Halving(16), steps=1)
    iterate(Halving(16), rounds=1, run=Run(tmp_path / "alone"))
    assert inner.calls == [4, "rounds"] and outer.calls == [4, "rounds", 4, "rounds", "steps"]
    trees = [Run(tmp_path / name).latest()[0] for name in ("watched", "alone")]
    assert same(*trees) and trees[0]["callbacks"] == []


def test_a_watcher_may_stop_a_loop_and_a_resumed_one_goes_on(tmp_path):
    class Cancel(Callback):
        def on_step(self, ctx):
            ctx.stop("interrupted")

    with watched(Cancel()):
        iterate(process := Halving(64), run=Run(tmp_path))
    assert process.n == 1
    assert iterate(Halving(64), run=Run(tmp_path)) == iterate(Halving(64))
