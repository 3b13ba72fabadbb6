"""Rows filled in: what is removed, what is put there, and errors beside those of the mean image."""

from itertools import product

import numpy as np
import pytest
import torch

from ftheta.errors import InputError, InputTypeError
from ftheta.explain import filled_in
from ftheta.nn import RBM

RNG = np.random.default_rng(0)
X = RNG.random((6, 4, 3))


class Memory:
    """Gives the stored row with which the most known pixels agree; `fill_in` is told what is missing."""

    asked = []

    def fill_in(self, X, missing, steps):
        self.asked.append((missing.copy(), steps, X[:, missing].any()))
        rows = ROWS
        return rows[np.abs(X[:, None] - rows)[..., ~missing].sum(2).argmin(1)]


ROWS = X.reshape(6, 12)


class Constant:
    """A machine without clamps: a step brings every unit nearer to 1 by half, known ones too."""

    def gibbs(self, X, steps):
        for _ in range(steps):
            X = (X + 1) / 2
        return X


@pytest.mark.parametrize("where", ["top", "bottom"])
def test_the_machine_is_told_what_is_missing_and_does_not_see_it(where):
    Memory.asked.clear()
    found = filled_in(Memory(), X, (1, 2), (1, 7), where=where)
    gone = np.zeros((2, 4, 3), dtype=bool)
    for part, k in zip(gone, (1, 2), strict=True):
        part[slice(k) if where == "top" else slice(4 - k, None)] = True
    np.testing.assert_array_equal(found.missing.reshape(2, 4, 3), gone)
    assert [(m.tolist(), s, seen) for m, s, seen in Memory.asked] == [
        (gone[r].ravel().tolist(), s, False) for r, s in product(range(2), (1, 7))
    ]
    assert not found.error.any() and np.array_equal(found.filled, np.broadcast_to(ROWS, (2, 2, 6, 12)))
    assert found.table().columns["better than it"] == [1.0] * 4


def test_known_pixels_are_put_back_after_every_step():
    found = filled_in(Constant(), X, (2,), (1, 3), where="top")
    for made, value in zip(found.filled[0].reshape(2, 6, 4, 3), (0.5, 0.875), strict=True):
        assert (made[:, :2] == value).all() and np.array_equal(made[:, 2:], X[:, 2:])


def test_errors_are_of_missing_pixels_and_the_mean_image_is_of_the_others():
    found = filled_in(Constant(), X, (1, 3), (1, 2))
    for (r, k), (s, value), i in product(enumerate((1, 3)), enumerate((0.5, 0.75)), range(6)):
        lost = X[i, 4 - k :]
        assert found.error[r, s, i] == pytest.approx(np.abs(value - lost).mean())
        mean = np.mean([x[4 - k :] for j, x in enumerate(X) if j != i], axis=0)
        assert found.mean_error[r, i] == pytest.approx(np.abs(mean - lost).mean())
    columns = found.table().columns
    assert columns["rows removed (bottom)"] == [1, 1, 3, 3] and columns["steps"] == [1, 2, 1, 2]
    np.testing.assert_allclose(columns["error"], found.error.mean(2).ravel())
    np.testing.assert_allclose(columns["error of the mean image"], found.mean_error.mean(1).repeat(2))
    np.testing.assert_allclose(columns["better than it"], (found.error < found.mean_error[:, None]).mean(2).ravel())


def test_the_mean_image_is_of_all_rows_though_few_are_filled_in():
    found = filled_in(Constant(), X, (1,), (1,), n=2)
    np.testing.assert_array_equal(found.truth, ROWS[::3])
    mean = (X.sum(0) - X[3]) / 5
    assert found.mean_error[0, 1] == pytest.approx(np.abs(mean - X[3])[3:].mean())


class Free(RBM):
    """Without `clamp`: only rows and steps."""

    def gibbs(self, v, steps=1, generator=None):
        return super().gibbs(v, steps, generator)


