"""Nets of all Boltzmann machines against enumeration: energies, partition functions, Gibbs sampling."""

from itertools import combinations, pairwise

import numpy as np
import pytest
import torch
from scipy import stats

from ftheta.errors import InputError
from ftheta.models.energy.boltzmann import PairwiseMachine
from ftheta.models.energy.dbm import DBM
from ftheta.models.energy.rbm_net import RBM
from tests._truth import boltzmann as listed

NETS = {
    **{f"restricted {n}": lambda n=n: RBM(*n) for n in ((4, 3), (3, 5))},
    **{f"deep {n}": lambda n=n: DBM(n[0], n[1:]) for n in ((3, 2), (3, 2, 2), (2, 2, 3, 2))},
    **{f"general {n}": lambda n=n: PairwiseMachine(*n) for n in ((4, 0), (3, 2), (1, 4))},
}
SAMPLED = ("restricted (4, 3)", "deep (3, 2, 2)", "deep (2, 2, 3, 2)", "general (3, 2)")


def drawn(name, seed=0):
    """The net in float64 with random parameters."""
    net, g = NETS[name]().double(), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randn(p.shape, generator=g, dtype=p.dtype))
    return net


def matrix(net):
    """All weights as one symmetric matrix (n, n), and all biases (n,), visible units first."""
    if isinstance(net, PairwiseMachine):
        w = np.zeros((len(net.bias), len(net.bias)))
        for value, (i, j) in zip(net.pairs.tolist(), combinations(range(len(w)), 2), strict=True):
            w[i, j] = w[j, i] = value
        return w, net.bias.detach().numpy()
    weights = list(net.weights) if isinstance(net, DBM) else [net.weight]
    biases = list(net.biases) if isinstance(net, DBM) else [net.visible_bias, net.hidden_bias]
    ends = np.cumsum([0, *map(len, biases)])
    w = np.zeros((ends[-1], ends[-1]))
    for k, (low, high) in enumerate(pairwise(ends[:-1])):
        block = weights[k].detach().numpy()  # (n_{k+1}, n_k)
        w[high : high + len(block), low:high] = block
        w[low:high, high : high + len(block)] = block.T
    return w, torch.cat(biases).detach().numpy()


def law(net):
    """p of all states, in the order of `listed.states`, and of the visibles alone."""
    joint = listed.boltzmann_joint(*matrix(net))
    return joint, joint.reshape(2**net.n_visible, -1).sum(1)


def energy(net, states):
    if isinstance(net, RBM):
        return net.energy(states[:, : net.n_visible], states[:, net.n_visible :])
    return net.energy(states)


def assert_law(rows, p):
    """Drawn rows of bits against the probabilities of their states: a chi-squared test at 0.1 %."""
    numbers = (np.asarray(rows) @ 2 ** np.arange(rows.shape[1])[::-1]).astype(int)
    counts, expected = np.bincount(numbers, minlength=len(p)), len(rows) * p
    assert not counts[p == 0].any()
    rare = expected < 5
    counts, expected = (np.append(v[~rare], v[rare].sum()) for v in (counts, expected))
    some = expected > 0
    assert stats.chisquare(counts[some], expected[some]).pvalue > 1e-3


@pytest.mark.parametrize("name", NETS)
def test_energies_and_partition_functions_are_those_of_enumeration(name):
    net = drawn(name)
    w, b = matrix(net)
    s = listed.states(len(b))
    score = np.einsum("bi,ij,bj->b", s, w, s) / 2 + s @ b
    np.testing.assert_allclose(energy(net, torch.tensor(s)).detach(), -score, atol=1e-12)
    flat = net.flat() if hasattr(net, "flat") else net
    assert flat.log_partition().item() == pytest.approx(np.log(np.exp(score).sum()))
    if hasattr(net, "free_energy"):
        found = -net.free_energy(torch.tensor(listed.states(net.n_visible))) - net.log_partition()
        np.testing.assert_allclose(found.detach(), np.log(law(net)[1]), atol=1e-12)


@pytest.mark.parametrize("name", SAMPLED)
def test_a_sweep_leaves_the_distribution_as_it_is_and_chains_from_anywhere_end_in_it(name):
    net, g = drawn(name), torch.Generator().manual_seed(0)
    joint, visible = law(net)
    index = torch.multinomial(torch.tensor(joint), 20_000, replacement=True, generator=g)
    states = torch.tensor(listed.states(len(joint).bit_length() - 1))[index]
    if isinstance(net, RBM):  # its state is the visible layer
        assert_law(net.sweep(states[:, : net.n_visible], 1, g), visible)
    else:
        assert_law(net.sweep(states, 1, g), joint)
    start = net.start(torch.zeros(8000, net.n_visible).double(), g)
    assert_law(net.sweep(start, 60, g)[:, : net.n_visible], visible)


@pytest.mark.parametrize("name", SAMPLED)
def test_clamped_visibles_stay_and_the_others_are_drawn_given_them(name):
    net, g = drawn(name), torch.Generator().manual_seed(1)
    v = net.n_visible
    rows, held = torch.ones(16_000, v).double(), torch.zeros(16_000, v, dtype=torch.bool)
    held[::2, 0] = held[1::2, 1] = True  # a mask for every row
    start = net.start(rows, g)
    before = start.clone()
    found = net.sweep(start, 60, g, clamp=held)[:, :v]
    assert torch.equal(start, before)
    for first, unit in ((0, 0), (1, 1)):
        given = law(net)[1] * (listed.states(v)[:, unit] == 1)
        assert_law(found[first::2], given / given.sum())
    one = net.sweep(start, 5, g, clamp=held[0])  # the same mask for all
    assert (one[:, 0] == 1).all() and (one[:, 1] == 0).any()


@pytest.mark.parametrize("name", SAMPLED)
def test_the_same_generator_gives_the_same_states_and_none_is_torchs_own(name):
    net, v = drawn(name), torch.zeros(50, drawn(name).n_visible).double()

    def run(g=None):
        return net.sweep(net.start(v, g), 5, g)

    first, again, other = (run(torch.Generator().manual_seed(seed)) for seed in (3, 3, 4))
    assert torch.equal(first, again) and not torch.equal(first, other) and not first.requires_grad
    with torch.random.fork_rng():
        torch.manual_seed(3)
        assert torch.equal(run(), first)


@pytest.mark.parametrize("hidden", [(), (2, 0)])
def test_a_layer_without_units_is_refused(hidden):
    with pytest.raises(InputError, match=r"got n_visible=\d"):
        DBM(3, hidden)
