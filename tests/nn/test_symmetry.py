"""Shifts, flips and turns against NumPy."""

import numpy as np
import pytest
import torch

from ftheta.errors import InputError
from ftheta.nn import Flip, Shift, Turn

X = torch.arange(24.0).reshape(1, 4, 6)


@pytest.mark.parametrize("by", [1, -2, (1, 0), (-1, 3), (5, -7)])
def test_a_circular_shift_is_a_roll(by):
    axes = (-1,) if isinstance(by, int) else (-2, -1)
    np.testing.assert_array_equal(Shift(by)(X), np.roll(X, by, axes))
    np.testing.assert_array_equal(Shift(np.int64(2))(X), Shift(2)(X))


@pytest.mark.parametrize("by", [2, -2, (1, 0), (-1, 3), (4, 0), (0, 9), (-5, 0)])
def test_zeros_come_in_at_the_side_that_a_shift_leaves(by):
    rows, columns = (0, by) if isinstance(by, int) else by
    truth = np.zeros((1, 4, 6))
    for i, j in np.ndindex(4, 6):
        if 0 <= i + rows < 4 and 0 <= j + columns < 6:
            truth[0, i + rows, j + columns] = X[0, i, j]
    np.testing.assert_array_equal(Shift(by, "zeros")(X), truth)
    assert X.sum() == 276  # as it was


def test_flips_and_turns():
    np.testing.assert_array_equal(Flip(-2)(X), X.numpy()[:, ::-1])
    np.testing.assert_array_equal(Turn(3)(X), np.rot90(X, 3, (1, 2)))
    assert [str(t) for t in (Flip(), Flip(-2), Flip(1), Turn(2))] == [
        *("flip left-right", "flip top-bottom", "flip axis 1", "turn 180°")
    ]
    assert [str(Shift(*s)) for s in [(1,), ((1, 0),), (2, "zeros")]] == ["shift 1", "shift (1, 0)", "shift 2, zeros"]


def test_a_shift_on_a_coarser_map_is_smaller_or_none():
    assert Shift((4, 6), "zeros").on([2, 3]) == Shift((2, 2), "zeros") and Shift(4).on([8, 2]) == Shift((2,))
    assert Shift((4, 5)).on([2, 2]) is None and Shift(1).on([0.5]) == Shift((2,))


def test_an_unknown_fill_is_refused():
    with pytest.raises(InputError, match=r"fill 'zero'.*zeros"):
        Shift(1, "zero")
