"""The deep Boltzmann machine against enumeration of all its states."""

from itertools import product

import numpy as np
import pytest
import torch

from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.models.energy.dbm_net import DBM

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
    rows = torch.tensor(list(product([0.0, 1.0], repeat=sum(sizes))), dtype=torch.float64)
    return list(rows.split(sizes, 1))


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


@pytest.mark.ledger("B134", covers="ftheta.models.energy.dbm_net.DBM")
def test_only_neighbouring_layers_are_coupled_and_an_inner_layer_hears_both():
    machine = drawn(3, 2, 2)
    v, h1, h2 = (torch.rand(1, n, dtype=torch.float64) for n in machine.sizes)

    def coupled(f, *at):
        blocks = torch.autograd.functional.hessian(f, at)
        return blocks[0][1].squeeze(0).squeeze(1)

    found = coupled(lambda v, h1: machine.energy([v, h1, h2]).sum(), v, h1)
    assert torch.allclose(found, -machine.weights[0].T)
    found = coupled(lambda h1, h2: machine.energy([v, h1, h2]).sum(), h1, h2)
    assert torch.allclose(found, -machine.weights[1].T)
    assert not coupled(lambda v, h2: machine.energy([v, h1, h2]).sum(), v, h2).any()

    p, _ = joint(machine)
    all_states = states(3, 2, 2)
    on, off = (all_states[1][:, 0] == bit for bit in (1, 0))  # the same rest in the same order
    expected = p[on.numpy()] / (p[on.numpy()] + p[off.numpy()])
    found = machine.logits([x[on] for x in all_states], 1)[:, 0].sigmoid()
    assert np.allclose(found.detach(), expected)
    assert len(np.unique(expected.round(9))) == 2**3 * 2**2  # of every v and every h²


@pytest.mark.parametrize("sizes", [(3, 2), (3, 2, 2), (2, 2, 3, 2)])
def test_energies_partition_function_and_conditionals_are_those_of_enumeration(sizes):
    machine = drawn(*sizes)
    p, log_z = joint(machine)
    rows = states(*sizes)
    assert np.allclose((-machine.energy(rows)).softmax(0).detach(), p)
    assert machine.log_partition().item() == pytest.approx(log_z)
    for k in range(len(sizes)):
        on = rows[k][:, -1] == 1
        expected = p[on.numpy()] / (p[on.numpy()] + p[~on.numpy()])
        assert np.allclose(machine.logits([x[on] for x in rows], k)[:, -1].sigmoid().detach(), expected)


def test_the_flat_machine_has_the_same_energies_and_draws_nothing():
    machine = drawn(3, 2, 2, 3, 2)
    rows = [torch.rand(5, n, dtype=torch.float64).round() for n in machine.sizes]
    before = torch.get_rng_state()
    flat = machine.flat()
    assert torch.equal(torch.get_rng_state(), before)
    even, odd = torch.cat(rows[::2], 1), torch.cat(rows[1::2], 1)
    assert torch.allclose(flat.energy(even, odd), machine.energy(rows))
    assert flat.weight.dtype == torch.float64


def test_the_gradient_of_the_exact_likelihood_is_the_difference_of_two_means():
    machine = drawn(3, 2, 2)
    v = torch.tensor([[1.0, 0.0, 1.0]]).double()
    completed, all_states = [v.expand(16, 3), *states(2, 2)], states(3, 2, 2)
    log_p = (-machine.energy(completed)).logsumexp(0) - (-machine.energy(all_states)).logsumexp(0)
    found = torch.autograd.grad(log_p, [*machine.weights, *machine.biases])
    p, posterior = torch.tensor(joint(machine)[0]), (-machine.energy(completed)).softmax(0).detach()
    for k in (0, 1):
        seen = (completed[k + 1].T * posterior) @ completed[k]
        own = (all_states[k + 1].T * p) @ all_states[k]
        assert torch.allclose(found[k], seen - own, atol=1e-12)
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
    bound = machine.bound(v, machine.mean_field(v, 1)) - log_z
    assert np.allclose(bound.detach(), np.log(visible(machine, p)))
    assert torch.allclose(machine(v), (machine.biases[1] + v @ machine.weights[0].T).sigmoid())


