"""Chains from given rows: where they go, how far, and that they are the machine's own distribution."""

from itertools import product

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from ftheta.errors import InputError, InputTypeError
from ftheta.explain import available, chains
from ftheta.models import BoltzmannMachine, DeepBoltzmannMachine, RestrictedBoltzmannMachine

BITS = np.array(list(product((0.0, 1.0), repeat=4)))
HIDDEN = np.array(list(product((0.0, 1.0), repeat=3)))


@pytest.fixture(scope="module")
def machine():
    made = RestrictedBoltzmannMachine(n_hidden=3, epochs=1, random_state=0).fit(BITS)
    net = made.module_
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[2.0, -1.5, 0.5, 1.0], [-1.0, 1.0, 2.0, -0.5], [0.5, 1.5, -1.0, -2.0]]))
        net.visible_bias.copy_(torch.tensor([-0.5, 0.5, 0.0, 1.0]))
        net.hidden_bias.copy_(torch.tensor([0.5, -1.0, 0.0]))
    return made


def negative_energies(machine, v):
    """-E(v, h) of a row with all h, term by term: (8,)."""
    net = machine.module_
    w, b, c = (p.detach().double().numpy() for p in (net.weight, net.visible_bias, net.hidden_bias))
    return [v @ b + c @ h + sum(h[j] * w[j, i] * v[i] for j, i in product(range(3), range(4))) for h in HIDDEN]


def test_distances_are_from_the_own_start_and_from_the_others(machine):
    found = chains(machine, BITS[:3], (1, 4, 5))
    assert found.steps.tolist() == [0, 1, 4, 5] and found.shape == (2, 2) and np.array_equal(found.states[0], BITS[:3])
    for t, i in product(range(4), range(3)):
        away = np.abs(found.states[t, i] - BITS[:3]).mean(1)
        assert found.distance[t, i] == pytest.approx(away[i])
        assert found.others[t, i] == pytest.approx(np.delete(away, i).mean())
    assert set(found.table().columns) == {"step", "distance from the start", "from other starts", "free energy"}
    assert found.caption.startswith("3 chains; after 5 steps a unit differs from its start by ")
    lines = {line.get_label(): line.get_ydata() for line in found.figure().axes[1].lines}
    assert np.array_equal(lines["mean"], found.distance.mean(1))
    assert np.array_equal(lines["from other starts"], found.others.mean(1))


def test_free_energy_is_the_sum_over_hidden_units(machine):
    found = chains(machine, BITS, (0, 3))
    for t, i in product(range(2), range(16)):
        truth = -np.log(np.exp(negative_energies(machine, found.states[t, i])).sum())
        assert found.free_energy[t, i] == pytest.approx(truth, abs=1e-5)
    np.testing.assert_allclose(found.table().columns["free energy"], found.free_energy.mean(1))


def test_every_machine_has_chains():
    deep = DeepBoltzmannMachine(hidden=(3, 2), greedy=1, epochs=1, random_state=0).fit(BITS)
    general = BoltzmannMachine(epochs=1, random_state=0).fit(BITS)
    assert chains(deep, BITS, (2,)).free_energy is None and chains(general, BITS, (2,)).free_energy.shape == (2, 16)
    assert "chains" in available(deep) and "chains" not in available(DeepBoltzmannMachine())


def test_at_most_so_many_rows_start_a_chain_and_one_alone_has_no_others(machine):
    first, other = (chains(machine, BITS, max_rows=4, random_state=seed).states for seed in (0, 1))
    np.testing.assert_array_equal(first[0], BITS[::4])
    assert np.array_equal(first[0], other[0]) and not np.array_equal(first, other)
    assert chains(machine, BITS, max_rows=4, shape=(4, 1)).shape == (4, 1)
    alone = chains(machine, BITS[:1], (1,))
    assert np.isnan(alone.others).all() and "from other starts" not in alone.table().columns and alone.figure()


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


def test_what_cannot_be_shown_is_said(machine):
    with pytest.raises(InputTypeError, match="object does not fit; chains needs an instance of Machine"):
        chains(object(), BITS)
    with pytest.raises(InputError, match=r"steps=\[0, -1\]; different integers of at least 0"):
        chains(machine, BITS, (-1,))
    with pytest.raises(InputError, match=r"shape=\(3, 3\) does not hold rows of 4 numbers"):
        chains(machine, BITS, shape=(3, 3))
