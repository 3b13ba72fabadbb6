"""Targets on the way in, answers on the way out: classes, labels, units of y, intervals, densities."""

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from ftheta.data import TargetSpec
from ftheta.errors import InputError
from ftheta.likelihoods import NAMES, Gaussian, Laplace
from ftheta.models import LogisticRegression, MLPClassifier, MLPRegressor, ModuleRegressor
from ftheta.tasks import learn_classes

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(240, 2))
Y = np.stack([np.sin(X[:, 0]) * 3 + 10, X[:, 1] * 50 - 7], 1) + rng.normal(size=(240, 2)) * [0.3, 5]
QUICK = {"hidden": (10,), "epochs": 20, "lr": 0.02, "random_state": 0}
SMOOTH = [name for name in NAMES if name != "poisson"]


# ---- classes


@pytest.mark.parametrize(
    ("y", "classes", "spec"),
    [
        ([1, 0, 1], [0, 1], TargetSpec("binary", 2)),
        (["b", "a", "c"], ["a", "b", "c"], TargetSpec("multiclass", 3)),
        ([0.0, 1.0, 2.0], [0, 1, 2], TargetSpec("multiclass", 3)),
        ([[0, 1], [1, 1]], [0, 1], TargetSpec("multilabel", 2)),
    ],
)
@pytest.mark.ledger("C004", covers="ftheta.models.MLPClassifier")
def test_the_target_says_which_task_it_is(y, classes, spec):
    found = learn_classes("Toy", np.array(y))
    assert found.facts["classes"].tolist() == classes and found[:2] == spec[:2]


def test_classes_may_be_told_beforehand():
    found = learn_classes("Toy", np.array([1, 1]), classes=[2, 0, 1])
    assert found.facts["classes"].tolist() == [0, 1, 2] and found[:2] == ("multiclass", 3)


def test_a_class_never_seen_counts_as_wrong_with_a_warning():
    model = MLPClassifier(**QUICK).fit(X, np.where(X[:, 0] > 0, "cow", "cat"))
    truth = np.where(X[:, 0] > 0, "cow", "dog")
    with pytest.warns(
        UserWarning, match=r"y has class 'dog' never seen in fit \(classes_: cat, cow\). It counts as wrong"
    ):
        score = model.score(X, truth)
    assert score == np.mean(model.predict(X) == truth) < 0.6


def test_a_later_part_with_a_new_class_is_refused_unless_it_was_told():
    y = np.where(X[:, 0] > 0, "b", "a")
    with pytest.raises(InputError, match="y has class .*'c'.* never seen before"):
        MLPClassifier(**QUICK).partial_fit(X, y).partial_fit(X, np.full(len(X), "c"))
    told = MLPClassifier(**QUICK).partial_fit(X, y, classes=["a", "b", "c"])
    told.partial_fit(X, np.full(len(X), "c"))
    assert told.classes_.tolist() == ["a", "b", "c"] and told.predict_proba(X).shape == (240, 3)


def test_logarithms_of_probabilities_are_what_they_say():
    model = MLPClassifier(**QUICK).fit(X, np.digitize(X[:, 0], [-1, 1]))
    np.testing.assert_allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)), rtol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_probability_too_small_for_a_float_has_a_finite_logarithm(classes):
    model = MLPClassifier(**QUICK).fit(X, np.digitize(X[:, 0], [0.0] if classes == 2 else [-1, 1]))
    far = 1e5 * X[:1]
    logs, raw = model.predict_log_proba(far), model.decision_function(far)
    assert model.predict_proba(far).min() == 0 and np.isfinite(logs).all()
    assert logs.min() == pytest.approx(-abs(raw[0]) if classes == 2 else (raw - raw.max()).min(), rel=1e-6)


def test_patterns_that_repeat_are_split_before_they_are_merged():
    corners = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]] * 100)
    labels = [0, 1, 1, 0] * 100
    model = MLPClassifier(validation=0.25, epochs=300, random_state=0).fit(corners, labels)
    assert model.score(corners, labels) == 1.0