def test_the_pass_upwards_counts_what_is_below_twice_but_for_the_top():
    machine, v = drawn(4, 3, 2), states(4)[0]
    h1, h2 = machine.up(v)
    assert torch.allclose(h1, (machine.biases[1] + 2 * v @ machine.weights[0].T).sigmoid())
    assert torch.allclose(h2, (machine.biases[2] + h1 @ machine.weights[1].T).sigmoid())


# --- sampling ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 1, 2, 1)])
def test_a_sweep_leaves_the_distribution_of_all_states_as_it_is(sizes):
    machine, g = drawn(*sizes), G().manual_seed(0)
    p, _ = joint(machine)
    index = torch.multinomial(torch.tensor(p), 100_000, replacement=True, generator=g)
    moved = machine.sweep([x[index] for x in states(*sizes)], 1, g)
    assert far(share(torch.cat(moved, 1), sum(sizes)), p) < 0.01


def test_chains_from_anywhere_end_in_the_distribution_of_the_machine():
    machine, g = drawn(3, 2, 2), G().manual_seed(0)
    found = machine.gibbs(torch.zeros(50_000, 3, dtype=torch.float64), 40, g)
    assert far(share(found, 3), visible(machine, joint(machine)[0])) < 0.01


def test_held_visibles_stay_and_the_others_are_drawn_given_them():
    machine, g = drawn(3, 2, 2), G().manual_seed(0)
    start = torch.tensor([[1.0, 0.0, 0.0]]).double().expand(50_000, 3)
    found = machine.gibbs(start, 40, g, clamp=torch.tensor([True, False, False]))
    p = visible(machine, joint(machine)[0])
    assert (found[:, 0] == 1).all()
    assert far(share(found, 3)[4:], p[4:] / p[4:].sum()) < 0.01


@pytest.mark.middle
@pytest.mark.ledger("B323", covers="ftheta.models.energy.dbm_net.DBM")
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

    directed = machine.belief_net(torch.zeros(50_000, 2, dtype=torch.float64), 40, g)
    assert far(share(torch.cat(directed, 1), 6), belief) < 0.015
    undirected = machine.gibbs(torch.zeros(50_000, 2, dtype=torch.float64), 100, g)
    assert far(share(undirected, 2), visible(machine, deep)) < 0.01


def test_a_belief_net_of_three_hidden_layers_goes_down_layer_by_layer():
    machine, g = drawn(2, 3, 2, 2), G().manual_seed(0)
    state = machine.belief_net(torch.zeros(60_000, 2, dtype=torch.float64), 3, g)
    assert [x.shape[1] for x in state] == [2, 3, 2, 2]
    for k in (0, 1):
        rate = (machine.biases[k] + state[k + 1] @ machine.weights[k]).sigmoid()
        assert torch.allclose(rate.mean(0), state[k].mean(0), atol=0.01)
        assert torch.allclose((rate[:, :1] * state[k + 1]).mean(0), (state[k][:, :1] * state[k + 1]).mean(0), atol=0.01)


def test_the_same_generator_gives_the_same_states():
    machine = drawn(3, 2, 2)
    a, b = (machine.gibbs(torch.zeros(20, 3).double(), 3, Draw(0).generator()) for _ in range(2))
    assert torch.equal(a, b)


@pytest.mark.parametrize(("n", "hidden"), [(0, (2,)), (3, ()), (3, (2, 0))])
def test_a_layer_without_units_is_refused(n, hidden):
    with pytest.raises(InputError, match=r"needs a unit in each layer; got n_visible=\d, hidden=\("):
        DBM(n, hidden)


def test_the_sizes_are_printed():
    assert "3, 2, 2" in repr(DBM(3, (2, 2)))
