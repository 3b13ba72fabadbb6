"""What every likelihood owes: a density, its fused sum, its Fisher information, its intervals, its shapes."""

import itertools
import math

import pytest
import torch
from torch import distributions as D
from torch.autograd import grad
from torch.autograd.functional import hessian

from ftheta import likelihoods
from ftheta.data.specs import TargetSpec
from ftheta.errors import InputError, InputTypeError
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


def points(likelihood, n):
    return draw(n, width(likelihood)) + (
        4 if isinstance(likelihood, Gamma) else 0
    )  # a density of shape < 1 is infinite at 0


def masses(likelihood, raw, y):
    """p(y) dy over all y: midpoints of cells for densities, the values themselves for the rest."""
    p = (-likelihood.nll(raw.expand(len(y), -1), y)).exp()
    return p * (y[1] - y[0]).item()


def test_every_public_likelihood_is_tried_here():
    public = {v for v in vars(likelihoods).values() if isinstance(v, type) and issubclass(v, Likelihood)}
    assert public - {Likelihood, Product} <= {type(likelihood) for likelihood, _ in CASES.values()}


@every
def test_nll_is_the_negative_log_density(name):
    likelihood, y = CASES[name]
    raw = draw(50, width(likelihood))
    y = y[torch.linspace(0, len(y) - 1, 50).long()]
    truth = -likelihood.distribution(raw).log_prob(y)
    torch.testing.assert_close(likelihood.nll(raw, y), truth)


@every
def test_the_density_adds_up_to_one(name):
    likelihood, y = CASES[name]
    raw = points(likelihood, 1)
    assert masses(likelihood, raw, y).sum().item() == pytest.approx(1, abs=1e-5)


@every
def test_total_is_the_sum_of_all_rows(name):
    likelihood, y = CASES[name]
    raw, y = draw(5, 3, width(likelihood)), y[:15].reshape(-1)
    y = y.repeat(15)[:15].reshape(5, 3)
    each = likelihood.nll(raw, y)
    assert each.shape == (5, 3)
    torch.testing.assert_close(likelihood.total(raw, y), each.sum())
    torch.testing.assert_close(likelihood.total(raw[:, 0], y[:, 0]), each[:, 0].sum())


@every
def test_total_and_nll_have_the_same_gradient(name):
    likelihood, y = CASES[name]
    raw, y = draw(6, width(likelihood)).requires_grad_(), y[: len(y) // 2 + 1][-1].repeat(6)
    torch.testing.assert_close(grad(likelihood.total(raw, y), raw), grad(likelihood.nll(raw, y).sum(), raw))


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


@elementwise
def test_one_column_is_the_same_as_no_column(name):
    likelihood, y = CASES[name]
    raw, y = draw(4, likelihood.per_target), y[[1, 1, 0, 1]]
    torch.testing.assert_close(likelihood.nll(raw, y[:, None]), likelihood.nll(raw, y))
    torch.testing.assert_close(likelihood.total(raw, y[:, None]), likelihood.total(raw, y))


@every
def test_curvature_is_the_expected_square_of_the_score(name):
    """Fisher information by its definition: E[s sᵀ], s the gradient of log p, summed over all y."""
    likelihood, y = CASES[name]
    where = points(likelihood, 3)
    for raw, curvature in zip(where, likelihood.curvature(where), strict=True):
        rows = raw.expand(len(y), -1).clone().requires_grad_()
        (score,) = grad(likelihood.nll(rows, y).sum(), rows)  # (Y, R)
        fisher = torch.einsum("y,yi,yj->ij", masses(likelihood, raw[None], y).detach(), score, score)
        torch.testing.assert_close(curvature.detach(), fisher, rtol=1e-3, atol=1e-4)


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


@pytest.mark.parametrize("name", ["gaussian", "learned", "heteroscedastic", "bernoulli", "categorical", "poisson"])
def test_curvature_agrees_with_the_divergence_between_neighbours(name):
    """What the base derives, the Hessian of KL(p || p'), is what the leaves say in closed form."""
    likelihood, _ = CASES[name]
    raw = draw(4, width(likelihood))
    torch.testing.assert_close(likelihood.curvature(raw).detach(), Likelihood.curvature(likelihood, raw))


@pytest.mark.parametrize("name", ["gaussian", "learned", "heteroscedastic", "laplace", "poisson", "exponential"])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_the_interval_is_central_and_holds_its_level(name, level):
    likelihood, y = CASES[name]
    for raw in draw(3, 1, width(likelihood)):
        low, high = likelihood.interval(raw, level)
        p = masses(likelihood, raw, y)
        below, above = p[y < low].sum().item(), p[y > high].sum().item()
        if name == "poisson":  # counts: the least interval whose tails are not above (1 - level) / 2
            assert max(below, above) <= (1 - level) / 2
            assert below + p[y == low].item() >= (1 - level) / 2 and above + p[y == high].item() >= (1 - level) / 2
        else:
            assert (below, above) == pytest.approx(((1 - level) / 2, (1 - level) / 2), abs=3e-3)


def test_intervals_of_a_vector_stand_column_by_column():
    raw = draw(4, 6)
    low, high = HeteroscedasticGaussian().interval(raw, 0.9)
    for j in range(3):
        one = HeteroscedasticGaussian().interval(raw[:, j::3], 0.9)
        torch.testing.assert_close((low[:, j], high[:, j]), one)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95, "0.9", float("nan")])
