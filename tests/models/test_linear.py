"""Least squares and logistic regression against closed forms, scikit-learn and the numbers of the course."""

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression as SklearnLinear
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from torch import nn

from ftheta.data import Rows
from ftheta.draw import Draw
from ftheta.likelihoods import Bernoulli, Categorical, Gaussian
from ftheta.models import LinearRegression, LogisticRegression, Newton, least_squares
from ftheta.train import Supervised, Trainer, Training, evaluate, iterate

LINE = np.array([[0.0], [1], [2], [3]]), np.array([1.0, 3, 2, 5])
AGE_BMI = np.array([[25, 22.5], [35, 26.5], [45, 29.5], [55, 31.5], [65, 33.5]])
CHOLESTEROL = np.array([180.0, 210, 240, 260, 280])


def squared(raw, y):
    return (raw[:, 0] - y).square()


def affine(w, b):
    """A linear layer with these parameters, in float64."""
    layer = nn.Linear(len(w), 1).double()
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(w))
        layer.bias.fill_(float(b))
    return layer


def mean_loss(layer, d, x, y):
    source = Rows(torch.tensor(x), torch.tensor(y), batch_size=2)  # two batches of two and one of one
    return evaluate(Supervised(layer, d), source, Draw(0))["loss"]


# ---- least squares


@given(st.integers(2, 12), st.integers(1, 5), st.integers(0, 999))
def test_residuals_are_orthogonal_to_every_column_and_the_solution_is_the_shortest(n, d, seed):
    rng = np.random.default_rng(seed)
    x, y, weight = rng.normal(size=(n, d)), rng.normal(size=(n, 2)), rng.uniform(0.1, 3, n)
    w, b = least_squares(x, y, weight)
    residual = (y - x @ w - b) * weight[:, None]
    assert np.abs(x.T @ residual).max() < 1e-8 and np.abs(residual.sum(0)).max() < 1e-8
    if n > d + 1:
        with_ones = np.c_[x, np.ones(n)] * np.sqrt(weight)[:, None]
        np.testing.assert_allclose(
            np.r_[w, b[None]], np.linalg.pinv(with_ones) @ (y * np.sqrt(weight)[:, None]), atol=1e-7
        )


def test_it_agrees_with_scikit_learn_with_and_without_intercept_weights_and_targets():
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(60, 5)) * [1, 50, 0.1, 1, 1] + [0, 0, 0, 100, -5], rng.uniform(0, 2, 60)
    for y in (x @ rng.normal(size=5) + 3 + rng.normal(size=60), x @ rng.normal(size=(5, 3)) + rng.normal(size=(60, 3))):
        for intercept in (True, False):
            for w in (None, weight):
                ours = LinearRegression(fit_intercept=intercept).fit(x, y, w)
                peer = SklearnLinear(fit_intercept=intercept).fit(x, y, w)
                assert ours.coef_.shape == peer.coef_.shape and np.shape(ours.intercept_) == y.shape[1:]
                np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-7)
                np.testing.assert_allclose(ours.intercept_, peer.intercept_, rtol=1e-7, atol=1e-9)
                np.testing.assert_allclose(ours.predict(x), peer.predict(x), rtol=1e-8)


@pytest.mark.parametrize(("condition", "error"), [(1e7, 1e-8), (1e10, 1e-5)])
@pytest.mark.parametrize("seed", range(5))
def test_ill_conditioned_systems_keep_their_digits(condition, error, seed):
    """The normal equations square the condition number: they lose three digits at 1e7 and everything at 1e10."""
    rng = np.random.default_rng(seed)
    u, v = np.linalg.qr(rng.normal(size=(200, 8)))[0], np.linalg.qr(rng.normal(size=(8, 8)))[0]
    u = np.linalg.qr(u - u.mean(0))[0]  # centred, so that the intercept changes nothing
    x, truth = u * np.geomspace(1, 1 / condition, 8) @ v.T, rng.normal(size=8)
    for model in (LinearRegression(fit_intercept=False).fit(x, x @ truth), LinearRegression().fit(x, x @ truth + 2)):
        assert np.linalg.norm(model.coef_ - truth) <= error * np.linalg.norm(truth)
    normal = np.linalg.solve(x.T @ x, x.T @ (x @ truth))
    assert np.linalg.norm(normal - truth) > error * np.linalg.norm(truth)


