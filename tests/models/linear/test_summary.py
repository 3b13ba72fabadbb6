"""The summary of a plane: statsmodels' numbers on random problems, coverage and p on made data, degenerate rows."""

from functools import cache

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats
from sklearn.datasets import load_diabetes
from statsmodels.stats.diagnostic import het_breuschpagan
from statsmodels.stats.outliers_influence import variance_inflation_factor
from statsmodels.stats.stattools import durbin_watson, jarque_bera

from ftheta import data, models
from ftheta.models.linear.summary import summarize

SEEDS = range(50)  # and two tables of the real world
FINE = {"rtol": 1e-8, "atol": 1e-11}


def problem(seed, *, weighted=False):
    """Rows of a random plane: few or many, correlated columns of unequal size, noise with a heavy tail."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(12, 40)), int(rng.integers(1, 7))
    mix = rng.normal(size=(d, d)) + 3 * np.eye(d)
    x = rng.normal(size=(n, d)) @ mix * 10.0 ** rng.integers(-1, 2, d) + rng.normal(size=d)
    y = x @ (rng.normal(size=d) / x.std(0)) + 5 + rng.standard_t(4, n)
    return x, y, rng.uniform(0.1, 4, n) if weighted else None


def named(d):
    return [f"x{j}" for j in range(d)]


def real(name, weighted):
    """Longley's table, standardized (statsmodels loses seven digits of its raw columns); the diabetes of 442 people."""
    x, y = load_diabetes(return_X_y=True)
    if name == "longley":
        table = sm.datasets.longley.load_pandas()
        x, y = stats.zscore(table.exog.to_numpy(float)), table.endog.to_numpy(float)
    return x, y, np.random.default_rng(0).uniform(0.1, 4, len(y)) if weighted else None


@cache
def both(seed, weighted, intercept):
    x, y, v = real(seed, weighted) if isinstance(seed, str) else problem(seed, weighted=weighted)
    a = sm.add_constant(x) if intercept else x
    theirs = sm.WLS(y, a, weights=np.ones(len(y)) if v is None else v).fit()
    return summarize(x, y, v, named(x.shape[1]), intercept), theirs, a


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_coefficients_errors_and_tests_are_those_of_statsmodels(weighted, intercept):
    for seed in (*SEEDS, "longley", "diabetes"):
        ours, theirs, _ = both(seed, weighted, intercept)
        pairs = [
            (ours.coefficients, theirs.params),
            (ours.errors, theirs.bse),
            (ours.robust, theirs.HC3_se),
            (ours.t, theirs.tvalues),
            (ours.p, theirs.pvalues),
            (ours.robust_p, theirs.get_robustcov_results("HC3", use_t=True).pvalues),
            (ours.interval(), theirs.conf_int()),
            (ours.interval(0.8), theirs.conf_int(0.2)),
            (np.diff(ours.interval(robust=True)), np.diff(theirs.get_robustcov_results("HC3", use_t=True).conf_int())),
            (ours.fitted, theirs.fittedvalues),
            (ours.residuals, theirs.resid),
        ]
        for mine, truth in pairs:
            np.testing.assert_allclose(mine, truth, **FINE)


