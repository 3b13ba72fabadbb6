import numpy as np
import pytest
from statsmodels.tsa.ar_model import AutoReg
from statsmodels.tsa.vector_ar.var_model import VAR

from ftheta.formulas.autoregression import aicc, autoregression, lag_matrix

RNG = np.random.default_rng(0)
Y = np.cumsum(RNG.normal(size=(80, 2)), 0) + RNG.normal(size=(80, 2))


def test_a_row_of_lags_has_the_latest_first():
    np.testing.assert_array_equal(lag_matrix(Y[:5], 2)[0], np.concatenate([Y[1], Y[0]]))
    assert lag_matrix(Y, 0).shape == (80, 0) and lag_matrix(Y, 3).shape == (77, 6)


@pytest.mark.parametrize("lags", [0, 1, 4])
def test_an_autoregression_with_an_input_is_that_of_statsmodels(lags):
    u = RNG.normal(size=(80, 1))
    y = Y[:, :1] + 3 * u
    coef, residuals = autoregression(y, lags, u)
    theirs = AutoReg(y[:, 0], lags, exog=u).fit()
    np.testing.assert_allclose(coef[:, 0], theirs.params, rtol=1e-7)
    np.testing.assert_allclose(residuals[:, 0], theirs.resid, atol=1e-9)


def test_several_columns_are_a_vector_autoregression():
    coef, residuals = autoregression(Y, 2)
    theirs = VAR(Y).fit(2)
    np.testing.assert_allclose(coef, theirs.params, rtol=1e-7)
    np.testing.assert_allclose(residuals, theirs.resid, atol=1e-9)


def test_the_corrected_criterion_follows_from_that_of_akaike():
    """Up to what all orders share, AIC = n log(RSS / n) + 2 q; statsmodels counts the variance as a parameter."""
    y, skip = Y[:, 0], 5
    for p in (1, 3):
        theirs = AutoReg(y, p, hold_back=skip).fit()
        _, residuals = autoregression(y[skip - p :, None], p)
        n, q = len(y) - skip, 1 + p
        shared = n * (1 + np.log(2 * np.pi)) + 2
        expected = theirs.aic - shared + 2 * q * (q + 1) / (n - q - 1)
        assert aicc(residuals[:, 0], q) == pytest.approx(expected, rel=1e-9)
    assert aicc(np.ones(4), 3) == np.inf


def test_rows_with_a_gap_are_left_out():
    y = Y[:, :1].copy()
    y[40] = np.nan
    x = lag_matrix(y, 2)
    known = np.isfinite(np.column_stack([x, y[2:]])).all(1)
    coef, residuals = autoregression(y, 2)
    own = np.linalg.lstsq(np.column_stack([np.ones(known.sum()), x[known]]), y[2:][known], rcond=None)[0]
    np.testing.assert_allclose(coef, own, rtol=1e-9)
    assert np.flatnonzero(np.isnan(residuals[:, 0])).tolist() == [38, 39, 40]
