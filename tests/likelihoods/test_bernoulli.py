"""Bernoulli likelihood against SciPy and torch's own kernel."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from ftheta.likelihoods import Bernoulli

likelihood = Bernoulli()


@given(st.floats(-30, 30), st.integers(0, 1))
def test_it_agrees_with_scipy(z, y):
    raw, target = torch.tensor([[z]], dtype=torch.double), torch.tensor([float(y)], dtype=torch.double)
    truth = -stats.bernoulli(special.expit(z)).logpmf(y) if abs(z) < 10 else -special.log_expit(z if y else -z)
    assert likelihood.nll(raw, target).item() == pytest.approx(truth, rel=1e-9)
    assert likelihood.total(raw, target).item() == pytest.approx(truth, rel=1e-9, abs=1e-14)


@pytest.mark.ledger("C026", covers="ftheta.likelihoods.Bernoulli")
def test_binary_cross_entropy_is_summed_over_the_data():
    raw, y = torch.tensor([[0.0], [2.0], [-1.0]]), torch.tensor([1.0, 1.0, 0.0])
    assert likelihood.nll(raw, y).tolist() == pytest.approx([0.69315, 0.12693, 0.31326], abs=1e-5)
    assert likelihood.total(raw, y).item() == pytest.approx(1.13334, rel=1e-5)


@pytest.mark.ledger("A048", covers="ftheta.likelihoods.Bernoulli")
def test_the_log_likelihood_is_its_simplified_form():
    """log h^y (1 - h)^(1 - y) = -log(1 + e^-t) - (1 - y) t, finite for large |t|; its slope is y - h."""
    y = torch.tensor([0.0, 1.0], dtype=torch.double).repeat_interleave(61)
    t = torch.linspace(-30, 30, 61, dtype=torch.double).repeat(2)[:, None].requires_grad_()
    form = -torch.log1p((-t[:, 0]).exp()) - (1 - y) * t[:, 0]
    torch.testing.assert_close(-likelihood.nll(t, y), form, rtol=1e-12, atol=1e-14)
    (slope,) = torch.autograd.grad(-likelihood.total(t, y), t)
    torch.testing.assert_close(slope[:, 0], y - t[:, 0].sigmoid(), rtol=1e-12, atol=1e-14)
    far = torch.tensor([[-1e4], [1e4]], dtype=torch.double)
    assert likelihood.nll(far, torch.tensor([1.0, 0.0], dtype=torch.double)).tolist() == [1e4, 1e4]


@pytest.mark.ledger("C040", covers="ftheta.likelihoods.Bernoulli")
def test_the_mass_function_has_its_compact_form():
    raw = torch.tensor([[0.7], [0.7]]).double().logit()
    pmf = (-likelihood.nll(raw, torch.tensor([0.0, 1.0], dtype=torch.double))).exp()
    assert pmf.tolist() == pytest.approx([0.3, 0.7])
    assert pmf.tolist() == pytest.approx([(1 - 0.7) ** (1 - y) * 0.7**y for y in (0, 1)])
    links = likelihood.probabilities(torch.tensor([[0.0], [1.0], [-1000.0], [1000.0]], dtype=torch.double))[:, 1]
    assert links.tolist() == pytest.approx([0.5, 0.731059, 0.0, 1.0], abs=1e-6)


@pytest.mark.ledger("A043", covers="ftheta.likelihoods.Bernoulli")
def test_the_sigmoid_neither_overflows_nor_turns():
    p = likelihood.probabilities(torch.linspace(-1e4, 1e4, 2001).double()[:, None])
    assert p.isfinite().all() and (p[:, 1].diff() >= 0).all()
    near = likelihood.probabilities(torch.linspace(-30, 30, 601).double()[:, None])
    assert (near[:, 1].diff() > 0).all() and (near[:, 0].diff() < 0).all()
    assert likelihood.probabilities(torch.tensor([[0.0], [2.0]], dtype=torch.double))[:, 1].tolist() == pytest.approx(
        [0.5, 0.880797], abs=1e-6
    )


def test_soft_labels_weigh_both_terms():
    raw, y = torch.linspace(-5, 5, 11).double()[:, None], torch.linspace(0, 1, 11).double()
    truth = torch.nn.functional.binary_cross_entropy_with_logits(raw[:, 0], y, reduction="none")
    torch.testing.assert_close(likelihood.nll(raw, y), truth)
