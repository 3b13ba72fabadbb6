"""Lasso and elastic net against scikit-learn, their optimality conditions, certificates and exact knots."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet as SklearnElasticNet
from sklearn.linear_model import Lasso as SklearnLasso

from ftheta.errors import InputError
from ftheta.models import CoefficientPath, ElasticNet, Lasso, Ridge, lasso_path
from tests.test_memory import Path, child, status

TIGHT = {"tol": 1e-14, "max_iter": 200_000}


def problem(seed, n=None, d=None):
    """Rows, target, weights, and a penalty that keeps some coefficients."""
    rng = np.random.default_rng(seed)
    n, d = n or int(rng.integers(8, 60)), d or int(rng.integers(1, 25))
    x = rng.normal(size=(n, d)) * rng.uniform(0.5, 3, d) + rng.normal(size=d) * 3
    y = x @ (rng.normal(size=d) * (rng.uniform(size=d) < 0.5)) + rng.normal(size=n) + 5
    top = np.abs((x - x.mean(0)).T @ (y - y.mean())).max() / n
    return x, y, rng.uniform(0.1, 3, n), top * 10 ** rng.uniform(-2, -0.3)


# ---- against peers


@pytest.mark.parametrize("seed", range(30))
def test_the_lasso_agrees_with_scikit_learn(seed):
    x, y, weight, alpha = problem(seed)
    weight, intercept = weight if seed % 2 else None, seed % 5 > 0
    ours = Lasso(alpha=alpha, fit_intercept=intercept, **TIGHT).fit(x, y, weight)
    peer = SklearnLasso(alpha=alpha, fit_intercept=intercept, **TIGHT).fit(x, y, weight)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-8)
    assert ours.intercept_ == pytest.approx(peer.intercept_, abs=1e-8)
    assert ours.dof_ == np.count_nonzero(peer.coef_)


@pytest.mark.parametrize("seed", range(30))
def test_the_elastic_net_agrees_with_scikit_learn(seed):
    x, y, weight, alpha = problem(seed)
    weight, ratio = weight if seed % 2 else None, (0.05, 0.5, 0.9, 1.0)[seed % 4]
    ours = ElasticNet(alpha=alpha, l1_ratio=ratio, fit_intercept=seed % 5 > 0, **TIGHT).fit(x, y, weight)
    peer = SklearnElasticNet(alpha=alpha, l1_ratio=ratio, fit_intercept=seed % 5 > 0, **TIGHT).fit(x, y, weight)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-8)
    assert ours.intercept_ == pytest.approx(peer.intercept_, abs=1e-8)


def test_without_an_l1_part_it_is_ridge():
    x, y, weight, _ = problem(0, 30, 6)
    ours = ElasticNet(alpha=0.3, l1_ratio=0).fit(x, y, weight)
    truth = Ridge(alpha=0.3 * weight.sum()).fit(x, y, weight)
    np.testing.assert_allclose(ours.coef_, truth.coef_, rtol=1e-9)
    assert ours.gap_ < 1e-12 and ours.dof_ == pytest.approx(truth.dof_[0])


# ---- optimality


@pytest.mark.ledger("B235", covers="ftheta.models.Lasso")
@settings(max_examples=40)
@given(st.integers(2, 12), st.integers(1, 15), st.integers(0, 999), st.sampled_from([1.0, 0.5]))
def test_the_subgradient_conditions_hold(n, d, seed, ratio):
    """x_j·r / n - l2 w_j is l1 sign(w_j) where w_j is not 0, and at most l1 in size where it is."""
    x, y, weight, alpha = problem(seed, n, d)
    model = ElasticNet(alpha=alpha, l1_ratio=ratio, **TIGHT).fit(x, y, weight)
    w, l1, l2 = model.coef_, alpha * ratio, alpha * (1 - ratio)
    residual = weight * (y - model.predict(x))
    pull = x.T @ residual / weight.sum() - l2 * w
    near = 1e-6 * max(1.0, np.abs(pull).max())
    assert (np.abs(pull) <= l1 + near).all() and abs(residual.sum()) < 1e-9 * np.abs(y).max() * n
    np.testing.assert_allclose(pull[w != 0], l1 * np.sign(w[w != 0]), atol=near)


@pytest.mark.ledger("A151", covers="ftheta.models.lasso_path")
def test_orthonormal_columns_are_soft_thresholded_and_drop_out_along_the_path():
    """For RSS/2 + λ|θ|: sign(b) max(|b| - λ, 0) of the least-squares coefficients b."""
    rng = np.random.default_rng(0)
    q, _ = np.linalg.qr(rng.normal(size=(40, 6)))
    y = q @ [5.0, -4, 3, 2, -1, 0.1] + 0.1 * rng.normal(size=40)
    b = q.T @ y
    for lam in (0.05, 0.5, 1.5, 4.5, 10.0):
        model = Lasso(alpha=lam / 40, fit_intercept=False, **TIGHT).fit(q, y)
        np.testing.assert_allclose(model.coef_, np.sign(b) * np.maximum(np.abs(b) - lam, 0.0), atol=1e-9)
    path = lasso_path(q, y, 60, fit_intercept=False, **TIGHT)
    np.testing.assert_allclose(path.knots * 40, np.sort(np.abs(b))[::-1][: len(path.knots)], rtol=1e-9)
    assert [j for j, _ in path.moves] == np.argsort(-np.abs(b))[: len(path.knots)].tolist()
    assert (np.diff(np.count_nonzero(path.coefs, axis=1)) >= 0).all() and not path.coefs[0].any()


@pytest.mark.parametrize("ratio", [1.0, 0.6])
@pytest.mark.parametrize(("n", "d"), [(40, 8), (10, 30)])
def test_the_gap_bounds_what_is_missing_in_the_units_of_the_objective(n, d, ratio):
    x, y, weight, alpha = problem(2, n, d)
    around, level = x - np.average(x, axis=0, weights=weight), y - np.average(y, weights=weight)
    rows, target = around * np.sqrt(weight)[:, None], level * np.sqrt(weight)

    def objective(w):
        squares = ((target - rows @ w) ** 2).sum() / (2 * weight.sum())
        return squares + alpha * (ratio * np.abs(w).sum() + (1 - ratio) / 2 * w @ w)

    best = ElasticNet(alpha=alpha, l1_ratio=ratio, **TIGHT).fit(x, y, weight)
    assert best.gap_ < 1e-10 * objective(best.coef_)
    gaps = []
    for tol in (1e-2, 1e-4, 1e-6):
        rough = ElasticNet(alpha=alpha, l1_ratio=ratio, tol=tol).fit(x, y, weight)
        assert -1e-12 <= objective(rough.coef_) - objective(best.coef_) <= rough.gap_ + 1e-12
        gaps.append(rough.gap_)
    assert gaps[0] > gaps[2]
    # its unit is that of y squared
    assert (
        ElasticNet(alpha=10 * alpha if ratio == 1 else alpha, l1_ratio=1.0, tol=1e-2).fit(x, 10 * y, weight).gap_ >= 0
    )
    if ratio == 1:
        ten = Lasso(alpha=10 * alpha, tol=1e-2).fit(x, 10 * y, weight)
        assert ten.gap_ == pytest.approx(100 * gaps[0], rel=1e-6)


def test_too_few_sweeps_are_said_and_the_gap_tells_how_far_it_is():
    x, y, _, alpha = problem(3, 40, 10)
    with pytest.warns(ConvergenceWarning, match="in 1 sweeps for 1 of 1 problems. Raise max_iter or tol"):
        model = Lasso(alpha=alpha / 100, max_iter=1, tol=1e-14).fit(x, y)
    assert model.gap_ > 1e-6


# ---- degrees of freedom


def test_degrees_of_freedom_of_the_elastic_net_are_the_trace_of_its_hat_matrix():
    x, y, _, alpha = problem(5, 40, 8)
    model = ElasticNet(alpha=alpha, l1_ratio=0.7).fit(x, y)
    on = model.coef_ != 0
    a = (x - x.mean(0))[:, on]
    hat = a @ np.linalg.solve(a.T @ a + 40 * alpha * 0.3 * np.eye(on.sum()), a.T)
    assert 0 < on.sum() < 8 and model.dof_ == pytest.approx(np.trace(hat))


def test_degrees_of_freedom_are_the_covariance_of_fit_and_answer():
    """Stein: Σ cov(ŷ_i, y_i) / σ² over draws of the noise, beside the mean count of non-zero coefficients."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 6))
    mean = x @ [2.0, -1, 0.5, 0, 0, 0]
    noise = rng.normal(size=(300, 30))
    model = Lasso(alpha=0.3, tol=1e-6).fit(x, (mean + noise).T)  # each draw is a target
    fits = model.predict(x).T  # (draws, n)
    covariance = ((fits - fits.mean(0)) * noise).sum(1)
    error = covariance.std() / 300**0.5
    assert abs(covariance.mean() - (model.dof_.mean() + 1)) < 3 * error < 0.6  # the intercept is one more


