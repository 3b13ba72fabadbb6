"""Each member of `fit_many` against the same estimator fitted alone; stopping, filling up, and what is refused."""

import sys

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from torch import nn

import ftheta
from ftheta.errors import InputError, NonFiniteError
from ftheta.models import MLPClassifier, MLPRegressor, ModuleClassifier, ModuleRegressor, RestrictedBoltzmannMachine
from ftheta.train import Training, fit_many

from ._toys import same, timeless

pytestmark = pytest.mark.filterwarnings("ignore:All 12 epochs were used")
NET = {"hidden": (6,), "activation": "tanh", "dtype": "float64", "epochs": 12}
DATA = ("X", "y", "sample_weight", "X_val", "y_val")


def waves(n=24, seed=0, features=1):
    """A noisy sinusoid: (n, D), (n,)."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, features))
    return X, 3 + 2 * np.sin(3 * X.sum(1)) + 0.1 * rng.normal(size=n)


def waves_of(*seeds, **sizes):
    """A problem for each seed, each with data and a start of its own."""
    return [dict(zip("Xy", waves(seed=s, **sizes), strict=True), random_state=s) for s in seeds]


def alone(estimator, problem):
    """The same problem, fitted by itself."""
    member = clone(estimator).set_params(**{k: v for k, v in problem.items() if k not in DATA})
    return member.fit(**{k: v for k, v in problem.items() if k in DATA})


def assert_as_alone(estimator, problems, tolerance=1e-9):
    """Weights, history and the reason of the end are those of each problem fitted by itself."""
    members = fit_many(estimator, problems)
    for member, problem in zip(members, problems, strict=True):
        other = alone(estimator, problem)
        for name, value in other.module_.state_dict().items():
            torch.testing.assert_close(member.module_.state_dict()[name], value, rtol=tolerance, atol=tolerance)
        assert (member.n_iter_, member.stop_reason_, member.seed_) == (other.n_iter_, other.stop_reason_, other.seed_)
        mine, theirs = timeless(member.history_), timeless(other.history_)
        assert [list(row) for row in mine] == [list(row) for row in theirs]
        assert [type(v) for v in mine[0].values()] == [type(v) for v in theirs[0].values()]
        for row, wanted in zip(mine, theirs, strict=True):
            assert row == pytest.approx(wanted, rel=tolerance * 10, abs=tolerance)
    return members


# ---- as alone


@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"batch_size": 7},  # a short last batch
        {"training": Training(l2=0.01, l1=0.003, penalize_bias=True)},
        {"optimizer": "momentum"},
        {"training": Training(schedule="cosine", warmup=4), "optimizer": "nesterov"},
        {"optimizer": "gd"},
        {"training": Training(freeze=("hidden1.weight",)), "optimizer": "adamw"},
        {"training": Training(options={"weight_decay": 0.1}), "optimizer": "adadelta"},
        {"optimizer": "rmsprop"},
        {"optimizer": "adagrad"},
        {"validation": 0.25},
        {"likelihood": "gaussian-learned"},
        {"likelihood": "gaussian-heteroscedastic", "hidden": (6, 5), "activation": "relu"},
    ],
    ids=str,
)
def test_members_end_as_if_alone(knobs):
    assert_as_alone(MLPRegressor(**{**NET, **knobs}), waves_of(0, 1, 2))


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd", "momentum", "ema-momentum", "adadelta", "rmsprop"])
def test_members_may_have_rates_of_their_own(optimizer):
    problems = [{**p, "lr": lr} for p, lr in zip(waves_of(0, 1, 2), (0.003, 0.03, 0.8), strict=True)]
    training = Training(schedule="exponential", options={"weight_decay": 0.01} if optimizer == "adamw" else {})
    assert_as_alone(MLPRegressor(**NET, optimizer=optimizer, training=training), problems)


def test_members_may_have_penalties_of_their_own():
    problems = [{**p, "training__l2": l2} for p, l2 in zip(waves_of(0, 1), (0.0, 0.3), strict=True)]
    first, second = assert_as_alone(MLPRegressor(**NET, training=Training(l1=1e-3)), problems)
    assert (first.training.l2, second.training.l2) == (0.0, 0.3)


@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_with_class_weights_and_validation(classes):
    X = np.random.default_rng(0).normal(size=(40, 4))
    y = np.array(["a", "b", "c"])[np.clip((X[:, 0] + 1).astype(int), 0, classes - 1)]
    problems = [{"X": X, "y": y, "random_state": s} for s in range(3)]
    assert_as_alone(MLPClassifier(**NET, class_weight="balanced", validation=0.3, batch_size=9), problems)


def test_bootstrap_samples_have_different_numbers_of_distinct_rows():
    """Equal rows are merged into weights, so members have 12 to 20 rows; the others are filled with weight 0."""
    X, y = waves(24)
    draws = [np.random.default_rng(s).integers(24, size=24) for s in range(4)]
    problems = [{"X": X[i], "y": y[i], "random_state": s} for s, i in enumerate(draws)]
    assert len({len(np.unique(i)) for i in draws}) > 1
    assert_as_alone(MLPRegressor(**NET), problems)


def test_mini_batches_of_unequal_members_are_filled_up():
    problems = [*waves_of(0, n=22), *waves_of(1, n=24)]
    problems[1]["sample_weight"] = np.random.default_rng(0).uniform(0.5, 2, 24)
    assert_as_alone(MLPRegressor(**NET, batch_size=8), problems)


def test_members_may_have_batches_of_their_own():
    problems = [{**p, "batch_size": size} for p, size in zip(waves_of(0, 1), (8, 9), strict=True)]
    assert_as_alone(MLPRegressor(**NET, validation=0.1), problems)


def test_several_targets_and_several_labels():
    X, y = waves(24, features=2)
    Y = np.stack([y, -y, y**2], 1)
    own = {"epochs": 4, "hidden": (9, 2), "validation": 0.25}  # layers with many outputs and with few
    for kind, target in ((MLPRegressor, Y), (MLPClassifier, Y > np.median(Y, 0))):
        assert_as_alone(kind(**{**NET, **own}), [{"X": X, "y": target, "random_state": s} for s in range(2)])


def test_modules_of_the_user_with_layers_without_bias():
    net = nn.Sequential(nn.Linear(2, 3, bias=False), nn.Tanh(), nn.Sequential(nn.Linear(3, 9), nn.Linear(9, 1)))
    assert_as_alone(ModuleRegressor(module=net, dtype="float64", epochs=4), waves_of(0, 1, features=2))


def test_bytes_of_pixels_are_scaled_batch_by_batch():
    X = np.random.default_rng(0).integers(0, 256, (12, 1, 4, 4), np.uint8)
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(8, 2))
    problems = [{"X": X, "y": np.arange(12) % 2, "random_state": s} for s in range(2)]
    assert_as_alone(ModuleClassifier(module=net, dtype="float64", epochs=3, batch_size=5), problems)


def test_batch_norm_keeps_its_statistics():
    """Not with Adam: the gradient of a bias before the norm is rounding, which Adam would scale up to a step."""
    net = nn.Sequential(nn.Linear(1, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    knobs = {"epochs": 8, "batch_size": 8, "validation": 0.25, "optimizer": "sgd"}
    assert_as_alone(ModuleRegressor(module=net, dtype="float64", **knobs), waves_of(0, 1))


# ---- stopping


def test_each_member_stops_by_itself_with_its_best_weights():
    problems = waves_of(*range(6))
    knobs = {**NET, "epochs": 60, "lr": 0.2, "validation": 0.3, "patience": 3, "batch_size": 6}
    assert len({member.n_iter_ for member in assert_as_alone(MLPRegressor(**knobs), problems)}) > 2


@pytest.mark.parametrize("own", [{"restore_best": False}, {"min_delta": 0.05, "start": 4}], ids=str)
def test_members_stop_by_the_settings_of_training(own):
    knobs = {**NET, "epochs": 12, "lr": 0.2, "validation": 0.3, "patience": 3, "batch_size": 6}
    assert_as_alone(MLPRegressor(**knobs, training=Training(**own)), waves_of(0, 1))


def test_patience_without_validation_watches_the_training_loss():
    members = assert_as_alone(MLPRegressor(**NET, lr=1.5, patience=1), waves_of(*range(4)))
    assert any(m.stop_reason_.startswith("no better loss for 1 rounds") for m in members)


def test_a_member_that_diverges_leaves_and_the_others_go_on():
    problems = [{**p, "lr": lr} for p, lr in zip(waves_of(0, 1, 2), (0.05, 1e200, 0.05), strict=True)]
    estimator = MLPRegressor(**{**NET, "activation": "relu", "epochs": 30}, optimizer="sgd")
    members = fit_many(estimator, problems)
    bad = members[1]
    assert bad.stop_reason_.startswith("loss or weights became nan or inf by step")
    assert "Try lr=1e+199 (now 1e+200)" in bad.stop_reason_
    assert bad.n_iter_ < 30
    assert all(np.isfinite(list(row.values())).all() for row in bad.history_)
    assert np.isfinite(bad.predict(problems[1]["X"])).all()
    for i in (0, 2):
        np.testing.assert_allclose(
            members[i].predict(problems[i]["X"]), alone(estimator, problems[i]).predict(problems[i]["X"])
        )
        assert members[i].n_iter_ == 30


@pytest.mark.parametrize(
    ("lr", "knobs"),
    [(1e30, {"validation": 0.3, "patience": 5, "batch_size": 6}), (5e38, {"epochs": 1})],
    ids=["before there is a best round", "in the last update"],
)
def test_a_member_that_is_lost_at_once_has_the_weights_of_its_start(lr, knobs):
    (problem,) = waves_of(0)
    estimator = MLPRegressor(**{**NET, "activation": "relu", "dtype": "float32", "optimizer": "sgd", **knobs})
    (bad,) = fit_many(estimator, [{**problem, "lr": lr}])
    start = alone(clone(estimator).set_params(lr=1e-30, epochs=1), problem)
    torch.testing.assert_close(bad.module_.state_dict(), start.module_.state_dict())
    assert bad.stop_reason_.startswith("loss or weights became nan or inf by step")


def test_a_diverged_member_has_the_weights_of_the_last_look(monkeypatch):
    """The rate is fine until step 3; the guard has looked after step 2."""
    monkeypatch.setattr(sys.modules["ftheta.train.many"], "CHECK_EVERY", 2)
    estimator = MLPRegressor(
        **NET, optimizer="sgd", training=Training(schedule="step", schedule_options={"factor": 1e300, "at": (0.3,)})
    )
    (problem,) = waves_of(0)
    (member,) = fit_many(estimator, [problem])
    assert "last good state: step 4" in member.stop_reason_
    four = alone(clone(estimator).set_params(training=None, epochs=4), problem)
    np.testing.assert_allclose(member.predict(problem["X"]), four.predict(problem["X"]), rtol=1e-10)


# ---- rows


def test_members_with_the_same_rows_keep_their_own_weights():
    """Not those of the first member."""
    X, y = waves(24)
    weights = [None, np.linspace(0.1, 2, 24), np.linspace(2, 0.1, 24)]
    problems = [{"X": X, "y": y, "sample_weight": w, "random_state": 0} for w in weights]
    members = assert_as_alone(MLPRegressor(**NET), problems)
    assert_as_alone(MLPRegressor(**NET, batch_size=7), problems)
    assert_as_alone(MLPRegressor(**NET, likelihood="gaussian-learned"), problems)
    assert len({float(member.predict(X[:1])[0]) for member in members}) == 3


def test_one_problem_is_a_stack_of_one_and_none_is_none():
    assert_as_alone(MLPRegressor(**NET), waves_of(3))
    assert fit_many(MLPRegressor(), []) == []


# ---- results


def test_members_are_ordinary_fitted_estimators(tmp_path):
    estimator, problems = MLPRegressor(**NET), waves_of(0, 1)
    member = fit_many(estimator, problems)[1]
    X, y = problems[1]["X"], problems[1]["y"]
    assert ftheta.load(member.save(tmp_path / "member")).predict(X) == pytest.approx(member.predict(X))
    assert member.evaluate(X, y)["loss"] == pytest.approx(alone(estimator, problems[1]).evaluate(X, y)["loss"])
    assert not hasattr(estimator, "module_")
    before = member.evaluate(X, y)["loss"]
    for _ in range(30):
        member.partial_fit(X, y)
    assert member.evaluate(X, y)["loss"] < before


def test_dropout_trains_and_the_global_generator_is_left_alone():
    torch.manual_seed(3)
    state = torch.get_rng_state()
    one, two = (fit_many(MLPRegressor(**NET, dropout=0.3), waves_of(0, 1)) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), state)
    for a, b in zip(one, two, strict=True):
        assert same(dict(a.module_.state_dict()), dict(b.module_.state_dict()))


# ---- refused


NORMED = nn.Sequential(nn.Linear(1, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))


def each(problems, **values):
    """The problems, each with its own value of a parameter."""
    ((name, values),) = values.items()
    return [{**problem, name: value} for problem, value in zip(problems, values, strict=True)]


@pytest.mark.parametrize(
    ("estimator", "problems", "sentence"),
    [
        (LinearRegression(), waves_of(0), "fit_many trains neural estimators, not LinearRegression"),
        (MLPRegressor(optimizer="lbfgs"), waves_of(0), "optimizer='lbfgs', which looks at all parameters together"),
        (MLPRegressor(optimizer="normalized-gd"), waves_of(0), "optimizer='normalized-gd', which looks at all"),
        (MLPRegressor(), [*waves_of(0), {"y": [1.0]}], "Problem 1 has no X; it has y. Pass its rows as 'X'"),
        (MLPRegressor(), [*waves_of(0), *waves_of(0, features=2)], "networks of different shapes"),
        (MLPRegressor(batch_size=8), [*waves_of(0), *waves_of(1, n=30)], "different numbers of batches"),
        (MLPRegressor(), each(waves_of(0, 1), epochs=(1, 2)), "differs between networks: 'epochs'"),
        (MLPRegressor(), each(waves_of(0, 1), training__clip_norm=(1.0, 2.0)), "differs between networks"),
        (MLPRegressor(training=Training(clip_norm=1.0)), waves_of(0), "does not train training.clip_norm=1.0"),
        (MLPRegressor(training=Training(accumulate=2)), waves_of(0), "does not train training.accumulate=2"),
        (MLPRegressor(training=Training(schedule="plateau")), waves_of(0), "does not train a plateau"),
        (RestrictedBoltzmannMachine(n_hidden=2), [{"X": np.eye(4)}], "more than a loss of one player"),
        (ModuleRegressor(module=NORMED), [*waves_of(0, n=22), *waves_of(1, n=24)], "batch norms with different"),
    ],
)  # fmt: skip
def test_what_cannot_be_trained_together_is_one_sentence(estimator, problems, sentence):
    with pytest.raises(InputError, match=sentence):
        fit_many(estimator, problems)


def test_a_member_whose_loss_is_infinite_leaves_though_its_weights_are_finite():
    x = np.linspace(-1, 1, 20)[:, None]
    problems = [{"X": x, "y": x[:, 0] * size, "random_state": 0} for size in (1.0, 1e25)]  # 1e50 is not a float32
    fine, gone = fit_many(ModuleRegressor(epochs=3), problems)
    assert fine.n_iter_ == 3 and "nan or inf" not in fine.stop_reason_
    assert "nan or inf" in gone.stop_reason_ and all(p.isfinite().all() for p in gone.module_.parameters())


def test_a_rate_beyond_float32_is_a_loss_that_is_not_finite():
    """Of the same network alone, whose plain step of gradient descent takes the rate as a float32."""
    (problem,) = waves_of(0)
    with pytest.raises(NonFiniteError):
        alone(MLPRegressor(**{**NET, "dtype": "float32", "optimizer": "sgd", "lr": 5e38}), problem)
