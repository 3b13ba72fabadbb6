"""Logistic regression against scikit-learn, statsmodels, closed forms and the numbers of the course."""

import warnings

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression as SklearnLogistic

from ftheta.likelihoods import Categorical
from ftheta.models import LogisticRegression, Newton


def problem(seed, classes):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(int(rng.integers(40, 120)), int(rng.integers(1, 6)))) * rng.uniform(0.5, 3)
    score = x @ rng.normal(size=(x.shape[1], classes)) + rng.gumbel(size=(len(x), classes))
    y = score.argmax(1)
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
def test_the_gradient_is_zero_at_the_optimum_and_larger_beside_it(classes):
    x, y, weight = problem(0, classes)
    model = LogisticRegression(l2=0.01).fit(x, y, weight)
    p = model.predict_proba(x)
    residual = (p - np.eye(classes)[y]) * (weight / weight.sum())[:, None]  # softmax minus one-hot
    columns = slice(1, None) if classes == 2 else slice(None)
    gradient = residual.T[columns] @ x + 2 * 0.01 * model.coef_
    assert np.abs(gradient).max() < 1e-8 and np.abs(residual.sum(0)).max() < 1e-8
    assert model.history_[-1]["gradient"] <= 1e-8 < model.history_[0]["gradient"]


def test_newton_has_the_hessian_and_gradient_of_its_loss():
    x, y, weight = (torch.tensor(a) for a in problem(1, 3))
    newton = Newton(x, y, weight, Categorical(), 3, 0.05)
    newton.theta = torch.randn(newton.theta.shape, dtype=torch.double, generator=torch.Generator().manual_seed(0))
    size = newton.theta.numel()
    by_torch = torch.autograd.functional.hessian(newton.loss, newton.theta).reshape(size, size)
    torch.testing.assert_close(newton.hessian(), by_torch)
    torch.testing.assert_close(newton.gradient(), torch.autograd.functional.jacobian(newton.loss, newton.theta))
    w, b = newton.coefficients()  # in the units of x, while θ is of standardised columns
    direct = (weight @ Categorical().nll(x @ w.T + b, y)) / weight.sum()
    torch.testing.assert_close(newton.loss(newton.theta), direct + 0.05 * w.square().sum())


def test_the_units_of_the_columns_change_nothing():
    """Years, money and shares side by side: the same probabilities as of standardised columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X @ [1.0, 1.5, -1.0] + rng.logistic(size=400) > 0).astype(int)
    raw = X * [10, 2e4, 0.003] + [2000, 5e4, 0.005]
    plain, odd = LogisticRegression(l2=0.0).fit(X, y), LogisticRegression(l2=0.0).fit(raw, y)
    np.testing.assert_allclose(odd.predict_proba(raw), plain.predict_proba(X), rtol=1e-6)
    np.testing.assert_allclose(odd.coef_ * [10, 2e4, 0.003], plain.coef_, rtol=1e-6)


def test_too_few_steps_are_told():
    X = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.warns(ConvergenceWarning, match="after 1 of 1 Newton steps. Raise max_iter or tol"):
        LogisticRegression(max_iter=1).fit(X, X[:, 0] + X[:, 1] ** 2 > 0.3)


def test_every_newton_step_lowers_the_loss_and_can_be_taken_again_from_its_state():
    x, y, weight = (torch.tensor(a) for a in problem(2, 3))
    newton = Newton(30 * x, y, weight, Categorical(), 3, 1e-4)  # far from quadratic: full steps would overshoot
    losses = [newton.advance()["loss"] for _ in range(6)]
    assert all(b <= a for a, b in zip(losses, losses[1:], strict=False))
    state = newton.state_dict()
    rest = [newton.advance() for _ in range(3)]
    newton.load_state_dict(state)
    assert [newton.advance() for _ in range(3)] == rest and rest[0]["step"] == 7


def test_separable_classes_have_no_maximum_without_a_penalty_and_one_with_it():
    x, y = np.array([[-2.0], [-1], [1], [2]]), np.array([0, 0, 1, 1])
    free, held = LogisticRegression(l2=0.0, max_iter=25).fit(x, y), LogisticRegression(l2=0.01).fit(x, y)
    assert free.coef_[0, 0] > 5 > held.coef_[0, 0] > 0 and np.isfinite(free.coef_).all()
    assert free.score(x, y) == held.score(x, y) == 1


def test_a_constant_column_and_a_column_twice_are_no_trouble():
    x, y, _ = problem(3, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = LogisticRegression(l2=0.0).fit(np.c_[x, x[:, 0], np.full(len(x), 7.0)], y)
    plain = LogisticRegression(l2=0.0).fit(x, y)
    np.testing.assert_allclose(
        model.predict_proba(np.c_[x, x[:, 0], np.full(len(x), 7.0)]), plain.predict_proba(x), atol=1e-5
    )


def test_raw_outputs_of_several_classes_add_up_to_zero():
    x, y, _ = problem(4, 4)
    model = LogisticRegression().fit(x, y)
    np.testing.assert_allclose(model.coef_.sum(0), 0, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(x).sum(1), 0, atol=1e-10)
