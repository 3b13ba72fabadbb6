"""Logistic regression against scikit-learn, statsmodels, closed forms and the numbers of the course."""

import math
import pickle
import warnings

import numpy as np
import pytest
import torch
from scipy.special import expit, log_softmax
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as SklearnLogistic

import ftheta
from ftheta.errors import InputError
from ftheta.likelihoods import Categorical
from ftheta.models import LogisticNewton, LogisticRegression
from ftheta.models.linear.logistic_solvers import LogisticProblem
from ftheta.train import Callback, Training


def problem(seed, classes):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(int(rng.integers(40, 120)), int(rng.integers(1, 6)))) * rng.uniform(0.5, 3)
    y = (x @ rng.normal(size=(x.shape[1], classes)) + rng.gumbel(size=(len(x), classes))).argmax(1)
    y[:classes] = np.arange(classes)  # every class is there
    return x, y, rng.uniform(0.1, 3, len(x))


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("seed", range(10))
def test_it_agrees_with_scikit_learn(seed, classes):
    x, y, weight = problem(seed, classes)
    l2 = 10.0 ** -(seed % 4 + 1)
    for w, class_weight in [(None, None), (weight, None), (None, "balanced"), (weight, {0: 2.0, 1: 0.5})]:
        each = np.ones(len(x)) if w is None else w
        if class_weight == "balanced":
            c = each.sum() / (classes * np.bincount(y, each))
        else:
            c = np.array([(class_weight or {}).get(k, 1.0) for k in range(classes)])
        total = (each * c[y]).sum()  # our loss is the mean over weights, scikit-learn's the sum
        ours = LogisticRegression(l2=l2, class_weight=class_weight, tol=1e-10).fit(x, y, w)
        peer = SklearnLogistic(C=1 / (2 * l2 * total), class_weight=class_weight, tol=1e-10, max_iter=5000)
        peer.fit(x, y, w)
        assert ours.coef_.shape == peer.coef_.shape == ((1 if classes == 2 else classes), x.shape[1])
        np.testing.assert_allclose(ours.predict_proba(x), peer.predict_proba(x), atol=1e-6)
        np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-4, atol=1e-5)
        assert np.array_equal(ours.predict(x), peer.predict(x)) and ours.n_iter_ < 30


@pytest.mark.parametrize("classes", [2, 3])
def test_balanced_classes_are_counted_in_weights_as_in_repeated_rows(classes):
    x, y, weight = problem(1, classes)
    times = np.where(y == 0, 5, 1 + np.arange(len(y)) % 3)
    model = LogisticRegression(class_weight="balanced", l2=0.01)
    truth = model.fit(np.repeat(x, times, axis=0), np.repeat(y, times)).predict_proba(x)
    np.testing.assert_allclose(model.fit(x, y, times).predict_proba(x), truth, atol=1e-8)


