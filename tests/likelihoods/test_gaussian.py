"""Gaussian likelihoods against SciPy and closed forms."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from torch.autograd import grad

from ftheta.errors import InputError
from ftheta.likelihoods import VARIANCE_FLOOR, Gaussian, HeteroscedasticGaussian, LearnedGaussian

Y, F = torch.tensor([1.0, 2.0, 4.0], dtype=torch.double), torch.tensor([[1.5], [1.5], [3.0]], dtype=torch.double)
moderate = st.floats(-50, 50)


def minimize(parameters, loss):
    optimizer = torch.optim.LBFGS(
        parameters, line_search_fn="strong_wolfe", max_iter=200, tolerance_grad=1e-12, tolerance_change=1e-18
    )

    def closure():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        return value

    optimizer.step(closure)


@given(moderate, moderate, st.floats(0.01, 20))
def test_fixed_variance_agrees_with_scipy(m, y, scale):
    raw, target = torch.tensor([[m]], dtype=torch.double), torch.tensor([y], dtype=torch.double)
    likelihood, truth = Gaussian(scale), -stats.norm(raw.item(), scale).logpdf(target.item())
    assert likelihood.nll(raw, target).item() == pytest.approx(truth, rel=1e-9, abs=1e-12)
    assert likelihood.total(raw, target).item() == pytest.approx(truth, rel=1e-9, abs=1e-12)


@given(moderate, moderate, moderate)
def test_heteroscedastic_variance_agrees_with_scipy(m, s, y):
    raw, target = torch.tensor([[m, s]], dtype=torch.double), torch.tensor([y], dtype=torch.double)
    scale = math.sqrt(np.logaddexp(0, s) + VARIANCE_FLOOR)
    assert HeteroscedasticGaussian().nll(raw, target).item() == pytest.approx(-stats.norm(m, scale).logpdf(y), rel=1e-9)


@pytest.mark.ledger(
    "C027",
    covers="ftheta.likelihoods.Gaussian",
    says="-Σ log[1/√(2πσ²)] - (y - f)²/2σ² -> arg min Σ (y - f)²",
    printed=-59.581,
    right=61.419,
)
def test_the_negative_log_likelihood_grows_away_from_the_data(ledger):
    """-log[1/√2π] + (y - f)²/2 for one row, y = 1 and f = -10; without the bracket the square is subtracted."""
    assert Gaussian().total(F, Y).item() == pytest.approx(3.50682, abs=1e-5)
    far, near = (Gaussian().total(torch.full((1, 1), f), torch.ones(1)).item() for f in (-10.0, 0.0))
    assert near == pytest.approx(1.419, abs=1e-3)
    ledger(far)


@pytest.mark.ledger("C027", "A008", "A025", covers="ftheta.likelihoods.Gaussian")
@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_any_fixed_variance_gives_least_squares(scale):
    x = torch.linspace(-1, 1, 9).double()[:, None]
    y = 2 * x[:, 0] - 1 + torch.sin(9 * x[:, 0])
    design = torch.cat((x, torch.ones_like(x)), 1)
    theta = torch.zeros(2, 1, dtype=torch.double, requires_grad=True)
    minimize([theta], lambda: Gaussian(scale).total(design @ theta, y))
    torch.testing.assert_close(theta.detach(), torch.linalg.lstsq(design, y[:, None]).solution, rtol=1e-6, atol=1e-8)


@pytest.mark.ledger("C022", "C023", covers="ftheta.likelihoods.Gaussian")
def test_squared_error_its_sum_its_mean_and_their_gradients():
    """At scale √½ the nll is (f - y)² plus a constant: sum 1.5, mean 0.5, derivative 2(f - y)."""
    likelihood, f = Gaussian(math.sqrt(0.5)), F.clone().requires_grad_()
    constant = 0.5 * math.log(math.pi)
    torch.testing.assert_close(likelihood.nll(f, Y) - constant, torch.tensor([0.25, 0.25, 1.0], dtype=torch.double))
    assert (likelihood.total(f, Y) - 3 * constant).item() == pytest.approx(1.5)
    assert Gaussian().residual(f, Y).square().sum().item() == pytest.approx(1.5)
    (of_sum,), (of_mean,) = grad(likelihood.total(f, Y), f), grad(likelihood.nll(f, Y).mean(), f)
    torch.testing.assert_close(of_sum, 2 * (F - Y[:, None]))
    torch.testing.assert_close(of_sum, 3 * of_mean)
    assert torch.autograd.gradcheck(lambda z: likelihood.total(z, Y), (f,))


@pytest.mark.ledger(
    "A266",
    covers="ftheta.likelihoods.Gaussian",
    says="∂L/∂a = a - y for MSE loss, whose gradient in 2.1 has the factor 2",
    printed=[0.6697, 1.6544],
    right=[1.3394, 3.3087],
)
def test_the_derivative_of_the_squared_error_has_its_factor_two(ledger):
    """a - y belongs to half the squared error, which is scale 1; the squared error itself is scale √½."""
    a, y = torch.tensor([[0.6697, 1.65435]]).double().requires_grad_(), torch.zeros(1, 2).double()
    (half,) = grad(Gaussian().total(a, y), a)
    torch.testing.assert_close(half, a.detach())
    ledger(grad(Gaussian(math.sqrt(0.5)).total(a, y), a)[0])


@pytest.mark.ledger("C035", covers="ftheta.likelihoods.Gaussian")
def test_the_density_integrates_to_one():
    """exp of plus the square would give 44800 over [-5, 5]."""
    y = torch.linspace(-5, 5, 20001).double()
    density = (-Gaussian().nll(torch.zeros(20001, 1).double(), y)).exp()
    assert torch.trapezoid(density, y).item() == pytest.approx(0.9999994, rel=1e-7)
    assert Gaussian().nll(torch.zeros(1, 1), torch.tensor([50.0])).item() == pytest.approx(1250.919, abs=1e-3)


@pytest.mark.ledger("C037", covers="ftheta.likelihoods.LearnedGaussian")
def test_the_learned_variance_is_the_mean_squared_residual():
    likelihood = LearnedGaussian().double()
    minimize(likelihood.parameters(), lambda: likelihood.total(F, Y))
    assert likelihood.variance.item() == pytest.approx(0.5, rel=1e-6)
    assert likelihood.variance.log().item() == pytest.approx(-0.6931, abs=1e-4)
    assert likelihood.total(F, Y).item() == pytest.approx(3.21709, abs=1e-5)


def test_residuals_square_to_the_loss_only_where_the_variance_is_fixed():
    y = torch.randn(5, 2, dtype=torch.double, generator=torch.Generator().manual_seed(1))
    raw, likelihood = y.flip(0), Gaussian(0.7)
    r = likelihood.residual(raw, y)
    assert r.shape == (5, 2)
    constant = likelihood.nll(y, y)
    torch.testing.assert_close(likelihood.nll(raw, y), r.square().sum(-1) / 2 + constant)
    assert LearnedGaussian(2).residual(raw, y) is None
    assert HeteroscedasticGaussian().residual(torch.cat((raw, raw), 1), y) is None
    assert Gaussian().residual(torch.zeros(5, 1), torch.zeros(5)).shape == (5, 1)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_that_is_not_positive_is_named(scale):
    with pytest.raises(InputError, match=r"The 'scale' parameter of Gaussian must be a float in \(0, inf\)\. Got "):
        Gaussian(scale)
