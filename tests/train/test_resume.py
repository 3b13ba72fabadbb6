"""Nothing lost: whatever is trained, wherever it stops, what is resumed ends bit for bit like what was not stopped."""

import shutil
import signal
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch import nn

import ftheta
from ftheta import MLPClassifier, ModuleClassifier
from ftheta.data import Rows
from ftheta.errors import FileFormatError, RunError
from ftheta.store import Run
from ftheta.train import EarlyStopping, Supervised, Trainer, Training, iterate
from tests.train._toys import (
    RBM,
    WGAN,
    Bilinear,
    Distillation,
    KMeans,
    Settled,
    TargetNet,
    binary,
    blobs,
    digest,
    line,
    one_row,
    same,
    seeded,
    square,
    timeless,
)

pytestmark = pytest.mark.filterwarnings("ignore:All 8 epochs were used")

# ---- what is trained: ten ways and two more


def supervised(dropout=0.0, norm=False, weighed=False, size=8, **options):
    x, y = line()

    def build():
        norms = [nn.BatchNorm1d(6)] if norm else []
        return nn.Sequential(nn.Linear(3, 6), *norms, nn.Tanh(), nn.Dropout(dropout), nn.Linear(6, 1))

    w = torch.linspace(0.5, 2, 24, dtype=torch.float64) if weighed else None
    return Trainer(Supervised(seeded(build).double(), square), Rows(x, y, w, batch_size=size), **options)


def early():
    """Overfits: the best round is neither the first nor the last."""
    held = Rows(*line(n=6, seed=5), batch_size=4, shuffle=False)
    return supervised(lr=0.1, validation=held), [EarlyStopping(3)]


class Rare(Bilinear):
    """The first player moves once an epoch, and has a term that is not divided."""

    def turn(self, step):
        return ("x",) if step % 3 == 0 else ("y",)

    def loss(self, player, batch, draw):
        found = super().loss(player, batch, draw)
        return found._replace(once=self.x.square()) if player == "x" else found


SCENARIOS = {
    "sgd": lambda: (supervised(optimizer="sgd", lr=0.05), []),
    "adam with schedule and warm-up": lambda: (
        supervised(training=Training(schedule="cosine", warmup=3, clip_norm=1.0, l2=0.01), horizon=12),
        [],
    ),
    "lbfgs with batch norm": lambda: (supervised(optimizer="lbfgs", norm=True, size=24), []),
    "accumulation": lambda: (
        supervised(optimizer="momentum", size=4, training=Training(accumulate=4, schedule="linear"), horizon=8),
        [],
    ),
    "dropout": lambda: (supervised(dropout=0.5, optimizer="adamw"), []),
    "early stopping": early,
    "two players": lambda: (
        Trainer(seeded(WGAN), Rows(line(n=12, features=1, dtype=torch.float32)[0], batch_size=4), optimizer="rmsprop"),
        [],
    ),
    "two players at once": lambda: (Trainer(Bilinear(True), one_row(), optimizer="adam", lr=0.1), []),
    "a rare player": lambda: (Trainer(Rare(False), Rows(torch.zeros(3, 1), batch_size=1), optimizer="sgd"), []),
    "weighted rows": lambda: (supervised(weighed=True, optimizer="adagrad"), []),
    "chains": lambda: (Trainer(seeded(RBM), Rows(binary(4), batch_size=6), optimizer="nesterov"), []),
    "k-means": lambda: (KMeans(*blobs(n=300, centres=6, seed=1)), [Settled()]),
    "target net": lambda: (Trainer(TargetNet(), one_row(), optimizer="adadelta"), []),
    "teacher": lambda: (Trainer(seeded(Distillation), Rows(line(dtype=torch.float32)[0], batch_size=8)), []),
}
ROUNDS = {"early stopping": 30, "two players": 6, "k-means": 30}


def go(name, folder, steps=np.inf):
    """Start or continue a scenario in a folder with a fresh process; returns it with its history."""
    process, callbacks = SCENARIOS[name]()
    return process, iterate(process, rounds=ROUNDS.get(name, 4), steps=steps, callbacks=callbacks, run=Run(folder))


