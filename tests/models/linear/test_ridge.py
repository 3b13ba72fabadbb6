"""Ridge: every penalty against refits, scikit-learn and closed forms."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.linear_model import RidgeCV

import ftheta
from ftheta.errors import InputError
from ftheta.models import CoefficientPath, LinearRegression, Ridge

ALPHAS = (1e-3, 0.1, 1.0, 30.0)


def problem(seed, n=None, d=None, targets=0):
    rng = np.random.default_rng(seed)
    n, d = n or int(rng.integers(5, 60)), d or int(rng.integers(1, 25))
    x = rng.normal(size=(n, d)) * rng.uniform(0.2, 5, d) + rng.normal(size=d) * 3
    y = x @ rng.normal(size=(d, targets) if targets else d) + rng.normal(size=(n, targets) if targets else n)
    return x, y, rng.uniform(0.1, 3, n)


def ridge_path(x, y, alphas=100, sample_weight=None, fit_intercept=True):
    return Ridge(fit_intercept=fit_intercept)._path(x, y, alphas, sample_weight)


def refits(x, y, alphas, weight=None, intercept=True, model=SklearnRidge):
    """Errors of fits without each row, for every penalty: (L, n, ...)."""
    weight, errors = np.ones(len(x)) if weight is None else weight, []
    for alpha in alphas:
        rest = np.arange(len(x))
        fits = [
            model(alpha=alpha, fit_intercept=intercept).fit(x[rest != i], y[rest != i], weight[rest != i]) for i in rest
        ]
        errors.append([y[i] - fit.predict(x[i : i + 1])[0] for i, fit in enumerate(fits)])
    return np.array(errors)


# ---- against peers


@pytest.mark.parametrize("seed", range(30))
def test_it_agrees_with_scikit_learn(seed):
    x, y, weight = problem(seed, targets=(0, 2, 3)[seed % 3])
    alpha, intercept, weight = 10.0 ** (seed % 7 - 4), seed % 5 > 0, weight if seed % 2 else None
    ours = Ridge(alpha=alpha, fit_intercept=intercept).fit(x, y, weight)
    peer = SklearnRidge(alpha=alpha, fit_intercept=intercept, solver="svd").fit(x, y, weight)
    assert ours.coef_.shape == y.shape[1:] + x.shape[1:] and np.shape(ours.intercept_) == y.shape[1:]
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ours.intercept_, np.broadcast_to(peer.intercept_, y.shape[1:]), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(30))
def test_choice_and_errors_are_those_of_ridge_cv(seed):
    x, y, weight = problem(seed, targets=2 * (seed % 4 == 3))
    alphas, weight, intercept = np.geomspace(1e-2, 1e3, 12), weight if seed % 2 else None, seed % 5 > 0
    ours = Ridge(alphas=tuple(alphas), fit_intercept=intercept).fit(x, y, weight)
    peer = RidgeCV(alphas=alphas, store_cv_results=True, fit_intercept=intercept).fit(x, y, weight)
    total = len(x) if weight is None else weight.sum()
    cv = peer.cv_results_.reshape(len(x), -1, 12).sum(0).mean(0) / total  # weight times square, of each penalty
    np.testing.assert_allclose(ours.loo_, cv, rtol=1e-8)
    assert ours.alpha_ == peer.alpha_
    np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("n", "d"), [(12, 4), (9, 15), (6, 5)])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_leave_one_out_is_that_of_refits(n, d, intercept, weighted):
    x, y, weight = problem(3, n, d)
    weight = weight if weighted else None
    found = ridge_path(x, y, ALPHAS, sample_weight=weight, fit_intercept=intercept)
    errors = refits(x, y, ALPHAS, weight, intercept)
    np.testing.assert_allclose(found.loo, np.average(errors**2, axis=1, weights=weight), rtol=1e-8)


def test_generalised_cross_validation_is_its_definition():
    x, y, weight = problem(5, 20, 6)
    for w, intercept in ((None, True), (weight, True), (None, False)):
        found = ridge_path(x, y, ALPHAS, sample_weight=w, fit_intercept=intercept)
        v = np.ones(20) if w is None else w
        for i, alpha in enumerate(ALPHAS):
            design = np.c_[x, np.ones(20)] if intercept else x
            penalty = np.diag([alpha] * 6 + [0] * intercept)
            hat = design @ np.linalg.solve(design.T * v @ design + penalty, design.T * v)
            square = np.average((y - hat @ y) ** 2, weights=v)
            assert found.gcv[i] == pytest.approx(square / (1 - np.trace(hat) / 20) ** 2, rel=1e-9)
            assert found.dof[i] == pytest.approx(np.trace(hat) - intercept, rel=1e-9)
        assert Ridge(alphas=ALPHAS, choose="gcv", fit_intercept=intercept).fit(x, y, w).alpha_ in ALPHAS


def test_each_criterion_decides_for_itself():
    x, y, _ = next(
        p for p in map(problem, range(99)) if len({ridge_path(p[0], p[1]).best(c) for c in ("loo", "gcv")}) > 1
    )
    path = ridge_path(x, y)
    alphas = tuple(path.alphas)
    loo, gcv = (Ridge(alphas=alphas, choose=c).fit(x, y) for c in ("loo", "gcv"))
    assert loo.alpha_ == alphas[path.loo.argmin()] != gcv.alpha_ == alphas[path.gcv.argmin()]
    np.testing.assert_array_equal(gcv.coef_, path.coefs[path.gcv.argmin()])
    assert gcv.intercept_ == path.intercepts[path.gcv.argmin()]


# ---- what must be true


def plain(alpha, fit_intercept):
    return LinearRegression(fit_intercept=fit_intercept)


@settings(max_examples=40)
@given(st.integers(2, 9), st.integers(1, 12), st.integers(0, 999), st.sampled_from([1e-4, 1.0, 1e3]))
def test_the_gradient_vanishes_and_residuals_have_no_mean(n, d, seed, alpha):
    x, y, weight = problem(seed, n, d)
    model = Ridge(alpha=alpha).fit(x, y, weight)
    residual = weight * (y - model.predict(x))
    size = np.abs(weight[:, None] * x).sum(0).max() * np.abs(y).max()
    assert np.abs(x.T @ residual - alpha * model.coef_).max() < 1e-11 * size * (1 + alpha)
    assert abs(residual.sum()) < 1e-11 * size


def test_without_a_penalty_it_is_the_shortest_least_squares_solution():
    for n, d in ((30, 4), (6, 20)):
        x, y, weight = problem(1, n, d)
        x = np.c_[x, x[:, :2]]  # twice
        for intercept in (True, False):
            ours = Ridge(alpha=0, fit_intercept=intercept).fit(x, y, weight)
            truth = LinearRegression(fit_intercept=intercept).fit(x, y, weight)
            np.testing.assert_allclose(ours.coef_, truth.coef_, atol=1e-9)
            several = Ridge(alphas=(0, 1e9), fit_intercept=intercept).fit(x, y, weight)
            assert several.alpha_ == 0 and ours.dof_ == pytest.approx(several.dof_[0]) == min(n - intercept, d)
            np.testing.assert_allclose(several.coef_, truth.coef_, atol=1e-9)
            np.testing.assert_allclose(several.intercept_, truth.intercept_, atol=1e-8)


@pytest.mark.parametrize(("n", "d"), [(7, 20), (20, 4), (8, 7)])
def test_leave_one_out_without_a_penalty_is_that_of_least_squares_refits(n, d):
    """Where the fit meets every row, the closed form is 0/0 and its limit is taken."""
    x, y, _ = problem(4, n, d)

    truth = (refits(x, y, [0.0], model=plain) ** 2).mean()
    assert ridge_path(x, y, [0.0]).loo[0] == pytest.approx(truth, rel=1e-6)


def test_a_row_that_alone_holds_a_column_is_left_out_rightly():
    """Its leverage is 1, whatever the other rows say."""
    x, y, _ = problem(6, 12, 3)
    x = np.c_[x, np.eye(12)[0]]
    truth = (refits(x, y, [1e-6, 1.0]) ** 2).mean(1)
    np.testing.assert_allclose(ridge_path(x, y, [1e-6, 1.0]).loo, truth, rtol=1e-6)
    assert ridge_path(x, y, [0.0]).loo[0] == pytest.approx((refits(x, y, [0.0], model=plain) ** 2).mean(), rel=1e-6)


@pytest.mark.parametrize("far", [1e2, 1e4])
def test_a_row_far_from_the_others_is_left_out_rightly(far):
    rng = np.random.default_rng(0)
    x, y, weight = rng.normal(size=(15, 4)), rng.normal(size=15), rng.uniform(0.1, 3, 15)
    x[3] = [far, 0, 0, 0]
    truth = [np.average(e**2, weights=weight) for e in refits(x, y, ALPHAS, weight, model=tight)]
    np.testing.assert_allclose(ridge_path(x, y, ALPHAS, sample_weight=weight).loo, truth, rtol=1e-6)


def tight(alpha, fit_intercept):
    return SklearnRidge(alpha=alpha, fit_intercept=fit_intercept, solver="svd")


def test_generalised_cross_validation_without_a_penalty_is_its_limit():
    for n, d in ((5, 4), (4, 9), (20, 3)):
        x, y, weight = problem(14, n, d)
        gcv = ridge_path(x, y, [0.0, 1e-10], sample_weight=weight).gcv
        assert gcv[0] == pytest.approx(gcv[1], rel=1e-5)


def test_two_rows_and_columns_without_any_variation():
    two = ridge_path([[0.0], [1.0]], [3.0, 5.0], [1e-9, 1.0])
    np.testing.assert_allclose(two.loo, 4.0)  # each is predicted to be the other
    flat = ridge_path(np.ones((4, 2)), [0.0, 1, 2, 3], [0.0, 1.0])
    np.testing.assert_allclose(flat.loo, np.mean([(v - (6 - v) / 3) ** 2 for v in range(4)]))
    assert flat.dof.tolist() == [0, 0] and not flat.coefs.any()
    assert ridge_path(np.ones((4, 2)), [0.0, 1, 2, 3]).loo.any()


# ---- as an estimator and as a result


def test_several_targets_share_one_penalty():
    x, y, _ = problem(10, 30, 5, targets=3)
    model = Ridge(alphas=ALPHAS).fit(x, y)
    each = [ridge_path(x, y[:, t], ALPHAS) for t in range(3)]
    np.testing.assert_allclose(model.loo_, np.mean([p.loo for p in each], axis=0))
    np.testing.assert_allclose(model.coefs_, np.stack([p.coefs for p in each], 1))
    assert model.coef_.shape == (3, 5) and model.intercepts_.shape == (4, 3)
    assert model.path().figure().axes


def test_the_path_is_in_the_model_and_in_its_file(tmp_path):
    x, y, _ = problem(11, 30, 3)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    model = Ridge(alphas=ALPHAS).fit(frame, y)
    array = Ridge(alphas=np.array(ALPHAS)).fit(frame, y)
    path, again = model.path(), ftheta.load(array.save(tmp_path / "m")).path()
    truth = ridge_path(frame, y, ALPHAS)
    assert isinstance(path, CoefficientPath) and path.names == again.names == truth.names == ("a", "b", "c")
    for name in ("alphas", "coefs", "intercepts", "loo", "gcv", "dof"):
        np.testing.assert_array_equal(getattr(path, name), getattr(truth, name))
        np.testing.assert_array_equal(getattr(path, name), getattr(again, name))
    with pytest.raises(InputError, match="not fitted to several penalties; give alphas, or call coefficient_path"):
        Ridge().fit(x, y).path()


def test_a_path_has_a_table_a_figure_and_words():
    x, y, _ = problem(12, 40, 4)
    path = ridge_path(x, y, 9)
    table = path.table()
    assert len(path.alphas) == 9 and table.columns["alpha"] == path.alphas.tolist()
    assert table.columns["leave-one-out"] == path.loo.tolist() and table.columns["GCV"] == path.gcv.tolist()
    assert f"at alpha {path.alphas[path.loo.argmin()]:.4g}" in table.caption in path.caption
    axes = path.figure().axes
    drawn = {tuple(np.round(line.get_ydata(), 9)) for line in axes[0].lines}
    assert all(tuple(np.round(path.coefs[:, j], 9)) in drawn for j in range(4))
    s = np.linalg.svd(x - x.mean(0), compute_uv=False)
    np.testing.assert_allclose(path.alphas[[0, -1]], [10 * s[0] ** 2, 1e-6 * s[0] ** 2])


def test_of_two_equal_errors_the_larger_penalty_is_taken():
    path = ridge_path(np.ones((4, 1)), [0.0, 1, 2, 3], [1.0, 5.0, 2.0])
    assert path.best() == path.best("gcv") == 1


@pytest.mark.parametrize("alphas", [0, -3, "many", None])
def test_what_are_no_penalties_are_named_and_any_whole_number_counts(alphas):
    with pytest.raises(InputError, match=f"alphas is {alphas!r}; it must hold one or more penalties"):
        ridge_path([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0], alphas)
    assert len(ridge_path([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0], np.int64(4)).alphas) == 4


def test_one_row_cannot_be_left_out_but_can_be_fitted():
    with pytest.raises(InputError, match="at least 2 rows .* got 1. Give alpha, not alphas"):
        Ridge(alphas=(1.0,)).fit([[1.0, 2.0]], [3.0])
    with pytest.raises(InputError, match="needs at least 2 rows"):
        Ridge(alphas=(1.0,)).fit([[1.0], [2.0]], [3.0, 4.0], [0.0, 1.0])
    assert Ridge().fit([[1.0, 2.0]], [3.0]).predict([[5.0, 5.0]]) == 3.0
