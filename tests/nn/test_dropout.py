"""Dropout from shared draws: its frequencies, its independence, its mean, its gradient."""

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from ftheta.nn import Dropout


def masks(p, n=64, rows=20_000, seed=0):
    torch.manual_seed(seed)
    return (Dropout(p)(torch.ones(rows, n)) != 0).numpy()


@pytest.mark.parametrize("p", [0.1, 0.25, 0.5, 0.9, 0.003])
def test_every_place_is_silent_with_probability_p(p):
    kept = masks(p)
    total = kept.size
    assert abs((~kept).sum() - p * total) < 4.5 * np.sqrt(p * (1 - p) * total)
    for lane in range(4):  # four numbers share a draw
        part = ~kept[:, lane::4]
        assert abs(part.sum() - p * part.size) < 4.5 * np.sqrt(p * (1 - p) * part.size)


def test_numbers_of_one_draw_are_independent():
    kept = masks(0.5, n=4, rows=160_000)
    assert stats.chisquare(np.bincount(kept @ [1, 2, 4, 8], minlength=16)).pvalue > 1e-4
    for shift in range(1, 9):  # and so are neighbours of other draws
        flat = kept.ravel()
        assert abs((flat[shift:] == flat[:-shift]).mean() - 0.5) < 4.5 * 0.5 / np.sqrt(flat.size)


@pytest.mark.parametrize("p", [0.1, 0.5, 1 / 3])
def test_the_scale_keeps_the_mean_exactly_for_the_p_that_is_taken(p):
    torch.manual_seed(0)
    y = Dropout(p)(torch.ones(4000, dtype=torch.float64))
    taken = round(p * 32768) / 32768
    assert set(y.tolist()) == {0.0, 1 / (1 - taken)} and abs(taken - p) < 2e-5


def test_the_gradient_is_the_mask_and_evaluation_is_the_identity():
    torch.manual_seed(0)
    layer, x = Dropout(0.4), torch.randn(7, 5, 3, dtype=torch.float64, requires_grad=True)
    y = layer(x)
    (slope,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(slope * x, y)
    assert layer.eval()(x) is x or torch.equal(layer(x), x)


def test_none_and_all_are_as_torch_has_them():
    x = torch.randn(50)
    assert torch.equal(Dropout(0.0)(x), x) and torch.equal(Dropout(1.0)(x), torch.zeros(50))
    assert isinstance(Dropout(0.2), nn.Dropout) and repr(Dropout(0.2)) == "Dropout(p=0.2, inplace=False)"
