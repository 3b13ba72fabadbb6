"""The summary of logistic regression: statsmodels on random problems, coverage and p on made data, odd rows."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

from ftheta.errors import InputError
from ftheta.models import LogisticRegression

FINE = {"rtol": 1e-8, "atol": 1e-9}


def problem(seed, classes):
    """Rows whose classes overlap, columns of unequal size."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(150, 400)), int(rng.integers(1, 5))
    z = rng.normal(size=(n, d))
    y = (z @ rng.normal(size=(d, classes)) * 0.7 + rng.gumbel(size=(n, classes))).argmax(1)
    return z * rng.uniform(0.1, 30, d) + 10 * rng.normal(size=d), y


def cancer():
    """Every column of breast cancer, standardized, ten at a time: all thirty together separate the classes."""
    x, y = load_breast_cancer(return_X_y=True)
    z = (x - x.mean(0)) / x.std(0)
    return [(z[:, i : i + 10], y) for i in (0, 10, 20)]


def same(ours, theirs):
    """Every number is that of statsmodels, to 1e-8 relative."""
    pairs = {
        "coefficients": theirs.params.T.ravel(),
        "errors": theirs.bse.T.ravel(),
        "z": theirs.tvalues.T.ravel(),
        "p": theirs.pvalues.T.ravel(),
        "covariance": theirs.cov_params(),
        "log_likelihood": theirs.llf,
        "null": theirs.llnull,
        "aic": theirs.aic,
        "bic": theirs.bic_llf if hasattr(theirs, "bic_llf") else theirs.bic,
    }
    for name, truth in pairs.items():
        np.testing.assert_allclose(getattr(ours, name), truth, err_msg=name, **FINE)
    np.testing.assert_allclose(ours.interval(), theirs.conf_int().reshape(-1, 2), **FINE)
    np.testing.assert_allclose(ours.interval(0.8), theirs.conf_int(0.2).reshape(-1, 2), **FINE)


@pytest.mark.filterwarnings("ignore:Maximum Likelihood optimization failed")  # by rounding: tol is 1e-14
@pytest.mark.parametrize("kind", ["plain", *(pytest.param(k, marks=pytest.mark.middle) for k in ("counts", "shares"))])
def test_all_numbers_are_those_of_statsmodels_on_fifty_problems_and_on_breast_cancer(kind):
    for seed, (x, y) in enumerate([*(problem(seed, 2) for seed in range(50)), *cancer()]):
        rng = np.random.default_rng(seed)
        weight = {"plain": np.ones(len(y)), "counts": rng.integers(0, 4, len(y)), "shares": rng.random(len(y))}[kind]
        on = weight > 0
        glm = sm.GLM(y[on], sm.add_constant(x[on]), family=sm.families.Binomial(), freq_weights=1.0 * weight[on])
        ours = LogisticRegression(l2=0.0).fit(x, y, None if kind == "plain" else weight).summary_
        same(ours, glm.fit(tol=1e-13, tol_criterion="params", maxiter=200))
        if kind == "plain":
            logit = sm.Logit(y, sm.add_constant(x)).fit(method="newton", maxiter=200, tol=1e-14, disp=0)
            logit.set_null_options(method="newton", maxiter=200, tol=1e-14)
            truth = logit.prsquared, logit.llr, logit.llr_pvalue
            np.testing.assert_allclose((ours.mcfadden, ours.ratio, ours.ratio_p), truth, **FINE)


@pytest.mark.middle
@pytest.mark.filterwarnings("ignore:Maximum Likelihood optimization failed")
def test_three_classes_are_those_of_statsmodels_on_fifty_problems():
    for seed in range(50):
        x, y = problem(seed, 3)
        theirs = sm.MNLogit(y, sm.add_constant(x)).fit(method="newton", maxiter=200, tol=1e-14, disp=0)
        theirs.set_null_options(method="newton", maxiter=200, tol=1e-14)
        same(LogisticRegression(l2=0.0).fit(x, y).summary_, theirs)


@pytest.mark.ledger("A050", covers="ftheta.models.LogisticRegression")
def test_the_ratio_of_each_coefficient_is_that_of_a_fit_without_it():
    x, y = problem(6, 2)
    ours, x1 = LogisticRegression(l2=0.0).fit(x, y).summary_, sm.add_constant(x)
    whole = sm.Logit(y, x1).fit(disp=0, tol=1e-10)  # Newton squares what is left
    for j, (ratio, p) in enumerate(zip(ours.ratios, ours.ratios_p, strict=True)):
        without = sm.Logit(y, np.delete(x1, j, 1)).fit(disp=0, tol=1e-10, maxiter=100)
        assert ratio == pytest.approx(2 * (whole.llf - without.llf), rel=1e-7, abs=1e-8)
        assert p == pytest.approx(stats.chi2.sf(2 * (whole.llf - without.llf), 1), rel=1e-6)
    np.testing.assert_allclose(ours.odds_ratios, np.exp(whole.params))


