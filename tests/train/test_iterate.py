"""The loop: when it ends, in which order it speaks, what it writes, and whom it interrupts."""

import json
import signal
import sys

import numpy as np
import pytest
import torch
from sklearn import cluster
from torch import nn

from ftheta.data import Rows, Stream
from ftheta.errors import FThetaError, RunError
from ftheta.store import Run
from ftheta.train import Callback, EarlyStopping, Supervised, Trainer, iterate
from tests.train._toys import KMeans, Settled, blobs, line, same, square


class Pairs:
    """Two steps a round; the row is the number of the step."""

    def __init__(self):
        self.n = 0

    def advance(self):
        self.n += 1
        return {"n": self.n} if self.n % 2 == 0 else None

    def state_dict(self):
        return {"n": self.n}

    def load_state_dict(self, tree):
        self.n = tree["n"]


class Diary(Callback):
    """Writes down every call."""

    def __init__(self, name="", lines=None):
        self.name, self.lines = name, [] if lines is None else lines

    def on_start(self, ctx):
        self.lines.append((self.name, "start", ctx.step, ctx.round))

    def on_step(self, ctx):
        self.lines.append((self.name, "step", ctx.step, ctx.round))

    def on_row(self, ctx, row):
        self.lines.append((self.name, "row", ctx.step, ctx.round))

    def on_end(self, ctx):
        self.lines.append((self.name, f"end: {ctx.reason}", ctx.step, ctx.round))


def test_it_ends_after_so_many_rounds_or_steps_whichever_comes_first():
    assert iterate(Pairs(), rounds=2) == [{"n": 2}, {"n": 4}]
    assert iterate(Pairs(), steps=5) == [{"n": 2}, {"n": 4}]
    assert iterate(Pairs(), rounds=3, steps=2) == [{"n": 2}]
    assert iterate(Pairs(), rounds=0) == []


def test_it_ends_when_its_time_is_used_up(monkeypatch):
    process = Pairs()  # a step takes a second
    monkeypatch.setattr(sys.modules["ftheta.train.iterate"].time, "monotonic", lambda: 100.0 + process.n)
    iterate(process, seconds=6.5)
    assert process.n == 7


def test_a_callback_ends_it_after_the_step_and_the_first_reason_counts():
    diary = Diary()

    class Enough(Callback):
        def on_step(self, ctx):
            if ctx.step == 3:
                ctx.stop("enough")
                ctx.stop("more than enough")

    iterate(Pairs(), rounds=9, callbacks=[Enough(), diary])
    assert diary.lines[-2:] == [("", "step", 3, 1), ("", "end: enough", 3, 1)]


def test_callbacks_are_called_in_their_order_and_rows_count_before_they_are_told():
    lines = []
    iterate(Pairs(), rounds=1, callbacks=[Diary("a", lines), Diary("b", lines)])
    assert lines == [
        *(("a", "start", 0, 0), ("b", "start", 0, 0)),
        *(("a", "step", 1, 0), ("b", "step", 1, 0)),
        *(("a", "step", 2, 0), ("b", "step", 2, 0)),
        *(("a", "row", 2, 1), ("b", "row", 2, 1)),
        *(("a", "end: rounds", 2, 1), ("b", "end: rounds", 2, 1)),
    ]


def test_the_end_is_told_also_after_an_error_and_the_history_survives():
    class Breaks(Pairs):
        def advance(self):
            if self.n == 3:
                raise ZeroDivisionError
            return super().advance()

    diary, history = Diary(), [{"n": 0}]
    with pytest.raises(ZeroDivisionError):
        iterate(Breaks(), rounds=9, callbacks=[diary], history=history)
    assert diary.lines[-1] == ("", "end: ", 3, 1) and history == [{"n": 0}, {"n": 2}]


def test_k_means_agrees_with_scikit_learn_from_the_same_start():
    x, start = blobs(n=300, centres=6, seed=1)
    process = KMeans(x, start)
    history = iterate(process, rounds=100, callbacks=[Settled()])
    truth = cluster.KMeans(6, init=start.numpy(), n_init=1, tol=0.0, algorithm="lloyd").fit(x.numpy())
    assert 5 < len(history) < 100
    np.testing.assert_allclose(process.centres, truth.cluster_centers_, rtol=1e-10)
    assert history[-1]["inertia"] == pytest.approx(truth.inertia_, rel=1e-10)
    assert all(a["inertia"] >= b["inertia"] for a, b in zip(history, history[1:], strict=False))


