"""What classifiers with class densities share: Bayes' rule, priors, weights, samples, and far-away rows."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from ftheta import explain
from ftheta.errors import InputError, InputTypeError
from ftheta.models import (
    DiscreteNaiveBayes,
    FisherDiscriminant,
    GaussianNaiveBayes,
    LinearDiscriminant,
    QuadraticDiscriminant,
)
from ftheta.results import percent

GAUSSIAN = [LinearDiscriminant, QuadraticDiscriminant, FisherDiscriminant, GaussianNaiveBayes]
every = pytest.mark.parametrize("cls", [*GAUSSIAN, DiscreteNaiveBayes])
gaussian = pytest.mark.parametrize("cls", GAUSSIAN)


def problem(seed=0, n=90, k=3, d=2):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return np.round(rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 2 * rng.normal(size=(k, d))[y], 1), y


@every
@pytest.mark.parametrize("k", [2, 3])
def test_posteriors_follow_from_the_joint_density(cls, k):
    X, y = problem(k=k)
    model = cls().fit(X, y)
    joint = model._joint(X)
    log_p = joint - logsumexp(joint, axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_log_proba(X), log_p, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(log_p), atol=1e-9)
    np.testing.assert_allclose(model.log_prob(X), logsumexp(joint, axis=1))
    assert np.array_equal(model.predict(X), joint.argmax(1))
    score = model.decision_function(X)
    odds = joint[:, 1] - joint[:, 0]
    np.testing.assert_allclose(score if k == 2 else score[:, 1] - score[:, 0], odds, atol=1e-9)


@gaussian
@pytest.mark.parametrize("priors", [None, {0: 0.1, 1: 0.1, 2: 0.8}])
def test_the_density_integrates_to_one(cls, priors):
    X, y = problem(3)
    model = cls(priors=priors).fit(X, y)
    grid = np.stack(np.meshgrid(*[np.linspace(-25, 25, 401)] * 2), -1).reshape(-1, 2)
    assert np.exp(model.log_prob(grid)).sum() * (50 / 400) ** 2 == pytest.approx(1, abs=1e-3)


@gaussian
def test_the_joint_density_is_that_of_the_gaussians(cls):
    X, y = problem()
    model = cls().fit(X, y)
    for k in range(3):
        m, c = model.gaussian(k)
        expected = multivariate_normal(m, c).logpdf(X) + np.log(model.priors_[k])
        np.testing.assert_allclose(model._joint(X)[:, k], expected, rtol=1e-8)


@every
def test_priors_are_learned_given_or_uniform(cls):
    X, y = problem()
    X, y = np.vstack([X, X[y == 0]]), np.r_[y, y[y == 0]]
    assert cls().fit(X, y).priors_.tolist() == [0.5, 0.25, 0.25]
    assert cls().fit(X, y, np.where(y == 0, 1.0, 4.0)).priors_ == pytest.approx([1 / 5, 2 / 5, 2 / 5])
    uniform = cls(priors="uniform").fit(X, y)
    given = cls(priors={2: 0.7, 0: 0.1, 1: 0.2}).fit(X, y)
    assert uniform.priors_ == pytest.approx([1 / 3] * 3) and given.priors_ == pytest.approx([0.1, 0.2, 0.7])
    if cls is not FisherDiscriminant:  # its directions follow the shares
        expected = uniform.predict_log_proba(X) + np.log([0.3, 0.6, 2.1])
        expected -= logsumexp(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(given.predict_log_proba(X), expected, atol=1e-9)


@every
@pytest.mark.parametrize(
    "priors", [{0: 0.5, 1: 0.5}, {0: 0.5, 1: 0.5, 2: 0.5}, {0: 0.5, 1: 0.5, 2: 0}, {0: 0.5, 1: 0.2, 5: 0.3}], ids=str
)
def test_priors_that_are_no_shares_of_the_classes_are_refused(cls, priors):
    with pytest.raises(InputError, match=r"priors=\{.*\}: give each of \[0, 1, 2\] a share > 0, all of them adding up"):
        cls(priors=priors).fit(*problem())


@every
def test_samples_come_from_the_model(cls):
    X, y = problem()
    model = cls(priors={"a": 0.2, "b": 0.3, "c": 0.5}).fit(X, np.array(["a", "b", "c"])[y])
    drawn, labels = model.sample(40_000, random_state=0)
    assert drawn.shape == (40_000, 2) and labels.dtype == model.classes_.dtype
    np.testing.assert_allclose([(labels == c).mean() for c in "abc"], [0.2, 0.3, 0.5], atol=0.01)
    again = cls(priors={"a": 0.2, "b": 0.3, "c": 0.5}).fit(drawn, labels)
    if cls is DiscreteNaiveBayes:
        for values, table, now in zip(model.values_, model.tables_, again.tables_, strict=True):
            assert len(values) == table.shape[1] == now.shape[1]
            np.testing.assert_allclose(now, table, atol=0.02)
    else:
        for k in range(3):
            (mean, c), (mean_now, c_now) = model.gaussian(k), again.gaussian(k)
            off = (mean_now - mean) / np.sqrt(c.diagonal() / (labels == "abc"[k]).sum())
            assert np.abs(off).max() < 4.5  # standard errors
            np.testing.assert_allclose(c_now, c, atol=0.06 * np.abs(c).max())
    assert np.array_equal(model.sample(5, random_state=1)[0], model.sample(5, random_state=1)[0])
    assert not np.array_equal(model.sample(5)[0], model.sample(5)[0])


@every
def test_a_class_of_weight_zero_is_no_class(cls):
    X, y = problem()
    weight = np.where(y == 1, 0.0, 1.0)
    without = cls().fit(X[y != 1], y[y != 1])
    model = cls().fit(X, y, weight)
    assert model.classes_.tolist() == [0, 2]
    np.testing.assert_allclose(model.predict_proba(X), without.predict_proba(X), atol=1e-12)
    with pytest.raises(InputError, match="Class 1 has weight 0 in all; leave its rows out"):
        cls(class_weight={1: 0.0}).fit(X, y)


def test_class_means_are_compared_in_standard_deviations_of_all_rows():
    x, y = load_iris(return_X_y=True)
    found = explain.class_means(LinearDiscriminant().fit(x, y), x, y, names=list("abcd"))
    each = [(((x - x.mean(0)) / x.std(0))[y == k]).mean(0) for k in range(3)]
    apart = np.max(each, axis=0) - np.min(each, axis=0)
    first = [f"{'abcd'[j]} ({apart[j]:.2g})" for j in np.argsort(-apart)]
    assert found.caption == f"The class means are furthest apart in {', '.join(first[:3])} standard deviations."
    assert found.table().columns["standard deviations apart"] == pytest.approx(np.sort(apart)[::-1])


def test_class_axes_are_fishers_and_their_boundary_is_the_models():
    x, y = load_iris(return_X_y=True)
    few = np.r_[:50, 60:90, 140:150]
    for rows in (np.arange(150), few):  # classes of one size, and of 50, 30 and 10 rows
        a, b = x[rows], y[rows]
        found = explain.class_axes(LinearDiscriminant().fit(a, b), a, b, names=list("abcd"), classes=["s", "c", "g"])
        eigen = LinearDiscriminantAnalysis(solver="eigen").fit(a, b)
        np.testing.assert_allclose(
            abs(np.corrcoef(np.c_[found.rows, eigen.transform(a)].T)[:2, 2:]), np.eye(2), atol=1e-6
        )
        shares = [f"axis {k + 1} ({percent(s)} of the" for k, s in enumerate(eigen.explained_variance_ratio_)]
        assert all(name.startswith(share) for name, share in zip(found.names, shares, strict=True))
        within = np.average([found.rows[b == k].var(0) for k in range(3)], axis=0, weights=np.bincount(b))
        np.testing.assert_allclose(within, 1, atol=1e-9)
        assert found.agreement == 1
    assert found.classes == ("s", "c", "g") and "c, " in found.caption
    two = explain.class_axes(QuadraticDiscriminant().fit(x[:100], y[:100]), x[:100], y[:100])
    rest = np.concatenate([part - part.mean(0) for part in (two.rows[:50], two.rows[50:])])
    np.testing.assert_allclose(np.cov(rest.T, bias=True), np.eye(2), atol=1e-8)  # axis 2 is uncorrelated with axis 1
    assert two.agreement > 0.98
    with pytest.raises(InputTypeError, match="needs three"):
        explain.class_axes(LinearDiscriminant().fit(x[:, :2], y), x[:, :2])


def test_class_means_are_in_the_users_units_and_in_standard_deviations():
    x, y = load_iris(return_X_y=True)
    z = (x - x.mean(0)) / x.std(0)
    scales = np.stack([x.mean(0), x.std(0)], 1)
    found = explain.run(
        "class-means", GaussianNaiveBayes().fit(z, y), z, y, names=list("abcd"), scales=scales, target=""
    )
    np.testing.assert_allclose(found.means, [x[y == k].mean(0) for k in range(3)])
    np.testing.assert_allclose(found.deviations, [z[y == k].mean(0) for k in range(3)], atol=1e-12)
    columns = found.table().columns
    assert columns["column"] == ["d", "c", "a", "b"]  # petals differ most
    assert columns["mean of 2"][0] == pytest.approx(x[y == 2, 3].mean())
    numbers = [float(text.get_text()) for text in found.figure().axes[0].texts]
    np.testing.assert_allclose(numbers, found.deviations[:, found.order].T.ravel(), atol=0.051)
