"""Asking machines and generators: seeds where they are taken, no trace, rows as pictures, good sentences."""

import numpy as np
import pytest
import torch
from sklearn.neural_network import BernoulliRBM

from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.explain._machines import (
    aside,
    ask,
    fitted,
    shape_of,
    some_rows,
    whole_numbers,
)
from ftheta.models.energy.rbm_net import RBM

HERE = Draw(3)


class Shift:
    """A machine that turns a row by a place a step."""

    def gibbs(self, X, steps=1):
        return np.roll(X, steps, axis=1)


class ShiftOnce:
    """The same, a step at a time."""

    def gibbs(self, X):
        return np.roll(X, 1, axis=1)


def test_a_seed_is_given_as_it_is_taken():
    assert ask(lambda n, random_state: random_state, 1, draw=HERE) == HERE.key() % 2**31
    drawn = ask(lambda n, generator=None: torch.rand(n, generator=generator), 2, draw=HERE)
    assert torch.equal(drawn, torch.rand(2, generator=HERE.generator())) and not drawn.requires_grad
    assert ask(lambda n: n, 5, draw=HERE) == 5
    weight = torch.ones(2, requires_grad=True)
    assert not ask(lambda: weight * 2, draw=HERE).requires_grad


def test_a_module_goes_back_to_its_mode():
    machine = RBM(4, 3).train()
    with aside(machine) as other:
        assert other is machine and not machine.training
    assert machine.training


def test_what_is_fitted():
    machine = BernoulliRBM(2, n_iter=1)
    assert not fitted(machine) and fitted(machine.fit(np.eye(4))) and fitted(Shift())


def test_rows_are_evenly_spaced_copies():
    x = np.arange(40.0).reshape(10, 2, 2)
    rows, row = some_rows(x, 4)
    np.testing.assert_array_equal(rows, x.reshape(10, 4)[::3])
    assert row == (2, 2) and len(some_rows(x)[0]) == 10 and len(some_rows(torch.tensor(x), 10)[0]) == 10
    rows[:] = 0
    assert x.any()
    with pytest.raises(InputError, match=r"X has shape \(3,\); rows \(n, V\) or pictures"):
        some_rows(np.ones(3))
    with pytest.raises(InputError, match=r"X holds nan at \[1, 0\]"):
        some_rows([[0.0], [np.nan]])


def test_a_row_is_a_picture_of_the_given_shape_of_its_own_or_a_square():
    class Knows:
        image_shape = (2, 8)

    assert shape_of(Shift(), (8, 2), (16,)) == (8, 2) and shape_of(Shift(), None, (1, 4, 4)) == (1, 4, 4)
    assert shape_of(Knows(), None, (16,)) == (2, 8) and shape_of(Shift(), None, (16,)) == (4, 4)
    assert shape_of(Shift(), None, (6,)) == (1, 6)
    for wrong in ((3, 5), (16,)):
        with pytest.raises(InputError, match=r"does not hold rows of 16 numbers; pass \(height, width\) of that size"):
            shape_of(Shift(), wrong, (16,))


def test_whole_numbers_are_sorted_or_refused():
    assert whole_numbers("steps", (10, np.int64(1)), 0) == (1, 10)
    with pytest.raises(InputError, match=r"rows=\(0, 3\); different whole numbers from 1 to 8 are needed"):
        whole_numbers("rows", (0, 3), 1, 8)
    for wrong in ((), (1, 1), (0.5,), (-1,)):
        with pytest.raises(InputError, match=r"different whole numbers of at least 0 are needed"):
            whole_numbers("steps", wrong, 0)