def lines_of(folder):
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key != "crc"} for row in rows]


def test_checkpoints_come_after_so_many_seconds(tmp_path, monkeypatch):
    steps = []
    monkeypatch.setattr(Run, "checkpoint", lambda self, tree, step: steps.append(step))
    clock = iter(range(10**6))
    monkeypatch.setattr(sys.modules["ftheta.train.iterate"].time, "monotonic", lambda: next(clock))
    iterate(Pairs(), steps=12, run=Run(tmp_path), every=6)
    gaps = np.diff(steps[:-1])
    assert steps[-1] == 12 and len(steps) > 3 and (gaps == gaps[0]).all() and gaps[0] > 1
    steps.clear()
    iterate(Pairs(), steps=4, run=Run(tmp_path), every=0)
    assert steps == [1, 2, 3, 4]


def test_a_checkpoint_holds_what_the_callbacks_of_its_step_have_done_and_the_last_weights(tmp_path):
    """Not the best weights, which early stopping puts back only after the last checkpoint."""
    x, y = line()
    source, held = Rows(x, y, batch_size=8), Rows(x, y, batch_size=8, shuffle=False)
    made = Trainer(Supervised(nn.Linear(3, 1).double(), square), source, optimizer="sgd", lr=0.8, validation=held)

    class Last(Callback):
        def on_step(self, ctx):
            self.weights = ctx.process.weights()

    last, stop = Last(), EarlyStopping(2)
    iterate(made, rounds=9, callbacks=[stop, last], run=Run(tmp_path), every=0)
    tree, _ = Run(tmp_path).latest()
    assert same(tree["process"]["objective"], last.weights)
    assert same(tree["callbacks"][0], ["EarlyStopping", stop.state])
    assert same(made.weights(), stop.state["weights"]) and not same(made.weights(), last.weights)


def test_rows_after_the_last_checkpoint_are_made_again_and_not_doubled(tmp_path):
    class Dies(Pairs):
        def advance(self):
            if self.n == 5:
                raise ZeroDivisionError
            return super().advance()

    iterate(Pairs(), steps=3, run=Run(tmp_path))
    with pytest.raises(ZeroDivisionError):
        iterate(Dies(), steps=9, run=Run(tmp_path))
    assert lines_of(tmp_path) == [{"n": 2}, {"n": 4}] and Run(tmp_path).latest()[1] == 3
    assert iterate(Pairs(), steps=8, run=Run(tmp_path)) == lines_of(tmp_path) == [{"n": n} for n in (2, 4, 6, 8)]


def test_callbacks_without_a_state_may_come_and_go_and_others_may_not(tmp_path):
    class Keeps(Callback):
        def __init__(self):
            self.state = []

        def on_step(self, ctx):
            self.state = [*self.state, ctx.step]

    iterate(Pairs(), steps=2, callbacks=[Diary(), Keeps(), Keeps()], run=Run(tmp_path))
    first, second = Keeps(), Keeps()
    iterate(Pairs(), steps=3, callbacks=[first, second, Signal(99)], run=Run(tmp_path))
    assert first.state == second.state == [1, 2, 3]
    expected = r"holds the state of Keeps, which is not among the callbacks now\. Pass such a callback, or choose"
    with pytest.raises(RunError, match=expected):
        iterate(Pairs(), steps=4, callbacks=[Keeps(), Diary()], run=Run(tmp_path))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("round",), "3"),
        (("round",), None),
        (("process", "place"), "abcd"),
        (("process", "place"), (1, 2)),
        (("process", "optimizers"), 3),
        (("process", "objective"), {"module.weight": torch.zeros(7)}),
        (("process", "sums"), "x"),
        (("environment",), []),
        (("callbacks",), "x"),
    ],
    ids=str,
)
def test_absurd_content_of_a_checkpoint_is_one_error(tmp_path, path, value):
    def trainer():
        objective = Supervised(torch.nn.Linear(1, 1), lambda raw, y: (raw[:, 0] - y).square())
        return Trainer(objective, Rows(torch.ones(8, 1), torch.ones(8), batch_size=4))

    iterate(trainer(), rounds=1, run=Run(tmp_path))
    tree, step = Run(tmp_path).latest()
    place = tree
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with Run(tmp_path) as run:
        run.checkpoint(tree, step + 1)
    with pytest.raises(FThetaError) as caught:
        iterate(trainer(), rounds=3, run=Run(tmp_path))
    assert str(tmp_path) in str(caught.value)