def test_the_units_of_the_columns_change_nothing():
    """Years, money and shares side by side: the same probabilities as of standardised columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X @ [1.0, 1.5, -1.0] + rng.logistic(size=400) > 0).astype(int)
    raw = X * [10, 2e4, 0.003] + [2000, 5e4, 0.005]
    plain, odd = LogisticRegression(l2=0.0).fit(X, y), LogisticRegression(l2=0.0).fit(raw, y)
    np.testing.assert_allclose(odd.predict_proba(raw), plain.predict_proba(X), rtol=1e-6)
    np.testing.assert_allclose(odd.coef_ * [10, 2e4, 0.003], plain.coef_, rtol=1e-6)


@pytest.mark.parametrize("outputs", [2, 3])
def test_the_problem_has_the_gradient_and_hessian_that_torch_has(outputs):
    x, y, weight = problem(1, 3)
    made = LogisticProblem(x, y, weight, outputs, 0.05)
    theta = torch.randn(outputs, 4, dtype=torch.double, generator=torch.Generator().manual_seed(0))

    def loss(theta):
        w = theta[:, :-1] / torch.tensor(made.scale)
        raw = torch.tensor(x - made.mean) @ w.T + theta[:, -1]
        raw = raw if outputs == 3 else torch.cat([torch.zeros_like(raw[:, :1]), raw], 1)
        return torch.tensor(weight) @ Categorical().nll(raw, torch.tensor(y)) + 0.05 * w.square().sum()

    value, gradient = made.value(theta.numpy())
    assert value == pytest.approx(float(loss(theta)))
    np.testing.assert_allclose(gradient, torch.autograd.functional.jacobian(loss, theta), rtol=1e-8, atol=1e-10)
    by_torch = torch.autograd.functional.hessian(loss, theta).reshape(gradient.size, gradient.size)
    np.testing.assert_allclose(made.hessian(theta.numpy()), by_torch, rtol=1e-8, atol=1e-10)


def test_too_few_steps_are_told():
    X = np.random.default_rng(0).normal(size=(50, 2))
    for kind in ({}, {"l1": 0.01}):
        with pytest.warns(ConvergenceWarning, match="after 1 of 1 steps, .* Raise epochs, tol, l1 or l2"):
            LogisticRegression(epochs=1, **kind).fit(X, X[:, 0] + X[:, 1] ** 2 > 0.3)


def test_every_newton_step_lowers_the_loss_and_can_be_taken_again_from_its_state():
    x, y, weight = problem(2, 3)
    newton = LogisticNewton(LogisticProblem(30 * x, y, weight, 3, 1e-4), 1e-6)  # full steps would overshoot
    losses = [newton.advance()["loss"] for _ in range(6)]
    assert all(b <= a for a, b in zip(losses, losses[1:], strict=False))
    state = newton.state_dict()
    rest = [newton.advance() for _ in range(3)]
    newton.load_state_dict(state)
    assert [newton.advance() for _ in range(3)] == rest and rest[0]["step"] == 7


@pytest.mark.middle
def test_default_probabilities_are_near_the_optimum_and_l1_reaches_it():
    digits, iris = datasets.load_digits(return_X_y=True), datasets.load_iris(return_X_y=True)
    found, best = (LogisticRegression(tol=tol).fit(*digits).predict_proba(digits[0]) for tol in (1e-6, 1e-8))
    assert np.abs(found - best).max() < 1e-3
    peer = SklearnLogistic(C=1 / (2e-3 * len(digits[0])), solver="newton-cholesky", tol=1e-8).fit(*digits)
    assert np.abs(found - peer.predict_proba(digits[0])).max() < 1e-3
    assert LogisticRegression(l1=1e-5, l2=0.0).fit(*iris).history_[-1]["loss"] < 0.0403
    first = LogisticRegression().fit(*iris)
    rows = iris[0].copy()
    model = LogisticRegression().fit(rows, iris[1])
    rows[:] = 0  # the summary has rows of its own
    assert str(model.summary_) == str(first.summary_)


FOUR = np.array([[-2.0], [-1], [1], [2]]), np.array([0, 0, 1, 1])
SEPARABLE = "Planes separate the classes, so the likelihood has no maximum: .* l2=1e-3 is used in place of l2=0"


@pytest.mark.ledger("A049", covers="ftheta.models.LogisticRegression")
def test_the_maximum_is_that_of_gradient_ascent_and_separable_classes_have_none():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    y = (x @ [1.0, -1.0] + rng.logistic(size=60) > 0).astype(int)
    theta, x1 = np.zeros(3), np.c_[np.ones(60), x]
    for _ in range(3000):
        theta += 0.05 * x1.T @ (y - expit(x1 @ theta))
    model = LogisticRegression(l2=0.0).fit(x, y)
    np.testing.assert_allclose(np.r_[model.intercept_, model.coef_[0]], theta, atol=1e-8)
    slope, slopes = 0.0, []  # of x = -2, -1, 1, 2 with labels 0, 0, 1, 1: the intercept stays 0
    for step in range(1, 10**5 + 1):
        slope += 0.5 * (2 / (1 + math.exp(slope)) + 4 / (1 + math.exp(2 * slope)))
        slopes += [slope] if step in (100, 1000, 10**4, 10**5) else []
    assert slopes == pytest.approx([4.69, 6.92, 9.21, 11.51], abs=0.006)  # + log 10 each: it grows without end
    with pytest.warns(ConvergenceWarning, match=SEPARABLE):
        held = LogisticRegression(l2=0.0).fit(*FOUR)
    same = LogisticRegression(l2=1e-3).fit(*FOUR)
    assert held.l2_ == 1e-3 and np.array_equal(held.coef_, same.coef_) and held.score(*FOUR) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a penalty of either kind is enough
        assert 0 < LogisticRegression(l2=0.0, l1=0.01).fit(*FOUR).coef_[0, 0] < 5


@pytest.mark.parametrize("far", [1e5, 1e7])
def test_one_row_far_away_is_no_separation_and_does_not_end_the_search(far):
    """A 99999 that means "unknown": on its own side it says nothing, so the answer is that of the other rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    y = (x.sum(1) + rng.logistic(size=200) > 0).astype(int)
    x[0, 0], y[0] = far, 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        odd = LogisticRegression(l2=0.0, tol=1e-8).fit(x, y)
    rest = LogisticRegression(l2=0.0).fit(x[1:], y[1:])
    np.testing.assert_allclose(odd.coef_, rest.coef_, atol=1e-6)
    np.testing.assert_allclose(odd.summary_.errors, rest.summary_.errors, rtol=1e-5)
    assert odd.l2_ == 0 and not odd.summary_.notes


