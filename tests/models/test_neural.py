"""The life of a neural estimator: batches, validation, runs that go on where they stopped, states, parts."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

import ftheta
from ftheta.data import Batch, holdout
from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.models import MLPClassifier, MLPRegressor, NeuralEstimator, NeuralTransformer
from ftheta.store import Run
from ftheta.train import Callback, Loss, Objective, Training
from tests.contract.enrolled import digest

rng = np.random.default_rng(0)
X = rng.normal(size=(330, 3))
y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=330), [-0.5, 0.5])
QUICK = {"hidden": (8,), "epochs": 4, "random_state": 0}


def steps(model):
    return [row["step"] for row in model.history_]


# ---- batches


def test_a_batch_is_two_hundred_rows_unless_another_number_is_asked_for():
    assert steps(MLPClassifier(**QUICK).fit(X, y)) == [2, 4, 6, 8]
    assert steps(MLPClassifier(**QUICK).fit(X[:200], y[:200])) == [1, 2, 3, 4]
    assert steps(MLPClassifier(**QUICK, batch_size=100).fit(X, y)) == [4, 8, 12, 16]
    assert steps(MLPClassifier(**QUICK, batch_size=1000).fit(X, y)) == [1, 2, 3, 4]
    assert steps(MLPClassifier(**QUICK, batch_size=100, training=Training(accumulate=2)).fit(X, y)) == [2, 4, 6, 8]


@pytest.mark.parametrize("own", [False, True])
def test_classes_weigh_in_validation_as_in_training(own):
    rows, held = holdout(330, 0.2, Draw(0).at("split"), split="stratified", y=y)
    settings = QUICK | {"epochs": 1, "class_weight": {0: 1, 1: 2, 2: 5}}
    if own:
        model = MLPClassifier(**settings).fit(X[rows], y[rows], X_val=X[held], y_val=y[held])
    else:
        model = MLPClassifier(**settings, validation=0.2).fit(X, y)
    weight, p = np.array([1, 2, 5])[y[held]], model.predict_proba(X[held])[np.arange(len(held)), y[held]]
    assert model.history_[0]["valid_loss"] == pytest.approx(-np.average(np.log(p), weights=weight), rel=1e-5)


@pytest.mark.parametrize("optimizer", ["gd", "lbfgs", "normalized-gd"])
def test_rules_for_all_rows_get_all_rows(optimizer):
    assert steps(MLPClassifier(**QUICK, optimizer=optimizer).fit(X, y)) == [1, 2, 3, 4]
    with pytest.raises(
        InputError, match=rf"optimizer='{optimizer}' needs all 330 rows in one batch, but batch_size=100"
    ):
        MLPClassifier(**QUICK, optimizer=optimizer, batch_size=100).fit(X, y)


@pytest.mark.parametrize(
    "settings", [{}, {"batch_size": 50, "training": Training(accumulate=3)}], ids=["plain", "accumulated"]
)
def test_a_schedule_ends_with_the_last_update(settings):
    training = replace(settings.get("training", Training()), schedule="linear")
    model = MLPClassifier(**QUICK | settings | {"training": training, "lr": 0.1}).fit(X, y)
    updates = model.history_[-1]["step"]
    assert [row["lr"] for row in model.history_] == pytest.approx(
        [0.1 * (1 - (row["step"] - 1) / updates) for row in model.history_]
    )


def test_predictions_in_parts_are_the_predictions(monkeypatch):
    model = MLPClassifier(**QUICK).fit(X, y)
    whole = model.predict_proba(X)
    monkeypatch.setattr(NeuralEstimator, "part", 64)
    assert np.array_equal(model.predict_proba(X), whole)
    assert model.evaluate(X, y)["loss"] == pytest.approx(-np.log(whole[np.arange(330), y]).mean(), rel=1e-5)


def test_evaluating_and_predicting_leave_the_net_in_evaluation_mode_and_without_gradients():
    model = MLPClassifier(**QUICK, dropout=0.5).fit(X, y)
    before = model.predict_proba(X)
    model.evaluate(X, y)
    assert not model.module_.training and np.array_equal(model.predict_proba(X), before)
    model.module_.train()
    assert np.array_equal(model.predict_proba(X), before)
    regressor = MLPRegressor(**QUICK, dropout=0.5).fit(X, y)
    regressor.evaluate(X, y)
    assert torch.equal(regressor.predict_distribution(X).mean, regressor.predict_distribution(X).mean)


def test_a_seed_may_be_a_number_a_generator_or_none():
    for state in (3, np.int64(3), np.random.RandomState(3), None):
        assert isinstance(MLPClassifier(**QUICK | {"random_state": state}).fit(X, y).seed_, int)
    two = [MLPClassifier(**QUICK | {"random_state": np.random.RandomState(3)}).fit(X, y) for _ in range(2)]
    assert digest(two[0]) == digest(two[1])
    assert (
        MLPClassifier(**QUICK | {"random_state": None}).fit(X, y).seed_
        != MLPClassifier(random_state=None, epochs=1).fit(X, y).seed_
    )


def test_validation_rows_are_stratified_and_not_trained_on():
    model = MLPClassifier(**QUICK, validation=0.2).fit(X, y)
    assert model.history_[0]["rows"] == 264 and {"valid_loss", "valid_accuracy"} <= set(model.history_[0])
    few = np.r_[np.zeros(40), np.ones(5)].astype(int)
    held = MLPClassifier(**QUICK, validation=0.2).fit(X[:45], few)
    assert held.history_[0]["rows"] == 36 and held.classes_.tolist() == [0, 1]


def test_rows_for_validation_need_their_targets():
    with pytest.raises(InputError, match="requires y to be passed"):
        MLPClassifier(**QUICK).fit(X, y, X_val=X)


# ---- objectives that are no sum over rows


class Spread(Objective):
    separable = False

    def __init__(self, module):
        super().__init__()
        self.module = module

    def loss(self, player, batch, draw):
        return Loss(self.module(batch.x).var() * batch.n, float(batch.n))


@dataclass(kw_only=True, eq=False, repr=False)
class Odd(MLPRegressor):
    def objective(self, module, y):
        return Spread(module)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("part", [False, True])
def test_rows_keep_their_order_if_they_are_not_to_be_shuffled(shuffle, part, monkeypatch):
    seen = []

    def loss(self, player, batch, draw):
        seen.append(batch.x[:, 0].clone())
        return Loss(self.module(batch.x).sum(), float(batch.n))

    monkeypatch.setattr(Spread, "loss", loss)
    model = Odd(**QUICK | {"epochs": 2}, batch_size=7, training=Training(shuffle=shuffle))
    for _ in range(2 if part else 1):
        model = model.partial_fit(X[:20], y[:20]) if part else model.fit(X[:20], y[:20])
    first, second = torch.cat(seen).numpy().reshape(2, 20)
    assert sorted(first) == pytest.approx(sorted(X[:20, 0]), rel=1e-6)
    assert np.allclose(first, X[:20, 0]) is np.allclose(second, X[:20, 0]) is not shuffle
    assert (first == second).all() != shuffle and [len(x) for x in seen] == [7, 7, 6] * 2


def test_weights_are_refused_where_the_loss_is_no_sum_over_rows():
    weight = np.linspace(1, 2, len(X))
    with pytest.raises(InputError, match="Spread is not a sum over rows: sample_weight cannot be used"):
        Odd(**QUICK).fit(X, y, weight)
    assert Odd(**QUICK).fit(X, y).n_iter_ == 4


# ---- a transformer says the same two things


@dataclass(kw_only=True, eq=False, repr=False)
class Squeeze(NeuralTransformer):
    """Reconstruct x from one number."""

    def build(self, x, y):
        return nn.Sequential(nn.Linear(x.shape[0], 1), nn.Linear(1, x.shape[0]))

    def objective(self, module, y):
        return Reconstruction(module)

    def transform(self, X):
        return self.apply(self.module_[0], X)


class Reconstruction(Objective):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def loss(self, player, batch, draw):
        return Loss(*batch.sum((self.module(batch.x) - batch.x).square().sum(-1)))


def test_a_transformer_learns_from_rows_alone():
    line = np.outer(rng.normal(size=150), [1.0, 2, -1]) + 0.01 * rng.normal(size=(150, 3))
    model = Squeeze(epochs=300, lr=0.02, random_state=0)
    code = model.fit_transform(line)
    assert code.shape == (150, 1) and abs(np.corrcoef(code[:, 0], line[:, 1])[0, 1]) > 0.99
    assert model.target_.kind == "none" and model.evaluate(line)["loss"] < 0.05


# ---- runs


def test_a_run_gives_the_same_model_and_keeps_metrics_and_model(tmp_path):
    plain = MLPClassifier(**QUICK).fit(X, y)
    for kind in (str, lambda p: p, Run):
        path = tmp_path / str(len(list(tmp_path.iterdir())))
        model = MLPClassifier(**QUICK).fit(X, y, run=kind(path))
        assert digest(model) == digest(plain) == digest(ftheta.load(path))
        assert [row["epoch"] for row in Run(path).rows()] == [1, 2, 3, 4] and Run(path).status == "finished"


def test_what_no_file_can_hold_is_refused_before_training_into_a_run(tmp_path):
    from ftheta.likelihoods import Laplace

    with pytest.raises(InputError, match="Parameter likelihood=.*cannot be put into a file"):
        MLPRegressor(**QUICK, likelihood=Laplace()).fit(X, y, run=tmp_path / "a")


# ---- parts and states


def test_a_part_goes_on_after_fit_and_after_loading(tmp_path):
    model = MLPClassifier(**QUICK).fit(X, y)
    loaded = ftheta.load(model.save(tmp_path / "model"))
    start = model.evaluate(X, y)["loss"]
    model.partial_fit(X, y)
    assert model.n_iter_ == 5 and model.evaluate(X, y)["loss"] < start
    loaded.partial_fit(X, y)  # from the weights that were loaded, with a new optimizer
    fresh = MLPClassifier(**QUICK).partial_fit(X, y)
    assert loaded.evaluate(X, y)["loss"] < fresh.evaluate(X, y)["loss"]
    assert loaded.evaluate(X, y)["loss"] < 1.1 * start
    assert clone(loaded).partial_fit(X, y).n_iter_ == 1


def test_the_batch_is_what_the_net_sees():
    model = MLPRegressor(**QUICK).fit(X, 100 + 5 * X[:, 0])
    batch = model.batch(X, 100 + 5 * X[:, 0], np.linspace(1, 2, 330))
    assert isinstance(batch, Batch) and batch.x.dtype == torch.float32 and batch.n == 330
    assert batch.y.mean().abs() < 1e-4 and batch.y.std() == pytest.approx(1, rel=1e-2)
    torch.testing.assert_close(model.module_(batch.x).detach(), model.module_(model.batch(X).x).detach())


class LooksAtIt(Callback):
    """Uses the net in every epoch, and leaves it as it predicts: without dropout."""

    def __init__(self, model):
        self.model = model

    def on_row(self, ctx, row):
        self.model.module_.eval()


def test_a_callback_that_uses_the_net_does_not_change_the_training():
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2
    one, two = (MLPClassifier(hidden=(8,), dropout=0.5, epochs=4, random_state=0) for _ in range(2))
    one.fit(X, y), two.fit(X, y, callbacks=[LooksAtIt(two)])
    assert [row["loss"] for row in one.history_] == [row["loss"] for row in two.history_]
