"""What all Boltzmann machines can: chains looked at on the way, seeds, samples, and rows with missing entries."""

import numpy as np
import pandas as pd
import pytest
import torch

from ftheta.errors import InputError, NonFiniteError
from ftheta.models import BoltzmannMachine, DeepBoltzmannMachine, RestrictedBoltzmannMachine

FRAME = pd.DataFrame([[1, 0, 1], [0, 1, 1], [1, 1, 0]] * 4, columns=["a", "b", "c"])
X = FRAME.to_numpy(dtype=float)


@pytest.fixture(
    scope="module",
    params=[
        lambda: BoltzmannMachine(n_hidden=1, epochs=2, random_state=0),
        lambda: RestrictedBoltzmannMachine(n_hidden=2, epochs=2, random_state=0),
        lambda: DeepBoltzmannMachine(hidden=(3, 2), epochs=1, greedy=1, random_state=0),
    ],
    ids=["general", "restricted", "deep"],
)
def machine(request):
    return request.param().fit(FRAME)


def test_a_chain_is_the_same_wherever_it_is_looked_at(machine):
    seen = machine.gibbs(FRAME, keep=(0, 4, 2), random_state=1)
    assert seen.shape == (3, *X.shape) and np.array_equal(seen[0], X)
    assert np.array_equal(seen[1], machine.gibbs(FRAME, 4, random_state=1))
    assert np.array_equal(seen[2], machine.gibbs(FRAME, 2, random_state=1))
    assert set(np.unique(seen)) <= {0, 1}
    with pytest.raises(InputError, match="give numbers from 0 to 3"):
        machine.gibbs(FRAME, 3, keep=(0, 5))


def test_a_seed_decides_and_none_is_fresh(machine):
    def drawn(seed):
        return machine.sample(20, steps=3, random_state=seed).tolist()

    assert drawn(3) == drawn(3) != drawn(4) and drawn(None) != drawn(None)
    state = np.random.RandomState
    assert drawn(state(3)) == drawn(state(3)) != drawn(state(4))


def test_samples_start_at_the_means_or_at_given_rows(machine):
    np.testing.assert_allclose(machine.mean_, X.mean(0))
    start = machine.sample(4000, steps=0, random_state=0)
    np.testing.assert_allclose(start.mean(0), X.mean(0), atol=0.04)
    assert np.array_equal(machine.sample(3, steps=0, start=FRAME[:3]), X[:3])
    with pytest.raises(InputError, match="start has 2 rows for n=3 chains"):
        machine.sample(3, start=FRAME[:2])


@pytest.mark.parametrize("value", [-1, 2.5, "3"])
def test_what_is_not_a_whole_number_is_refused(machine, value):
    with pytest.raises(InputError, match=r"steps=.*; give a whole number, at least 0"):
        machine.sample(2, steps=value)
    with pytest.raises(InputError, match=r"n=.*; give a whole number, at least 1"):
        machine.sample(value)


def test_known_entries_stay_and_missing_ones_are_not_looked_at(machine):
    holes = FRAME.astype(float).assign(b=np.nan)
    filled = machine.fill_in(holes, [False, True, False], 5, random_state=0)
    assert np.array_equal(filled[:, [0, 2]], X[:, [0, 2]]) and set(np.unique(filled[:, 1])) <= {0, 1}
    other = machine.fill_in(FRAME.assign(b=7.0), [False, True, False], 5, random_state=0)
    assert np.array_equal(filled, other)
    looked = machine.fill_in(holes, [False, True, False], keep=(1, 5), steps=5, random_state=0)
    assert np.array_equal(looked[1], filled)
    with pytest.raises(InputError):
        machine.fill_in(FRAME * 3, [False, True, False])
    with pytest.raises(InputError, match="feature names|order"):
        machine.fill_in(FRAME[["b", "a", "c"]], [False, True, False])


@pytest.mark.parametrize("rows", [np.ones(3), np.ones((0, 3)), np.ones((1, 4)), np.ones((1, 3, 1))])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_rows_of_another_shape_are_refused(machine, rows):
    with pytest.raises(InputError):
        machine.fill_in(rows, [False, True, False])


@pytest.mark.parametrize(("missing", "says"), [([True] * 4, r"shape \(4,\) and dtype bool"), ([1, 0, 0], "dtype int")])
def test_a_mask_is_true_or_false_for_every_column_or_entry(machine, missing, says):
    with pytest.raises(InputError, match=says):
        machine.fill_in(FRAME, missing)


def test_weights_that_are_not_finite_are_refused_by_name():
    made = BoltzmannMachine(epochs=1, random_state=0).fit(X)
    made.module_.bias.data[0] = torch.nan
    with pytest.raises(NonFiniteError, match="The machine's bias is not finite"):
        made.sample(2)
