"""Radial basis functions: values in closed form, weights beside scikit-learn, interpolation, learned centers, files."""

import numpy as np
import pytest
import torch
from scipy.interpolate import RBFInterpolator
from sklearn.datasets import make_moons
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from ftheta import LogisticRegression, RBFClassifier, RBFRegressor, load
from ftheta.errors import FThetaError, InputError
from ftheta.models.margin.rbf import bump, units
from ftheta.store import Run

RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, size=(60, 2))
Y = np.sin(X[:, 0]) * X[:, 1] + 5


@pytest.mark.ledger("B181", "B182", covers="ftheta.models.margin.rbf.bump")
def test_values_of_the_bumps():
    r = np.array([0.0, 1, 2, 10])
    np.testing.assert_allclose(bump(r, "inverse-multiquadric"), [1, 0.70711, 0.44721, 0.09950], atol=5e-6)
    np.testing.assert_allclose(bump(r), np.exp([0, -1, -4, -100]), rtol=1e-12)
    assert bump(np.array(1.0)) == pytest.approx(0.36788, abs=5e-6) and bump(np.array(10.0)) == pytest.approx(
        3.7e-44, rel=0.02
    )
    for basis in ("gaussian", "inverse-multiquadric"):
        torch.testing.assert_close(bump(torch.tensor(r), basis), torch.tensor(bump(r, basis)))
    found = units(X[:3], X[3:5], np.array([0.5, 2.0]), "gaussian")
    distance = np.linalg.norm(X[:3, None] - X[3:5], axis=2)
    np.testing.assert_allclose(found, np.exp(-(distance**2) / np.array([0.25, 4.0])), rtol=1e-9)


@pytest.mark.ledger("C049", covers="ftheta.models.RBFRegressor")
def test_a_width_of_root_two_sigma_is_the_gaussian_of_the_notes_and_learned_centers_lower_the_loss():
    model = RBFRegressor(centers="random", n_centers=1, width=np.sqrt(2) * 0.7).fit([[0.0], [0.7]], [0.0, 1])
    center = model.centers_[0, 0]
    np.testing.assert_allclose(model.bumps([[center], [center + 0.7]])[:, 0], [1, np.exp(-0.5)], rtol=1e-9)
    line = np.linspace(0, 6, 80)[:, None]
    wave = np.sin(2 * line[:, 0])
    for seed in range(3):
        errors = []
        for learned in (False, True):
            made = RBFRegressor(n_centers=5, learn_centers=learned, random_state=seed).fit(line, wave)
            errors.append(np.mean((made.predict(line) - wave) ** 2))
        assert errors[1] < errors[0] / 2


def test_weights_are_those_of_a_ridge_regression_of_the_bumps():
    weight = RNG.uniform(0.5, 2, size=60)
    model = RBFRegressor(n_centers=12, l2=0.3, random_state=0).fit(X, Y, weight)
    truth = Ridge(alpha=0.3 * weight.sum()).fit(model.bumps(X), Y, weight)
    np.testing.assert_allclose(model.coef_, truth.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.predict(X), truth.predict(model.bumps(X)), rtol=1e-8)
    two = RBFRegressor(n_centers=12, l2=0.3, random_state=0).fit(X, np.stack([Y, -2 * Y], 1), weight)
    np.testing.assert_allclose(two.predict(X), np.stack([model.predict(X), -2 * model.predict(X)], 1), rtol=1e-6)


@pytest.mark.ledger("B287", covers="ftheta.models.RBFRegressor")
def test_a_center_at_every_row_is_the_solution_of_regularization_theory():
    smooth = []
    for penalty in (0.0, 0.01, 1.0):
        model = RBFRegressor(centers="all", l2=penalty / 60, width=1.5).fit(X, Y)
        truth = KernelRidge(alpha=max(penalty, 1e-12), kernel="rbf", gamma=1 / 1.5**2).fit(X, Y)
        np.testing.assert_allclose(model.predict(X + 0.05), truth.predict(X + 0.05), atol=1e-3)
        gram = units(model.centers_, model.centers_, model.widths_, "gaussian")
        smooth.append(model.coef_ @ gram @ model.coef_)
    assert smooth == sorted(smooth, reverse=True)  # a larger penalty, a smoother function
    weight = np.linspace(0.5, 4, 60)
    model = RBFRegressor(centers="all", l2=0.02, width=1.5).fit(X, Y, weight)
    truth = KernelRidge(alpha=0.02 * weight.sum(), kernel="rbf", gamma=1 / 1.5**2).fit(X, Y, weight)
    np.testing.assert_allclose(model.predict(X + 0.05), truth.predict(X + 0.05), rtol=1e-6)
    exact = RBFRegressor(centers="all", l2=0.0, width=0.8).fit(X, Y)
    np.testing.assert_allclose(exact.predict(X), Y, atol=1e-6)
    grid = RNG.uniform(-1, 1, size=(10, 2))
    through = RBFInterpolator(X, Y, kernel="gaussian", epsilon=1 / 0.8, degree=-1)(grid)
    np.testing.assert_allclose(exact.predict(grid), through, atol=1e-4)


