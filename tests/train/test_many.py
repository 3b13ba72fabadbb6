"""Each member of `many` against the same estimator fitted alone; stopping, sharing, padding; and what is refused."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from torch import nn

import ftheta
from ftheta.data import Rows
from ftheta.errors import InputError
from ftheta.models import MLPClassifier, MLPRegressor, ModuleRegressor
from ftheta.train import Supervised, Trainer, Training, _stack_trainer, iterate, many
from ftheta.train._stack_rows import StackedRows
from ftheta.train._stack_trainer import StackTrainer

from ._toys import RBM, WGAN, line, one_row, same, square, timeless

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
    members = many(estimator, problems)
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
        {"batch_size": 7, "training": Training(accumulate=2)},
        {"training": Training(l2=0.01, l1=0.003, penalise_bias=True)},
        {"training": Training(clip_norm=0.05), "optimizer": "sgd"},
        {"training": Training(clip_value=0.01), "optimizer": "momentum"},
        {"training": Training(schedule="cosine", warmup=4), "optimizer": "nesterov"},
        {"training": Training(gradient_noise=0.1), "optimizer": "gd"},
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


def test_float32_members_end_as_if_alone_to_1e_5():
    assert_as_alone(MLPRegressor(hidden=(20,), activation="tanh", epochs=100), waves_of(0, 1, n=30), 1e-5)


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd", "momentum", "ema-momentum", "adadelta", "rmsprop"])
def test_members_may_have_rates_of_their_own(optimizer):
    problems = [{**p, "lr": lr} for p, lr in zip(waves_of(0, 1, 2), (0.003, 0.03, 0.8), strict=True)]
    training = Training(schedule="exponential", options={"weight_decay": 0.01} if optimizer == "adamw" else {})
    assert_as_alone(MLPRegressor(**NET, optimizer=optimizer, training=training), problems)


def test_a_plateau_slows_each_member_by_itself():
    training = Training(schedule="plateau", shape={"patience": 1, "factor": 0.3})
    members = assert_as_alone(MLPRegressor(**NET, lr=0.7, training=training), waves_of(0, 1, 2))
    assert len({member.history_[-1]["lr"] for member in members}) > 1


def test_members_may_have_penalties_of_their_own():
    problems = [{**p, "training__l2": l2} for p, l2 in zip(waves_of(0, 1), (0.0, 0.3), strict=True)]
    first, second = assert_as_alone(MLPRegressor(**NET, training=Training(l1=1e-3)), problems)
    assert (first.training.l2, second.training.l2) == (0.0, 0.3)


def test_a_member_without_a_penalty_has_no_column_of_it():
    problems = [{**p, "training__l2": l2} for p, l2 in zip(waves_of(0, 1), (0.0, 0.3), strict=True)]
    first, second = assert_as_alone(MLPRegressor(**NET), problems)
    assert "penalty" not in first.history_[0] and "penalty" in second.history_[0]


def test_members_may_have_batches_of_their_own_of_the_same_rows():
    X, y = waves(24)
    problems = [{"X": X, "y": y, "random_state": 0, "batch_size": size} for size in (8, 10)]
    assert_as_alone(MLPRegressor(**NET), problems)


@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_with_class_weights_and_validation(classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    y = np.array(["a", "b", "c"])[np.clip((X[:, 0] + 1).astype(int), 0, classes - 1)]
    problems = [{"X": X, "y": y, "random_state": s} for s in range(3)]
    assert_as_alone(MLPClassifier(**NET, class_weight="balanced", validation=0.3, batch_size=9), problems)


def test_several_labels():
    X = np.random.default_rng(0).normal(size=(20, 3))
    labels = (X[:, :2] > 0).astype(int)
    problems = [{"X": X, "y": labels, "X_val": X, "y_val": labels, "random_state": s} for s in range(2)]
    assert_as_alone(MLPClassifier(**NET), problems)


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


def test_a_module_that_only_vmap_knows():
    net = nn.Sequential(nn.Linear(1, 4), nn.LayerNorm(4), nn.Tanh(), nn.Linear(4, 1))
    assert_as_alone(ModuleRegressor(module=net, dtype="float64", epochs=8), waves_of(0, 1))


def test_batch_norm_keeps_its_statistics():
    """Not with Adam: the gradient of a bias before the norm is rounding, which Adam would scale up to a step."""
    net = nn.Sequential(nn.Linear(1, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    knobs = {"epochs": 8, "batch_size": 8, "validation": 0.25, "optimizer": "sgd"}
    assert_as_alone(ModuleRegressor(module=net, dtype="float64", **knobs), waves_of(0, 1))


def test_many_small_stacks_are_as_one(monkeypatch):
    monkeypatch.setattr(_stack_trainer, "CACHED", 2 * 6 * 8 * 24)  # two members
    assert_as_alone(MLPRegressor(**NET, validation=0.2, patience=2, lr=0.3), waves_of(*range(5)))


# ---- stopping


def test_each_member_stops_by_itself_with_its_best_weights():
    problems = waves_of(*range(6))
    knobs = {**NET, "epochs": 60, "lr": 0.2, "validation": 0.3, "patience": 3, "batch_size": 6}
    members = assert_as_alone(MLPRegressor(**knobs), problems)
    assert len({member.n_iter_ for member in members}) > 2


def test_without_restoring_the_last_weights_stay():
    knobs = {"lr": 0.2, "validation": 0.3, "patience": 3, "training": Training(restore_best=False)}
    assert_as_alone(MLPRegressor(**{**NET, "epochs": 30}, **knobs), waves_of(0, 1, 2))


def test_patience_without_validation_watches_the_training_loss():
    members = assert_as_alone(MLPRegressor(**NET, lr=1.5, patience=1), waves_of(*range(4)))
    assert any(m.stop_reason_.startswith("no better loss for 1 rounds") for m in members)


def test_a_member_that_diverges_leaves_and_the_others_go_on():
    problems = [{**p, "lr": lr} for p, lr in zip(waves_of(0, 1, 2), (0.05, 1e200, 0.05), strict=True)]
    estimator = MLPRegressor(**{**NET, "activation": "relu", "epochs": 30}, optimizer="sgd")
    members = many(estimator, problems)
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
    good, bad = many(estimator, [{**problem, "lr": 0.05}, {**problem, "lr": lr}])
    start = clone(estimator).set_params(random_state=0)
    start.prepare(problem["X"], problem["y"])
    assert same(dict(bad.module_.state_dict()), dict(start.module_.state_dict()))
    assert bad.stop_reason_.startswith("loss or weights became nan or inf by step")
    assert good.stop_reason_ == "rounds"


def test_a_diverged_member_has_the_weights_of_the_last_look(monkeypatch):
    """The rate is fine until step 3; the guard has looked after step 2."""
    from ftheta.train import _stack

    monkeypatch.setattr(_stack, "LOOK", 2)
    estimator = MLPRegressor(
        **NET, optimizer="sgd", training=Training(schedule="step", shape={"factor": 1e300, "at": (0.3,)})
    )
    (problem,) = waves_of(0)
    (member,) = many(estimator, [problem])
    assert "last good state: step 4" in member.stop_reason_
    four = alone(clone(estimator).set_params(training=None, epochs=4), problem)
    np.testing.assert_allclose(member.predict(problem["X"]), four.predict(problem["X"]), rtol=1e-10)


def test_when_all_have_stopped_training_ends():
    process = StackTrainer([MLPRegressor(**NET, lr=2.0).prepare(*waves(seed=s)) for s in (0, 1)], patience=1)
    history = iterate(process, rounds=500)
    assert len(history) < 500
    assert process.reason == "every member has stopped"
    assert history[-1]["members"] == 0


# ---- rows


def test_rows_that_members_share_are_kept_once(monkeypatch):
    X, y = waves(24)
    seen = []
    original = StackedRows.__init__
    monkeypatch.setattr(StackedRows, "__init__", lambda self, *a: (original(self, *a), seen.append(self))[0])
    many(MLPRegressor(**NET, batch_size=8), [{"X": X, "y": y, "random_state": s} for s in range(3)])
    many(MLPRegressor(**NET, batch_size=8, validation=0.25), [{"X": X, "y": y, "random_state": s} for s in range(3)])
    assert [len(rows.x) for rows in seen] == [24, 3 * 18, 3 * 6]


def test_one_problem_is_a_stack_of_one_and_none_is_none():
    assert_as_alone(MLPRegressor(**NET), waves_of(3))
    assert many(MLPRegressor(), []) == []


# ---- results


def test_members_are_ordinary_fitted_estimators(tmp_path):
    estimator, problems = MLPRegressor(**NET), waves_of(0, 1)
    member = many(estimator, problems)[1]
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
    one, two = (many(MLPRegressor(**NET, dropout=0.3), waves_of(0, 1)) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), state)
    for a, b in zip(one, two, strict=True):
        assert same(dict(a.module_.state_dict()), dict(b.module_.state_dict()))


def test_an_interrupted_stack_goes_on_bit_for_bit():
    def process():
        knobs = {"validation": 0.3, "lr": 0.2, "batch_size": 8}
        nets = [MLPRegressor(**NET, **knobs, random_state=s) for s in range(4)]
        return StackTrainer([net.prepare(*waves(seed=s)) for s, net in enumerate(nets)], patience=2)

    whole, part, rest = process(), process(), process()
    iterate(whole, rounds=9)
    iterate(part, steps=4 * 3 + 1)  # one step into the fifth epoch
    assert 0 < part.stacks[0].members.size < 4  # some have left
    rest.load_state_dict(part.state_dict())
    iterate(rest, rounds=9 - 4)
    for end in (whole, rest):
        end.finish("rounds")
    assert timeless(list(whole.histories())) == timeless(list(rest.histories()))
    for a, b in zip(whole.trainers, rest.trainers, strict=True):
        assert same(a.objective.weights(), b.objective.weights())


def test_a_penalty_function_and_a_plain_function_as_loss():
    def trainer(seed):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            net = nn.Linear(3, 1).double()
        penalty = lambda module: 0.1 * module.weight.square().sum()  # noqa: E731
        return Trainer(Supervised(net, square, penalty), Rows(*line(seed=seed), batch_size=5), seed=seed)

    stacked, single = [trainer(s) for s in range(2)], [trainer(s) for s in range(2)]
    process = StackTrainer(stacked)
    iterate(process, rounds=5)
    process.finish("rounds")
    for mine, other, rows in zip(stacked, single, process.histories(), strict=True):
        history = iterate(other, rounds=5)
        torch.testing.assert_close(mine.objective.weights(), other.objective.weights(), rtol=1e-10, atol=1e-10)
        assert timeless(rows)[-1] == pytest.approx(timeless(history)[-1])


# ---- refused


@pytest.mark.parametrize(
    ("estimator", "problems", "sentence"),
    [
        (LinearRegression(), waves_of(0), "many trains neural estimators, .* LinearRegression has no step to share"),
        (MLPRegressor(optimizer="lbfgs"), waves_of(0), "optimizer='lbfgs' looks at all parameters .* e.g. 'adam'"),
        (MLPRegressor(optimizer="normalised-gd"), waves_of(0), "optimizer='normalised-gd' looks at all"),
        (MLPRegressor(), [*waves_of(0), {"y": [1.0]}], "Problem 1 has no X; it has y. Pass its rows as 'X'"),
        (MLPRegressor(), [*waves_of(0), *waves_of(0, features=2)], "hidden1.in_features is 1 in the first and 2"),
        (MLPRegressor(batch_size=8), [*waves_of(0), *waves_of(1, n=30)], "their rows make 3 to 4 batches an epoch"),
        (
            MLPRegressor(),
            [{**p, "epochs": e} for p, e in zip(waves_of(0, 1), (1, 2), strict=True)],
            "one epochs; got 1 and 2",
        ),
        (
            MLPRegressor(),
            [{**p, "training__clip_norm": c} for p, c in zip(waves_of(0, 1), (1.0, 2.0), strict=True)],
            "share all of `training` but l1 and l2",
        ),
        (
            MLPRegressor(),
            [waves_of(0)[0], {**waves_of(1)[0], "X_val": waves()[0], "y_val": waves()[1]}],
            "Some problems have rows for validation and some have none",
        ),
        (
            MLPRegressor(batch_size=8, training=Training(schedule="step", grow=True)),
            waves_of(0),
            "training.grow is not for a stack",
        ),
        (
            ModuleRegressor(module=nn.Sequential(nn.Linear(1, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))),
            [*waves_of(0, n=22), *waves_of(1, n=24)],
            "filled up with rows of weight 0, which a batch norm",
        ),
        (
            ModuleRegressor(module=nn.Sequential(nn.Linear(1, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)), batch_size=23),
            waves_of(0),
            "Batch of 1 sample reaches BatchNorm1d in training",
        ),
    ],
)
def test_what_cannot_be_trained_together_is_one_sentence(estimator, problems, sentence):
    with pytest.raises(InputError, match=sentence):
        many(estimator, problems)


def test_members_follow_one_schedule():
    trainers = [Trainer(Supervised(nn.Linear(1, 1), square), one_row(), horizon=h) for h in (3, 5)]
    with pytest.raises(InputError, match="one schedule; got horizons from 3 to 5"):
        StackTrainer(trainers)


@pytest.mark.parametrize("make", [WGAN, RBM])
def test_objectives_with_more_than_one_loss_are_refused(make):
    with pytest.raises(InputError, match=f"{make.__name__} has more than a loss of one player"):
        StackTrainer([Trainer(make(), one_row())])


def test_rows_must_be_tensors_in_memory():
    source = Rows({"a": torch.zeros(4, 1)}, torch.zeros(4), batch_size=4)
    trainer = Trainer(Supervised(nn.Linear(1, 1), square), source)
    with pytest.raises(InputError, match="rows in memory whose x is one tensor"):
        StackTrainer([trainer])