# ---- the path


def test_the_path_is_its_single_fits():
    x, y, weight, _ = problem(6, 40, 7)
    for ratio in (1.0, 0.4):
        path = lasso_path(x, y, 12, l1_ratio=ratio, sample_weight=weight, **TIGHT)
        assert not path.coefs[0].any() and path.coefs[1].any()
        np.testing.assert_allclose(path.alphas, np.geomspace(path.alphas[0], 1e-3 * path.alphas[0], 12))
        assert (path.gaps >= 0).all() and (path.gaps < 1e-10).all()
        for i in (1, 5, 11):
            model = ElasticNet(alpha=path.alphas[i], l1_ratio=ratio, **TIGHT).fit(x, y, weight)
            np.testing.assert_allclose(path.coefs[i], model.coef_, atol=1e-7)
            assert path.intercepts[i] == pytest.approx(model.intercept_, abs=1e-6)
            assert path.dof[i] == pytest.approx(model.dof_)
        assert (len(path.knots) > 0) == (ratio == 1)


@pytest.mark.parametrize("seed", range(6))
def test_at_a_knot_a_coefficient_enters_or_leaves_and_between_knots_the_path_is_straight(seed):
    x, y, weight, _ = problem(seed, 30, 12)
    x[:, 6:] += x[:, :6]  # so that some leave again
    path = lasso_path(x, y, 5, eps=0.02, sample_weight=weight)
    assert path.knots[0] == pytest.approx(path.alphas[0]) and (np.diff(path.knots) <= 0).all()

    def on(alpha):
        return set(np.flatnonzero(Lasso(alpha=alpha, **TIGHT).fit(x, y, weight).coef_))

    active = set()
    for knot, (j, event) in zip(path.knots, path.moves, strict=True):
        assert on(knot * (1 + 1e-4)) == active
        active = active | {j} if event == "enters" else active - {j}
        assert on(knot * (1 - 1e-4)) == active
    upper, lower = path.knots[3:5]
    ends = [Lasso(alpha=a, **TIGHT).fit(x, y, weight).coef_ for a in (upper, (upper + lower) / 2, lower)]
    np.testing.assert_allclose(ends[1], (ends[0] + ends[2]) / 2, atol=1e-7)


