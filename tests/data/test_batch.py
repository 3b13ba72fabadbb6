"""The pair (Σ w l, Σ w), against sums written out, and rows of whatever x is."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ftheta.data import Batch, rows, take
from ftheta.errors import InputError


def test_without_weights_every_entry_counts_once():
    total, weight = Batch(torch.zeros(4, 2)).sum(torch.arange(12.0).reshape(4, 3))
    assert total.item() == 66.0
    assert weight == 12.0 and isinstance(weight, float)  # a float: nothing on a device to wait for


@given(st.lists(st.sampled_from([(), (3,), (3, 2)]), min_size=2, max_size=2), st.integers(0, 99))
def test_weights_spread_over_the_axes_on_their_right(tails, seed):
    rng = np.random.default_rng(seed)
    short, long = sorted(tails, key=len)
    each, weight = rng.normal(size=(5, *long)), rng.uniform(size=(5, *short))
    spread = np.broadcast_to(weight.reshape(weight.shape + (1,) * (each.ndim - weight.ndim)), each.shape)
    total, count = Batch(torch.zeros(5), weight=torch.from_numpy(weight)).sum(torch.from_numpy(each))
    np.testing.assert_allclose(total, (spread * each).sum(), atol=1e-12)
    np.testing.assert_allclose(count, spread.sum())


def test_a_row_of_weight_two_is_that_row_twice_with_its_gradient():
    each = torch.tensor([1.0, 3.0, 5.0], requires_grad=True)
    weighted, w = Batch(each, weight=torch.tensor([2.0, 1.0, 0.0])).sum(each)
    copied, n = Batch(each).sum(each[[0, 0, 1]])
    assert weighted.item() == copied.item() == 5.0 and float(w) == n == 3.0
    (gradient,) = torch.autograd.grad(weighted, each)
    assert gradient.tolist() == [2.0, 1.0, 0.0]


def test_weights_of_another_precision_follow_the_loss():
    total, weight = Batch(torch.zeros(2), weight=torch.ones(2, dtype=torch.float64)).sum(torch.ones(2))
    assert total.dtype == weight.dtype == torch.float32


@pytest.mark.parametrize("loss", [torch.tensor(0.3), torch.tensor([0.3])])
def test_one_number_for_the_batch_is_refused(loss):
    with pytest.raises(InputError, match=r"one number for the batch.*reduction='none' \(shape \(200,\)\)"):
        Batch(torch.zeros(200, 3)).sum(loss)


def test_one_row_may_have_one_number():
    assert Batch(torch.zeros(1, 3)).sum(torch.tensor([0.5]))[1] == 1.0


@pytest.mark.parametrize("weight", [torch.ones(4), torch.ones(5, 3), torch.ones(5, 2, 1)])
def test_weights_that_do_not_fit_the_loss_are_refused(weight):
    with pytest.raises(InputError, match=r"the loss has shape \(5, 2\) but the weights have"):
        Batch(torch.zeros(5), weight=weight).sum(torch.zeros(5, 2))


@pytest.mark.parametrize(
    "x",
    [
        torch.zeros(3, 2),
        ["a", "bb", "c"],
        {"a": torch.zeros(3), "b": torch.zeros(3, 4)},
        (torch.zeros(3), [1, 2, 3]),
        ({"a": torch.zeros(3)},),
    ],
)
def test_a_batch_knows_its_rows(x):
    assert Batch(x).n == rows(x) == 3
    assert rows(take(x, torch.tensor([2, 0]))) == 2
    assert rows(take(x, slice(1, 2))) == 1


def test_take_picks_the_rows_asked_for_in_their_order():
    x = {"t": torch.tensor([10, 11, 12]), "l": ["a", "b", "c"], "p": (torch.tensor([5, 6, 7]), None)}
    got = take(x, torch.tensor([2, 0]))
    assert got["t"].tolist() == [12, 10] and got["l"] == ["c", "a"]
    assert got["p"][0].tolist() == [7, 5] and got["p"][1] is None
