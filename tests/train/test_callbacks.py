"""Early stopping counts right and puts the best weights back exactly; progress shows itself only where it should."""

import io
import sys
from math import inf
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

import ftheta
from ftheta import MLPClassifier, MLPRegressor
from ftheta.data import Rows, holdout
from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.train import Callback, EarlyStopping, Progress, Supervised, Trainer, Training, evaluate, iterate, progress
from tests.train._toys import line, square


class Script:
    """A process that says given values; its weights are the number of the round."""

    def __init__(self, values, column="valid_loss"):
        self.values, self.column, self.round = values, column, 0

    def advance(self):
        self.round += 1
        return {"loss": 1.0, self.column: self.values[self.round - 1]}

    def weights(self):
        return {"round": self.round}

    def set_weights(self, weights):
        self.round = weights["round"]


def stopped(values, column="valid_loss", **options):
    """Rounds run, round whose weights are in place at the end, and why it ended."""
    process, stop, reasons = Script(values, column), EarlyStopping(**options), []

    class Why(Callback):
        def on_end(self, ctx):
            reasons.append(ctx.reason)

    return len(iterate(process, rounds=len(values), callbacks=[stop, Why()])), process.round, reasons[0]


# ---- early stopping


def test_it_stops_after_patience_rounds_without_improvement_and_says_so():
    found = stopped([5, 4, 3, 3.5, 3, 3.1, 2], patience=3)
    assert found == (6, 3, "no better valid_loss for 3 rounds; best was round 3")


@given(
    values=st.lists(st.integers(0, 9), min_size=1, max_size=20),
    patience=st.integers(1, 5),
    start=st.integers(1, 6),
    delta=st.sampled_from([0.0, 0.5, 2.0]),
)
def test_it_agrees_with_its_definition(values, patience, start, delta):
    best, best_round, expected, why = inf, 0, len(values), "rounds"
    for number, value in enumerate(values, start=1):
        if number < start:
            continue
        if value < best - delta:
            best, best_round = value, number
        elif number - best_round >= patience:
            expected, why = number, f"no better valid_loss for {patience} rounds; best was round {best_round}"
            break
    found = stopped(values, patience=patience, start=start, min_delta=delta)
    assert found == (expected, best_round or len(values), why)


@pytest.mark.parametrize(
    ("values", "options", "found"),
    [
        ([5, 4, 6, 7], {"restore": False}, (4, 4, "no better valid_loss for 2 rounds; best was round 2")),
        ([5, 4, 6], {"column": "h", "monitor": "h"}, (3, 2, "rounds")),
        # without validation the training loss is watched; its weights have moved since, so the last ones stay
        ([0, 0, 0, 0], {"column": "other"}, (3, 3, "no better loss for 2 rounds; best was round 1")),
    ],
)  # fmt: skip
def test_weights_may_stay_and_other_columns_may_be_watched(values, options, found):
    assert stopped(values, patience=2, **options) == found


def test_a_column_that_is_not_there_is_answered_with_those_that_are():
    expected = r"Unknown column of the history: 'valid_los'. Did you mean 'valid_loss'.*Known: loss, valid_loss"
    with pytest.raises(InputError, match=expected):
        stopped([1, 2], monitor="valid_los")


@pytest.mark.ledger("B039", "C151", covers="ftheta.train.EarlyStopping")
def test_the_best_weights_reproduce_the_best_validation_loss_exactly():
    (x, y), (xv, yv) = line(n=20, features=8, seed=1), line(n=20, features=8, seed=2)
    net = nn.Sequential(nn.Linear(8, 50), nn.ReLU(), nn.Dropout(0.2), nn.Linear(50, 1)).double()
    objective, held = Supervised(net, square), Rows(xv, yv, batch_size=7, shuffle=False)
    made = Trainer(objective, Rows(x, y, batch_size=5), lr=0.05, validation=held)
    losses = [row["valid_loss"] for row in iterate(made, rounds=200, callbacks=[EarlyStopping(10)])]
    best = int(np.argmin(losses))
    assert len(losses) == best + 1 + 10 < 200
    assert evaluate(objective, held, Draw(5))["loss"] == losses[best] < losses[-1]


@pytest.mark.ledger("B039", "A159", "A160", "B030", covers="ftheta.MLPClassifier")
@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
def test_an_estimator_stops_on_a_fifth_of_its_rows_and_keeps_the_best_epoch(kind, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 6))
    score = X[:, 0] + rng.normal(size=100)
    y = (score > 0).astype(int) if kind is MLPClassifier else score
    model = kind(epochs=200, lr=0.05, batch_size=16, validation=0.2, patience=5, random_state=3).fit(X, y)
    losses = [row["valid_loss"] for row in model.history_]
    best = int(np.argmin(losses))
    assert model.n_iter_ == len(losses) == best + 1 + 5 < 200
    assert model.stop_reason_ == f"no better valid_loss for 5 rounds; best was round {best + 1}"
    how = {"split": "stratified", "y": y} if kind is MLPClassifier else {"split": "random"}
    kept, held = holdout(100, 0.2, Draw(3).at("split"), **how)
    assert (len(kept), len(held)) == (80, 20) and all("loss" in row for row in model.history_)
    found = model.evaluate(X[held], y[held])["loss"] - np.log(model.target_.facts.get("scale", 1.0))
    assert found == (losses[best] if kind is MLPClassifier else pytest.approx(losses[best], rel=1e-12))
    model.save(tmp_path / "best")
    assert np.array_equal(ftheta.load(tmp_path / "best").predict(X), model.predict(X))


