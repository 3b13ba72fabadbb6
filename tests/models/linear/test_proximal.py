"""Soft-thresholding and the duality gap against brute force and minima found by other means."""

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar

from ftheta.models.linear.proximal import lasso_gap, lasso_objective, soft_threshold

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 5)), RNG.normal(size=30)


@pytest.mark.parametrize("z", [-3.0, -0.7, 0.0, 0.4, 2.5])
@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_the_soft_threshold_is_where_a_parabola_with_a_kink_is_least(z, t):
    found = minimize_scalar(lambda w: (w - z) ** 2 / 2 + t * abs(w), bounds=(-5, 5), options={"xatol": 1e-10}).x
    assert soft_threshold(np.array(z), t) == pytest.approx(found, abs=1e-6)


def test_a_zero_has_no_sign_and_thresholds_may_differ():
    found = soft_threshold(np.array([-0.5, 0.5, -2.0]), np.array([1.0, 0.25, 0.5]))
    assert found.tolist() == [0.0, 0.25, -1.5] and not np.signbit(found[0])


def least(l1, l2):
    """The minimum by a solver for smooth problems: w = p - q with p, q >= 0."""

    def value(pq):
        w = pq[:5] - pq[5:]
        return ((Y - X @ w) ** 2).sum() / 60 + l1 * pq.sum() + l2 / 2 * w @ w

    start = np.full(10, 0.1)
    found = minimize(value, start, bounds=[(0, None)] * 10, method="L-BFGS-B", options={"ftol": 1e-16, "gtol": 1e-12})
    return found.fun, found.x[:5] - found.x[5:]


@pytest.mark.parametrize(("l1", "l2"), [(0.1, 0.0), (0.05, 0.2), (0.0, 0.3), (5.0, 0.0), (0.02, 0.001)])
def test_the_gap_is_never_less_than_what_is_missing_and_vanishes_at_the_minimum(l1, l2):
    lowest, w = least(l1, l2)
    near = w + np.array([[0.0], [1e-3], [0.1], [2.0]]) * RNG.normal(size=(4, 5))
    objective, gap = lasso_objective(X, Y, near, l1, l2, 30), lasso_gap(X, Y, near, l1, l2, 30)
    assert objective[0] == pytest.approx(lowest, rel=1e-12)
    assert (gap >= objective - lowest - 1e-9).all()
    assert gap[0] < 1e-5 and gap[1] < 0.05 and (np.diff(gap) > 0).all()


def test_penalties_may_differ_between_solutions_and_rows_may_stand_for_more():
    w, l1, l2 = RNG.normal(size=(2, 5)), np.array([0.1, 0.2]), np.array([0.0, 0.3])
    for f in (lasso_gap, lasso_objective):
        each = [f(X, Y, w[i : i + 1], l1[i], l2[i], 30)[0] for i in range(2)]
        np.testing.assert_allclose(f(X, Y, w, l1, l2, 30), each)
        twice = f(np.r_[X, X], np.r_[Y, Y], w, l1, l2, 60)
        np.testing.assert_allclose(f(2**0.5 * X, 2**0.5 * Y, w, l1, l2, 60), twice)


def test_a_little_l2_takes_no_certificate_away():
    lowest, w = least(0.1, 0.0)
    near = w[None] + 1e-4
    assert lasso_gap(X, Y, near, 0.1, 1e-12, 30)[0] == pytest.approx(lasso_gap(X, Y, near, 0.1, 0.0, 30)[0], rel=1e-6)


def test_a_perfect_fit_without_a_penalty_on_it_has_no_gap():
    w = np.zeros((1, 5))
    assert lasso_gap(X, 0 * Y, w, 0.1, 0.0, 30).tolist() == [0.0]
    assert lasso_gap(X, 0 * Y, w, 0.1, 0.5, 30).tolist() == [0.0]