@pytest.mark.parametrize("classes", [2, 3])
def test_separation_is_told_and_overlap_is_not(classes):
    rng = np.random.default_rng(classes)
    centres = np.array([[0.0, 0], [9, 0], [0, 9]])[:classes]
    y = np.arange(60) % classes
    x = centres[y] + rng.normal(size=(60, 2))
    with pytest.warns(ConvergenceWarning, match=SEPARABLE):
        LogisticRegression(l2=0.0).fit(x, y)
    y[:classes] = (y[:classes] + 1) % classes  # one row of each class among the others
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert LogisticRegression(l2=0.0).fit(x, y).l2_ == 0


def test_quasi_complete_separation_is_told():
    """Rows of both classes on the plane between them: the slope still has no end."""
    x, y = np.array([[-2.0], [-1], [0], [0], [1], [2]]), np.array([0, 0, 0, 1, 1, 1])
    with pytest.warns(ConvergenceWarning, match=SEPARABLE):
        LogisticRegression(l2=0.0).fit(x, y)
    noise = np.random.default_rng(0).normal(size=(200, 2))
    group = np.arange(200) % 5 == 0  # a column that is 1 only where y is 1, beside one that tells little
    labels = group | (noise[:, 0] + noise[:, 1] > 0.5)
    with pytest.warns(ConvergenceWarning, match=SEPARABLE):
        model = LogisticRegression(l2=0.0).fit(np.c_[noise[:, 0], group], labels)
    assert "there are no standard errors" in model.summary_.notes[0] and np.isnan(model.summary_.errors).all()
    third = np.where(group, 2, (noise[:, 0] > 0.3 * noise[:, 1]).astype(int))  # one of three classes, by its column
    with pytest.warns(ConvergenceWarning, match=SEPARABLE):
        model = LogisticRegression(l2=0.0).fit(np.c_[noise[:, 0], group], third)
    assert "there are no standard errors" in model.summary_.notes[0]


