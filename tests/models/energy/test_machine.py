"""What all Boltzmann machines can: chains looked at on the way, seeds, samples, and rows with missing entries."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import torch

from ftheta.errors import InputError, NonFiniteError
from ftheta.models import BoltzmannMachine, DeepBoltzmannMachine, RestrictedBoltzmannMachine
from ftheta.models.energy.rbm_net import LogPartition

FRAME = pd.DataFrame([[1, 0, 1], [0, 1, 1], [1, 1, 0]] * 4, columns=["a", "b", "c"])
X = FRAME.to_numpy(dtype=float)


MACHINES = {
    "general": lambda: BoltzmannMachine(n_hidden=1, epochs=2, random_state=0),
    "restricted": lambda: RestrictedBoltzmannMachine(n_hidden=2, epochs=2, random_state=0),
    "deep": lambda: DeepBoltzmannMachine(hidden=(3, 2), epochs=1, greedy=1, random_state=0),
}


@pytest.fixture(scope="module", params=MACHINES)
def machine(request):
    return MACHINES[request.param]().fit(FRAME)


def test_a_chain_is_the_same_wherever_it_is_looked_at(machine):
    seen = machine.gibbs(FRAME, keep=(0, 4, 2), random_state=1)
    assert seen.shape == (3, *X.shape) and np.array_equal(seen[0], X)
    assert np.array_equal(seen[1], machine.gibbs(FRAME, 4, random_state=1))
    assert np.array_equal(seen[2], machine.gibbs(FRAME, 2, random_state=1))
    assert set(np.unique(seen)) <= {0, 1}


def test_a_seed_decides_and_none_is_fresh(machine):
    def drawn(seed):
        return machine.sample(20, steps=3, random_state=seed).tolist()

    assert drawn(3) == drawn(3) != drawn(4) and drawn(None) != drawn(None)
    state = np.random.RandomState
    assert drawn(state(3)) == drawn(state(3)) != drawn(state(4))


@pytest.mark.ledger("C331", covers="ftheta.models.RestrictedBoltzmannMachine")  # generation
def test_samples_start_at_the_means_or_at_given_rows(machine):
    np.testing.assert_allclose(machine.mean_, X.mean(0))
    np.testing.assert_allclose(machine.sample(4000, steps=0, random_state=0).mean(0), X.mean(0), atol=0.04)
    assert np.array_equal(machine.sample(3, steps=0, start=FRAME[:3]), X[:3])
    with pytest.raises(InputError, match="start has 2 rows for n=3 chains"):
        machine.sample(3, start=FRAME[:2])


def test_known_entries_stay_and_missing_ones_are_not_looked_at(machine):
    holes = FRAME.astype(float).assign(b=np.nan)
    filled = machine.fill_in(holes, [False, True, False], 5, random_state=0)
    assert np.array_equal(filled[:, [0, 2]], X[:, [0, 2]]) and set(np.unique(filled[:, 1])) <= {0, 1}
    assert np.array_equal(filled, machine.fill_in(FRAME.assign(b=7.0), [False, True, False], 5, random_state=0))
    looked = machine.fill_in(holes, [False, True, False], keep=(1, 5), steps=5, random_state=0)
    assert np.array_equal(looked[1], filled)
    with pytest.raises(InputError):
        machine.fill_in(FRAME * 3, [False, True, False])
    with pytest.raises(InputError, match="feature names|order"):
        machine.fill_in(FRAME[["b", "a", "c"]], [False, True, False])


@pytest.mark.parametrize("name", ["restricted", "deep"])
def test_the_error_of_log_z_is_in_that_of_the_likelihood(name, monkeypatch):
    made = MACHINES[name]().fit(X)
    own = made.assess(X).columns["error"][0]
    monkeypatch.setattr(type(made), "partition", lambda self, **_: LogPartition(1.0, 0.5, 60.0, 100, 100, "ais"))
    assert made.assess(X).columns["error"][0] == pytest.approx(np.hypot(own, 0.5))


def test_densities_are_those_of_free_energies_where_these_have_a_closed_form(machine):
    assert hasattr(machine, "log_prob") == hasattr(machine, "free_energy") == machine.closed_form
    if machine.closed_form:
        frame = pd.DataFrame(np.array(list(product((0.0, 1.0), repeat=3))), columns=FRAME.columns)
        assert np.exp(machine.log_prob(frame)).sum() == pytest.approx(1)
        np.testing.assert_allclose(machine.log_prob(frame) + machine.free_energy(frame), -machine.partition().log_z)


def test_weights_that_are_not_finite_are_refused_by_name():
    made = BoltzmannMachine(epochs=1, random_state=0).fit(X)
    made.module_.bias.data[0] = torch.nan
    with pytest.raises(NonFiniteError, match="The machine's bias is not finite"):
        made.sample(2)
