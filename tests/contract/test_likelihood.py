"""What every likelihood owes. Being public in the package enrols; what it is tried on follows from its support."""

import pytest
import torch
from torch import nn
from torch.autograd import grad, gradcheck
from torch.func import functional_call

from ftheta import likelihoods
from ftheta.data import TargetSpec
from ftheta.errors import InputError
from ftheta.likelihoods import Likelihood

PUBLIC = [v for v in (getattr(likelihoods, name) for name in dir(likelihoods)) if isinstance(v, type)]
CLASSES = [cls for cls in PUBLIC if issubclass(cls, Likelihood) and cls is not Likelihood]
SPECS = {"binary": TargetSpec("binary"), "category": TargetSpec("multiclass", 4)}
VALUES = {  # all values of y, in cells of equal width
    "real": torch.arange(-90, 90, 0.01, dtype=torch.double) + 0.005,
    "count": torch.arange(150, dtype=torch.double),
    "binary": torch.arange(2, dtype=torch.double),
    "category": torch.arange(4),
}
ALONE = [cls for cls in CLASSES if cls.support != "mixed"]
every = pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
alone = pytest.mark.parametrize("cls", ALONE, ids=lambda c: c.__name__)
vector = pytest.mark.parametrize("cls", [c for c in ALONE if c.support != "category"], ids=lambda c: c.__name__)


def spec_of(cls):
    if cls.support == "mixed":
        return TargetSpec("regression", len(ALONE))
    return SPECS.get(cls.support, TargetSpec("regression"))


def made(cls):
    """One with parameters away from their start, in float64."""
    mixed = cls.support == "mixed"
    likelihood = cls([(made(c), spec_of(c)) for c in ALONE]) if mixed else cls.of(spec_of(cls))
    with torch.no_grad():
        for i, p in enumerate(likelihood.parameters()):
            p += 0.3 * (i + 1)
    return likelihood.double()


def draw(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.double, generator=torch.Generator().manual_seed(seed))


def rows(cls, n=6, seed=0):
    """Raw outputs of n rows, and targets that are possible and not at the kinks of the density."""
    likelihood = made(cls)
    raw = draw(n, likelihood.n_raw(spec_of(cls)), seed=seed)
    if cls.support == "mixed":
        return likelihood, raw, torch.stack([rows(c, n, seed)[2].double() for c in ALONE], 1)
    y = {"real": 2 * draw(n, seed=seed + 1), "category": torch.arange(n) % 4}
    return likelihood, raw, y.get(cls.support, (torch.arange(n) % 2 + 2 * (cls.support == "count")).double())


def masses(likelihood, raw):
    """All values of y and p(y) dy of one row, through nll alone."""
    y = VALUES[likelihood.support]
    return y, (-likelihood.nll(raw.expand(len(y), -1), y)).exp().detach() * float(y[1] - y[0])


def scores(likelihood, raw, y):
    """∂ log p(y | raw) / ∂ raw for many y and one row of raw: (n, R)."""
    spread = raw.expand(len(y), -1).clone().requires_grad_()
    return -grad(likelihood.nll(spread, y).sum(), spread)[0]


def test_every_public_likelihood_is_tried():
    named = set(likelihoods.NAMES.values()) | set(likelihoods.TASKS.values())
    assert named <= set(CLASSES) and len(ALONE) >= 7 and {cls.support for cls in ALONE} <= set(VALUES)


@every
def test_nll_is_the_negative_log_of_its_distribution(cls):
    likelihood, raw, y = rows(cls)
    assert likelihood.nll(raw, y).shape == (6,)
    torch.testing.assert_close(likelihood.nll(raw, y), -likelihood.distribution(raw).log_prob(y))


@every
def test_total_is_the_sum_with_the_same_gradient(cls):
    likelihood, raw, y = rows(cls)
    raw.requires_grad_()
    fused, plain = likelihood.total(raw, y), likelihood.nll(raw, y).sum()
    torch.testing.assert_close(fused, plain)
    torch.testing.assert_close(grad(fused, raw)[0], grad(plain, raw)[0])


