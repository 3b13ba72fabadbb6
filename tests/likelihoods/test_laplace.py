"""Laplace likelihood: absolute error and the median."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from ftheta.likelihoods import Gaussian, Laplace


@given(
    st.floats(-50, 50), st.floats(-50, 50), st.floats(0.5, 20)
)  # SciPy takes the logarithm of the density, which must not underflow
def test_it_agrees_with_scipy(m, y, scale):
    raw, target = torch.tensor([[m]], dtype=torch.double), torch.tensor([y], dtype=torch.double)
    truth = -stats.laplace(raw.item(), scale).logpdf(target.item())
    assert Laplace(scale).nll(raw, target).item() == pytest.approx(truth, rel=1e-9, abs=1e-12)
    assert Laplace(scale).total(raw, target).item() == pytest.approx(truth, rel=1e-9, abs=1e-12)


@pytest.mark.ledger("A009", covers="ftheta.likelihoods.Laplace")
def test_the_absolute_error_targets_the_median_and_the_squared_error_the_mean():
    y = torch.tensor([0.0, 0.0, 10.0])
    constants = torch.linspace(-1, 11, 1201)
    best = {
        type(likelihood): constants[
            torch.stack([likelihood.total(c.expand(3, 1), y) for c in constants]).argmin()
        ].item()
        for likelihood in (Laplace(), Gaussian())
    }
    assert best[Laplace] == pytest.approx(0, abs=1e-6)
    assert best[Gaussian] == pytest.approx(3.333, abs=0.01)


@pytest.mark.ledger("A009", covers="ftheta.likelihoods.Laplace")
def test_the_derivative_jumps_where_the_residual_is_zero():
    raw = torch.tensor([[-1e-6], [0.0], [1e-6]], requires_grad=True)
    Laplace(0.5).total(raw, torch.zeros(3)).backward()
    assert raw.grad[:, 0].tolist() == [-2.0, 0.0, 2.0]
    again = raw.detach().requires_grad_()
    Laplace(0.5).nll(again, torch.zeros(3)).sum().backward()
    assert again.grad.equal(raw.grad)
