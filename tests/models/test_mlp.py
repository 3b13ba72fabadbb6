"""The perceptron against closed forms, scikit-learn, and the claims of the course about it."""

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ftheta.errors import InputError
from ftheta.models import LinearRegression, MLPClassifier, MLPRegressor
from ftheta.train import Training

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 3))
EXACT = {"optimizer": "lbfgs", "dtype": "float64", "epochs": 30, "random_state": 0}
TIGHT = {"tolerance_grad": 1e-12}


def test_without_hidden_layers_and_with_gaussian_noise_it_is_least_squares():
    Y = X @ rng.normal(size=(3, 2)) + rng.normal(size=(150, 2)) + 5
    net, closed = (
        MLPRegressor(hidden=(), training=Training(options=TIGHT), **EXACT).fit(X, Y),
        LinearRegression().fit(X, Y),
    )
    np.testing.assert_allclose(net.predict(X), closed.predict(X), rtol=1e-7)


@pytest.mark.parametrize("classes", [2, 4])
def test_without_hidden_layers_it_is_logistic_regression(classes):
    y = np.digitize(X[:, 0] + X[:, 1] + rng.normal(size=150), np.linspace(-1, 1, classes - 1))
    l2 = 0.01
    net = MLPClassifier(hidden=(), training=Training(l2=l2, options=TIGHT), **EXACT).fit(X, y)
    peer = SklearnLogistic(C=1 / (2 * l2 * len(X)), tol=1e-10, max_iter=2000).fit(X, y)
    np.testing.assert_allclose(net.predict_proba(X), peer.predict_proba(X), rtol=1e-6)


def test_the_median_of_a_laplace_and_the_mean_of_a_gaussian():
    y = np.r_[np.zeros(60), np.full(41, 10.0)]
    ones = np.zeros((101, 1))
    laplace = MLPRegressor(hidden=(), likelihood="laplace", epochs=400, lr=0.02, random_state=0).fit(ones, y)
    gaussian = MLPRegressor(hidden=(), epochs=400, lr=0.02, random_state=0).fit(ones, y)
    assert laplace.predict([[0.0]])[0] == pytest.approx(0, abs=0.3)
    assert gaussian.predict([[0.0]])[0] == pytest.approx(y.mean(), abs=0.05)


@pytest.mark.ledger("C002", covers="ftheta.models.MLPClassifier")
@pytest.mark.parametrize("hidden", [(), (7,), (5, 4, 3)])
def test_parameters_are_one_vector_and_each_vector_is_one_member_of_the_family(hidden):
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = MLPClassifier(hidden=hidden, epochs=1, random_state=0).fit(X, y)
    net, widths = model.module_, [3, *hidden, 3]
    theta = parameters_to_vector(net.parameters()).detach().clone()
    assert len(theta) == sum((a + 1) * b for a, b in zip(widths, widths[1:], strict=False))
    before = model.predict_proba(X)
    vector_to_parameters(2 * theta, net.parameters())
    assert not np.allclose(model.predict_proba(X), before)
    vector_to_parameters(theta, net.parameters())
    assert torch.equal(parameters_to_vector(net.parameters()), theta)
    assert np.array_equal(model.predict_proba(X), before)


@pytest.mark.middle
@pytest.mark.ledger("C056", covers="ftheta.models.MLPRegressor")
def test_a_shallow_net_reaches_the_noise_floor_by_gradient_descent():
    x, noise = np.linspace(-2, 2, 200)[:, None], 0.1
    y = np.abs(x[:, 0]) + noise * np.random.default_rng(1).normal(size=200)
    model = MLPRegressor(hidden=(20,), optimizer="gd", lr=0.1, epochs=1500, random_state=0)
    start = np.var(y)
    assert np.mean((model.fit(x, y).predict(x) - y) ** 2) < 1.3 * noise**2 < start / 10
    assert model.history_[-1]["loss"] < model.history_[0]["loss"] and model.history_[-1]["step"] == 1500


def test_each_hidden_layer_may_have_its_own_activation():
    model = MLPRegressor(hidden=(4, 3), activation=("tanh", "relu"), epochs=1).fit(X, X[:, 0])
    assert [type(m).__name__ for m in model.module_][1::2] == ["Tanh", "ReLU"]
    with pytest.raises(InputError, match="activation has 3 values for 2 hidden layers"):
        MLPRegressor(hidden=(4, 3), activation=("tanh", "relu", "relu")).fit(X, X[:, 0])
    with pytest.raises(InputError, match="Did you mean 'relu'"):
        MLPRegressor(activation="relo").fit(X, X[:, 0])


def test_it_reads_digits():
    digits = load_digits()
    x, y = digits.data / 16, digits.target
    model = MLPClassifier(hidden=(64,), epochs=15, random_state=0).fit(x[:1200], y[:1200])
    assert model.score(x[1200:], y[1200:]) > 0.9 and model.evaluate(x[1200:], y[1200:])["accuracy"] > 0.9