def test_a_target_of_small_units_is_standardised_too():
    model = MLPRegressor(hidden=(), epochs=200, lr=0.05, random_state=0).fit(X, X[:, 0] * 1e-13)
    assert model.score(X, X[:, 0] * 1e-13) > 0.9


def test_later_targets_are_those_of_fit():
    several = MLPRegressor(**QUICK).fit(X, Y[:, :2])
    with pytest.raises(InputError, match=r"y has shape \(\d+,\), but fit saw 2 target"):
        several.partial_fit(X, Y[:, 0])
    labels = MLPClassifier(**QUICK).fit(X, (X[:, :2] > 0).astype(int))
    with pytest.raises(InputError, match="y must hold 0 or 1 for each of 2 labels"):
        labels.partial_fit(X, 5 * (X[:, :2] > 0).astype(int))
    with pytest.raises(InputError, match="evaluate of MLPRegressor compares with targets: pass y"):
        several.evaluate(X)
    with pytest.raises(InputError, match="y_val was given without X_val"):
        MLPRegressor(**QUICK).fit(X, Y[:, 0], y_val=Y[:, 0])
    with pytest.raises(InputError, match="weights must be finite and >= 0"):
        MLPClassifier(**QUICK, class_weight={0: -1.0}).fit(X, (X[:, 0] > 0).astype(int))


@pytest.mark.parametrize("classes", [2, 3])
def test_the_loss_is_the_cross_entropy_of_the_probabilities(classes):
    y = np.digitize(X[:, 0], [0.0] if classes == 2 else [-1, 1])
    weight = rng.uniform(0.2, 2, len(X))
    model = MLPClassifier(**QUICK).fit(X, y)
    each = -np.log(model.predict_proba(X)[np.arange(len(X)), y])
    found = model.evaluate(X, y, weight)
    assert found["loss"] == pytest.approx(np.average(each, weights=weight), rel=1e-5)
    assert found["accuracy"] == pytest.approx(np.average(model.predict(X) == y, weights=weight), rel=1e-6)


# ---- units of y


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("targets", [0, 2])
def test_shifting_and_scaling_y_shifts_and_scales_every_answer(name, targets):
    y = Y[:, 0] if targets == 0 else Y
    shift, scale = np.array([1000.0, -3.0])[: max(targets, 1)], np.array([64.0, 0.125])[: max(targets, 1)]
    shift, scale = (shift[0], scale[0]) if targets == 0 else (shift, scale)
    one = MLPRegressor(**QUICK, likelihood=name, dtype="float64").fit(X, y)
    two = MLPRegressor(**QUICK, likelihood=name, dtype="float64").fit(X, scale * y + shift)
    np.testing.assert_allclose(two.predict(X), scale * one.predict(X) + shift, rtol=1e-6)
    change = two.evaluate(X, scale * y + shift)["loss"] - one.evaluate(X, y)["loss"]
    assert change == pytest.approx(np.sum(np.log(scale)), abs=1e-5)
    if name not in ("gaussian", "laplace"):
        ends = np.asarray(scale)[..., None] * one.predict_interval(X, 0.8) + np.asarray(shift)[..., None]
        np.testing.assert_allclose(two.predict_interval(X, 0.8), ends, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("targets", [0, 1, 2])
def test_the_density_of_y_is_in_its_units_and_its_log_is_the_loss(name, targets):
    y = np.random.default_rng(1).poisson(3, size=Y.shape).astype(float) if name == "poisson" else Y
    y = y[:, 0] if targets == 0 else y[:, :targets]
    model = MLPRegressor(**QUICK, likelihood=name).fit(X, y)
    density = model.predict_distribution(X)
    logs = density.log_prob(torch.tensor(y.reshape(-1) if targets == 1 else y, dtype=torch.float32))
    assert logs.shape == (len(X),)
    assert -logs.mean().item() == pytest.approx(model.evaluate(X, y)["loss"], rel=1e-4)
    np.testing.assert_allclose(density.mean.numpy(), model.predict(X), rtol=1e-4, atol=1e-4)


def test_units_come_from_the_training_rows_alone():
    y = Y[:, 0].copy()
    y[200:] += 1e6
    model = MLPRegressor(**QUICK).fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    assert model.target_.facts["mean"] == pytest.approx(y[:200].mean())
    assert model.target_.facts["scale"] == pytest.approx(y[:200].std())
    held = MLPRegressor(**QUICK, validation=0.5).fit(X, Y[:, 0])
    assert held.target_.facts["mean"] != pytest.approx(Y[:, 0].mean(), rel=1e-6)


@pytest.mark.parametrize("value", [0.0, 14.62, -1e8])
def test_a_constant_target_is_predicted(value):
    model = MLPRegressor(**QUICK | {"epochs": 150}).fit(X, np.full(len(X), value))
    assert model.target_.facts["scale"] == 1
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-6, atol=0.2)


