"""Penalties as priors: the most probable coefficients are those of ridge and the lasso."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import laplace, norm

from ftheta.models import Lasso, Ridge

LINE = np.array([[0.0], [1], [2], [3]]), np.array([1.0, 3, 2, 5])


class Posterior(NamedTuple):
    """-log p(y | X, w, b) and -log p(w)."""

    likelihood: float
    prior: float

    @property
    def total(self):
        return self.likelihood + self.prior


def posterior(x, y, wb, *, noise, prior, kind="gaussian"):
    law = norm(0, prior**0.5) if kind == "gaussian" else laplace(0, prior)
    return Posterior(-norm(0, noise**0.5).logpdf(y - x @ wb[:-1] - wb[-1]).sum(), -law.logpdf(wb[:-1]).sum())


@pytest.mark.ledger("A156", "A150", covers="ftheta.models.Ridge")
def test_a_numerical_map_estimate_is_ridge_with_the_ratio_of_the_variances():
    """v = 0.25, s² = 0.8, n = 30, m = 3. The prior is on the slopes; θ₀ has a flat one."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 3))
    y = 2 + x @ rng.normal(0, 0.8**0.5, 3) + rng.normal(0, 0.5, 30)

    def total(wb):
        return posterior(x, y, wb, noise=0.25, prior=0.8).total

    design, penalty = np.c_[x, np.ones(30)], np.diag([1 / 0.8] * 3 + [0])
    slope = lambda wb: design.T @ (design @ wb - y) / 0.25 + penalty @ wb  # noqa: E731
    curve = design.T @ design / 0.25 + penalty
    numerical = minimize(total, np.zeros(4), jac=slope, hess=lambda _: curve, method="trust-exact", tol=1e-12).x
    model = Ridge(alpha=0.25 / 0.8).fit(x, y)
    np.testing.assert_allclose(np.r_[model.coef_, model.intercept_], numerical, atol=1e-8)
    # the penalty is θ²/(2s²) up to a constant, and the intercept is not in it
    at = [posterior(x, y, np.array([1.0, 2, 0, b]), noise=0.25, prior=0.8) for b in (0.0, 7.0)]
    none = posterior(x, y, np.zeros(4), noise=0.25, prior=0.8)
    assert at[0].prior == at[1].prior == pytest.approx(none.prior + 5 / (2 * 0.8))
    assert at[0].likelihood != at[1].likelihood


@pytest.mark.ledger(
    "C147",
    covers="ftheta.models.Ridge",
    says="arg max Σ l_i Pr(θ), with log Pr(θ) = λ g(θ)",
    printed=1.158,
    right=1.04762,
)
def test_the_log_prior_is_minus_the_penalty(ledger):
    """With log Pr = +λ g, as printed, the slope would grow; with λ > 5 there would be no minimum at all."""
    x, y = LINE
    found = minimize(lambda wb: posterior(x, y, wb, noise=0.5, prior=2.0).total, np.zeros(2), tol=1e-12).x
    model = Ridge(alpha=0.5 / 2.0).fit(x, y)
    np.testing.assert_allclose([model.intercept_, model.coef_[0]], [1.17857, 1.04762], atol=5e-6)
    np.testing.assert_allclose(found, [model.coef_[0], model.intercept_], atol=1e-6)
    ledger(model.coef_[0], rtol=1e-5)
    around, level = x[:, 0] - 1.5, y - y.mean()
    assert around @ level / (around @ around - 0.25) == pytest.approx(1.158, abs=5e-4)  # the printed sign
    assert around @ around == 5.0
    both = np.c_[np.ones(4), x]
    assert np.linalg.eigvalsh(both.T @ both - np.diag([0, 6]))[0] == pytest.approx(-0.32, abs=5e-3)


def test_a_laplace_prior_is_the_lasso():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 3))
    y = x @ [2.0, 0, -1] + rng.normal(0, 0.5, 40)
    model = Lasso(alpha=0.25 / (0.02 * 40), tol=1e-14).fit(x, y)
    best = np.r_[model.coef_, model.intercept_]
    assert (model.coef_ == 0).any() and (model.coef_ != 0).any()
    least = posterior(x, y, best, noise=0.25, prior=0.02, kind="laplace").total
    for step in 1e-4 * rng.normal(size=(200, 4)):
        assert posterior(x, y, best + step, noise=0.25, prior=0.02, kind="laplace").total > least