def test_the_ratio_of_a_coefficient_of_several_classes_holds_that_one_at_zero():
    x, y = problem(7, 3)
    x = x[:, :1]
    ours = LogisticRegression(l2=0.0).fit(x, y).summary_
    from scipy.optimize import minimize

    def nll(free):  # the slope of the last class is 0
        raw = np.c_[np.zeros(len(x)), free[0] + free[1] * x[:, 0], np.full(len(x), free[2])]
        return (np.log(np.exp(raw).sum(1)) - raw[np.arange(len(x)), y]).sum()

    best = minimize(nll, np.zeros(3), method="BFGS", options={"gtol": 1e-7}).fun
    assert ours.names == ("intercept", "x0") * 2 and ours.outcomes == (1, 1, 2, 2)
    assert ours.ratios[3] == pytest.approx(2 * (ours.log_likelihood + best), rel=1e-4)


@pytest.mark.ledger("A035", covers="ftheta.models.LogisticRegression")
@pytest.mark.parametrize("classes", [2, 3])
def test_the_three_pseudo_r2(classes):
    x, y = problem(8, classes)
    found = LogisticRegression(l2=0.0).fit(x, y).summary_
    p, n = LogisticRegression(l2=0.0).fit(x, y).predict_proba(x), len(y)
    shares = np.bincount(y) / n
    llf, null = np.log(p[np.arange(n), y]).sum(), np.log(shares[y]).sum()
    assert found.mcfadden == pytest.approx(1 - llf / null)
    assert found.cox_snell == pytest.approx(1 - np.exp(2 * (null - llf) / n))
    tjur = [p[y == k, k].mean() - p[y != k, k].mean() for k in range(classes)]
    assert found.tjur == pytest.approx(np.mean(tjur)) and (classes > 2 or tjur[0] == pytest.approx(tjur[1]))
    nothing = LogisticRegression(l2=0.0).fit(np.zeros((n, 1)), y).summary_
    assert [nothing.mcfadden, nothing.cox_snell, nothing.tjur] == pytest.approx([0, 0, 0], abs=1e-12)


def test_weights_count_rows():
    x, y = problem(9, 2)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    ours = LogisticRegression(l2=0.0).fit(x, y, weight).summary_
    each = LogisticRegression(l2=0.0).fit(x.repeat(weight, 0), y.repeat(weight)).summary_
    assert ours.n == each.n == weight.sum()
    for name in ("coefficients", "errors", "ratios", "tjur", "bic", "ratio", "cox_snell"):
        np.testing.assert_allclose(getattr(ours, name), getattr(each, name), rtol=1e-7)


def test_a_penalty_is_told_and_the_numbers_are_without_it():
    x, y = problem(10, 2)
    plain, held = (LogisticRegression(l2=l2).fit(x, y).summary_ for l2 in (0.0, 0.1))
    np.testing.assert_allclose(held.coefficients, plain.coefficients, rtol=1e-9)
    assert plain.notes == () and "The model was fitted with l2=0.1. A penalty biases" in held.notes[0]
    assert "l1=0.01 and l2=0.1" in LogisticRegression(l1=0.01, l2=0.1).fit(x, y).summary_.notes[0]


def test_separated_classes_have_no_errors_and_no_tests():
    x, y = np.array([[-2.0], [-1], [1], [2]]), np.array([0, 0, 1, 1])
    with pytest.warns(ConvergenceWarning, match="Planes separate"):
        model = LogisticRegression(l2=0.0).fit(x, y)
    found = model.summary_
    assert np.isnan([*found.errors, *found.p, *found.ratios, found.ratio_p]).all()
    np.testing.assert_allclose(found.coefficients, [*model.intercept_, *model.coef_[0]], atol=1e-12)
    assert "there are no standard errors and no tests" in found.notes[0] and "(l2=0.001)" in found.notes[0]
    found.figure()


