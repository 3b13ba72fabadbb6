"""Chains from given rows: where they go, how far, and that they are the machine's own distribution."""

from itertools import product

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.neural_network import BernoulliRBM

from ftheta.errors import InputError, InputTypeError
from ftheta.explain import available, chains
from ftheta.models import RestrictedBoltzmannMachine
from ftheta.nn import RBM

BITS = np.array(list(product((0.0, 1.0), repeat=4)))


class Shift:
    """A machine of one's own: a step turns a row by a place."""

    def gibbs(self, X, steps):
        return np.roll(X, steps, axis=1)


def machine():
    net = RBM(4, 3)
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[2.0, -1.5, 0.5, 1.0], [-1.0, 1.0, 2.0, -0.5], [0.5, 1.5, -1.0, -2.0]]))
        net.visible_bias.copy_(torch.tensor([-0.5, 0.5, 0.0, 1.0]))
        net.hidden_bias.copy_(torch.tensor([0.5, -1.0, 0.0]))
    return net


def negative_energies(net, v):
    """-E(v, h) of a row with all h, term by term: (8,)."""
    w, b, c = (p.detach().double().numpy() for p in (net.weight, net.visible_bias, net.hidden_bias))
    return [v @ b + c @ h + sum(h[j] * w[j, i] * v[i] for j, i in product(range(3), range(4))) for h in HIDDEN]


HIDDEN = np.array(list(product((0.0, 1.0), repeat=3)))


def test_states_and_distances_are_those_of_the_machine():
    x = np.array([[1.0, 0, 0, 0, 0], [0, 0, 1.0, 1.0, 0]])
    found = chains(Shift(), x, (1, 4, 5))
    assert found.steps.tolist() == [0, 1, 4, 5] and found.shape == (1, 5) and found.free_energy is None
    for state, step in zip(found.states, found.steps, strict=True):
        np.testing.assert_array_equal(state, np.roll(x, step, axis=1))
    np.testing.assert_allclose(found.distance, [[0, 0], [0.4, 0.4], [0.4, 0.4], [0, 0]])
    np.testing.assert_allclose(found.others[1], [3 / 5, 1 / 5 * 3])
    for t, i in product(range(4), range(2)):
        assert found.others[t, i] == pytest.approx(np.abs(found.states[t, i] - x[1 - i]).mean())
    assert set(found.table().columns) == {"step", "distance from the start", "from other starts"}
    assert "2 chain(s); after 5 step(s) a unit differs from its start by 0.000, from other starts by 0.600" in found.alt


def test_distance_from_others_leaves_out_the_own_start():
    x = np.array([[0.0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0]])
    np.testing.assert_allclose(chains(Shift(), x, (0,)).others, [[0.375, 0.25, 0.375]])


def test_long_chains_have_the_distribution_of_the_machine():
    """Against p(v) by adding up all 128 states; the start, one corner, is forgotten."""
    net, n = machine(), 2000
    found = chains(net, np.zeros((n, 4)), (1, 30), n=n)
    weights = np.array([np.exp(negative_energies(net, v)).sum() for v in BITS])
    p = weights / weights.sum()
    seen = np.array([(found.states[-1] == v).all(1).mean() for v in BITS])
    assert (np.abs(seen - p) < 4 * np.sqrt(p * (1 - p) / n)).all()
    one = np.array([(found.states[1] == v).all(1).mean() for v in BITS])
    assert np.abs(one - p).max() > 0.02  # not yet after a step


def test_free_energy_is_the_sum_over_hidden_units():
    net = machine()
    found = chains(net, BITS, (0, 3))
    for t, i in product(range(2), range(16)):
        truth = -np.log(np.exp(negative_energies(net, found.states[t, i])).sum())
        assert found.free_energy[t, i] == pytest.approx(truth, abs=1e-5)
    assert found.table().columns["free energy"] == pytest.approx(found.free_energy.mean(1))


