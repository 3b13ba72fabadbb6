"""The deep Boltzmann machine against enumeration of all its states."""

from itertools import product

import numpy as np
import pytest
import torch

from ftheta.models.energy.dbm import DBM

G = torch.Generator


def drawn(*sizes, std=1.0, seed=0):
    """A machine in float64 with all weights and biases drawn."""
    machine, g = DBM(sizes[0], sizes[1:]).double(), G().manual_seed(seed)
    with torch.no_grad():
        for p in machine.parameters():
            p.copy_(torch.randn(p.shape, generator=g, dtype=p.dtype) * std)
    return machine


def states(*sizes):
    """Every joint state, a list of layers."""
    return list(torch.tensor(list(product([0.0, 1.0], repeat=sum(sizes))), dtype=torch.float64).split(sizes, 1))


def parts(machine):
    return [w.detach().numpy() for w in machine.weights], [b.detach().numpy() for b in machine.biases]


def joint(machine):
    """p of every joint state, in NumPy, written with loops over the layers."""
    (weights, biases), rows = parts(machine), [x.numpy() for x in states(*machine.sizes)]
    score = sum(x @ b for x, b in zip(rows, biases, strict=True))
    for k, w in enumerate(weights):
        score = score + np.einsum("bi,ij,bj->b", rows[k + 1], w, rows[k])
    p = np.exp(score)
    return p / p.sum(), np.log(p.sum())


def visible(machine, p):
    """p(v) from p of the joint states."""
    return p.reshape(2 ** machine.sizes[0], -1).sum(1)


def share(rows, n):
    """Empirical distribution of rows of n bits, numbered as `states` lists them."""
    number = (rows.long() * 2 ** torch.arange(n - 1, -1, -1)).sum(1)
    return torch.bincount(number, minlength=2**n).numpy() / len(rows)


def far(p, q):
    """Total variation."""
    return 0.5 * np.abs(p - q).sum()


# --- energies and conditionals ----------------------------------------------------------------------------------------


@pytest.mark.ledger("B134", covers="ftheta.models.energy.dbm.DBM")
def test_only_neighbouring_layers_are_coupled_and_an_inner_layer_depends_on_both():
    machine = drawn(3, 2, 2)
    v, h1, h2 = (torch.rand(1, n, dtype=torch.float64) for n in machine.sizes)

    def coupled(f, *at):
        return torch.autograd.functional.hessian(f, at)[0][1].squeeze(0).squeeze(1)

    def energy(*layers):
        return machine.energy(torch.cat(layers, 1)).sum()

    assert torch.allclose(coupled(lambda v, h1: energy(v, h1, h2), v, h1), -machine.weights[0].T)
    assert torch.allclose(coupled(lambda h1, h2: energy(v, h1, h2), h1, h2), -machine.weights[1].T)
    assert not coupled(lambda v, h2: energy(v, h1, h2), v, h2).any()

    p, _ = joint(machine)
    all_states = states(3, 2, 2)
    on, off = (all_states[1][:, 0] == bit for bit in (1, 0))  # the same rest in the same order
    expected = p[on.numpy()] / (p[on.numpy()] + p[off.numpy()])
    assert np.allclose(machine.logits([x[on] for x in all_states], 1)[:, 0].sigmoid().detach(), expected)
    assert len(np.unique(expected.round(9))) == 2**3 * 2**2  # of every v and every h²


def test_the_flat_machine_has_the_same_energies_and_draws_nothing():
    machine = drawn(3, 2, 2, 3, 2)
    rows = [torch.rand(5, n, dtype=torch.float64).round() for n in machine.sizes]
    before = torch.get_rng_state()
    flat = machine.flat()
    assert torch.equal(torch.get_rng_state(), before)
    even, odd = torch.cat(rows[::2], 1), torch.cat(rows[1::2], 1)
    assert torch.allclose(flat.energy(even, odd), machine.energy(torch.cat(rows, 1)))
    assert flat.weight.dtype == torch.float64