# ---- progress


class Count:
    """A process of one step a round."""

    def __init__(self, inner=None):
        self.n, self.inner = 0, inner

    def advance(self):
        self.n += 1
        if self.inner:
            iterate(Count(), rounds=2, callbacks=[self.inner()])
        return {"loss": 1 / self.n, "valid_loss": 0.25}


def show(capsys, *given, rounds=3, inner=None, **options):
    iterate(Count(inner), rounds=rounds, callbacks=[Progress(*given, **options)])
    return capsys.readouterr().err


LINES = ["epoch 1/3  loss 1  valid_loss 0.25  0 s, 0 s left", "epoch 2/3  loss 0.5  valid_loss 0.25  0 s, 0 s left"]


def test_plain_lines_where_there_is_no_terminal(capsys):
    assert [line.strip() for line in show(capsys, True, delay=0).splitlines()][1:] == LINES


def test_silent_where_nobody_looks_in_a_worker_process_and_when_told(capsys, monkeypatch):
    assert show(capsys, delay=0) == show(capsys, False, delay=0) == show(capsys, True, delay=100) == ""
    with monkeypatch.context() as patch:
        patch.setattr(progress, "parent_process", lambda: object())
        assert show(capsys, True, delay=0) == ""
    monkeypatch.setenv("FTHETA_PROGRESS", "0")
    assert show(capsys, True, delay=0) == ""


def test_only_the_outermost_loop_shows_itself(capsys):
    shown = show(capsys, True, delay=0, inner=lambda: Progress(True, delay=0))
    assert shown and "/2" not in shown
    assert "epoch" in show(capsys, True, delay=0)  # the count is back at zero


class Quarters(Count):
    """A process of four steps a round."""

    part = property(lambda self: self.n % 4 / 4)
    losses = property(lambda self: {"loss": self.n})

    def advance(self):
        self.n += 1
        return None if self.n % 4 else {"loss": 9.0, "valid_loss": 0.5}


def test_within_an_epoch_its_loss_and_the_times_are_shown(capsys, monkeypatch):
    clock = iter(range(0, 10_000, 60))
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    iterate(Quarters(), rounds=2, callbacks=[Progress(True, delay=0)])
    (process := Quarters()).n = 2  # resumed in the middle of the first epoch
    shown = capsys.readouterr().err.splitlines()
    iterate(process, rounds=2, callbacks=[Progress(True, delay=0)])
    assert capsys.readouterr().err.startswith("epoch 1/2  loss 3  1 min 00 s, 5 min 00 s left")
    assert shown[0] == "epoch 1/2  loss 1  1 min 00 s, 7 min 00 s left"
    assert shown[3:6] == [
        "epoch 1/2  4 min 00 s, 4 min 00 s left",
        "epoch 2/2  loss 5  valid_loss 0.5  5 min 00 s, 3 min 00 s left",
        "epoch 2/2  loss 6  valid_loss 0.5  6 min 00 s, 2 min 00 s left",
    ]


def test_a_trainer_says_how_much_of_its_epoch_is_done_and_the_loss_in_it():
    seen = []

    class Look(Callback):
        def on_step(self, ctx):
            seen.append((ctx.process.part, *ctx.process.losses.values()))

    settings = {"hidden": (2,), "batch_size": 2, "lr": 1e-12, "random_state": 0, "training": Training(shuffle=False)}
    model = MLPRegressor(epochs=1, **settings).fit([[1.0]] * 6, [0.0, 1.0] * 3, callbacks=[Look()])
    assert [part for part, *_ in seen] == [1 / 3, 2 / 3, 0]
    assert [loss for _, loss in seen[:2]] == pytest.approx([model.history_[0]["loss"]] * 2)  # of equal batches


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_on_a_terminal_a_bar_ends_at_the_last_round(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    bar = Progress(delay=0)
    iterate(Count(), rounds=3, callbacks=[bar])
    assert "epoch 3/3" in screen.getvalue() and "loss 0.3333" in screen.getvalue()
    assert bar.bar is None


def test_an_estimator_passes_its_wish_on(capsys, monkeypatch):
    monkeypatch.setattr(Progress.__init__, "__kwdefaults__", {"delay": 0.0})
    x, y = line(n=30)
    MLPRegressor(epochs=3, training=Training(progress=True)).fit(x, y)
    assert "epoch 2/3  loss" in capsys.readouterr().err
    MLPRegressor(epochs=3).fit(x, y)
    assert capsys.readouterr().err == ""