def left(folder, process, history):
    """All that a run leaves: its last state, callbacks included, rows, and the weights after the end."""
    tree, step = Run(folder).latest()
    weights = process.weights() if hasattr(process, "weights") else process.state_dict()
    return timeless([tree, step, Run(folder).rows(), history, weights])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Every scenario once without a stop: what it leaves."""
    found = {}
    for name in SCENARIOS:
        folder = tmp_path_factory.mktemp("whole")
        found[name] = left(folder, *go(name, folder))
    return found


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_run_of_which_every_step_is_made_by_a_new_process_ends_like_one_without_a_stop(name, whole, tmp_path):
    """Start, middle of an epoch, its end, after validation, after the stop is decided, the last step: all of them."""
    total = whole[name][1]
    assert total >= 4
    for step in range(total + 1):
        go(name, tmp_path, steps=step)
    process, history = go(name, tmp_path)
    assert same(left(tmp_path, process, history), whole[name])


def test_a_term_of_a_player_who_moved_before_the_stop_is_logged(whole):
    assert all(row["x_penalty"] > 0 and "y_penalty" not in row for row in whole["a rare player"][2])


# ---- crashes inside a step


class Breaks:
    """Fails at the n-th evaluation of a loss, or of a validation."""

    def __init__(self, objective, method, n):
        self.calls, self.n, self.inner = 0, n, getattr(objective, method)
        setattr(objective, method, self)

    def __call__(self, *args):
        self.calls += 1
        if self.calls == self.n:
            raise ZeroDivisionError
        return self.inner(*args)


@pytest.mark.parametrize(
    ("name", "method", "n"),
    [
        ("sgd", "loss", 1),
        ("accumulation", "loss", 9),  # in the middle of an accumulation: six batches an epoch, four and two
        ("lbfgs with batch norm", "loss", 30),  # in the middle of a line search
        ("two players", "loss", 8),
        ("two players at once", "loss", 4),  # between the two
        ("chains", "after", 5),
        ("early stopping", "evaluate", 4),  # in the middle of a validation
        ("early stopping", "evaluate", 7),
        ("dropout", "loss", 12),
    ],
)
def test_a_crash_inside_a_step_costs_that_step_only(name, method, n, whole, tmp_path):
    process, callbacks = SCENARIOS[name]()
    breaks = Breaks(process.objective, method, n)
    with pytest.raises(ZeroDivisionError):
        iterate(process, rounds=ROUNDS.get(name, 4), callbacks=callbacks, run=Run(tmp_path), every=0)
    assert breaks.calls == n
    assert (Run(tmp_path).latest() is None) == (n == 1)
    assert same(left(tmp_path, *go(name, tmp_path)), whole[name])


def test_ctrl_c_ends_a_long_update_between_two_evaluations(whole, tmp_path):
    """In the middle of a line search; the run and the trainer are where they were before the update."""
    name, calls = "lbfgs with batch norm", []
    process, _ = SCENARIOS[name]()
    loss = process.objective.loss

    def loud(*args):
        calls.append(process.step)
        if len(calls) == 30:
            signal.raise_signal(signal.SIGINT)
        return loss(*args)

    process.objective.loss = loud
    with pytest.raises(KeyboardInterrupt):
        iterate(process, rounds=4, run=Run(tmp_path))
    assert len(calls) == 30 and process.step == calls[-1] == Run(tmp_path).latest()[1] > 0
    assert same(timeless(process.state_dict()), timeless(Run(tmp_path).latest()[0]["process"]))
    assert same(left(tmp_path, *go(name, tmp_path)), whole[name])


# ---- estimators


def classes(n=60):
    x, y = line(n=n)
    return x.numpy(), (y > 0).long().numpy()


def model(**settings):
    knobs = Training(accumulate=2, schedule="cosine", **settings.pop("knobs", {}))
    quick = {"hidden": (6,), "dropout": 0.2, "epochs": 8, "batch_size": 8, "validation": 0.2, "patience": 4}
    return MLPClassifier(**(quick | {"lr": 0.05, "random_state": 0, "training": knobs} | settings))


@contextmanager
def ctrl_c(step):
    """SIGINT in the middle of this step of any trainer."""
    advance = Trainer.advance

    def interrupted(self):
        if self.step == step - 1:
            signal.raise_signal(signal.SIGINT)
        return advance(self)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Trainer, "advance", interrupted)
        yield


@pytest.mark.parametrize("step", [1, 3, 6, 11])
def test_an_interrupted_fit_is_continued_by_the_same_call(step, tmp_path):
    X, y = classes()
    whole = model().fit(X, y, run=tmp_path / "whole")
    with ctrl_c(step):
        model().fit(X, y, run=tmp_path / "a")
    assert Run(tmp_path / "a").latest()[1] == step and Run(tmp_path / "a").status == "running"
    with pytest.raises(RunError, match="holds no finished model. Finish it with: ftheta train --resume"):
        ftheta.load(tmp_path / "a")
    resumed = model().fit(X, y, run=tmp_path / "a")
    assert digest(resumed.get_state()) == digest(whole.get_state())
    assert digest(ftheta.load(tmp_path / "a").get_state()) == digest(whole.get_state())
    assert timeless(Run(tmp_path / "a").rows()) == timeless(whole.history_) == timeless(resumed.history_)


@pytest.mark.ledger("A160", covers="ftheta.train.EarlyStopping")
def test_the_best_weights_survive_an_interruption_after_the_best_epoch(tmp_path):
    X, y = classes()
    settings = {"epochs": 60, "hidden": (40,), "lr": 0.1}
    whole = model(**settings).fit(X, y)
    losses = [row["valid_loss"] for row in whole.history_]
    best = int(np.argmin(losses))
    assert len(losses) == best + 1 + 4 < 60
    with ctrl_c(whole.history_[best + 2]["step"]):
        model(**settings).fit(X, y, run=tmp_path)
    resumed = model(**settings).fit(X, y, run=tmp_path)
    assert same(dict(resumed.module_.state_dict()), dict(whole.module_.state_dict()))
    assert [row["valid_loss"] for row in resumed.history_] == losses


def test_a_finished_run_is_not_trained_again(tmp_path, monkeypatch):
    X, y = classes()
    first = model().fit(X, y, run=tmp_path)
    monkeypatch.setattr(Trainer, "advance", lambda self: pytest.fail("trained"))
    again = model().fit(X, y, run=tmp_path)
    assert digest(again.get_state()) == digest(first.get_state())
    assert np.array_equal(again.predict_proba(X), first.predict_proba(X))


def test_fresh_entropy_is_kept_by_the_run(tmp_path):
    X, y = classes()
    with ctrl_c(3):
        model(random_state=None).fit(X, y, run=tmp_path)
    resumed = model(random_state=None).fit(X, y, run=tmp_path)
    whole = model(random_state=resumed.seed_).fit(X, y)
    assert same(dict(resumed.module_.state_dict()), dict(whole.module_.state_dict()))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda X, y: (model(lr=0.01), X, y), "other parameters; it is continued with the same only"),
        (lambda X, y: (model(knobs={"l2": 0.1}), X, y), "other parameters;"),
        (lambda X, y: (model(), X + 1e-6, y), "other data;"),
        (lambda X, y: (model(), X, 1 - y), "other data;"),
        (lambda X, y: (ModuleClassifier(epochs=8), X, y), "other class and parameters and data;"),
    ],
)
def test_a_run_of_something_else_is_refused(change, said, tmp_path):
    X, y = classes()
    with ctrl_c(3):
        model().fit(X, y, run=tmp_path)
    before = digest(list(Run(tmp_path).latest()))
    other, X, y = change(X, y)
    with pytest.raises(RunError, match=rf"was started with {said}"):
        other.fit(X, y, run=tmp_path)
    assert digest(list(Run(tmp_path).latest())) == before


@pytest.mark.parametrize("knobs", [{"every": 0.0}, {"seconds": 60.0}, {"progress": False}])
def test_knobs_that_do_not_change_the_result_may_change(knobs, tmp_path):
    X, y = classes()
    with ctrl_c(3):
        model().fit(X, y, run=tmp_path)
    assert digest(model(knobs=knobs).fit(X, y, run=tmp_path).get_state()) == digest(model().fit(X, y).get_state())


# ---- Ctrl-C without a run


class Loud(nn.Linear):
    """Sends SIGINT in the forward pass of a training step."""

    at, calls = None, 0

    def forward(self, x):
        if self.training:
            Loud.calls += 1
            if Loud.calls == Loud.at:
                signal.raise_signal(signal.SIGINT)
        return super().forward(x)


@pytest.mark.parametrize("step", [1, 13, 16])
def test_without_a_run_ctrl_c_leaves_the_estimator_fitted_to_the_last_finished_step(step, monkeypatch):
    """Eight steps an epoch; after 16 steps it is the same as two epochs."""
    X, y = classes()
    monkeypatch.setattr(Loud, "calls", 0)
    monkeypatch.setattr(Loud, "at", step)
    found = ModuleClassifier(module=seeded(Loud, 3, 1), epochs=9, batch_size=8, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        found.fit(X, y)
    assert Loud.calls == step and found.n_iter_ == len(found.history_) == step // 8
    assert found.stop_reason_ == "interrupted" and found.predict(X).shape == (60,)
    monkeypatch.setattr(Loud, "at", None)
    bare = Trainer(
        Supervised(seeded(Loud, 3, 1), ftheta.likelihoods.Bernoulli()),
        Rows(torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32), batch_size=8),
    )
    iterate(bare, steps=step)
    assert same(dict(found.module_.state_dict()), dict(bare.objective.module.state_dict()))


# ---- one flipped bit


def flip(file, offset, bit=0):
    data = bytearray(file.read_bytes())
    data[offset] ^= 1 << bit
    file.write_bytes(data)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run under way, with two checkpoints, and a finished one."""
    folder, (X, y) = tmp_path_factory.mktemp("runs"), classes()
    with ctrl_c(8):
        model(knobs={"every": 0.0}).fit(X, y, run=folder / "running")
    model().fit(X, y, run=folder / "finished")
    return folder


