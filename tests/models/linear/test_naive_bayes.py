"""Naive Bayes: scikit-learn's numbers, tables by hand, values never seen, and columns that do not vary."""

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from ftheta.errors import InputError
from ftheta.models import DiscreteNaiveBayes, GaussianNaiveBayes

SEEDS = range(30)
CLOSE = {"rtol": 1e-8, "atol": 1e-8}


def problem(seed):
    rng = np.random.default_rng(seed)
    k, d = 2 + seed % 3, 1 + seed % 6
    y = rng.permutation(np.arange(60) % k)
    return rng.normal(size=(60, d)) * rng.uniform(0.5, 2, d) + rng.normal(size=(k, d))[y], y, rng


def weights(rng):
    return rng.integers(0, 4, 60) * rng.uniform(0.5, 1.5, 60) + 0.01


@pytest.mark.parametrize("seed", SEEDS)
def test_gaussian_features_are_those_of_scikit_learn(seed):
    X, y, rng = problem(seed)
    at = 2 * rng.normal(size=(15, X.shape[1]))
    for smoothing in (1e-9, 0.1):
        model, peer = GaussianNaiveBayes(var_smoothing=smoothing).fit(X, y), GaussianNB(var_smoothing=smoothing)
        peer.fit(X, y)
        np.testing.assert_allclose(model.predict_log_proba(at), peer.predict_log_proba(at), **CLOSE)
        np.testing.assert_allclose(model._joint(at), peer.predict_joint_log_proba(at), **CLOSE)
        np.testing.assert_allclose(model.deviations_**2, peer.var_, **CLOSE)
    prior = rng.dirichlet(np.full(y.max() + 1, 3.0))
    model = GaussianNaiveBayes(priors=dict(enumerate(prior.tolist()))).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(at), GaussianNB(priors=prior).fit(X, y).predict_proba(at), **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_weighted_gaussian_features_are_those_of_scikit_learn(seed):
    X, y, rng = problem(seed)
    at, weight = 2 * rng.normal(size=(15, X.shape[1])), weights(rng)
    model = GaussianNaiveBayes(var_smoothing=0.0).fit(X, y, weight)  # scikit-learn's floor is of rows without weights
    peer = GaussianNB(var_smoothing=0.0).fit(X, y, weight)
    np.testing.assert_allclose(model.predict_proba(at), peer.predict_proba(at), **CLOSE)
    np.testing.assert_allclose(model._joint(at), peer.predict_joint_log_proba(at), **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_categories_are_those_of_scikit_learn(seed, weighted):
    _, y, rng = problem(seed)
    X = rng.integers(0, 4, (60, 1 + seed % 6))
    X[:4] = np.arange(4)[:, None]  # every value is there
    at, alpha = rng.integers(0, 4, (15, X.shape[1])), [1.0, 0.1, 5.0][seed % 3]
    weight = weights(rng) if weighted else None
    model, peer = DiscreteNaiveBayes(alpha=alpha).fit(X, y, weight), CategoricalNB(alpha=alpha).fit(X, y, weight)
    np.testing.assert_allclose(model.predict_log_proba(at), peer.predict_log_proba(at), **CLOSE)
    np.testing.assert_allclose(model._joint(at), peer.predict_joint_log_proba(at), **CLOSE)
    for table, log_p in zip(model.tables_, peer.feature_log_prob_, strict=True):
        np.testing.assert_allclose(table, np.exp(log_p), **CLOSE)


def test_tables_can_be_read_and_are_what_is_counted():
    X = pd.DataFrame({"wind": [0, 0, 1, 1, 1], "sky": [2.5, 7, 7, 7, 9]})
    model = DiscreteNaiveBayes(alpha=0.5).fit(X, ["no", "no", "no", "yes", "yes"])
    assert model.values_[1].tolist() == [2.5, 7, 9]
    np.testing.assert_allclose(model.tables_[0], [[2.5 / 4, 1.5 / 4], [0.5 / 3, 2.5 / 3]])
    np.testing.assert_allclose(model.tables_[1], [[1.5 / 4.5, 2.5 / 4.5, 0.5 / 4.5], [0.5 / 3.5, 1.5 / 3.5, 1.5 / 3.5]])
    columns = model.table().columns
    assert list(columns) == ["column", "value", "p(value | no)", "p(value | yes)"]
    assert columns["column"] == ["wind", "wind", "sky", "sky", "sky"] and columns["value"] == [0, 1, 2.5, 7, 9]
    assert columns["p(value | yes)"] == pytest.approx(np.hstack(model.tables_)[1])
    odds = np.log(2 / 3 * (2.5 / 3) * (1.5 / 3.5) / ((1.5 / 4) * (0.5 / 4.5)))
    assert model.decision_function(pd.DataFrame({"wind": [1], "sky": [9.0]})).item() == pytest.approx(odds)


def test_a_value_never_seen_has_the_probability_of_one_never_seen_in_the_class():
    X, y = [[0.0], [0.0], [1.0], [2.0]], ["a", "a", "a", "b"]
    model = DiscreteNaiveBayes(alpha=0.5).fit(X, y)
    np.testing.assert_allclose(model.unseen_, [[0.5 / 4.5], [0.5 / 2.5]])
    assert model.tables_[0][0, 2] == model.unseen_[0, 0] and model.tables_[0][1, 0] == model.unseen_[1, 0]
    np.testing.assert_allclose(np.exp(model._joint(np.array([[-5.0], [1.5], [99.0]]))), [[3 / 4 / 9, 1 / 4 / 5]] * 3)
    assert (model.predict([[-5.0], [1.5], [99.0]]) == "a").all()


def test_copies_and_constants_count_as_often_as_they_are_there():
    X, y, _ = problem(4)
    plain = GaussianNaiveBayes().fit(X, y)
    twice = GaussianNaiveBayes().fit(np.c_[X, X], y)
    np.testing.assert_allclose(twice._joint(np.c_[X, X]), 2 * plain._joint(X) - np.log(plain.priors_), rtol=1e-9)
    constant = GaussianNaiveBayes().fit(np.c_[X, np.full(60, 14.62)], y)
    np.testing.assert_allclose(constant.predict_proba(np.c_[X, np.full(60, 14.62)]), plain.predict_proba(X), atol=1e-9)


def test_a_column_that_does_not_vary_in_a_class_is_named_where_there_is_no_floor():
    X, y = [[0.0, 5.0], [1.0, 6.0], [2.0, 7.0], [2.5, 7.0]], ["a", "a", "b", "b"]
    with pytest.raises(InputError, match=r"Column 1 does not vary in class 'b', and var_smoothing=0 of the variance"):
        GaussianNaiveBayes(var_smoothing=0.0).fit(X, y)
    with pytest.raises(InputError, match=r"Column 0 does not vary in class 'a', and var_smoothing=1e-09"):
        GaussianNaiveBayes().fit(np.ones((4, 2)), y)