def test_columns_that_decide_nothing_have_no_number_and_the_others_keep_theirs():
    x, y = problem(11, 2)
    odd = LogisticRegression(l2=0.0).fit(np.c_[x, x[:, 0], np.full(len(x), 7.0)], y).summary_
    plain = LogisticRegression(l2=0.0).fit(x, y).summary_
    d = x.shape[1]
    unknown = np.isnan(odd.errors)
    assert np.flatnonzero(unknown).tolist() == [d + 1, d + 2]  # left out, as in linear regression
    np.testing.assert_allclose(odd.errors[~unknown], plain.errors, rtol=1e-6)
    assert odd.rank == plain.rank and "2 coefficients have no number" in odd.notes[0]
    np.testing.assert_allclose([odd.log_likelihood, odd.aic], [plain.log_likelihood, plain.aic])


@pytest.mark.middle
def test_the_whole_is_printed_and_drawn():
    x, y = problem(12, 3)
    labels = np.array(["cat", "dog", "owl"])[y]
    found = LogisticRegression(l2=0.0).fit(x, labels).summary_
    said = str(found)
    assert "Logistic regression: 3 classes, odds against cat" in said and "McFadden's R²" in said
    assert max(map(len, said.splitlines())) <= 130
    assert list(found.table().columns)[:3] == ["class", "", "log-odds"]
    assert len(found.table().columns["z"]) == len(found.z)
    axes = found.figure().axes
    assert [a.get_xlabel()[:26] for a in axes] == ["log-odds of dog against ca", "log-odds of owl against ca"]
    assert f"on {len(x):,} rows" in found.caption
    with pytest.raises(InputError, match=r"The model has 2,101 coefficients; a summary is for at most 2000"):
        _ = LogisticRegression().fit(np.random.default_rng(0).normal(size=(20, 2100)), np.arange(20) % 2).summary_


def many(x, y):
    """Log-likelihood (B,), θ (B, P) and standard errors (B, P) of each data set: x (B, n, P), y (B, n)."""
    theta = np.zeros((len(x), x.shape[2]))
    for _ in range(9):
        p = expit(np.einsum("bnp,bp->bn", x, theta))
        h = np.einsum("bn,bnp,bnq->bpq", p * (1 - p), x, x, optimize=True)
        theta += np.linalg.solve(h, np.einsum("bn,bnp->bp", y - p, x)[..., None])[..., 0]
    raw = np.einsum("bnp,bp->bn", x, theta)
    errors = np.sqrt(np.linalg.inv(h).diagonal(axis1=1, axis2=2))
    return (y * raw - np.logaddexp(0, raw)).sum(1), theta, errors


def coverage(repetitions, n, seed):
    rng = np.random.default_rng(seed)
    truth = np.array([-0.3, 0.8, 0.0])
    x = np.concatenate([np.ones((repetitions, n, 1)), rng.normal(size=(repetitions, n, 2))], 2)
    y = (rng.uniform(size=(repetitions, n)) < expit(x @ truth)).astype(float)
    llf, theta, errors = many(x, y)
    for i in range(3):  # the summary says the same of each
        found = LogisticRegression(l2=0.0).fit(x[i, :, 1:], y[i]).summary_
        np.testing.assert_allclose(found.coefficients, theta[i], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found.interval()[:, 1] - found.interval()[:, 0], 2 * 1.959963984540054 * errors[i])
        ratio = 2 * (llf[i] - many(x[i : i + 1, :, :2], y[i : i + 1])[0][0])
        assert (found.ratios[2], found.ratios_p[2]) == pytest.approx((ratio, stats.chi2.sf(ratio, 1)), rel=1e-6)
    wald = 2 * stats.norm.sf(np.abs(theta[:, 2] / errors[:, 2]))
    ratio = stats.chi2.sf(2 * (llf - many(x[..., :2], y)[0]), 1)
    return (np.abs(theta - truth) < 1.959963984540054 * errors).mean(0), wald, ratio


def test_intervals_cover_and_p_values_are_uniform_under_the_null():
    shares, *ps = coverage(600, 300, 0)
    assert np.abs(shares - 0.95).max() < 4 * np.sqrt(0.95 * 0.05 / 600)
    assert all(stats.kstest(p, "uniform").pvalue > 1e-3 for p in ps)


@pytest.mark.soak
def test_intervals_cover_95_percent_in_ten_thousand_repetitions():
    parts = [coverage(1000, 500, seed) for seed in range(10)]
    assert np.abs(np.mean([shares for shares, *_ in parts], 0) - 0.95).max() < 0.01
    for ps in (np.concatenate([part[i] for part in parts]) for i in (1, 2)):
        assert abs((ps < 0.05).mean() - 0.05) < 0.01 and stats.kstest(ps, "uniform").statistic < 0.02
