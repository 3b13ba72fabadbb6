"""A distribution of the user's own, and what the losses of all have in common; what each owes is in the contract."""

import pytest
import torch
from torch import distributions as D

from ftheta.likelihoods import Bernoulli, Categorical, Gaussian, Laplace, Likelihood, Poisson


class Exponential(Likelihood):
    """A new distribution in two lines: its law and its link."""

    standardize = False

    def law(self, *raw):
        return D.Exponential(torch.nn.functional.softplus(raw[0]))


class Gamma(Likelihood):
    """Two raw numbers for each target."""

    per_target, standardize = 2, False

    def law(self, *raw):
        return D.Gamma(torch.nn.functional.softplus(raw[0]), torch.nn.functional.softplus(raw[1]))


@pytest.mark.parametrize("likelihood", [Exponential(), Gamma()])
def test_several_targets_of_a_law_lie_in_blocks_of_raw_outputs(likelihood):
    raw, y = torch.randn(4, 3 * likelihood.per_target).double(), torch.rand(4, 3).double() + 0.1
    alone = [-likelihood.law(*raw[:, j::3].T).log_prob(y[:, j]) for j in range(3)]  # target j has raw j, j + 3, ...
    torch.testing.assert_close(likelihood.nll(raw, y), sum(alone))
    torch.testing.assert_close(likelihood.total(raw, y), sum(alone).sum())
    torch.testing.assert_close(-likelihood.distribution(raw).log_prob(y), sum(alone))


@pytest.mark.ledger("C034", covers="ftheta.likelihoods.Likelihood")
def test_a_new_distribution_is_its_law_alone():
    """Distribution, link, training by the negative log-likelihood, prediction: the rate ends at 1 / mean."""
    likelihood, y = Exponential(), torch.tensor([0.5, 1.0, 3.0, 3.5], dtype=torch.double)
    bias = torch.zeros(1, dtype=torch.double, requires_grad=True)
    optimizer = torch.optim.LBFGS([bias], line_search_fn="strong_wolfe", max_iter=50)

    def closure():
        optimizer.zero_grad()
        loss = likelihood.total(bias.expand(4, 1), y)
        loss.backward()
        return loss

    optimizer.step(closure)
    raw = bias.detach()[None]
    assert likelihood.distribution(raw).mean.item() == pytest.approx(y.mean().item(), rel=1e-5)
    assert likelihood.mode(raw).item() == 0
    assert likelihood.residual(raw, y[:1]) is None


@pytest.mark.ledger("C020", covers="ftheta.likelihoods.Likelihood")
def test_every_total_is_one_number_that_grows_with_disagreement():
    """Zero at a match is a property of the squared error; a Gaussian nll of small variance is negative there."""
    y = torch.zeros(1)
    losses = [Gaussian().residual(torch.full((1, 1), off), y).square().item() for off in (0.0, 1.0, 2.0)]
    assert losses == [0.0, 1.0, 4.0]
    assert Gaussian(0.1).total(torch.zeros(1, 1), y) < 0
    for likelihood, match, miss in [(Bernoulli(), 5.0, -5.0), (Laplace(), 1.0, 3.0), (Poisson(), 1.0, 9.0)]:
        near, far = (likelihood.nll(torch.tensor([[raw]]), torch.ones(1)).item() for raw in (match, miss))
        assert 0 <= near < far


@pytest.mark.ledger("C031", covers="ftheta.likelihoods.Likelihood")
@pytest.mark.parametrize("likelihood", [Gaussian(), Laplace(), Bernoulli(), Poisson(), Categorical()])
def test_the_distribution_has_log_density_mean_mode_and_samples(likelihood):
    classes = isinstance(likelihood, Categorical)
    raw, y = torch.randn(3, 4 if classes else 1), torch.tensor([1, 0, 1] if classes else [1.0, 0.0, 1.0])
    p = likelihood.distribution(raw)
    assert p.log_prob(y).shape == p.sample().shape == p.mode.shape == (3,)
    means = {Poisson: raw[:, 0].exp().add(1).log(), Bernoulli: raw[:, 0].sigmoid(), Gaussian: raw[:, 0]}
    torch.testing.assert_close(p.mean, means.get(type(likelihood), p.mean), equal_nan=True)
