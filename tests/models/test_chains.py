"""Chains looked at on their way, generators by use, and masks."""

import numpy as np
import pytest
import torch

from ftheta.errors import InputError
from ftheta.models._chains import followed, generator_of, mask_of


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


def test_a_mask_of_columns_is_that_of_every_row():
    assert mask_of([True, False], (3, 2)).tolist() == [[True, False]] * 3
    with pytest.raises(InputError, match=r"missing has shape \(3,\) and dtype bool"):
        mask_of([True, False, True], (4, 2))
    with pytest.raises(InputError, match="dtype int64"):
        mask_of([1, 0], (4, 2))