def test_weights_count_in_the_units_too():
    weight = np.where(np.arange(len(X)) < 100, 3.0, 0.0) + np.linspace(0, 1, len(X))
    model = MLPRegressor(**QUICK).fit(X, Y[:, 0], weight)
    mean = np.average(Y[:, 0], weights=weight)
    assert model.target_.facts["mean"] == pytest.approx(mean)
    assert model.target_.facts["scale"] == pytest.approx(np.average((Y[:, 0] - mean) ** 2, weights=weight) ** 0.5)


def test_the_first_part_sets_the_units_of_all_parts():
    model = MLPRegressor(**QUICK).partial_fit(X, Y)
    units = {name: value.copy() for name, value in model.target_.facts.items()}
    model.partial_fit(X, 1000 * Y)
    assert units.keys() == {"mean", "scale"}
    assert all(np.array_equal(model.target_.facts[name], value) for name, value in units.items())


# ---- intervals


@pytest.mark.middle
@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian-learned", "gaussian-heteroscedastic"])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_interval_holds_as_much_as_it_says_of_new_rows(name, level):
    local = np.random.default_rng(4)
    x = local.uniform(-2, 2, size=(3000, 1))
    noise = 2.0 if name == "gaussian-learned" else 0.5 + 2.5 * (x[:, 0] > 0)
    y = 100 + 10 * np.sin(x[:, 0]) + noise * local.normal(size=3000)
    model = MLPRegressor(hidden=(32,), likelihood=name, epochs=50, random_state=0).fit(x[:1500], y[:1500])
    low, high = model.predict_interval(x, level).T
    inside = (low <= y) & (y <= high)
    for part in (x[:, 0] > 0.3, x[:, 0] < -0.3):
        assert inside[1500:][part[1500:]].mean() == pytest.approx(level, abs=0.06)
    sigma = (high - low) / (2 * stats.norm.ppf((1 + level) / 2))
    if name == "gaussian-learned":
        assert np.ptp(sigma) < 1e-3 and sigma.mean() == pytest.approx(2, rel=0.1)
    else:
        assert sigma[x[:, 0] > 0.5].mean() == pytest.approx(3, rel=0.15)
        assert sigma[x[:, 0] < -1].mean() == pytest.approx(0.5, rel=0.3)


def test_intervals_have_two_ends_for_each_target_and_widen_with_the_level():
    model = MLPRegressor(**QUICK, likelihood="gaussian-learned").fit(X, Y)
    narrow, wide = model.predict_interval(X, 0.5), model.predict_interval(X, 0.99)
    assert narrow.shape == (240, 2, 2) and (wide[..., 0] < narrow[..., 0]).all()
    assert (wide[..., 1] > narrow[..., 1]).all()
    np.testing.assert_allclose(narrow.mean(-1), model.predict(X), rtol=1e-4)


def test_a_level_outside_zero_and_one_and_a_fixed_variance_are_refused():
    learned = MLPRegressor(**QUICK, likelihood="gaussian-learned").fit(X, Y[:, 0])
    for level in (0, 1, 95):
        with pytest.raises(InputError, match=f"level={level}; it must lie between 0 and 1"):
            learned.predict_interval(X, level)
    for fixed in ("gaussian", "laplace"):
        with pytest.raises(InputError, match="fixed scale, so its interval would say nothing.*'gaussian-learned'"):
            MLPRegressor(likelihood=fixed, **QUICK).fit(X, Y[:, 0]).predict_interval(X)


