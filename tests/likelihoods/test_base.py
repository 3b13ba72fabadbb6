"""What every likelihood owes: a density, its fused sum, its Fisher information, its intervals, its shapes."""

import itertools

import pytest
import torch
from torch import distributions as D
from torch.autograd.functional import hessian

from ftheta import likelihoods
from ftheta.data.specs import TargetSpec
from ftheta.likelihoods import (
    Bernoulli,
    Categorical,
    Gaussian,
    HeteroscedasticGaussian,
    Laplace,
    LearnedGaussian,
    Likelihood,
    Poisson,
    Product,
)


def learned(*variances):
    likelihood = LearnedGaussian(len(variances)).double()
    with torch.no_grad():
        likelihood.log_var.copy_(torch.tensor(variances).log())
    return likelihood


class Exponential(Likelihood):
    """A new distribution in two lines: its law and its link."""

    standardize = False

    def law(self, *raw):
        return D.Exponential(torch.nn.functional.softplus(raw[0]))


class Gamma(Likelihood):
    """Two raw numbers for each target, and a Fisher information that is not diagonal."""

    per_target, standardize = 2, False

    def law(self, *raw):
        return D.Gamma(torch.nn.functional.softplus(raw[0]), torch.nn.functional.softplus(raw[1]))


REAL, COUNT, BINARY = torch.arange(-60, 60, 0.005, dtype=torch.double) + 0.0025, torch.arange(60.0), torch.arange(2.0)
POSITIVE = torch.arange(0, 200, 0.001, dtype=torch.double) + 0.0005
CASES = {  # likelihood, all values of y
    "gaussian": (Gaussian(0.7), REAL),
    "learned": (learned(0.5), REAL),
    "heteroscedastic": (HeteroscedasticGaussian(), REAL),
    "laplace": (Laplace(0.7), REAL),
    "bernoulli": (Bernoulli(), BINARY),
    "categorical": (Categorical(), torch.arange(4)),
    "poisson": (Poisson(), COUNT),
    "exponential": (Exponential(), POSITIVE),
    "gamma": (Gamma(), POSITIVE),
}
CASES = {name: (likelihood, y if y.dtype == torch.long else y.double()) for name, (likelihood, y) in CASES.items()}
every = pytest.mark.parametrize("name", CASES)
elementwise = pytest.mark.parametrize("name", [n for n in CASES if n != "categorical"])


def width(likelihood):
    return 4 if isinstance(likelihood, Categorical) else likelihood.per_target


def draw(*shape):
    return torch.randn(*shape, dtype=torch.double, generator=torch.Generator().manual_seed(0))


def masses(likelihood, raw, y):
    """p(y) dy over all y: midpoints of cells for densities, the values themselves for the rest."""
    return (-likelihood.nll(raw.expand(len(y), -1), y)).exp() * (y[1] - y[0]).item()


def test_every_public_likelihood_is_tried_here():
    public = {v for v in vars(likelihoods).values() if isinstance(v, type) and issubclass(v, Likelihood)}
    assert public - {Likelihood, Product} <= {type(likelihood) for likelihood, _ in CASES.values()}


@every
def test_total_is_the_sum_of_all_rows(name):
    likelihood, y = CASES[name]
    raw, y = draw(5, 3, width(likelihood)), y[:15].reshape(-1)
    y = y.repeat(15)[:15].reshape(5, 3)
    each = likelihood.nll(raw, y)
    assert each.shape == (5, 3)
    torch.testing.assert_close(likelihood.total(raw, y), each.sum())
    torch.testing.assert_close(likelihood.total(raw[:, 0], y[:, 0]), each[:, 0].sum())


@elementwise
def test_a_vector_of_targets_is_the_sum_of_scalars_laid_out_in_blocks(name):
    likelihood, y = CASES[name]
    r, targets = likelihood.per_target, y[torch.linspace(0, len(y) // 2, 12).long()].reshape(4, 3)
    raw = draw(4, 3 * r)
    alone = [likelihood.nll(raw[:, j::3], targets[:, j]) for j in range(3)]  # target j has raw j, j + 3, ...
    torch.testing.assert_close(likelihood.nll(raw, targets), sum(alone))
    torch.testing.assert_close(likelihood.total(raw, targets), sum(alone).sum())
    torch.testing.assert_close(-likelihood.distribution(raw).log_prob(targets), sum(alone))
    modes = torch.stack([likelihood.mode(raw[:, j::3]) for j in range(3)], -1)
    torch.testing.assert_close(likelihood.mode(raw), modes)


@pytest.mark.parametrize("name", ["gaussian", "learned", "heteroscedastic", "bernoulli", "categorical", "poisson"])
def test_curvature_is_the_expected_hessian(name):
    """By quadrature over y; for the Gaussian, Bernoulli and categorical in their canonical form every y gives it."""
    likelihood, y = CASES[name]
    y = y[10000:14000:50] if y is REAL else y  # within 10 of 0
    raw = draw(width(likelihood))
    hessians = torch.stack([hessian(lambda z, v=v: likelihood.nll(z[None], v[None])[0], raw) for v in y])
    curvature = likelihood.curvature(raw[None])[0].detach()
    if name in ("gaussian", "learned", "bernoulli", "categorical"):
        torch.testing.assert_close(hessians, curvature.expand_as(hessians))
    mean = torch.einsum("y,yij->ij", masses(likelihood, raw[None], y).detach(), hessians)
    torch.testing.assert_close(curvature, mean, rtol=1e-3, atol=1e-4)


@every
def test_raw_outputs_are_counted_from_the_target(name):
    likelihood, _ = CASES[name]
    if name == "categorical":
        assert likelihood.n_raw(TargetSpec("multiclass", 4)) == 4
    else:
        r = likelihood.per_target
        assert [likelihood.n_raw(TargetSpec("regression", n)) for n in (1, 3)] == [r, 3 * r]


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
    for name, (likelihood, y) in CASES.items():
        assert likelihood.total(draw(3, width(likelihood)), y[[1, 1, 0]]).shape == (), name
    y = torch.zeros(1)
    losses = [Gaussian().residual(torch.full((1, 1), off), y).square().item() for off in (0.0, 1.0, 2.0)]
    assert losses == [0.0, 1.0, 4.0]
    assert Gaussian(0.1).total(torch.zeros(1, 1), y) < 0
    for likelihood, match, miss in [(Bernoulli(), 5.0, -5.0), (Laplace(), 1.0, 3.0), (Poisson(), 1.0, 9.0)]:
        near, far = (likelihood.nll(torch.tensor([[raw]]), torch.ones(1)).item() for raw in (match, miss))
        assert 0 <= near < far


@pytest.mark.ledger("C031", covers="ftheta.likelihoods.Likelihood")
def test_the_distribution_has_log_density_mean_mode_and_samples():
    raw = draw(3, 1)
    for name, (likelihood, y) in itertools.islice(CASES.items(), 7):
        p = likelihood.distribution(draw(3, width(likelihood)))
        assert p.log_prob(y[[1, 0, 1]]).shape == p.sample().shape == p.mode.shape == (3,), name
    torch.testing.assert_close(Poisson().distribution(raw).mean, (1 + raw[:, 0].exp()).log())
    torch.testing.assert_close(Bernoulli().distribution(raw).mean, raw[:, 0].sigmoid())
    torch.testing.assert_close(Gaussian().distribution(raw).mean, raw[:, 0])