@every
def test_its_gradient_is_that_of_finite_differences(cls):
    likelihood, raw, y = rows(cls)
    parameters = [p.detach().clone().requires_grad_() for p in likelihood.parameters()]
    names = [f"inner.{name}" for name, _ in likelihood.named_parameters()]

    def nll(raw, *theta):
        return functional_call(Door(likelihood), dict(zip(names, theta, strict=True)), (raw, y))

    assert gradcheck(nll, (raw.requires_grad_(), *parameters))


class Door(nn.Module):
    """nll as the forward pass, for functional calls."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, raw, y):
        return self.inner.nll(raw, y)


@alone
def test_the_density_adds_up_to_one(cls):
    likelihood, raw, _ = rows(cls)
    for row in raw:
        assert float(masses(likelihood, row)[1].sum()) == pytest.approx(1, abs=2e-3)


@every
def test_samples_follow_the_density(cls):
    """The score has mean zero under the density, and under no other: 5 standard errors."""
    likelihood, raw, _ = rows(cls)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        sample = likelihood.distribution(raw[:1]).sample((20_000,))[:, 0]
    found = scores(likelihood, raw[0], sample)
    assert (found.mean(0).abs() / (found.std(0) / 20_000**0.5 + 1e-12)).max() < 5
    shifted = scores(likelihood, raw[0] + 0.3 * (1 + torch.arange(raw.shape[1])), sample)  # the test can fail
    assert (shifted.mean(0).abs() / (shifted.std(0) / 20_000**0.5 + 1e-12)).max() > 5


@pytest.mark.ledger("C033", covers="ftheta.likelihoods.Likelihood")
@alone
def test_the_prediction_is_the_likeliest_value_or_for_counts_the_mean(cls):
    likelihood, raw, _ = rows(cls)
    for row in raw:
        y, p = masses(likelihood, row)
        best = (y * p).sum() if cls.support == "count" else y[p.argmax()]
        assert float(likelihood.mode(row[None])[0]) == pytest.approx(float(best), abs=0.006)


@alone
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_the_interval_is_central_and_has_its_probability(cls, level):
    likelihood, raw, _ = rows(cls)
    if cls.support in ("binary", "category"):
        assert likelihood.interval(raw, level) is None
        return
    low, high = likelihood.interval(raw, level)
    assert low.shape == high.shape == (6,)
    for row, a, b in zip(raw, low, high, strict=True):
        y, p = masses(likelihood, row)
        below, above, edge = p[y < a].sum(), p[y > b].sum(), p.max()
        exact = cls.support == "real"
        for tail in (below, above):
            assert (
                float(tail) == pytest.approx((1 - level) / 2, abs=2e-3 + float(edge))
                if exact
                else tail <= (1 - level) / 2
            )
        if not exact:
            assert p[y <= a].sum() >= (1 - level) / 2 - 1e-9 and p[y >= b].sum() >= (1 - level) / 2 - 1e-9


@every
def test_a_level_is_a_share(cls):
    likelihood, raw, _ = rows(cls)
    if cls.support in ("real", "count"):
        with pytest.raises(InputError, match=r"The 'level' parameter of interval must be a float in \(0, 1\)"):
            likelihood.interval(raw, 95)


@alone
def test_curvature_is_the_expected_square_of_the_score(cls):
    likelihood, raw, _ = rows(cls)
    found = likelihood.curvature(raw)
    assert found.shape == (6, raw.shape[1], raw.shape[1])
    for row, matrix in zip(raw, found, strict=True):
        y, p = masses(likelihood, row)
        s = scores(likelihood, row, y)
        torch.testing.assert_close(matrix, torch.einsum("n,ni,nj->ij", p, s, s), rtol=2e-2, atol=1e-5)


@every
def test_curvature_is_symmetric_and_positive_semidefinite(cls):
    likelihood, raw, _ = rows(cls)
    found = likelihood.curvature(raw)
    torch.testing.assert_close(found, found.mT)
    assert torch.linalg.eigvalsh(found).min() > -1e-10


@every
def test_residuals_square_to_the_loss_or_there_are_none(cls):
    likelihood, raw, y = rows(cls)
    _, other, _ = rows(cls, seed=5)
    found = likelihood.residual(raw, y)
    if found is None:
        return
    assert found.shape[0] == 6 and not any(p.requires_grad for p in likelihood.parameters())
    rest = [likelihood.nll(r, y) - likelihood.residual(r, y).square().sum(-1) / 2 for r in (raw, other)]
    torch.testing.assert_close(rest[0], torch.full_like(rest[0], float(rest[0][0])))
    torch.testing.assert_close(rest[0], rest[1])


@vector
def test_several_targets_are_independent_ones_in_blocks(cls):
    one = made(cls)
    three = cls.of(TargetSpec("regression", 3)).double()
    with torch.no_grad():
        for p, q in zip(three.parameters(), one.parameters(), strict=True):
            p.copy_(q.expand_as(p))
    raw, y = draw(6, 3, one.per_target), torch.stack([rows(cls, seed=s)[2] for s in range(3)], 1)
    joined = raw.mT.reshape(6, -1)  # (B, 3, r) -> (B, r·3): first numbers of all targets, then the second ones
    assert three.n_raw(TargetSpec("regression", 3)) == joined.shape[1] == 3 * one.n_raw(TargetSpec("regression"))
    each = torch.stack([one.nll(raw[:, j], y[:, j]) for j in range(3)], 1)
    torch.testing.assert_close(three.nll(joined, y), each.sum(1))
    torch.testing.assert_close(three.total(joined, y), each.sum())
    torch.testing.assert_close(three.distribution(joined).log_prob(y), -each.sum(1))
    assert three.mode(joined).shape == (6, 3)
    torch.testing.assert_close(three.mode(joined), torch.stack([one.mode(raw[:, j]) for j in range(3)], 1))


@every
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_it_answers_in_the_dtype_it_is_asked_in(cls, dtype):
    likelihood, raw, y = rows(cls)
    likelihood, raw = likelihood.to(dtype), raw.to(dtype)
    y = y if cls.support == "category" else y.to(dtype)
    assert {t.dtype for t in (likelihood.nll(raw, y), likelihood.total(raw, y), likelihood.curvature(raw))} == {dtype}
    if cls.support in ("real", "count"):
        assert {t.dtype for t in (likelihood.mode(raw), *likelihood.interval(raw, 0.9))} == {dtype}


@every
@pytest.mark.parametrize("size", [1e4, -1e4])
def test_raw_outputs_of_ten_thousand_stay_finite_in_float32(cls, size):
    likelihood, raw, y = rows(cls)
    likelihood, y = likelihood.float(), y if cls.support == "category" else y.float()
    for sign in (torch.ones(raw.shape[1]), (-1.0) ** torch.arange(raw.shape[1])):
        far = (size * sign).expand(6, -1).clone().requires_grad_()
        value = likelihood.nll(far, y)
        slopes = grad(value.sum(), [far, *likelihood.parameters()])
        found = [value, likelihood.total(far, y), likelihood.mode(far), likelihood.curvature(far), *slopes]
        found += [e for e in likelihood.interval(far, 0.9) or ()]
        assert all(t.detach().double().isfinite().all() for t in found)


@every
def test_a_wrong_number_of_raw_outputs_is_named(cls):
    likelihood, raw, y = rows(cls)
    if cls.support != "category":  # any number of classes is a number of classes
        with pytest.raises(InputError, match=r"raw has shape .* and y .*raw outputs"):
            likelihood.nll(torch.cat([raw, raw[:, :1]], 1), y)


@every
def test_its_state_is_a_value(cls):
    likelihood, raw, y = rows(cls)
    again = made(cls)
    for p in again.parameters():
        nn.init.zeros_(p)
    again.load_state_dict(likelihood.state_dict())
    assert torch.equal(again.nll(raw, y), likelihood.nll(raw, y)) and cls.__name__ in repr(again)