def test_a_column_twice_has_the_minimum_norm_solution():
    x = np.random.default_rng(0).normal(size=(30, 2))
    y = 4 * x[:, 0] - x[:, 1] + 1
    model = LinearRegression().fit(np.c_[x, x[:, 0]], y)
    np.testing.assert_allclose(model.coef_, [2, -1, 2], rtol=1e-10)
    np.testing.assert_allclose(LinearRegression(fit_intercept=False).fit(np.c_[x, x[:, 0]], y - 1).coef_, [2, -1, 2])
    wide = LinearRegression().fit(x[:2], y[:2])  # fewer rows than parameters
    np.testing.assert_allclose(wide.predict(x[:2]), y[:2], rtol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 14.62, 1e8])
def test_a_constant_column_gets_no_weight_and_an_offset_loses_no_digits(offset):
    x = np.random.default_rng(0).normal(size=(50, 2))
    model = LinearRegression().fit(np.c_[x + offset, np.full(50, 14.62)], x @ [2, -3])
    np.testing.assert_allclose(model.coef_, [2, -3, 0], atol=1e-6)
    assert model.coef_[2] == 0


@pytest.mark.ledger("A005", "B152", covers="ftheta.train.evaluate")
def test_the_mean_loss_of_the_cholesterol_line():
    model = LinearRegression().fit(AGE_BMI, CHOLESTEROL)
    assert [model.intercept_, *model.coef_] == pytest.approx([25.684211, 0.936842, 5.789474], abs=1e-6)
    layer = affine(model.coef_, model.intercept_)
    risk = mean_loss(layer, squared, AGE_BMI, CHOLESTEROL)
    assert risk == pytest.approx(1.2632, abs=5e-5)
    half = mean_loss(layer, lambda raw, y: squared(raw, y) / 2, AGE_BMI, CHOLESTEROL)
    assert half == pytest.approx(np.sum((model.predict(AGE_BMI) - CHOLESTEROL) ** 2) / (2 * 5), rel=1e-12)
    assert mean_loss(layer, squared, AGE_BMI[:4], CHOLESTEROL[:4]) != pytest.approx(risk, rel=1e-2)  # other data


@pytest.mark.ledger("C003", covers="ftheta.train.Trainer")
@pytest.mark.parametrize(("optimizer", "lr"), [("lbfgs", 1.0), ("gd", 0.1), ("momentum", 0.02)])
def test_training_returns_the_minimiser_the_history_and_the_same_again(optimizer, lr):
    x, y = LINE
    closed = LinearRegression().fit(x, y)
    assert [closed.intercept_, *closed.coef_] == pytest.approx([1.1, 1.1])
    assert np.sum((closed.predict(x) - y) ** 2) == pytest.approx(2.7)
    runs = []
    for _ in range(2):
        layer = affine([0.0], 0.0)
        assert 4 * mean_loss(layer, squared, x, y) == pytest.approx(39)
        source = Rows(torch.tensor(x), torch.tensor(y), batch_size=4)
        trainer = Trainer(Supervised(layer, squared), source, optimizer=optimizer, lr=lr, seed=3)
        history = iterate(trainer, rounds=300)
        runs.append(([row["loss"] for row in history], layer.weight.item(), layer.bias.item()))
    losses, slope, intercept = runs[0]
    assert runs[0] == runs[1] and losses[0] * 4 == pytest.approx(39)
    assert (slope, intercept) == pytest.approx((1.1, 1.1), abs=1e-5) and losses[-1] * 4 == pytest.approx(2.7, rel=1e-6)


@pytest.mark.ledger("A016", covers="ftheta.train.Supervised")
def test_any_discrepancy_is_averaged_and_minimised():
    y = np.array([0.0, 1, 2, 3, 14])
    x = np.zeros((5, 1))
    discrepancies = {
        "square": (squared, np.mean(y)),
        "absolute": (lambda raw, y: (raw[:, 0] - y).abs(), np.median(y)),
        "quantile of 70 %": (lambda raw, y: torch.maximum(0.7 * (y - raw[:, 0]), 0.3 * (raw[:, 0] - y)), 3.0),
    }
    for d, best in discrepancies.values():
        layer = affine([0.0], 5.0)
        at_five = d(torch.full((5, 1), 5.0), torch.tensor(y)).mean().item()
        assert mean_loss(layer, d, x, y) == pytest.approx(at_five)
        training = Training(schedule="linear")
        source = Rows(torch.tensor(x), torch.tensor(y), batch_size=5)
        trainer = Trainer(Supervised(layer, d), source, optimizer="gd", lr=0.3, training=training, horizon=200)
        iterate(trainer, rounds=200)
        assert layer.bias.item() == pytest.approx(best, abs=0.1)
    points = torch.tensor([0.0, 1.0, 2.0])  # a loss need not be a metric: 4 > 1 + 1
    apart = squared(points[[0, 0, 1], None], points[[2, 1, 2]])
    assert apart[0] > apart[1] + apart[2]


