"""Coordinate descent, update by update: each is where the objective is least along one coefficient."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar

from ftheta.models import CoordinateDescent, CoordinateDescentTrace, ElasticNet, coordinate_descent
from ftheta.models.linear.lasso import soft_threshold

RNG = np.random.default_rng(1)
X = RNG.normal(size=(20, 4)) + 2
X[:, 1] += X[:, 0]
Y = X @ [2.0, -1, 0, 0.5] + 0.3 * RNG.normal(size=20)
AROUND, LEVEL = X - X.mean(0), Y - Y.mean()


def value(w, alpha, ratio):
    return ((LEVEL - AROUND @ w) ** 2).mean() / 2 + alpha * (ratio * abs(w).sum() + (1 - ratio) / 2 * w @ w)


@pytest.mark.parametrize("ratio", [1.0, 0.5, 0.0])
def test_every_update_is_the_least_along_its_coefficient(ratio):
    found = coordinate_descent(X, Y, 0.1, l1_ratio=ratio, sweeps=3)
    assert isinstance(found, CoordinateDescentTrace) and found.coefs.shape == (13, 4) and not found.coefs[0].any()
    assert found.coefficient.tolist() == [0, 1, 2, 3] * 3
    for i, j in enumerate(found.coefficient):
        before, after = found.coefs[i], found.coefs[i + 1]
        along = lambda v, w=before, j=j: value(np.r_[w[:j], v, w[j + 1 :]], 0.1, ratio)  # noqa: E731
        best = minimize_scalar(along, bounds=(-5, 5), options={"xatol": 1e-9}).x
        assert after[j] == pytest.approx(best, abs=1e-5) and (np.delete(after, j) == np.delete(before, j)).all()
        assert found.objective[i] == pytest.approx(value(after, 0.1, ratio))
    assert (np.diff(found.objective) <= 1e-12).all()


@pytest.mark.parametrize("ratio", [1.0, 0.5])
def test_many_sweeps_end_where_the_estimator_ends(ratio):
    found = coordinate_descent(X, Y, 0.05, l1_ratio=ratio, sweeps=150)
    model = ElasticNet(alpha=0.05, l1_ratio=ratio, tol=1e-14).fit(X, Y)
    np.testing.assert_allclose(found.coefs[-1], model.coef_, atol=1e-7)
    assert found.intercept == pytest.approx(model.intercept_, abs=1e-6) and found.gap[-1] < 1e-10 < found.gap[0]


def test_the_table_shows_the_soft_threshold_of_every_update():
    found = coordinate_descent(pd.DataFrame(X, columns=list("abcd")), Y, 0.4, sweeps=2)
    columns = found.table().columns
    assert columns["coefficient"] == list("abcdabcd") and columns["sweep"] == [1] * 4 + [2] * 4
    assert columns["soft(z)"] == soft_threshold(found.z, 0.4).tolist() and found.threshold == 0.4
    np.testing.assert_allclose(np.array(columns["soft(z)"]) / (AROUND**2).mean(0)[found.coefficient], columns["after"])
    assert columns["before"][4:] == columns["after"][:4] and "soft threshold 0.4" in found.table().caption
    zero = [name for name, w in zip("abcd", found.coefs[-1], strict=True) if w == 0]
    assert zero and found.caption.endswith(f"at the end 0: {', '.join(zero)}.")
    lines = {line.get_label(): line for line in found.figure().axes[0].lines}
    assert lines["end of a sweep"].get_xdata().tolist() == [4, 8]


@pytest.mark.parametrize("z", [-3.0, -0.7, 0.0, 0.4, 2.5])
@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_the_soft_threshold_is_where_a_parabola_with_a_kink_is_least(z, t):
    found = minimize_scalar(lambda w: (w - z) ** 2 / 2 + t * abs(w), bounds=(-5, 5), options={"xatol": 1e-10}).x
    assert soft_threshold(np.array(z), t) == pytest.approx(found, abs=1e-6)
    assert not np.signbit(soft_threshold(np.array(-0.1), 0.5))


@pytest.mark.parametrize("ratio", [1.0, 0.5, 0.05])
def test_the_gap_is_never_less_than_what_is_missing_and_vanishes_at_the_minimum(ratio):
    best = ElasticNet(alpha=0.1, l1_ratio=ratio, tol=1e-14).fit(X, Y).coef_
    process, steps = CoordinateDescent(AROUND, LEVEL, 0.1 * ratio, 0.1 * (1 - ratio)), np.random.default_rng(0)
    gaps = []
    for size in (0.0, 1e-3, 0.1, 2.0):
        process.w = best + size * steps.normal(size=4)
        objective, gap = process.certificate()
        assert gap >= objective - value(best, 0.1, ratio) - 1e-9
        gaps.append(gap)
    assert gaps[0] < 1e-6 and gaps[1] < 0.05 and (np.diff(gaps) > 0).all()
    for l1 in (10.0, 1000.0):  # so large a penalty leaves nothing: 0 is the minimum, and known to be
        assert CoordinateDescent(AROUND, LEVEL, l1, 0.0).certificate() == (LEVEL @ LEVEL / (2 * len(LEVEL)), 0.0)