def test_twins_and_negatives_do_not_move_the_knots():
    x, y, weight, _ = problem(7, 30, 6)
    plain = lasso_path(x, y, 5, sample_weight=weight)
    near = x * (1 + 1e-13 * np.random.default_rng(0).normal(size=x.shape))
    for more in (x, -x, x[:, :1], np.c_[x, -near]):
        path = lasso_path(np.c_[x, more], y, 5, sample_weight=weight)
        np.testing.assert_allclose(path.knots, plain.knots, rtol=1e-8)
        assert [(j % 6, event) for j, event in path.moves] == list(plain.moves)


def test_a_path_has_tables_a_figure_and_words():
    x, y, _, _ = problem(7, 40, 4)
    path = lasso_path(pd.DataFrame(x, columns=list("abcd")), y, 20)
    assert isinstance(path, CoefficientPath) and path.names == tuple("abcd")
    table, knots = path.table(), path.knot_table()
    assert table.columns["non-zero"] == np.count_nonzero(path.coefs, axis=1).tolist()
    assert table.columns["norm of w"] == np.abs(path.coefs).sum(1).tolist() and "Lasso: 20 penalties" in table.caption
    assert table.columns["duality gap"] == path.gaps.tolist()
    assert table.columns["degrees of freedom"] == path.dof.tolist()
    assert knots.columns["alpha"] == path.knots.tolist() and set(knots.columns["coefficient"]) <= set("abcd")
    first = path.names[path.moves[0][0]]
    assert f"in the order {first}" in path.caption
    ticks = next(line for line in path.figure().axes[0].lines if line.get_label() == "knots")
    np.testing.assert_array_equal(ticks.get_xdata(), path.knots)
    net = lasso_path(x, y, [0.5, 0.1, 0.9], l1_ratio=0.5)
    assert net.alphas.tolist() == [0.9, 0.5, 0.1] and "Elastic net (l1_ratio 0.5)" in net.table().caption