def test_the_gradient_of_the_exact_likelihood_is_the_difference_of_two_means():
    machine = drawn(3, 2, 2)
    v = torch.tensor([[1.0, 0.0, 1.0]]).double()
    completed, all_states = [v.expand(16, 3), *states(2, 2)], states(3, 2, 2)
    of_row, of_all = (-machine.energy(torch.cat(x, 1)) for x in (completed, all_states))
    found = torch.autograd.grad(of_row.logsumexp(0) - of_all.logsumexp(0), [*machine.weights, *machine.biases])
    p, posterior = torch.tensor(joint(machine)[0]), of_row.softmax(0).detach()
    for k in (0, 1):
        seen = (completed[k + 1].T * posterior) @ completed[k]
        assert torch.allclose(found[k], seen - (all_states[k + 1].T * p) @ all_states[k], atol=1e-12)
    for k in (0, 1, 2):
        assert torch.allclose(found[2 + k], posterior @ completed[k] - p @ all_states[k], atol=1e-12)


# --- mean field -------------------------------------------------------------------------------------------------------


def test_the_mean_field_bound_is_below_the_exact_likelihood_and_rises_with_every_round():
    machine, v = drawn(4, 3, 2, std=1.5), states(4)[0]
    p, log_z = joint(machine)
    exact = np.log(visible(machine, p))
    bounds = [(machine.bound(v, machine.mean_field(v, steps)) - log_z).detach().numpy() for steps in (0, 1, 2, 5, 50)]
    assert all((bound <= exact + 1e-12).all() for bound in bounds)
    assert all((after >= before - 1e-12).all() for before, after in zip(bounds, bounds[1:], strict=False))
    assert 0 < (exact - bounds[-1]).mean() < 0.3


def test_mean_field_ends_where_every_layer_is_the_mean_given_its_neighbours():
    machine, v = drawn(4, 3, 3, 2), states(4)[0]
    state = [v, *machine.mean_field(v, 500)]
    for k in (1, 2, 3):
        assert torch.allclose(machine.logits(state, k).sigmoid(), state[k], atol=1e-10)


def test_with_one_hidden_layer_mean_field_is_exact():
    machine, v = drawn(4, 3), states(4)[0]
    p, log_z = joint(machine)
    assert np.allclose((machine.bound(v, machine.mean_field(v, 1)) - log_z).detach(), np.log(visible(machine, p)))
    assert torch.allclose(machine(v), (machine.biases[1] + v @ machine.weights[0].T).sigmoid())


# --- sampling ---------------------------------------------------------------------------------------------------------


@pytest.mark.middle
@pytest.mark.ledger("B323", covers="ftheta.models.energy.dbm.DBM")
def test_a_belief_net_of_the_same_stack_is_another_distribution_and_each_sampler_gives_its_own():
    machine, g = drawn(2, 2, 2, std=1.5, seed=11), G().manual_seed(0)
    (w1, w2), (b0, b1, b2) = parts(machine)
    v, h1, h2 = (x.numpy() for x in states(2, 2, 2))
    top = np.exp(h1 @ b1 + h2 @ b2 + np.einsum("bi,ij,bj->b", h2, w2, h1))  # undirected: the pair h¹, h²
    rate = 1 / (1 + np.exp(-(b0 + h1 @ w1)))  # directed: v from h¹ alone
    belief = top / (top.sum() / 4) * np.where(v == 1, rate, 1 - rate).prod(1)
    deep, _ = joint(machine)
    assert belief.sum() == pytest.approx(1)
    assert far(visible(machine, belief), visible(machine, deep)) > 0.1

    assert far(share(machine.belief_net(torch.zeros(50_000, 2, dtype=torch.float64), 40, g), 6), belief) < 0.015
    assert far(share(machine.sweep(torch.zeros(50_000, 6, dtype=torch.float64), 100, g), 6), deep) < 0.015


def test_a_belief_net_of_three_hidden_layers_goes_down_layer_by_layer():
    machine, g = drawn(2, 3, 2, 2), G().manual_seed(0)
    state = machine.belief_net(torch.zeros(60_000, 2, dtype=torch.float64), 3, g).split(machine.sizes, 1)
    for k in (0, 1):
        rate = (machine.biases[k] + state[k + 1] @ machine.weights[k]).sigmoid()
        assert torch.allclose(rate.mean(0), state[k].mean(0), atol=0.01)
        assert torch.allclose((rate[:, :1] * state[k + 1]).mean(0), (state[k][:, :1] * state[k + 1]).mean(0), atol=0.01)


def test_weights_start_with_the_spread_that_is_given():
    machine = DBM(60, (50, 40), std=0.3)
    assert [round(w.std().item(), 1) for w in machine.weights] == [0.3, 0.3]
    assert all(not b.any() for b in machine.biases)