def test_longleys_raw_table_has_the_certified_numbers_of_nist():
    table = sm.datasets.longley.load_pandas()
    found = models.LinearRegression().fit(table.exog.to_numpy(float), table.endog.to_numpy(float)).summary_
    slopes = [15.0618722713733, -0.0358191792925910, -2.02022980381683, -1.03322686717359, -0.0511041056535807]
    np.testing.assert_allclose(found.coefficients, [-3482258.63459582, *slopes, 1829.15146461355], rtol=1e-9)
    errors = [890420.383607373, 84.9149257747669, 0.0334910077722432, 0.488399681651699, 0.214274163161675]
    np.testing.assert_allclose(found.errors, [*errors, 0.226073200069370, 455.478499142212], rtol=1e-9)
    np.testing.assert_allclose((found.sigma, found.r2), (304.854073561965, 0.995479004577296), rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_fit_as_a_whole_is_that_of_statsmodels(weighted, intercept):
    for seed in (*SEEDS, "longley", "diabetes"):
        ours, theirs, _ = both(seed, weighted, intercept)
        mine = [
            ours.r2,
            ours.adjusted,
            ours.f,
            ours.f_p,
            ours.log_likelihood,
            ours.aic,
            ours.bic,
            ours.sigma,
            ours.squares,
        ]
        names = ("rsquared", "rsquared_adj", "fvalue", "f_pvalue", "llf", "aic", "bic")
        truth = [*(getattr(theirs, name) for name in names), np.sqrt(theirs.scale), theirs.ssr]
        np.testing.assert_allclose(mine, truth, **FINE)
        assert (ours.n, ours.dof, ours.rank, ours.constant) == (
            len(theirs.resid),
            theirs.df_resid,
            len(theirs.params),
            intercept,
        )


@pytest.mark.parametrize("weighted", [False, True])
def test_the_influence_of_rows_is_that_of_statsmodels_on_the_weighted_rows(weighted):
    """statsmodels mixes weighted with raw columns under WLS, so that least squares of the scaled rows is the truth."""
    for seed in SEEDS:
        ours, theirs, _ = both(seed, weighted, True)
        truth = sm.OLS(theirs.model.wendog, theirs.model.wexog).fit().get_influence()
        np.testing.assert_allclose(ours.leverage, truth.hat_matrix_diag, **FINE)
        np.testing.assert_allclose(ours.standardized, truth.resid_studentized_internal, **FINE)
        np.testing.assert_allclose(ours.studentized, truth.resid_studentized_external, **FINE)
        np.testing.assert_allclose(ours.cooks, truth.cooks_distance[0], **FINE)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_tests_of_residuals_are_those_of_statsmodels(weighted, intercept):
    for seed in SEEDS:
        ours, theirs, a = both(seed, weighted, intercept)
        e, t = theirs.wresid, ours.tests
        np.testing.assert_allclose(t.durbin_watson, durbin_watson(e), **FINE)
        np.testing.assert_allclose([t.jarque_bera, t.jarque_bera_p, t.skew, t.kurtosis], jarque_bera(e), **FINE)
        truth = het_breuschpagan(e, a if intercept else sm.add_constant(a))[:2]
        np.testing.assert_allclose([t.breusch_pagan, t.breusch_pagan_p], truth, **FINE)


def test_variance_inflation_is_that_of_statsmodels_and_its_weighted_form():
    for seed in SEEDS:
        ours, _, a = both(seed, False, True)
        np.testing.assert_allclose(
            ours.inflation[1:], [variance_inflation_factor(a, j) for j in range(1, a.shape[1])], **FINE
        )
        assert np.isnan(ours.inflation[0])
        plain, _, a = both(seed, False, False)
        others = [sm.OLS(a[:, j], np.delete(a, j, 1)).fit() for j in range(a.shape[1])] if a.shape[1] > 1 else []
        truth = [(a[:, j] ** 2).sum() / o.ssr for j, o in enumerate(others)] or [1]
        np.testing.assert_allclose(plain.inflation, truth, **FINE)
        heavy, _, a = both(seed, True, True)
        w = problem(seed, weighted=True)[2]
        others = [sm.WLS(a[:, j], np.delete(a, j, 1), weights=w).fit() for j in range(1, a.shape[1])]
        np.testing.assert_allclose(heavy.inflation[1:], [o.centered_tss / o.ssr for o in others], **FINE)


def test_the_condition_number_is_of_columns_of_length_one():
    for seed in SEEDS:
        for weighted in (False, True):
            for intercept in (True, False):
                ours, theirs, _ = both(seed, weighted, intercept)
                a = theirs.model.wexog
                np.testing.assert_allclose(ours.condition, np.linalg.cond(a / np.linalg.norm(a, axis=0)), rtol=1e-8)


# ---- the worked example


@pytest.mark.ledger("A027", covers="ftheta.models.LinearRegression")
def test_the_cholesterol_example_has_its_printed_coefficients():
    """Odd rows, counted from 1, are the training half; the features are age and BMI."""
    rows = data.load("cholesterol")
    model = models.LinearRegression().fit(rows.x[::2], rows.y[::2])
    found = np.append(model.intercept_, model.coef_)
    np.testing.assert_allclose(found, [25.684211, 0.936842, 5.789474], rtol=1e-6)
    np.testing.assert_allclose(found, [25.68, 0.94, 5.79], atol=0.005)
    summary = model.summary_
    assert summary.names == ("intercept", "age", "bmi") and summary.dof == 2
    np.testing.assert_allclose(summary.coefficients, found, rtol=1e-12)
    np.testing.assert_allclose(summary.r2_forms, [0.9990007] * 3, atol=5e-8)
    assert "they agree" in summary.r2_note and "0.9990007" in str(summary)
    assert "sum of squared residuals" in str(summary) and summary.squares == pytest.approx(6.31579, abs=5e-6)


# ---- 95 % means 95 %

X = np.random.default_rng(0).normal(size=(50, 3)) * [1, 5, 0.1] + [0, 3, 1]
TRUTH = np.array([2.0, 1.0, 0.0, -4.0])  # intercept first; x1 plays no part
FAR = np.array([[0.0, 0.0, 0.0], [2.0, 20.0, 1.0]])  # where the mean and a new y are predicted


def repeated(repetitions):
    """Whether intervals hold: of coefficients (N, 4), of the mean and of a new y (N, 2); p of x1 (N,), of F (1000,)."""
    rng = np.random.default_rng(1)
    noise, new = rng.normal(size=(50, repetitions)) * 3, rng.normal(size=(2, repetitions)) * 3
    y, means = (X @ TRUTH[1:] + TRUTH[0])[:, None] + noise, (FAR @ TRUTH[1:] + TRUTH[0])[:, None]
    model = models.LinearRegression().fit(X, y)  # a target a repetition
    mean, fresh = (
        inside(means, model.predict_interval(FAR, of="mean")),
        inside(means + new, model.predict_interval(FAR)),
    )
    summaries = [summarize(X, column, None, named(3), True) for column in y.T]
    held = np.array([inside(TRUTH, s.interval()) for s in summaries])
    f = [summarize(X, e, None, named(3), True).f_p for e in noise.T[:1000]]  # no column plays a part
    return [held, mean.T, fresh.T, np.array([s.p[2] for s in summaries]), np.array(f)]


def inside(truth, ends):
    return (ends[..., 0] <= truth) & (truth <= ends[..., 1])


def uneven(repetitions, n=300):
    """Whether robust and classical intervals of the slope hold where the noise grows with |x|: (N,) each."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(n, 1))
    fits = (summarize(x, x[:, 0] + rng.normal(size=n) * abs(x[:, 0]), None, ["x"], True) for _ in range(repetitions))
    return np.array([[inside(1.0, f.interval(robust=r)[1:])[0] for r in (True, False)] for f in fits]).T


def close(found, repetitions):
    return abs(found - 0.95) < 4 * np.sqrt(0.95 * 0.05 / repetitions)


@pytest.mark.middle
def test_intervals_hold_the_truth_and_p_are_uniform_where_nothing_is():
    *held, p, f = repeated(150)
    assert all(close(part.mean(0), 150).all() for part in held)
    assert stats.kstest(p, "uniform").pvalue > 1e-3 and stats.kstest(f, "uniform").pvalue > 1e-3


@pytest.mark.middle
def test_robust_intervals_hold_under_uneven_noise_and_classical_ones_do_not():
    robust, classical = uneven(300)
    assert close(robust.mean(), 300) and classical.mean() < 0.85


@pytest.mark.soak
def test_ninety_five_percent_means_ninety_five_percent():
    *held, p, f = repeated(10_000)
    assert all((abs(part.mean(0) - 0.95) < 0.01).all() for part in held)
    assert stats.kstest(p, "uniform").pvalue > 1e-3 and stats.kstest(f, "uniform").pvalue > 1e-3
    robust, classical = uneven(10_000, n=500)
    assert abs(robust.mean() - 0.95) < 0.01 and classical.mean() < 0.85


# ---- rows that decide little or nothing


def made(n=30, d=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x, x.sum(1) + 3 + rng.normal(size=n)


def of(x, y, weight=None, intercept=True):
    x = np.asarray(x, dtype=float)
    found = summarize(x, np.asarray(y, dtype=float), weight, named(x.shape[1]), intercept)
    assert "nan" not in str(found)  # what cannot be said is left out
    return found


def test_the_figure_is_drawn_however_little_there_is_to_show():
    x, y = made()
    plain, still = np.column_stack([x, np.arange(30) == 7]), np.column_stack([x, np.ones(30)])
    for rows, target in ((plain, y), (still, y), (np.ones((30, 2)), y), (x, x @ [1.0, 2.0]), (x, np.full(30, -1e9))):
        assert of(rows, target).figure().axes
    assert of(x, y, np.where(np.arange(30) % 3, 2e90, 0.0)).figure().axes
    assert of(np.zeros((30, 2)), y, intercept=False).figure().axes


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("intercept", [True, False])
def test_the_last_level_of_each_category_is_left_out_as_on_the_reduced_design(weighted, intercept):
    """One-hot columns add up to the constant; without an intercept only the second category has one too many."""
    for seed in SEEDS[:10]:
        rng = np.random.default_rng(seed)
        n, unit = 60, 10.0 ** rng.integers(-6, 6)
        x = np.hstack([np.eye(3)[rng.integers(0, 3, n)], rng.normal(size=(n, 1)) * unit, np.eye(4)[np.arange(n) % 4]])
        y, v = x @ np.r_[1, 2, 3, 1 / unit, 4, 3, 2, 1] + rng.normal(size=n), rng.uniform(0.2, 3, n)
        gone = [2, 7] if intercept else [7]
        a = np.delete(x, gone, 1)
        truth = sm.WLS(y, sm.add_constant(a) if intercept else a, weights=v if weighted else np.ones(n)).fit()
        found = summarize(x, y, v if weighted else None, named(8), intercept)
        assert (np.flatnonzero(np.isnan(found.coefficients)) - intercept).tolist() == gone
        kept = ~np.isnan(found.coefficients)
        np.testing.assert_allclose(found.errors[kept], truth.bse, **FINE)
        np.testing.assert_allclose(found.robust[kept], truth.HC3_se, **FINE)
        np.testing.assert_allclose(found.p[kept], truth.pvalues, **FINE)
        np.testing.assert_allclose([found.aic, found.f], [truth.aic, truth.fvalue], **FINE)
        assert found.notes[0].startswith(
            ", ".join(f"x{j}" for j in gone) + ": constant, or follows from the columns before"
        )


@pytest.mark.parametrize(
    "value", [0.1, 0.0, 1e9, 1 + np.arange(30) % 2 * 2.0**-52], ids=["0.1", "0", "1e9", "rounding"]
)
def test_a_constant_column_is_set_aside(value):
    """Also one that only rounding moves."""
    x, y = made()
    found, truth = of(np.column_stack([x[:, 0], np.zeros(30) + value, x[:, 1]]), y), of(x, y)
    kept = [0, 1, 3]
    np.testing.assert_allclose(found.coefficients[kept], truth.coefficients, rtol=1e-9)
    np.testing.assert_allclose(found.errors[kept], truth.errors, rtol=1e-9)
    assert np.isnan([found.coefficients[2], found.errors[2], found.inflation[2]]).all() and found.dof == 27
    assert found.notes[0].startswith("x1: constant")


def test_a_column_of_ones_is_as_good_as_an_intercept():
    x, y = made()
    found, truth = of(np.column_stack([np.ones(30), x]), y, intercept=False), of(x, y)
    assert found.constant and found.condition == pytest.approx(truth.condition)
    np.testing.assert_allclose([found.r2, found.f, found.aic], [truth.r2, truth.f, truth.aic], rtol=1e-10)
    zero = of(np.column_stack([np.zeros(30), x]), y, intercept=False)
    assert not zero.constant and zero.notes[0].startswith("x0: constant")


def test_columns_that_never_vary_leave_the_mean():
    _, y = made()
    found = of(np.ones((30, 2)), y)
    assert found.r2 == 0 and np.isnan([found.f, found.tests.breusch_pagan]).all()
    assert found.coefficients.tolist() == pytest.approx([y.mean(), np.nan, np.nan], nan_ok=True)
    assert found.errors[0] == pytest.approx(y.std(ddof=1) / np.sqrt(30))


@pytest.mark.parametrize("shape", [(3, 2), (3, 5), (10, 200), (1, 2)])
def test_no_degrees_of_freedom_is_said(shape):
    found = of(np.random.default_rng(0).normal(size=shape), np.arange(shape[0]) ** 2.0)
    found.figure().canvas.draw()
    assert np.isnan(found.errors).all() and np.isnan([found.sigma, found.f, found.adjusted]).all()
    assert any("no degrees of freedom" in note for note in found.notes)
    np.testing.assert_allclose(found.fitted, np.arange(shape[0]) ** 2.0, atol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_a_perfect_fit_has_no_noise(offset):
    x, _ = made()
    found = of(x, x @ [1.0, 2.0] + offset)
    assert found.sigma == found.squares == 0 and found.r2 == 1 and (found.errors == 0).all() and np.isnan(found.p).all()
    assert found.notes == ("The plane goes through every row up to rounding: there is no noise to test against.",)
    assert found.linearity.note == "There is no noise: linearity is not tested."
    nearly = of(x, x @ [1.0, 2.0] + offset + 1e-5 * np.random.default_rng(0).normal(size=30))
    assert nearly.sigma == pytest.approx(1e-5, rel=0.4) and not nearly.notes
    faint = of(x, x @ [1.0, 2.0] + 3e-13 * np.random.default_rng(0).normal(size=30))
    assert faint.sigma == pytest.approx(3e-13, rel=0.4)  # a thousand times what rounding leaves


@pytest.mark.parametrize("value", [0.0, 0.1, -1e9])
def test_a_constant_y_has_nothing_to_explain(value):
    x, _ = made()
    found = of(x, np.full(30, value))
    assert (
        np.isnan(found.r2)
        and found.sigma == 0
        and found.notes == ("y does not vary: there is nothing to explain or to test.",)
    )
    assert found.coefficients == pytest.approx([value, 0, 0]) and found.r2_note.startswith("There is no correlation")


def test_a_row_of_leverage_one_is_named():
    x, y = made()
    found = of(np.column_stack([x, np.arange(30) == 7]), y)
    assert found.leverage[7] == pytest.approx(1) and np.isnan([found.standardized[7], found.cooks[7]]).all()
    assert np.isfinite(np.delete(found.cooks, 7)).all() and np.isnan(found.robust).all()
    assert "Row 7 alone determines a coefficient" in found.notes[0]


def test_columns_of_one_name_are_all_tested():
    x, y = made()
    found = summarize(x, y, None, ["x", "x"], True)
    assert found.linearity.names == ("x", "x", "all columns")
    assert found.linearity.f == of(x, y).linearity.f


# ---- what a reader sees


def test_it_prints_like_a_statistics_package():
    x, y = made()
    found = summarize(x, y, None, ["age", "bmi"], True)
    lines = str(found).splitlines()
    assert lines[0].strip() == "Linear regression: least squares" and set(lines[1]) == {"="}
    assert f"R² {found.r2:>{len(lines[2].partition('R²')[2]) - 1}.5g}" in str(found)
    head = " ".join(lines[2:9]).split()
    assert head[:2] == ["rows", "30"] and "27" in head and f"{found.sigma:#.5g}" in head and f"{found.aic:#.5g}" in head
    assert "95 % from" in str(found) and "Is it linear? Splines" in str(found)
    assert "VIF" not in str(found) and all(name in str(found) for name in found.names)
    assert max(map(len, lines)) <= max(78, *map(len, str(found.table()).splitlines()))
    assert "F(2, 27)" in str(found) and "Durbin-Watson" in str(found)


def test_without_a_constant_the_three_r2_differ_and_it_is_said():
    x, y = made()
    found = of(x, y, intercept=False)
    explained, left, correlated = found.r2_forms
    assert found.r2_note.startswith(f"R² about the mean: explained ratio {explained:.7f}, 1 - RSS/TSS {left:.7f}, ")
    assert len({round(form, 3) for form in found.r2_forms}) == 3 and "R² about 0" in str(found)
    assert left == pytest.approx(1 - (found.residuals**2).sum() / ((y - y.mean()) ** 2).sum())
    assert explained == pytest.approx(((found.fitted - y.mean()) ** 2).sum() / ((y - y.mean()) ** 2).sum())
    assert correlated == pytest.approx(np.corrcoef(y, found.fitted)[0, 1] ** 2)


def test_influence_can_be_asked_for_its_largest_rows():
    x, y = made()
    y[11] += 30
    found = of(x, y)
    top = found.influence(3).columns
    assert top["row"][0] == 11 and np.all(np.diff(top["Cook's distance"]) <= 0) and len(top["row"]) == 3
    assert found.influence().columns["residual"] == pytest.approx((y - found.fitted).tolist())
    assert found.caption.endswith(f"row 11 has the largest Cook's distance, {found.cooks[11]:.3g}.")


@pytest.mark.middle
def test_a_million_rows_take_seconds_and_no_square_of_them():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1_000_000, 5))
    found = summarize(x, x.sum(1) + rng.normal(size=len(x)), None, named(5), True)
    assert abs(found.sigma - 1) < 0.01 and found.leverage.sum() == pytest.approx(6) and min(found.linearity.p) > 1e-4


def test_what_is_printed_fits_a_page_and_says_what_robust_errors_and_collinear_columns_change():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 3))
    x[:, 1] = x[:, 0] + 0.1 * x[:, 1]
    y = x[:, 0] + 0.4 * x[:, 2] + rng.normal(size=60) * np.abs(x[:, 2])
    found = summarize(x, y, None, ("a", "b", "c" * 90), True)
    said = " ".join(str(found).split())
    assert max(map(len, str(found).splitlines())) == 100 and "c" * 30 + "…" in said
    assert f"Columns that nearly follow from the others: a (VIF {found.inflation[1]:.3g}), b (VIF" in said
    assert (found.p[3] < 0.05) != (found.robust_p[3] < 0.05)
    assert f"decide otherwise about {'c' * 90} (p = {found.robust_p[3]:.3f}, not {found.p[3]:.3f})." in said