def test_a_level_outside_zero_and_one_is_named(level):
    for likelihood in (Gaussian(), Poisson()):
        with pytest.raises(
            InputError, match=r"The 'level' parameter of interval must be a float in the range \(0, 1\)\. Got "
        ):
            likelihood.interval(torch.zeros(2, 1), level)


@elementwise
@pytest.mark.parametrize("method", ["nll", "total"])
def test_a_wrong_number_of_raw_outputs_is_named(name, method):
    likelihood, _ = CASES[name]
    r = likelihood.per_target
    for raw, y in [(torch.zeros(5, 3 * r), torch.ones(5)), (torch.zeros(5, r), torch.ones(5, 2))]:
        with pytest.raises(
            InputError, match=rf"raw has shape \(5, {raw.shape[1]}\) and y .* needs {r * y[0].numel()} raw outputs"
        ):
            getattr(likelihood, method)(raw, y)


@every
def test_raw_outputs_are_counted_from_the_target(name):
    likelihood, _ = CASES[name]
    if name == "categorical":
        assert likelihood.n_raw(TargetSpec("multiclass", 4)) == 4
    else:
        r = likelihood.per_target
        assert [likelihood.n_raw(TargetSpec("regression", n)) for n in (1, 3)] == [r, 3 * r]


@every
def test_samples_follow_the_density(name):
    likelihood, y = CASES[name]
    raw = points(likelihood, 1)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        sample = likelihood.distribution(raw).sample((4000,)).squeeze(-1)
    p, middle = masses(likelihood, raw, y), y[len(y) // 2] if len(y) < 5 else sample.double().median()
    share = p[y < middle].sum().item()
    assert (sample < middle).double().mean().item() == pytest.approx(share, abs=4 * math.sqrt(0.25 / 4000) + 1e-3)


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


def test_a_likelihood_without_a_law_says_what_is_missing():
    class Nothing(Likelihood):
        pass

    with pytest.raises(InputTypeError, match=r"Nothing says no distribution: define law\(\*raw\)"):
        Nothing().nll(torch.zeros(2, 1), torch.zeros(2))


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
        rows = draw(3, width(likelihood))
        p = likelihood.distribution(rows)
        assert p.log_prob(y[[1, 0, 1]]).shape == p.sample().shape == p.mode.shape == (3,), name
    torch.testing.assert_close(Poisson().distribution(raw).mean, (1 + raw[:, 0].exp()).log())
    torch.testing.assert_close(Bernoulli().distribution(raw).mean, raw[:, 0].sigmoid())
    torch.testing.assert_close(Gaussian().distribution(raw).mean, raw[:, 0])
