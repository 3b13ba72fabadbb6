"""Modern Hopfield networks: what is stored, how states move, and what the shared memory cannot know of them."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from ftheta.models import HopfieldNetwork, ModernHopfield
from ftheta.models.energy.modern_hopfield import continuous_energy, dense_energy

DISCRETE = ("exponential", "polynomial", "rectified")


def signs(seed, *shape):
    return np.random.default_rng(seed).choice([-1.0, 1.0], shape)


def units(seed, p, n):
    x = np.random.default_rng(seed).normal(size=(p, n))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


@pytest.mark.parametrize("interaction", DISCRETE)
def test_noisy_patterns_come_back_and_the_energy_falls_to_them(interaction):
    x = signs(0, 12, 64)
    net = ModernHopfield(interaction=interaction, order=4, random_state=0).fit(x)
    assert net.stable().all() and np.array_equal(net.recall(x, noise=0.15), x)
    cues = x * np.where(np.random.default_rng(1).random(x.shape) < 0.2, -1, 1)
    way = net.trace(cues)
    assert np.array_equal(way.states[0], cues) and np.array_equal(way.states[-1], x) and way.converged.all()
    np.testing.assert_allclose(way.energies[-1], dense_energy(x, x, interaction, 4))
    assert (np.diff(way.energies, axis=0) <= 0).all() and (way.energies[-1] < way.energies[0]).all()
    np.testing.assert_allclose(net.energy(x), way.energies[-1])


def test_the_exponential_network_stores_where_hebb_has_lost_everything():
    x = signs(1, 300, 40)
    with pytest.warns(UserWarning, match="300 patterns are more than the about 5.422 random ones that 40 units hold"):
        classical = ModernHopfield(interaction="polynomial", order=2).fit(x)
    assert ModernHopfield().fit(x).stable().all() and not classical.stable().any()


def test_the_second_order_is_the_classical_network():
    x, cues = signs(2, 3, 20), signs(3, 30, 20)  # 19 odd numbers: no unit is undecided
    new = ModernHopfield(interaction="polynomial", order=2, random_state=0).fit(x)
    old = HopfieldNetwork(rule="hebb", update="asynchronous", random_state=0).fit(x)
    assert np.array_equal(new.recall(cues), old.recall(cues)) and np.array_equal(new.stable(), old.stable())
    shift = new.energy(cues) - 2 * old.energy(cues)  # z² holds the diagonal of the matrix too
    np.testing.assert_allclose(shift, -np.trace(x.T @ x))


@pytest.mark.ledger("B277", covers="ftheta.models.ModernHopfield")
def test_discrete_networks_move_a_unit_at_a_time_and_continuous_ones_all_at_once():
    """auto is what each energy asks for: with the other order a discrete state may circle; energies fall in both."""
    pair, between = np.array([[1.0, 1.0]]), np.array([[1.0, -1.0]])
    knobs = {"interaction": "polynomial", "order": 2, "random_state": 0, "steps": 9}
    auto, at_once = (ModernHopfield(update=update, **knobs).fit(pair) for update in ("auto", "synchronous"))
    circling = at_once.trace(between)
    assert not circling.converged[0] and circling.states[1:3, 0].tolist() == [[-1, 1], [1, -1]]
    resting = auto.trace(between)
    assert resting.converged[0] and abs(resting.states[-1, 0].sum()) == 2
    assert np.array_equal(
        auto.recall(between), ModernHopfield(update="asynchronous", **knobs).fit(pair).recall(between)
    )
    stored = units(4, 30, 16)
    cues = stored + 0.1 * np.random.default_rng(5).normal(size=stored.shape)
    together, in_turn = (
        ModernHopfield(interaction="continuous", beta=60.0, update=update, random_state=0).fit(stored)
        for update in ("auto", "asynchronous")
    )
    one_step = together.recall(cues, steps=1)
    attention = F.scaled_dot_product_attention(*map(torch.tensor, (cues, stored, stored)), scale=60.0)
    np.testing.assert_allclose(one_step, attention, rtol=0, atol=1e-6)  # the whole state at once is attention
    assert np.abs(one_step - stored).max() < 0.01 and (together.predict(cues) == np.arange(30)).all()
    for net in (together, in_turn):
        way = net.trace(cues)
        assert way.converged.all() and (np.diff(way.energies, axis=0) <= 1e-12).all()
        np.testing.assert_allclose(way.states[-1], stored, atol=0.01)


def test_a_dull_continuous_network_ends_between_its_patterns_and_says_so():
    stored = units(6, 10, 4)
    dull, sharp = (ModernHopfield(interaction="continuous", beta=b).fit(stored) for b in (0.1, 200.0))
    ends = dull.recall(stored)
    assert np.ptp(ends, axis=0).max() < 1e-6 and (dull.predict(stored) == -1).all() and not dull.stable().any()
    assert (sharp.predict(stored) == np.arange(10)).all() and sharp.stable().all()
    np.testing.assert_allclose(sharp.energy(stored), continuous_energy(stored, stored, 200.0))


def test_one_stored_row_is_recalled_by_every_cue_that_is_nearer_to_it_than_to_its_opposite():
    x = np.ones((1, 9))
    for interaction in DISCRETE:
        net = ModernHopfield(interaction=interaction, random_state=0).fit(x)
        assert np.array_equal(net.recall(np.array([[-1.0, -1.0, -1.0, -1.0, 1, 1, 1, 1, 1]])), x)
    odd, even = (ModernHopfield(interaction="polynomial", order=n, random_state=0).fit(x) for n in (3, 4))
    assert np.array_equal(even.recall(-x), -x) and np.array_equal(odd.recall(-x), x)  # z³: the opposite is a maximum


@pytest.mark.parametrize("interaction", [*DISCRETE, "continuous"])
def test_rows_in_parts_are_rows_alone(interaction, monkeypatch):
    x, cues = signs(9, 6, 16), signs(10, 7, 16)
    net = ModernHopfield(interaction=interaction, beta=0.3, random_state=0).fit(x)
    whole, energies = net.recall(cues), net.trace(cues).energies
    monkeypatch.setattr("ftheta.models.energy.modern_hopfield.OVERLAPS_AT_ONCE", 12)  # two rows at a time
    np.testing.assert_allclose(net.recall(cues), whole, atol=1e-9)
    np.testing.assert_allclose(net.trace(cues).energies, energies, atol=1e-9)
    np.testing.assert_allclose(np.vstack([net.recall(c[None]) for c in cues]), whole, atol=1e-9)