def test_equal_rows_with_different_targets_are_their_mean():
    rows, y = [[0.0], [0.0], [1.0]], [1.0, 3.0, 5.0]
    model = RBFRegressor(centers="all", l2=0.0, width=0.5).fit(rows, y, [1.0, 3.0, 1.0])
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), [2.5, 5.0])


def test_centers_are_where_the_clusters_are_and_no_more_than_rows():
    spots = np.array([[0.0, 0], [10, 0], [0, 10]])
    cloud = np.repeat(spots, 20, axis=0) + 0.1 * RNG.normal(size=(60, 2))
    found = RBFRegressor(n_centers=3, random_state=0).fit(cloud, cloud[:, 0]).centers_
    assert np.linalg.norm(found[:, None] - spots, axis=2).min(0).max() < 0.1
    assert len(RBFRegressor(n_centers=100).fit(X[:5], Y[:5]).centers_) == 5
    drawn = RBFRegressor(n_centers=4, centers="random", random_state=1).fit(X, Y).centers_
    assert all((X == center).all(1).any() for center in drawn)


def test_classes_are_a_logistic_regression_of_the_bumps(tmp_path):
    rows, kind = make_moons(200, noise=0.2, random_state=0)
    model = RBFClassifier(n_centers=8, random_state=0).fit(rows[::2], kind[::2])
    truth = LogisticRegression(l2=1e-5).fit(model.bumps(rows[::2]), kind[::2])
    np.testing.assert_allclose(model.predict_proba(rows), truth.predict_proba(model.bumps(rows)), rtol=1e-5)
    moved = RBFClassifier(n_centers=8, learn_centers=True, random_state=0).fit(rows[::2], kind[::2])
    assert moved.score(rows[1::2], kind[1::2]) > 0.9
    loaded = load(moved.save(tmp_path / "m"))
    assert np.array_equal(loaded.predict_proba(rows), moved.predict_proba(rows))
    run = Run(tmp_path / "m")
    tree = run.tree("model.safetensors")
    tree["state"]["output_"]["config"] = tree["state"]["output_"]["config"].replace('"linear"', '"mlp"')
    Run(tmp_path / "n").finish({"model.safetensors": tree, "config.json": run.read("config.json").decode()})
    with pytest.raises(FThetaError, match="not a logistic regression"):
        load(tmp_path / "n")


def test_gradients_of_the_learned_centers_are_those_of_the_loss():
    """At the end no small step of a center or a width lowers the loss."""
    rows, kind = X[:40], X[:40, 0] * X[:40, 1] > 0
    model = RBFClassifier(n_centers=3, learn_centers=True, l2=0.01, random_state=0).fit(rows, kind)

    def loss(centers, widths):
        phi = units(rows, centers, widths, "gaussian")
        line = LogisticRegression(l2=0.01).fit(phi, kind)
        return line.loss_ + 0.01 * (line.coef_**2).sum()

    best = loss(model.centers_, model.widths_)
    for _ in range(10):
        step = 0.03 * RNG.normal(size=model.centers_.shape)
        assert loss(model.centers_ + step, model.widths_) > best - 2e-3


def test_what_cannot_be_is_refused():
    with pytest.raises(InputError, match="5,000 rows"):
        RBFRegressor(centers="all").fit(np.arange(5001.0)[:, None], np.arange(5001.0))
    with pytest.raises(InputError, match="RBFRegressor"):
        RBFClassifier(centers="all").fit(X, Y > 5)
    flat = RBFRegressor(n_centers=3).fit(np.ones((10, 2)), np.arange(10.0))
    assert flat.predict([[1.0, 1.0]]) == pytest.approx(4.5)


def test_predictions_by_parts_are_those_of_all_rows_at_once(monkeypatch):
    x = np.random.default_rng(0).normal(size=(53, 2))
    y = x[:, 0] ** 2
    fitted = (
        RBFRegressor(n_centers=5, random_state=0).fit(x, y),
        RBFClassifier(n_centers=5, random_state=0).fit(x, y > 1),
    )
    whole = [fitted[0].predict(x), fitted[1].predict_proba(x), fitted[1].decision_function(x)]
    monkeypatch.setattr("ftheta.models.margin.rbf.PART", 50)  # ten rows at a time, and three that are left
    for a, b in zip(
        whole, [fitted[0].predict(x), fitted[1].predict_proba(x), fitted[1].decision_function(x)], strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)