@pytest.mark.middle
def test_it_agrees_with_scikit_learn_to_the_eighth_digit_on_thirty_problems():
    for seed in range(30):
        x, y, weight = problem(seed, 2 + seed % 3)
        l2 = 10.0 ** -(seed % 3 + 1)
        peer = SklearnLogistic(C=1 / (2 * l2 * weight.sum()), solver="newton-cholesky", tol=1e-12)
        peer.fit(x, y, weight)
        ours = LogisticRegression(l2=l2, tol=1e-10).fit(x, y, weight)
        np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-8, atol=1e-8)
        middle = peer.intercept_ - peer.intercept_.mean() if len(peer.classes_) > 2 else peer.intercept_
        np.testing.assert_allclose(ours.intercept_, middle, rtol=1e-8, atol=1e-8)


@pytest.mark.ledger("A046", covers="ftheta.models.LogisticRegression")
def test_the_log_odds_are_linear_in_the_features():
    x, y, _ = problem(5, 2)
    model = LogisticRegression().fit(x, y)
    raw = model.decision_function(x)
    np.testing.assert_allclose(raw, np.c_[np.ones(len(x)), x] @ np.r_[model.intercept_, model.coef_[0]], rtol=1e-12)
    p = model.predict_proba(x)
    np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), raw, atol=1e-9)
    moved = model.decision_function(x + np.eye(x.shape[1])[0])
    np.testing.assert_allclose(np.exp(moved - raw), np.exp(model.coef_[0, 0]), rtol=1e-9)  # the odds ratio


@pytest.mark.ledger("A051", covers="ftheta.models.LogisticRegression")
def test_predicted_probabilities_are_observed_frequencies():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40_000, 3))
    y = (rng.uniform(size=len(x)) < expit(x @ [1.0, -2.0, 0.5] - 0.5)).astype(int)
    p = LogisticRegression(l2=0.0).fit(x[:20_000], y[:20_000]).predict_proba(x[20_000:])[:, 1]
    held = np.array_split(np.argsort(p), 10)
    z = [(y[20_000:][i].mean() - p[i].mean()) / np.sqrt((p[i] * (1 - p[i])).mean() / len(i)) for i in held]
    assert np.abs(z).max() < 4 and np.square(z).sum() < 30  # χ² of 10: 29.6 at 0.001


# ---- L1


def objective(model, x, y, l1, l2):
    raw = x @ model.coef_.T + model.intercept_
    raw = np.c_[np.zeros(len(x)), raw] if raw.shape[1] == 1 else raw
    nll = -log_softmax(raw, axis=1)[np.arange(len(x)), y].mean()
    return nll + l1 * np.abs(model.coef_).sum() + l2 * np.square(model.coef_).sum()