def test_a_checkpoint_of_another_process_is_refused(tmp_path):
    iterate(Pairs(), steps=2, run=Run(tmp_path))
    expected = (
        r"is not one of this process \(KeyError: 'objective'\)\. Continue it with what started it, or choose another"
    )
    with pytest.raises(RunError, match=expected):
        iterate(trainer(), rounds=1, run=Run(tmp_path))
    assert Run(tmp_path).latest()[1] == 2


def trainer(batches=None):
    x, y = line()
    source = Rows(x, y, batch_size=8) if batches is None else Stream(batches, length=2)
    return Trainer(Supervised(nn.Linear(3, 1).double(), square), source)


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("torch", lambda p: p.setattr(torch, "__version__", "2.99.0"), r"torch 2\.\d+\.\d+\S*, now 2\.99\.0"),
        ("threads", lambda p: p.setattr(torch, "get_num_threads", lambda: 7), "threads 1, now 7"),
        ("machine", lambda p: p.setattr("platform.machine", lambda: "abacus"), r"machine \w+, now abacus"),
    ],
)
def test_other_conditions_are_said_and_need_consent(tmp_path, monkeypatch, name, change, said):
    iterate(trainer(), steps=4, run=Run(tmp_path))
    change(monkeypatch)
    expected = rf"was made with {said}: results will not be bit-exact\. Add --allow-inexact to go on"
    with pytest.raises(RunError, match=expected):
        iterate(trainer(), rounds=3, run=Run(tmp_path))
    made = trainer()
    assert len(iterate(made, rounds=3, run=Run(tmp_path, allow_inexact=True))) == 3 and made.step == 9


class Signal(Callback):
    """Sends signals to this process in the middle of a step."""

    def __init__(self, step, *numbers):
        self.step, self.numbers = step, numbers

    def on_step(self, ctx):
        if ctx.step == self.step:
            for number in self.numbers:
                signal.raise_signal(number)


def test_ctrl_c_waits_for_the_end_of_the_step_and_leaves_a_checkpoint(tmp_path):
    handler, diary, history = signal.getsignal(signal.SIGINT), Diary(), []
    with pytest.raises(KeyboardInterrupt):
        iterate(Pairs(), rounds=9, run=Run(tmp_path), callbacks=[Signal(4, signal.SIGINT), diary], history=history)
    assert diary.lines[-2:] == [("", "row", 4, 2), ("", "end: interrupted", 4, 2)]
    assert history == [{"n": 2}, {"n": 4}] and Run(tmp_path).latest()[1] == 4
    assert signal.getsignal(signal.SIGINT) is handler
    assert len(iterate(Pairs(), rounds=3, run=Run(tmp_path))) == 3


def test_a_second_ctrl_c_does_not_wait():
    diary = Diary()
    with pytest.raises(KeyboardInterrupt):
        iterate(Pairs(), rounds=9, callbacks=[Signal(2, signal.SIGINT, signal.SIGINT), diary])
    assert diary.lines[-2:] == [("", "step", 1, 0), ("", "end: ", 2, 0)]


def test_sigterm_ends_with_its_exit_code(tmp_path):
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    with pytest.raises(SystemExit) as caught:
        iterate(Pairs(), rounds=9, run=Run(tmp_path), callbacks=[Signal(3, signal.SIGTERM)])
    assert caught.value.code == 143 and Run(tmp_path).latest()[1] == 3
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_program_s_own_handler_of_sigterm_is_left_alone():
    heard = []
    signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
    try:
        assert len(iterate(Pairs(), rounds=2, callbacks=[Signal(1, signal.SIGTERM)])) == 2 and heard == [1]
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