def test_what_cannot_be_a_path_is_said():
    x, y, _, _ = problem(8, 20, 3)
    with pytest.raises(InputError, match="No column of X goes with y, so all coefficients are 0"):
        lasso_path(x, np.ones(20))
    with pytest.raises(InputError, match="needs alphas >= 1, 0 < eps < 1 and l1_ratio > 0, got 10, 0.001 and 0.0"):
        lasso_path(x, y, 10, l1_ratio=0.0)
    for alphas, eps in ((0, 1e-3), (5, 0.0), (5, 1.0)):
        with pytest.raises(InputError, match=f"got {alphas}, {eps} and 1.0"):
            lasso_path(x, y, alphas, eps=eps)
    for alphas in ((), (0.0,), (1.0, np.nan), (-1.0,)):
        with pytest.raises(InputError, match="alphas is .*; it must hold one or more penalties, each finite and > 0"):
            lasso_path(x, y, alphas)
    with pytest.raises(ValueError, match="'l1_ratio' parameter of ElasticNet must be a float in the range"):
        ElasticNet(l1_ratio=1.5).fit(x, y)
    with pytest.raises(ValueError, match="'alpha' parameter of Lasso must be a float in the range"):
        Lasso(alpha=0.0).fit(x, y)


# ---- degenerate data


def test_duplicated_and_constant_columns_and_far_more_columns_than_rows():
    x, y, _, alpha = problem(11, 30, 3)
    one = Lasso(alpha=alpha, **TIGHT).fit(x, y)
    two = Lasso(alpha=alpha, **TIGHT).fit(np.c_[x, x, np.full(30, 1e8)], y)
    np.testing.assert_allclose(two.coef_[:3] + two.coef_[3:6], one.coef_, atol=1e-7)
    assert two.coef_[6] == 0
    wide = np.random.default_rng(0).normal(size=(20, 400))
    model = Lasso(alpha=0.05).fit(wide, wide[:, 7] - wide[:, 300])
    assert model.coef_[7] > 0.3 and model.coef_[300] < -0.3 and 2 <= model.dof_ <= 20
    assert len(lasso_path(wide, wide[:, 7] - wide[:, 300], 10).knots) >= 2


def test_several_targets_are_fitted_one_by_one():
    x, y, _, alpha = problem(13, 30, 4)
    both = Lasso(alpha=alpha, **TIGHT).fit(x, np.c_[y, -2 * y + x[:, 0]])
    for t, target in enumerate((y, -2 * y + x[:, 0])):
        one = Lasso(alpha=alpha, **TIGHT).fit(x, target)
        np.testing.assert_allclose(both.coef_[t], one.coef_, atol=1e-9)
        assert both.intercept_[t] == pytest.approx(one.intercept_) and both.dof_[t] == one.dof_
        assert both.gap_[t] == pytest.approx(one.gap_, abs=1e-10)


def memory():
    """Megabytes that a fit adds at its peak, to the rows that are there."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100_000, 200))
    y = x[:, 0] - x[:, 1] + rng.normal(size=100_000)
    found = {}
    for name, rows in (("C", x), ("F", np.asfortranarray(x))):
        Path("/proc/self/clear_refs").write_text("5")
        before = status("VmRSS")
        model = Lasso(alpha=0.1).fit(rows, y)
        found[name] = [status("VmHWM") - before, *model.coef_[:3].tolist()]
    return found


@pytest.mark.middle
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs the counters of Linux")
def test_the_lasso_on_100000_rows_of_200_columns_takes_little_more_than_its_data():
    """200 MB at most: one copy of the rows, centered and column by column, is 153 MB."""
    found = json.loads(child("import json, tests.models.linear.test_lasso as t; print(json.dumps(t.memory()))"))
    assert found["C"][0] < 200 and found["F"][0] < 200, found
    np.testing.assert_allclose(found["C"][1:], [0.9, -0.9, 0], atol=0.02)
    np.testing.assert_allclose(found["F"][1:], found["C"][1:], atol=1e-9)
