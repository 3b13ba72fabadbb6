"""Tests and intervals: tails and quantiles of SciPy's distributions, small p with all their digits."""

import numpy as np
import pytest
from scipy import stats

from ftheta.errors import InputError
from ftheta.formulas import breusch_pagan, chi2_test, durbin_watson, f_test, interval, jarque_bera, two_sided

T = np.array([-40.0, -3.0, -0.5, 0.0, 1e-6, 2.0, 12.0])


@pytest.mark.parametrize("dof", [1, 2.5, 30, 1e6])
def test_two_sided_p_are_both_tails_of_student(dof):
    np.testing.assert_allclose(two_sided(T, dof), 2 * stats.t.sf(abs(T), dof), rtol=1e-12)


def test_two_sided_without_degrees_of_freedom_is_normal_far_into_the_tail():
    np.testing.assert_allclose(two_sided([-1.959963984540054, 0, 30]), [0.05, 1, 2 * stats.norm.sf(30)], rtol=1e-12)


def test_degrees_of_freedom_go_by_entry():
    np.testing.assert_allclose(two_sided([2, 2], [3, 300]), 2 * stats.t.sf(2, [3, 300]), rtol=1e-12)


@pytest.mark.parametrize(("dof", "truth"), [(None, stats.norm), (4, stats.t(4)), (4.5, stats.t(4.5))])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_intervals_are_central_and_hold_the_level(dof, truth, level):
    low, high = interval(np.array([10.0, -1.0]), np.array([2.0, 3.0]), level, dof)
    for m, s, a, b in zip((10, -1), (2, 3), low, high, strict=True):
        np.testing.assert_allclose([(a - m) / s, (b - m) / s], truth.ppf([0.5 - level / 2, 0.5 + level / 2]), rtol=1e-9)


def test_f_and_chi2_are_upper_tails():
    np.testing.assert_allclose(
        f_test([0, 0.7, 1e4], 3, [8, 9, 10]), stats.f.sf([0, 0.7, 1e4], 3, [8, 9, 10]), rtol=1e-10
    )
    np.testing.assert_allclose(
        chi2_test([0, 3.84, 500], [1, 1, 4]), stats.chi2.sf([0, 3.84, 500], [1, 1, 4]), rtol=1e-10
    )


def test_a_squared_t_is_an_f_of_one_degree():
    np.testing.assert_allclose(f_test(T**2, 1, 7), two_sided(T, 7), rtol=1e-10)


@pytest.mark.parametrize("dof", [0, -1])
def test_no_degrees_of_freedom_say_nothing(dof):
    found = [
        two_sided(2.0, dof),
        *interval(1.0, 1.0, dof=dof),
        f_test(2.0, dof, 3),
        f_test(2.0, 3, dof),
        chi2_test(2.0, dof),
    ]
    assert np.isnan(found).all()


@pytest.mark.parametrize("level", [0, 1, 95, float("nan")])
def test_a_level_is_a_share(level):
    with pytest.raises(InputError, match=r"level is .*; a share strictly between 0 and 1 is needed, such as 0.95"):
        interval(0.0, 1.0, level)


def test_durbin_watson_is_two_less_twice_the_correlation_of_neighbours():
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.normal(size=5000))
    noise = rng.normal(size=5000)
    assert durbin_watson(walk) < 0.1 and durbin_watson(noise) == pytest.approx(2, abs=0.1)
    assert durbin_watson(noise) == pytest.approx(2 - 2 * np.corrcoef(noise[1:], noise[:-1])[0, 1], abs=0.01)


def test_jarque_bera_is_scipys():
    e = np.random.default_rng(0).gamma(2.0, size=200)
    truth = stats.jarque_bera(e)
    assert jarque_bera(e) == pytest.approx(
        (truth.statistic, truth.pvalue, stats.skew(e), stats.kurtosis(e) + 3), rel=1e-9
    )


def test_breusch_pagan_finds_noise_that_grows_and_forgives_even_noise():
    rng = np.random.default_rng(0)
    x = rng.uniform(1, 3, 500)
    basis = np.linalg.qr(np.column_stack([np.ones(500), x]))[0]
    e = rng.normal(size=500)
    statistic, p = breusch_pagan(e * x, basis)
    truth = stats.pearsonr(x, (e * x) ** 2).statistic ** 2  # R² of one column
    assert statistic == pytest.approx(500 * truth) and p == pytest.approx(stats.chi2.sf(500 * truth, 1)) and p < 1e-6
    assert breusch_pagan(e, basis)[1] > 0.05
    assert np.isnan(breusch_pagan(e, basis[:, :1])).all() and np.isnan(breusch_pagan(np.ones(500), basis)).all()
