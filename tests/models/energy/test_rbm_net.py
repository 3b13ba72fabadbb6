"""The restricted Boltzmann machine against enumeration, integrals and long chains."""

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.integrate import quad

from ftheta.errors import InputError
from ftheta.models.energy.rbm_net import RBM, bernoulli
from tests._truth import boltzmann as listed


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def filled(machine, scale=1.0, seed=1):
    """The machine in float64, with normal weights and half as large biases; for 4 x 3 units that of the ledger."""
    rng, machine = np.random.default_rng(seed), machine.double()
    weight = rng.normal(size=(machine.n_visible, machine.n_hidden)).T
    with torch.no_grad():
        machine.weight.copy_(torch.tensor(scale * weight))
        machine.visible_bias.copy_(torch.tensor(0.5 * scale * rng.normal(size=machine.n_visible)))
        machine.hidden_bias.copy_(torch.tensor(0.5 * scale * rng.normal(size=machine.n_hidden)))
    return machine


def arrays(machine):
    return [p.detach().numpy() for p in (machine.weight, machine.visible_bias, machine.hidden_bias)]


def bits(n):
    return torch.tensor(listed.states(n))


def assert_law(numbers, law):
    """Drawn numbers of states against their probabilities: a chi-squared test at 0.1 %."""
    assert stats.chisquare(np.bincount(numbers, minlength=len(law)), len(numbers) * law).pvalue > 1e-3


def of_units(rates, states):
    """Probabilities of states whose units are on with these rates, each by itself: (n, 2^N)."""
    return torch.where(states[None] == 1, rates[:, None], 1 - rates[:, None]).prod(2)


@pytest.mark.ledger("B121", "B322", covers="ftheta.models.energy.rbm_net.RBM")
def test_energies_joint_and_conditionals_are_those_of_enumeration():
    machine = filled(RBM(4, 3))
    W, b, c = arrays(machine)
    joint, v, h = listed.rbm_joint(W, b, c), bits(4), bits(3)
    pairs = v.repeat_interleave(8, 0), h.repeat(16, 1)
    with torch.no_grad():
        log_z = machine.log_partition()
        np.testing.assert_allclose((-machine.energy(*pairs) - log_z).exp().view(16, 8), joint, rtol=1e-12)
        np.testing.assert_allclose(machine.log_prob(v, log_z).exp(), joint.sum(1), rtol=1e-12)
        np.testing.assert_allclose((-machine.hidden_free_energy(h) - log_z).exp(), joint.sum(0), rtol=1e-12)
        on = joint @ listed.states(3) / joint.sum(1, keepdims=True)
        np.testing.assert_allclose(machine(v), on, rtol=1e-10)
        np.testing.assert_allclose(machine.hidden_logits(v).sigmoid(), on, rtol=1e-10)
        on = joint.T @ listed.states(4) / joint.T.sum(1, keepdims=True)
        np.testing.assert_allclose(machine.visible_mean(h), on, rtol=1e-10)
        np.testing.assert_allclose(of_units(machine(v), h), joint / joint.sum(1, keepdims=True), rtol=1e-10)
        np.testing.assert_allclose(of_units(machine.visible_mean(h), v), (joint / joint.sum(0)).T, rtol=1e-10)


@pytest.mark.ledger(
    "B122",
    covers="ftheta.models.energy.rbm_net.RBM.log_partition",
    says="the likelihood requires summing over 2^(|v| + |h|) combinations",
    printed=2**7,
    right=2**3,
)
def test_the_partition_function_sums_over_the_smaller_layer_in_parts(monkeypatch, ledger):
    small, sizes = filled(RBM(4, 3)), []
    whole = small.hidden_free_energy
    monkeypatch.setattr(small, "hidden_free_energy", lambda rows: sizes.append(len(rows)) or whole(rows))
    assert small.log_partition().exp().item() == pytest.approx(259.9396, abs=1e-4)
    ledger(sum(sizes))
    for machine, smaller in ((RBM(5, 14, std=0), "free_energy"), (RBM(15, 14, std=0), "hidden_free_energy")):
        seen, whole = [], getattr(machine, smaller)
        monkeypatch.setattr(machine, smaller, lambda rows, f=whole, seen=seen: seen.append(len(rows)) or f(rows))
        found = machine.log_partition()
        assert found.dtype == torch.float64 and found.item() == pytest.approx((machine.n_visible + 14) * np.log(2))
        assert sum(seen) == 2 ** min(machine.n_visible, 14) and max(seen) <= 2**13


def test_the_gradient_of_the_exact_likelihood_is_that_of_enumeration():
    machine = filled(RBM(4, 3))
    v = bits(4)[[11, 2, 15]]
    machine.log_prob(v, machine.log_partition()).mean().backward()
    found = machine.weight.grad, machine.visible_bias.grad, machine.hidden_bias.grad
    for mine, truth in zip(found, listed.rbm_gradient(v.numpy(), *arrays(machine)), strict=True):
        np.testing.assert_allclose(mine, truth, atol=1e-12)