# ---- likelihoods


def test_counts_follow_their_rate_and_other_numbers_are_refused():
    local = np.random.default_rng(5)
    rate = 1 + 4 * (X[:, 0] > 0)
    y = local.poisson(rate)
    model = MLPRegressor(hidden=(16,), likelihood="poisson", epochs=80, random_state=0).fit(X, y)
    clear = np.abs(X[:, 0]) > 0.5
    assert np.abs(model.predict(X) - rate)[clear].mean() < 0.6
    low, high = model.predict_interval(X, 0.9).T
    assert ((low <= y) & (y <= high)).mean() > 0.85 and np.array_equal(low, np.floor(low))
    for bad, shown in [(-1, "-1"), (0.5, "0.5")]:
        with pytest.raises(
            InputError, match=rf"for counts 0, 1, 2, ..., but y holds {shown}. Use likelihood='gaussian'"
        ):
            MLPRegressor(likelihood="poisson").fit(X, np.r_[y[1:], bad])


def test_an_own_likelihood_is_copied():
    own = Laplace(0.5)
    model = MLPRegressor(**QUICK, likelihood=own).fit(X, Y[:, 0])
    assert model.likelihood_ is not own and model.likelihood_.scale == 0.5


def test_a_learned_variance_is_learned_with_the_net_and_saved_with_it():
    model = MLPRegressor(**QUICK, likelihood="gaussian-learned").fit(X, Y)
    assert (model.likelihood_.log_var.detach() != 0).all()
    assert set(model.get_state()["modules"]) == {"module_", "likelihood_"}


def test_the_scale_of_a_fixed_variance_does_not_move_the_prediction():
    def fit(scale):
        settings = {"optimizer": "lbfgs", "epochs": 20, "dtype": "float64", "random_state": 0}
        return ModuleRegressor(module=nn.Linear(2, 1), likelihood=Gaussian(scale), **settings).fit(X, Y[:, 0])

    np.testing.assert_allclose(fit(0.3).predict(X), fit(3.0).predict(X), rtol=1e-4)


def test_the_likelihood_follows_the_task():
    kinds = {
        "Bernoulli": MLPClassifier(**QUICK).fit(X, X[:, 0] > 0),
        "Categorical": MLPClassifier(**QUICK).fit(X, np.digitize(X[:, 0], [-1, 1])),
        "Gaussian": MLPRegressor(**QUICK).fit(X, Y),
    }
    widths = {"Bernoulli": 1, "Categorical": 3, "Gaussian": 2}
    for name, model in kinds.items():
        assert type(model.likelihood_).__name__ == name and model.module_.output.out_features == widths[name]
    labels = MLPClassifier(**QUICK).fit(X, (X > 0).astype(int))
    assert type(labels.likelihood_).__name__ == "Bernoulli" and labels.module_.output.out_features == 2
    assert LogisticRegression().fit(X, X[:, 0] > 0).coef_.shape == (1, 2)


def test_class_weights_change_what_is_learned_but_not_how_rows_are_counted_afterwards():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 1.2).astype(int)
    model = MLPClassifier(hidden=(8,), epochs=20, class_weight="balanced", random_state=0).fit(X, y)
    found = model.evaluate(X, y)
    assert found["accuracy"] == pytest.approx(model.score(X, y), abs=1e-6)
    assert found["loss"] == pytest.approx(-np.log(model.predict_proba(X)[np.arange(300), y]).mean(), rel=1e-4)


def test_two_mistyped_targets_among_the_rows_held_out_do_not_end_training():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(360, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    wrong = y[300:].copy()
    wrong[[7, 31]] = 1e4, -1e5
    net = MLPRegressor(epochs=200, patience=10, lr=0.01, random_state=0)
    right, moved = (net.fit(X[:300], y[:300], X_val=X[300:], y_val=v).predict(X) for v in (y[300:], wrong))
    assert np.corrcoef(right, y)[0, 1] > 0.98 and np.corrcoef(moved, y)[0, 1] > 0.98
    assert max(row["valid_loss"] for row in net.history_) < 10  # not that of 1e4 standard deviations
