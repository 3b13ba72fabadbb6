"""Copies that are fitted again: learning curves of known laws, and labels that were changed."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import ftheta
from ftheta import explain
from ftheta.errors import InputError, InputTypeError


def test_errors_of_least_squares_follow_their_law():
    """E[err²] = σ² (1 + D / (m - D - 1)) of m Gaussian rows; of the rows learned from σ² (1 - D/m)."""
    rng, d = np.random.default_rng(0), 10
    x = rng.normal(size=(1600, d))
    y = x.sum(1) + rng.normal(size=1600)
    found = explain.more_rows(LinearRegression(fit_intercept=False).fit(x, y), x, y)
    m = found.rows
    assert m.tolist() == [160, 320, 640, 1280]
    np.testing.assert_allclose((found.held**2).mean(1), 1 + d / (m - d - 1), rtol=0.06)
    np.testing.assert_allclose((found.own**2).mean(1), 1 - d / m, rtol=0.12)
    assert "does not clearly overfit" in found.caption


def test_a_tree_that_learns_rows_by_heart_needs_more_of_them():
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 2, size=(400, 2))
    y = np.sin(2 * x[:, 0]) * x[:, 1]
    found = explain.more_rows(DecisionTreeRegressor(random_state=0).fit(x, y), x, y)
    assert (np.diff(found.held.mean(1)) < 0).all() and (found.own == 0).all()
    assert "more rows would help" in found.caption and "it overfits" in found.caption


def test_changed_labels_are_found_and_the_others_are_not():
    rng = np.random.default_rng(2)
    y = np.repeat(["a", "b", "c"], 60)
    x = 6 * np.eye(3)[np.repeat([0, 1, 2], 60)] + rng.normal(size=(180, 3))
    changed, y = [5, 70, 130], y.copy()
    y[changed] = ["b", "c", "a"]
    found = explain.mislabeled(ftheta.LinearDiscriminant().fit(x, y), x, y, rows=np.arange(180) + 1000)
    assert sorted(found.rows - 1000) == changed and found.n == 180
    assert dict(zip(found.rows - 1000, found.predicted, strict=True)) == {5: "a", 70: "b", 130: "c"}
    assert "3 of 180 rows look mislabeled" in found.caption


def test_a_class_is_named_where_it_is_likelier_than_for_its_own_rows_on_average():
    """The thresholds of confident learning: 0.6 is sure for class 1, whose rows have 0.5, not for 0."""
    p = np.array([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6], [0.5, 0.5], [0.5, 0.5], [0.6, 0.4]])
    y = np.array([0, 0, 0, 1, 1, 1])
    from ftheta.explain.predictions.refitted import suspects

    found = suspects(y, y, p, [0, 1], np.arange(6))  # t = 2.2/3 = 0.73 and 1.4/3 = 0.47
    assert found.rows.tolist() == [2] and found.doubt.tolist() == [0.6]


def test_numbers_far_from_what_the_others_say():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 2))
    y = x @ [1.0, 2.0] + 0.1 * rng.normal(size=200)
    y[17] += 3
    found = explain.mislabeled(LinearRegression().fit(x, y), x, y)
    assert found.rows.tolist() == [17] and found.predicted[0] == pytest.approx(x[17] @ [1, 2], abs=0.1)
    y[17] -= 3
    assert explain.mislabeled(LinearRegression().fit(x, y), x, y).caption == "None of 200 rows looks mislabeled."


def test_a_class_of_one_row_and_what_cannot_be():
    x, y = load_iris(return_X_y=True)
    model = ftheta.LinearDiscriminant().fit(x[:101], y[:101])
    assert explain.more_rows(model, x[:101], y[:101]).held.shape == (4, 5)
    assert explain.mislabeled(model, x[:101], y[:101]).n == 101
    with pytest.raises(InputError, match="has 5 rows; 20 or more"):
        explain.more_rows(model, x[:5], y[:5])
    with pytest.raises(InputTypeError, match="probabilities where asked for"):
        explain.mislabeled(ftheta.SVMClassifier().fit(x, y), x, y)
    with pytest.raises(InputTypeError, match="does not predict one class or number"):
        explain.more_rows(KMeans(2, n_init=1).fit(x), x, y)