FINISHED = ["config.json", "metrics.jsonl", "model.safetensors"]
RUNNING = ["checkpoint-7.safetensors", "checkpoint-8.safetensors"]


@pytest.mark.parametrize("row", [0, 1, -1])
def test_a_damaged_line_of_metrics_costs_rows_and_no_weights(runs, tmp_path, row):
    """History goes on after the last good line; weights are those of a run without a break."""
    shutil.copytree(runs / "running", tmp_path / "a")
    file = tmp_path / "a" / "metrics.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    row %= len(lines)
    file.write_bytes(b"".join([*lines[:row], lines[row].replace(b"loss", b"lots"), *lines[row + 1 :]]))
    with pytest.warns(UserWarning, match=rf"metrics.jsonl is damaged after line {row} and was cut.*weights are not"):
        found = model().fit(*classes(), run=tmp_path / "a")
    whole = Run(runs / "finished").rows()
    assert digest(found.get_state()["modules"]) == digest(ftheta.load(runs / "finished").get_state()["modules"])
    epochs = [r["epoch"] for r in Run(tmp_path / "a").rows()]
    assert epochs == [r["epoch"] for r in [*whole[:row], *whole[len(lines) :]]] and found.n_iter_ == whole[-1]["epoch"]
    assert Run(tmp_path / "a").verify() == []