@pytest.mark.parametrize("kind", [RBM, Free])
def test_long_chains_have_the_conditional_distribution_of_the_machine(kind):
    """p(v3, v4 | v1 = 1, v2 = 0) by adding up the states, with clamps and with pixels put back."""
    net, n = kind(4, 3), 2000
    w = torch.tensor([[2.0, -1.5, 0.5, 1.0], [-1.0, 1.0, 2.0, -0.5], [0.5, 1.5, -1.0, -2.0]])
    b, c = torch.tensor([-0.5, 0.5, 0.0, 1.0]), torch.tensor([0.5, -1.0, 0.0])
    for p, value in zip((net.weight, net.visible_bias, net.hidden_bias), (w, b, c), strict=True):
        p.data.copy_(value)
    found = filled_in(net, np.tile([1.0, 0.0, 1.0, 1.0], (n, 1)), (1,), (20,), n=n)
    ends = np.array(list(product((0.0, 1.0), repeat=2)))
    rows = [torch.tensor([1.0, 0.0, *end], dtype=torch.float32) for end in ends]
    p = np.array([sum(np.exp(float(v @ b + h @ c + h @ w @ v)) for h in HIDDEN) for v in rows])
    p /= p.sum()
    seen = np.array([(found.filled[0, 0, :, 2:] == end).all(1).mean() for end in ends])
    assert (np.abs(seen - p) < 4 * np.sqrt(p * (1 - p) / n)).all()
    assert (found.filled[0, 0, :, :2] == [1.0, 0.0]).all()


HIDDEN = [torch.tensor(h) for h in product((0.0, 1.0), repeat=3)]


def test_default_rows_are_those_of_28_in_proportion():
    assert filled_in(Constant(), np.zeros((2, 28, 28)), steps=(1,)).rows.tolist() == [5, 10, 15, 20]
    assert filled_in(Constant(), np.zeros((2, 64)), steps=(1,)).rows.tolist() == [1, 3, 4, 6]
    assert filled_in(Constant(), np.zeros((2, 1, 1)), steps=(1,)).rows.tolist() == [1]


def test_columns_are_removed_from_rows_that_are_no_pictures():
    found = filled_in(Constant(), np.eye(6), (2,), (1,))
    assert found.shape == (1, 6) and found.missing.tolist() == [[False] * 4 + [True] * 2] and found.figure()


def test_channels_lose_the_same_rows():
    found = filled_in(Constant(), np.zeros((2, 3, 4, 2)), (1,), (1,))
    missing = found.missing.reshape(3, 4, 2)
    assert missing[:, 3].all() and not missing[:, :3].any() and found.figure()


def test_one_picture_alone_has_no_mean_image():
    found = filled_in(Constant(), X[:1], (1,), (1, 2))
    columns = found.table().columns
    assert columns["error of the mean image"] == columns["better than it"] == [None, None]
    assert "mean image" not in found.alt and found.figure()


def test_the_seed_decides():
    net, x = RBM(12, 3), ROWS
    first, again, other = (filled_in(net, x, (2,), (1, 5), shape=(4, 3), random_state=s).filled for s in (0, 0, 1))
    np.testing.assert_array_equal(again, first)
    assert (other != first).any()


def test_what_cannot_be_filled_in_is_said():
    with pytest.raises(
        InputTypeError,
        match=r"object has no gibbs; filled_in needs a fitted machine with gibbs\(X, steps\) or one with fill_in",
    ):
        filled_in(object(), X)
    with pytest.raises(InputError, match=r"end: 'botom'.*bottom"):
        filled_in(Constant(), X, where="botom")
    with pytest.raises(InputError, match=r"rows=\(5,\); different whole numbers from 1 to 4 are needed"):
        filled_in(Constant(), X, (5,))
    with pytest.raises(InputError, match=r"steps=\(0,\); different whole numbers of at least 1 are needed"):
        filled_in(Constant(), X, (1,), (0,))