@pytest.mark.parametrize("classes", [2, 3])
def test_an_l1_penalty_has_the_solution_of_scikit_learn_and_meets_its_conditions(classes):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(150, 8)) * rng.uniform(0.3, 3, 8) + 1
        y = (x[:, :3] @ rng.normal(size=(3, classes)) + rng.gumbel(size=(150, classes))).argmax(1)
        l1, l2 = 0.02, (0.0, 1e-2)[seed % 2]
        ours = LogisticRegression(l1=l1, l2=l2, tol=1e-9).fit(x, y)
        p = ours.predict_proba(x) - np.eye(classes)[y]
        slope = (p.T @ x / len(x))[1 if classes == 2 else 0 :] + 2 * l2 * ours.coef_
        still = ours.coef_ == 0
        assert still.any() and not still.all()
        assert np.abs(slope[still]).max() <= l1 + 1e-8  # the conditions of a minimum
        np.testing.assert_allclose(slope[~still], -l1 * np.sign(ours.coef_[~still]), atol=1e-7)
        strength = l1 + 2 * l2
        peer = SklearnLogistic(
            C=1 / (150 * strength), l1_ratio=l1 / strength, solver="saga", tol=1e-10, max_iter=20_000, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            peer.fit(x, y)
        assert objective(ours, x, y, l1, l2) <= objective(peer, x, y, l1, l2) + 1e-10


# ---- what is refused, and degenerate rows


def test_a_tolerance_below_rounding_ends_with_a_word():
    x, y, _ = problem(1, 3)
    with pytest.warns(ConvergenceWarning, match=r"after \d+ of 1000 steps, and tol is 1e-300. Raise epochs, tol"):
        model = LogisticRegression(tol=1e-300).fit(x, y)
    assert model.n_iter_ < 60 and model.history_[-1]["gradient"] < 1e-15


@pytest.mark.parametrize("kind", [{}, {"l1": 1e-3}, {"wide": True}])
def test_an_interrupted_run_is_continued_bit_for_bit_and_a_time_limit_ends_it(kind, tmp_path):
    x, y, weight = problem(1, 3)
    x = np.random.default_rng(0).normal(size=(len(x), 150)) if kind.pop("wide", False) else x
    truth = LogisticRegression(**kind).fit(x, y, weight)

    class Interrupt(Callback):
        def on_row(self, ctx, row):
            if ctx.round == 3:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LogisticRegression(**kind).fit(x, y, weight, run=tmp_path, callbacks=[Interrupt()])
    model = LogisticRegression(**kind).fit(x, y, weight, run=tmp_path)
    assert np.array_equal(model.coef_, truth.coef_) and model.history_ == truth.history_
    again = LogisticRegression(**kind).fit(x, y, weight, run=tmp_path)  # finished: read from its files
    assert np.array_equal(again.coef_, truth.coef_) and str(again.summary_) == str(truth.summary_)
    soon = LogisticRegression(training=Training(seconds=0.0), **kind).fit(x, y, weight)
    assert soon.stop_reason_ == "seconds" and not soon.coef_.any() and truth.stop_reason_ == "converged"


def test_a_warm_start_needs_fewer_steps_and_validation_rows_are_in_the_history():
    x, y, _ = problem(3, 3)
    model = LogisticRegression(warm_start=True, validation=0.2, random_state=0).fit(x, y)
    first = model.n_iter_
    assert model.fit(x, y).n_iter_ < first and 0 < model.history_[-1]["valid_loss"] < 1.1


def test_what_has_no_answer_is_one_sentence():
    x, y, _ = problem(2, 3)
    with pytest.raises(InputError, match="class_weight gives class 1 the weight 0: its log-odds would fall"):
        LogisticRegression(class_weight={1: 0.0}).fit(x, y)
    with pytest.raises(InputError, match=r"sample_weight\[0\] is 1e\+308; weights must be finite"):
        LogisticRegression().fit(x, y, np.full(len(x), 1e308))
    weightless = LogisticRegression().fit(x, y, (y != 1).astype(float))  # rows of weight 0 were never there
    assert weightless.classes_.tolist() == [0, 2]


def test_more_columns_than_rows_are_solved_as_scikit_learn_does():
    x, y = np.random.default_rng(0).normal(size=(30, 600)), np.arange(30) % 3
    ours = LogisticRegression(l2=0.01, tol=1e-10).fit(x, y)
    peer = SklearnLogistic(C=1 / (2 * 0.01 * 30), tol=1e-10, max_iter=5000).fit(x, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=2e-7)
    assert ours.history_[-1]["gradient"] <= 1e-10


def test_a_pickle_and_a_file_hold_no_rows(tmp_path):
    x, y, _ = problem(4, 2)
    model = LogisticRegression(l2=0.0).fit(x, y)
    assert "_kept" not in vars(pickle.loads(pickle.dumps(model)))
    loaded = ftheta.load(model.save(tmp_path / "model"))
    with pytest.raises(InputError, match=r"The summary needs the rows it was fitted to, .* call summarize\(X, y\)"):
        _ = loaded.summary_
    assert str(loaded.summarize(x, y)) == str(model.summary_)
    weight = 1.0 + np.arange(len(x)) % 3
    weighted = LogisticRegression(l2=0.0).fit(x, y, weight)
    assert str(weighted.summarize(x, y, weight)) == str(weighted.summary_) != str(model.summary_)
    with pytest.raises(InputError, match="These rows are not those of the fit: their loss is"):
        loaded.summarize(x, 1 - y)