@pytest.mark.parametrize("where", [0.0, 0.31, 0.999])
@pytest.mark.parametrize("name", FINISHED)
def test_one_flipped_bit_of_a_finished_run_is_noticed_by_load_and_by_fit(runs, tmp_path, name, where):
    shutil.copytree(runs / "finished", tmp_path / "a")
    flip(tmp_path / "a" / name, int(where * (runs / "finished" / name).stat().st_size), bit=3)
    with pytest.raises(
        FileFormatError, match=rf"{name}.*(digest differs \(expected \S{{4}}\.\., got|cut off or changed)"
    ):
        ftheta.load(tmp_path / "a")
    with pytest.raises(FileFormatError, match=name):
        model().fit(*classes(), run=tmp_path / "a")


@pytest.mark.parametrize("where", [0.0, 0.31, 0.999])
@pytest.mark.parametrize("name", RUNNING)
def test_one_flipped_bit_of_a_run_under_way_is_noticed_by_load_and_by_fit(runs, tmp_path, name, where):
    """A damaged checkpoint is passed over with a warning."""
    shutil.copytree(runs / "running", tmp_path / "a")
    flip(tmp_path / "a" / name, int(where * (runs / "running" / name).stat().st_size), bit=3)
    with pytest.raises(FileFormatError, match=name):
        ftheta.load(tmp_path / "a")
    expected = r"digest differs.*Resuming from step 7" if "8" in name else r"checkpoint-7.*digest differs"
    with pytest.warns(UserWarning, match=expected):
        found = model().fit(*classes(), run=tmp_path / "a")
    assert digest(found.get_state()) == digest(ftheta.load(runs / "finished").get_state())