@pytest.mark.parametrize("make", [machine, lambda: BernoulliRBM(3, n_iter=1, random_state=0).fit(BITS)])
def test_the_film_is_of_one_chain_whatever_steps_are_kept(make):
    net = make()
    whole = chains(net, BITS, (1, 2, 3, 4))
    np.testing.assert_array_equal(chains(net, BITS, (2, 4)).states, whole.states[[0, 2, 4]])


def test_the_seed_decides_and_steps_between_do_not_repeat_the_noise():
    net, x = machine(), np.zeros((50, 4))
    same, other = chains(net, x, (1, 2, 3)), chains(net, x, (1, 2, 3), random_state=1)
    np.testing.assert_array_equal(chains(net, x, (1, 2, 3)).states, same.states)
    assert (other.states != same.states).any()
    net.weight.data.zero_()  # every step is a fresh draw, whatever the state
    states = chains(net, x, (1, 2, 3)).states
    assert (states[1] != states[2]).any() and (states[2] != states[3]).any()


def test_scikit_learns_machine_is_a_machine():
    x = np.repeat(np.eye(4), 10, axis=0)
    peer = BernoulliRBM(3, n_iter=2, random_state=0).fit(x)
    found = chains(peer, x, (0, 1, 5))
    assert "chains" in available(peer) and found.states.shape == (3, 40, 4)
    assert "chains" not in available(BernoulliRBM())
    assert set(np.unique(found.states)) == {0.0, 1.0} and found.free_energy is None


def test_at_most_n_rows_start_a_chain_and_one_alone_has_no_others():
    x = np.arange(24.0).reshape(12, 2)
    np.testing.assert_array_equal(chains(Shift(), x, n=4).states[0], x[::3])
    alone = chains(Shift(), x[:1], (1,))
    assert np.isnan(alone.others).all() and "from other starts" not in alone.table().columns
    assert alone.alt.endswith("by 1.000.") and alone.figure()


def test_the_picture_has_a_line_of_pictures_for_each_chain():
    found = chains(machine(), BITS, (0, 1, 10))
    strip, distance, free = found.figure().axes
    assert [t.get_text() for t in strip.get_xticklabels()] == ["0", "1", "10"] and len(strip.get_yticks()) == 8
    assert distance.get_title() == "Distance: chains and their mean" and free.get_ylabel() == "free energy (nats)"


@pytest.mark.middle
@pytest.mark.ledger("B132", covers="ftheta.explain.chains")
def test_chains_from_test_digits_leave_them_slowly_and_end_in_the_distribution_of_the_machine():
    """A step keeps more than 85 % of the pixels; after 1000, a chain is as far from its own digit as from others."""
    digits = (load_digits().data > 7.5).astype(float)
    net = RestrictedBoltzmannMachine(n_hidden=100, method="cd", lr=0.3, epochs=15, batch_size=50, random_state=0)
    found = chains(net.fit(digits[:1500]), digits[1500:], (1, 10, 100, 1000))
    own, others = found.distance.mean(1), found.others.mean(1)
    assert found.steps.tolist() == [0, 1, 10, 100, 1000] and found.states.shape == (5, 50, 64)
    assert own[0] == 0 and own[1] < 0.15 and own[1] < 0.6 * others[1] and (np.diff(own[:4]) > 0.01).all()
    assert own[4] == pytest.approx(others[4], rel=0.1)
    unlike = np.abs(found.states[4].mean(0) - net.sample(500, random_state=1).mean(0)).mean()
    assert unlike < 0.5 * np.abs(found.states[4].mean(0) - digits.mean()).mean()  # the machine's own mean image
    strip = found.figure().axes[0]
    assert [t.get_text() for t in strip.get_xticklabels()] == ["0", "1", "10", "100", "1,000"]


def test_what_cannot_be_shown_is_said():
    with pytest.raises(InputTypeError, match="object has no gibbs; chains needs a fitted machine"):
        chains(object(), BITS)
    with pytest.raises(InputError, match=r"steps=\[0, -1\]; different whole numbers of at least 0"):
        chains(Shift(), BITS, (-1,))
    with pytest.raises(InputError, match=r"shape=\(3, 3\) does not hold rows of 4 numbers"):
        chains(Shift(), BITS, shape=(3, 3))
