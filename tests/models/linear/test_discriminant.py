"""Discriminants: scikit-learn's numbers, closed forms, Fisher's criterion, and data that make covariances singular."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

from ftheta.errors import InputError
from ftheta.formulas import gaussian_bayes_error, gaussian_boundary
from ftheta.models import FisherDiscriminant, LinearDiscriminant, QuadraticDiscriminant

SEEDS = range(30)
CLOSE = {"rtol": 1e-8, "atol": 1e-8}


def problem(seed):
    """Rows, classes, and rows to answer: 2 to 4 classes, 1 to 6 features, correlated and off the origin."""
    rng = np.random.default_rng(seed)
    k, d = 2 + seed % 3, 1 + seed % 6
    y = rng.permutation(np.r_[np.arange(20 * k) % k, rng.integers(0, k, 20)])
    mix, means = rng.normal(size=(d, d)) + np.eye(d), 2 * rng.normal(size=(k, d)) + 3
    return rng.normal(size=(len(y), d)) @ mix + means[y], y, 4 * rng.normal(size=(15, d)) + 3


def shares(seed, k):
    given = np.random.default_rng(seed + 100).dirichlet(np.full(k, 3.0))
    return given, dict(enumerate(given.tolist()))


def differences(model, at):
    """Decision values without what all classes share."""
    score = model.decision_function(at)
    return score if score.ndim == 1 else score - score.mean(1, keepdims=True)


# ---- agreement


@pytest.mark.parametrize("seed", SEEDS)
def test_the_linear_discriminant_is_that_of_all_three_solvers(seed):
    X, y, at = problem(seed)
    model = LinearDiscriminant().fit(X, y)
    for solver in ("svd", "lsqr", "eigen"):
        peer = LinearDiscriminantAnalysis(solver=solver, store_covariance=True).fit(X, y)
        np.testing.assert_allclose(model.predict_proba(at), peer.predict_proba(at), **CLOSE)
        np.testing.assert_allclose(differences(model, at), differences(peer, at), **CLOSE)
        np.testing.assert_allclose(model.covariance_, peer.covariance_, **CLOSE)
        np.testing.assert_allclose(model.means_, peer.means_, **CLOSE)
    np.testing.assert_allclose(at @ model.coef_.T + model.intercept_, peer_scores(X, y, at), **CLOSE)


def peer_scores(X, y, at):
    return LinearDiscriminantAnalysis().fit(X, y).decision_function(at).reshape(len(at), -1)


@pytest.mark.parametrize("seed", SEEDS)
def test_shares_that_are_given_are_those_of_scikit_learn(seed):
    X, y, at = problem(seed)
    prior, given = shares(seed, y.max() + 1)
    model = LinearDiscriminant(priors=given).fit(X, y)
    peer = LinearDiscriminantAnalysis(priors=prior).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(at), peer.predict_proba(at), **CLOSE)
    quadratic, other = QuadraticDiscriminant(priors=given), QuadraticDiscriminantAnalysis(priors=prior)
    np.testing.assert_allclose(quadratic.fit(X, y).predict_proba(at), other.fit(X, y).predict_proba(at), **CLOSE)
    # lsqr and eigen weigh the covariances of the classes by the shares: here that is a weight of the rows
    weight = prior[y] / np.bincount(y)[y]
    for solver in ("lsqr", "eigen"):
        peer = LinearDiscriminantAnalysis(solver=solver, priors=prior).fit(X, y)
        np.testing.assert_allclose(
            LinearDiscriminant().fit(X, y, weight).predict_proba(at), peer.predict_proba(at), **CLOSE
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_shrinkage_is_that_of_scikit_learn(seed):
    shrinkage = ("auto", 0.0, 0.3, 1.0)[seed % 4]
    X, y, at = problem(seed)
    linear = LinearDiscriminant(shrinkage=shrinkage).fit(X, y)
    for solver in ("lsqr", "eigen"):
        peer = LinearDiscriminantAnalysis(solver=solver, shrinkage=shrinkage).fit(X, y)
        np.testing.assert_allclose(linear.predict_proba(at), peer.predict_proba(at), **CLOSE)
        np.testing.assert_allclose(linear.covariance_, peer.covariance_, **CLOSE)
    quadratic = QuadraticDiscriminant(shrinkage=shrinkage).fit(X, y)
    peer = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage, store_covariance=True).fit(X, y)
    np.testing.assert_allclose(quadratic.predict_proba(at), peer.predict_proba(at), **CLOSE)
    np.testing.assert_allclose(quadratic.covariance_, np.stack(peer.covariance_), **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_quadratic_discriminant_is_that_of_scikit_learn(seed):
    X, y, at = problem(seed)
    model, peer = QuadraticDiscriminant().fit(X, y), QuadraticDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(at), peer.predict_proba(at), **CLOSE)
    np.testing.assert_allclose(differences(model, at), differences(peer, at), **CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_coordinates_are_those_of_scikit_learn_up_to_sign(seed):
    X, y, at = problem(seed)
    model, peer = FisherDiscriminant().fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    found, expected = model.transform(at), peer.transform(at)
    np.testing.assert_allclose(found * np.sign((found * expected).sum(0)), expected, **CLOSE)
    np.testing.assert_allclose(model.explained_, peer.explained_variance_ratio_[: len(model.explained_)], **CLOSE)
    np.testing.assert_allclose(model.predict_proba(at), peer.predict_proba(at), **CLOSE)
    np.testing.assert_allclose((at - model.priors_ @ model.means_) @ model.directions_.T, found, **CLOSE)
    same = LinearDiscriminant().fit(X, y)
    np.testing.assert_allclose(model.decision_function(at), same.decision_function(at), **CLOSE)


# ---- what it says


@pytest.mark.ledger("B212", covers="ftheta.models.QuadraticDiscriminant")
@pytest.mark.parametrize("cls", [LinearDiscriminant, QuadraticDiscriminant])
def test_scores_are_log_density_plus_log_share_and_linear_where_the_covariance_is_shared(cls):
    X, y, _ = problem(4)  # three classes of five features
    model = cls().fit(X, y)
    a, b = np.random.default_rng(0).normal(size=(2, 50, X.shape[1])) * 5
    middle = (a + b) / 2
    joint = np.stack(
        [multivariate_normal(*model.gaussian(k)).logpdf(a) + np.log(model.priors_[k]) for k in range(3)], 1
    )
    expected = joint - joint.mean(1, keepdims=True)
    np.testing.assert_allclose(differences(model, a), expected, rtol=1e-8, atol=1e-8)
    bend = differences(model, middle) - (differences(model, a) + differences(model, b)) / 2  # 0 of what is linear
    assert np.abs(bend).max() < 1e-10 if cls is LinearDiscriminant else np.abs(bend).min(1).max() > 0.1
    if cls is QuadraticDiscriminant:  # with equal covariances it is linear too: the quadratic term cancels
        one = X[y == 0] - X[y == 0].mean(0)
        same = cls().fit(np.vstack([one, one + 3, one - 1]), np.repeat([0, 1, 2], len(one)))
        bend = differences(same, middle) - (differences(same, a) + differences(same, b)) / 2
        assert np.abs(bend).max() < 1e-6


def test_two_gaussians_are_found_again_with_their_boundary_and_error():
    rng = np.random.default_rng(0)
    c, means = np.array([[2, 0.5], [0.5, 1]]), np.array([[0.0, 0.0], [2.0, 1.0]])
    y = np.arange(200_000) % 2
    X = rng.standard_normal((len(y), 2)) @ np.linalg.cholesky(c).T + means[y]
    model = LinearDiscriminant().fit(X, y)
    w, b = gaussian_boundary(*means, c)
    np.testing.assert_allclose(model.coef_[0], w, atol=0.02)
    assert model.intercept_[0] == pytest.approx(b, abs=0.02)
    assert 1 - model.score(X, y) == pytest.approx(gaussian_bayes_error(*means, c), abs=0.003)


@pytest.mark.parametrize("seed", range(5))
def test_no_direction_separates_better_than_fishers_first(seed):
    X, y, _ = problem(6 * seed + 4)
    model = FisherDiscriminant().fit(X, y)
    k = len(model.classes_)
    between = np.cov(model.means_.T, bias=True, aweights=model.priors_)

    def ratio(w):
        return (w @ between @ w) / (w @ model.covariance_ @ w)

    best = ratio(model.directions_[0])
    assert max(map(ratio, np.random.default_rng(0).normal(size=(2000, X.shape[1])))) <= best * (1 + 1e-9)
    z = model.transform(X)
    within = sum((y == j).mean() * np.cov(z[y == j].T, bias=True) for j in range(k))
    np.testing.assert_allclose(within, np.eye(k - 1) if k > 2 else 1, atol=1e-9)  # unit spread in every class


def test_fewer_directions_keep_the_best_and_decide_along_them():
    X, y, at = problem(8)  # four classes
    full, one = FisherDiscriminant().fit(X, y), FisherDiscriminant(n_components=1).fit(X, y)
    np.testing.assert_allclose(one.transform(at), full.transform(at)[:, :1], **CLOSE)
    assert one.explained_ == pytest.approx(full.explained_[:1]) and full.explained_.sum() == pytest.approx(1)
    z = full.transform(at)[:, :1]
    centres = full.transform(full.means_)[:, :1]  # (K, 1)
    scores = np.log(full.priors_) - (z - centres.T) ** 2 / 2
    np.testing.assert_allclose(differences(one, at), scores - scores.mean(1, keepdims=True), **CLOSE)
    np.testing.assert_allclose(full.transform(one.means_)[:, 1:], 0, atol=1e-9)  # moved onto the first direction
    two = FisherDiscriminant(n_components=2).fit(X, y)
    np.testing.assert_allclose(full.transform(two.means_)[:, 2:], 0, atol=1e-9)
    drawn, labels = one.sample(20_000, random_state=0)
    np.testing.assert_allclose(full.transform(drawn)[:, 1:].mean(0), 0, atol=0.05)
    assert len(set(labels)) == 4


def test_more_directions_than_there_are_between_classes_are_refused():
    X, y, _ = problem(2)  # four classes of three features
    with pytest.raises(InputError, match=r"n_components=4: 4 classes of 3 columns have at most 3 directions"):
        FisherDiscriminant(n_components=4).fit(X, y)


@pytest.mark.parametrize("cls", [LinearDiscriminant, QuadraticDiscriminant, FisherDiscriminant])
def test_shrinkage_above_one_is_refused(cls):
    with pytest.raises(ValueError, match="'shrinkage' parameter of .* must be .*float in the range"):
        cls(shrinkage=1.5).fit(*problem(0)[:2])


# ---- singular covariances


def wide(n=10, d=200, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, d)) + 0.8 * y[:, None], y


@pytest.mark.parametrize("shrinkage", ["auto", 0.1, 1.0])
def test_twenty_times_more_features_than_rows_with_shrinkage(shrinkage):
    X, y = wide()
    at = wide(seed=1)[0]
    linear = LinearDiscriminant(shrinkage=shrinkage).fit(X, y)
    peer = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=shrinkage).fit(X, y)
    np.testing.assert_allclose(linear.decision_function(at), peer.decision_function(at), rtol=1e-7, atol=1e-7)
    assert linear.score(at, y) == 1
    quadratic = QuadraticDiscriminant(shrinkage=shrinkage).fit(X, y)
    peer = QuadraticDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage).fit(X, y)
    np.testing.assert_allclose(quadratic.decision_function(at), peer.decision_function(at), rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore:The classes differ in directions")  # of the quadratic one, beside its own
def test_twenty_times_more_features_than_rows_without_it_are_warned_of():
    X, y = wide()
    with pytest.warns(np.exceptions.RankWarning, match=r"X spans 8 of 200\), and these are not used. Give e.g."):
        model = LinearDiscriminant().fit(X, y)
    rows = X - np.array([X[y == k].mean(0) for k in range(2)])[y]
    scale = rows.std(0)  # the pseudo-inverse is that of standardised columns: their units do not matter
    inverse = np.linalg.pinv((rows / scale).T @ (rows / scale) / len(X), rcond=1e-10, hermitian=True)
    w = inverse @ (np.diff(model.means_, axis=0)[0] / scale) / scale
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-6, atol=1e-9 * np.abs(w).max())
    with pytest.warns(np.exceptions.RankWarning, match="Class 0 .rows: 5. varies in 4 of 8 directions"):
        quadratic = QuadraticDiscriminant().fit(X, y)
    np.testing.assert_allclose(quadratic.predict_proba(X), model.predict_proba(X), atol=1e-7)


@pytest.mark.parametrize("cls", [LinearDiscriminant, QuadraticDiscriminant, FisherDiscriminant])
def test_columns_that_say_nothing_new_change_nothing(cls):
    X, y, at = problem(4)
    plain = cls().fit(X, y)
    for extra in (lambda x: x, lambda x: 0 * x[:, :1] + 14.62, lambda x: x[:, :1] - 2 * x[:, 1:2]):
        more = cls().fit(np.c_[X, extra(X)], y)  # no warning: nothing is lost
        np.testing.assert_allclose(more.predict_proba(np.c_[at, extra(at)]), plain.predict_proba(at), atol=1e-8)
        assert np.isfinite(more.log_prob(np.c_[X, extra(X)])).all()
    constant, twice = cls().fit(np.c_[X, 0 * y + 7], y), cls().fit(np.c_[X, X], y)
    density = plain.log_prob(at)  # of a copy: volumes in the plane x = x' are larger, by √2 a column
    np.testing.assert_allclose(constant.log_prob(np.c_[at, np.full(len(at), 7)]), density, rtol=1e-8)
    np.testing.assert_allclose(twice.log_prob(np.c_[at, at]), density - at.shape[1] * np.log(2) / 2, rtol=1e-8)


def test_a_column_that_tells_the_classes_apart_but_never_varies_is_warned_of():
    X, y, _ = problem(4)
    X = np.c_[X, y]
    with pytest.warns(np.exceptions.RankWarning, match=r"X spans 5 of 6\), and these are not used"):
        LinearDiscriminant().fit(X, y)
    assert LinearDiscriminant(shrinkage=0.01).fit(X, y).score(X, y) == 1


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, "auto"])
def test_a_class_of_one_row_takes_the_covariance_of_all(shrinkage):
    X, y, _ = problem(1)
    X, y = np.vstack([X, [[9.0, 9.0]]]), np.r_[y, 7]
    with pytest.warns(np.exceptions.RankWarning, match="Class 7 .rows: 1. varies in 0 of 2 directions, so its cov"):
        model = QuadraticDiscriminant(shrinkage=shrinkage).fit(X, y)
    shared = LinearDiscriminant(shrinkage=shrinkage).fit(X, y)
    np.testing.assert_allclose(model.covariance_[-1], shared.covariance_, rtol=1e-9)
    assert model.predict([[9.0, 9.0]]) == 7 and shared.predict([[9.0, 9.0]]) == 7


@pytest.mark.parametrize("cls", [LinearDiscriminant, QuadraticDiscriminant, FisherDiscriminant])
@pytest.mark.parametrize("shrinkage", [0.0, 0.5, "auto"])
def test_one_row_a_class_has_no_covariance(cls, shrinkage):
    with pytest.raises(InputError, match="No column of X varies within a class: each class is one point"):
        cls(shrinkage=shrinkage).fit([[0.0, 1.0], [2.0, 3.0], [5.0, 4.0]], ["a", "b", "c"])


@pytest.mark.filterwarnings("ignore")
def test_columns_far_apart_beside_a_constant_one_give_the_same_probabilities():
    """Probabilities do not depend on units; log |C| is that of the directions that vary."""
    rng = np.random.default_rng(0)
    x, y = np.c_[rng.normal(size=(60, 3)) @ rng.normal(size=(3, 3)), np.ones(60)], np.arange(60) % 2
    x[y == 1] *= [2, 2, 2, 1]
    units = np.array([1.0, 1e10, 1e-10, 1.0])
    one, other = (QuadraticDiscriminant().fit(z, y).predict_proba(z) for z in (x, x * units))
    np.testing.assert_allclose(one, other, atol=1e-9)