@pytest.mark.ledger("B123", covers="ftheta.models.energy.rbm_net.RBM.log_conditionals")
def test_all_log_conditionals_together_are_the_pseudo_likelihood_and_one_of_them_is_one():
    """Which is not the likelihood, and does not add up to 1."""
    machine, v = filled(RBM(4, 3)), bits(4)
    every = machine.log_conditionals(v).detach()
    exact = machine.log_prob(v, machine.log_partition()).detach()
    np.testing.assert_allclose(exact[[0, 5, 15]], [-3.718, -2.825, -1.849], atol=5e-4)
    np.testing.assert_allclose(every.sum(1)[[0, 5, 15]], [-3.537, -2.915, -1.776], atol=5e-4)
    assert every.sum(1).exp().sum().item() == pytest.approx(1.006, abs=5e-4)
    np.testing.assert_allclose(every.sum(1), listed.pseudo_likelihood(v.numpy(), *arrays(machine)), rtol=1e-12)
    for i in range(4):
        np.testing.assert_allclose(machine.log_conditional(v, torch.full((16,), i)), every[:, i], rtol=1e-10)


@pytest.mark.parametrize("visible", ["bernoulli", "gaussian"])
def test_visibles_are_drawn_from_the_generator_that_is_passed(visible):
    machine = filled(RBM(6, 2, visible=visible))
    first, again = (machine.sample_visible(bits(2).repeat(50, 1), seeded()) for _ in range(2))
    assert torch.equal(first, again) and len(first.unique(dim=0)) > 2


def test_gaussian_visibles_are_a_mixture_of_gaussians():
    machine, h = filled(RBM(1, 3, visible="gaussian")), bits(3)
    W, b, _ = arrays(machine)
    with torch.no_grad():
        log_z, free = machine.log_partition(), machine.hidden_free_energy(h)
        density = lambda v: machine.log_prob(torch.tensor([[v]], dtype=torch.float64), log_z).exp().item()  # noqa: E731
        means = (b + h.numpy() @ W).ravel()
        mixed = lambda v: float((-free - log_z).exp().numpy() @ stats.norm.pdf(v, means))  # noqa: E731
        assert quad(density, -12, 12, epsabs=1e-10)[0] == pytest.approx(1, abs=1e-8)
        np.testing.assert_allclose([density(v) for v in (-1.3, 0.2, 2.5)], [mixed(v) for v in (-1.3, 0.2, 2.5)])
        np.testing.assert_allclose(machine.visible_mean(h)[:, 0], means)
    draws = machine.sample_visible(h[5].repeat(20_000, 1), seeded()).numpy()[:, 0]
    assert stats.kstest(draws, stats.norm(means[5]).cdf).pvalue > 1e-3


def kernel(machine):
    """P(v' | v) of one sweep, from the machine's own conditionals: (2^V, 2^V)."""
    v, h = bits(machine.n_visible), bits(machine.n_hidden)
    with torch.no_grad():
        return (of_units(machine(v), h) @ of_units(machine.visible_mean(h), v)).numpy()


def test_a_sweep_is_in_detailed_balance_with_the_law_of_the_machine_and_leaves_it_as_it_is():
    machine = filled(RBM(4, 3))
    law, step = listed.rbm_joint(*arrays(machine)).sum(1), kernel(machine)
    np.testing.assert_allclose(step.sum(1), 1)
    np.testing.assert_allclose(law @ step, law, rtol=1e-10)
    flow = law[:, None] * step
    np.testing.assert_allclose(flow, flow.T, rtol=1e-10)


def test_bits_are_drawn_with_their_probabilities_and_certain_ones_always():
    drawn = bernoulli(torch.tensor([0.0, 0.001, 0.3, 1.0]).repeat(100_000, 1), seeded())
    assert set(drawn.unique().tolist()) == {0.0, 1.0} and (drawn[:, 0] == 0).all() and (drawn[:, 3] == 1).all()
    assert drawn[:, 1].mean().item() == pytest.approx(0.001, abs=4e-4)
    assert drawn[:, 2].mean().item() == pytest.approx(0.3, abs=6e-3)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: RBM(30, 23).log_partition(), r"a sum over 2\^23 states .* annealed importance sampling"),
        (lambda: RBM(2, 23, visible="gaussian").log_partition(), r"a sum over 2\^23 states"),
        (lambda: RBM(2, 3, visible="gaussian").log_conditionals(torch.zeros(1, 2)), "no pseudo-likelihood"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(call, said):
    with pytest.raises(InputError, match=said):
        call()
