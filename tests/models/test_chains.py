"""Chains looked at on their way, generators by use, whole numbers, and rows of which a part is missing."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from ftheta.errors import InputError, NonFiniteError
from ftheta.models import BoltzmannMachine
from ftheta.models._chains import followed, generator_of, known_part, sound, whole


def counted(steps, keep):
    return followed(np.zeros((2, 3)), lambda state, k: state + k, lambda state: state, steps, keep)


def test_looks_are_taken_after_so_many_sweeps_in_the_order_asked_for():
    assert counted(None, (0, 7, 2))[:, 0, 0].tolist() == [0, 7, 2] and counted(9, (4,))[0, 0, 0] == 4
    assert counted(None, ()).tolist() == [[1] * 3] * 2 and counted(5, ())[0, 0] == 5


@pytest.mark.parametrize("keep", [(-1,), (0, 6)])
def test_a_look_outside_of_the_sweeps_is_refused(keep):
    with pytest.raises(InputError, match="give numbers from 0 to 5"):
        counted(5, keep)


def test_a_seed_and_a_use_have_one_stream_and_none_is_fresh():
    def drawn(*given):
        return torch.rand(4, generator=generator_of(*given, "cpu")).tolist()

    assert drawn(3, "a") == drawn(3, "a") != drawn(3, "b")
    assert drawn(4, "a") != drawn(3, "a") and drawn(None, "a") != drawn(None, "a")
    state = np.random.RandomState
    assert drawn(state(3), "a") == drawn(state(3), "a") != drawn(state(4), "a")


@pytest.mark.parametrize("value", [-1, 2.5, "3", None])
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(InputError, match=r"steps=.*; give a whole number, at least 0"):
        whole("steps", value, 0)
    assert whole("n", np.int64(3), 1) == 3


def test_weights_that_are_not_finite_are_refused_by_name():
    layer = nn.Linear(2, 2)
    sound(layer)
    layer.bias.data[0] = torch.nan
    with pytest.raises(NonFiniteError, match="The machine's bias is not finite"):
        sound(layer)


FRAME = pd.DataFrame([[1, 0], [0, 1]], columns=["a", "b"])


@pytest.fixture(scope="module")
def machine():
    return BoltzmannMachine(epochs=1, random_state=0).fit(FRAME)


def test_what_stands_at_missing_entries_is_not_looked_at_and_the_rest_is_checked(machine):
    holes = FRAME.astype(float).assign(b=[np.nan, 7.0])
    x, gone = known_part(machine, holes, [False, True], np.zeros(2))
    assert x.tolist() == [[1, 0], [0, 0]] and gone.tolist() == [[False, True]] * 2
    with pytest.raises(InputError, match="takes bits"):
        known_part(machine, FRAME * 3, [False, True], np.zeros(2))


def test_columns_in_another_order_are_refused(machine):
    with pytest.raises(InputError, match="feature names|order"):
        known_part(machine, FRAME[["b", "a"]], [False, True], np.zeros(2))


@pytest.mark.parametrize("X", [np.ones(2), np.ones((0, 2)), np.ones((1, 3)), np.ones((1, 2, 1))])
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_rows_of_another_shape_are_one_sentence(machine, X):
    with pytest.raises(InputError):
        known_part(machine, X, [False, True], np.zeros(2))


@pytest.mark.parametrize(("missing", "said"), [([True] * 3, r"shape \(3,\) and dtype bool"), ([1, 0], "dtype int64")])
def test_a_mask_says_true_or_false_of_every_column_or_entry(machine, missing, said):
    with pytest.raises(InputError, match=f"missing has {said}" if "shape" in said else said):
        known_part(machine, FRAME, missing, np.zeros(2))