@pytest.mark.ledger("C021", covers="ftheta.train.Supervised")
def test_the_signed_error_has_no_minimum():
    _, y = LINE
    x = np.zeros((4, 1))

    def signed(raw, y):
        return y - raw[:, 0]

    risks = [4 * mean_loss(affine([0.0], c), signed, x, y) for c in (0.0, 10.0, 1e3, 1e6)]
    assert risks == pytest.approx([11 - 4 * c for c in (0.0, 10.0, 1e3, 1e6)])  # Σ y - n c
    layer = affine([0.0], 0.0)
    source = Rows(torch.tensor(x), torch.tensor(y), batch_size=4)
    history = iterate(Trainer(Supervised(layer, signed), source, optimizer="gd", lr=1.0), rounds=50)
    assert [row["loss"] for row in history] == pytest.approx([11 / 4 - k for k in range(50)])  # it falls for ever
    assert float(signed(torch.tensor([[0.0], [2.0]]), torch.tensor([1.0, 1.0])).sum()) == 0  # +1 and -1 cancel


@pytest.mark.ledger("A008", "C027", "C032", covers="ftheta.likelihoods.Gaussian")
def test_the_minimiser_of_a_loss_is_the_maximiser_of_its_likelihood():
    y = np.array([1.0, 2, 4])
    grid = np.linspace(0, 5, 3001)
    product = np.prod(norm.pdf(y[:, None], grid, 1.3), 0)
    logs = norm.logpdf(y[:, None], grid, 1.3).sum(0)
    squares = ((y[:, None] - grid) ** 2).sum(0)
    tops = [grid[product.argmax()], grid[logs.argmax()], grid[(-logs).argmin()], grid[squares.argmin()]]
    assert tops == pytest.approx([7 / 3] * 4, abs=1e-3)
    assert 0.1**400 == 0 and 400 * np.log(0.1) == pytest.approx(-921.034, abs=1e-3)
    raw, target = torch.tensor([[1.5], [1.5], [3.0]]), torch.tensor(y)
    sse = ((raw[:, 0] - target) ** 2).sum()
    for scale in (0.5, 1.0, 2.0):
        full = 1.5 * np.log(2 * np.pi * scale**2) + sse / (2 * scale**2)
        assert float(Gaussian(scale).total(raw, target)) == pytest.approx(float(full), rel=1e-6)
    assert float(Gaussian().total(raw, target)) == pytest.approx(3.50682, abs=1e-5)


@pytest.mark.ledger("A008", covers="ftheta.likelihoods.Bernoulli")
@pytest.mark.parametrize("scale", [0.5, 1.0, 3.0])
def test_likelihood_and_loss_have_the_same_parameters_from_the_same_start(scale):
    x, y = LINE

    def fitted(nll, target=y):
        layer = affine([0.3], -0.2)
        source = Rows(torch.tensor(x), torch.tensor(target), batch_size=4)
        options = {"tolerance_grad": 1e-12}
        iterate(
            Trainer(Supervised(layer, nll), source, optimizer="lbfgs", training=Training(options=options)), rounds=20
        )
        return [layer.weight.item(), layer.bias.item()]

    assert fitted(Gaussian(scale)) == pytest.approx([1.1, 1.1], rel=1e-6) == fitted(squared)
    labels = np.array([0.0, 1, 0, 1])

    def cross_entropy(raw, y):
        p = raw[:, 0].sigmoid()
        return -(y * p.log() + (1 - y) * (1 - p).log())

    assert fitted(Bernoulli(), labels) == pytest.approx(fitted(cross_entropy, labels), rel=1e-5)


# ---- logistic regression


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
