"""Multiply-adds by layer, against direct counts."""

import pytest
import torch
from torch import nn

from ftheta.nn import ConvNet, multiply_adds


def test_a_convolution_counts_every_place_and_a_dense_layer_every_weight():
    found = multiply_adds(ConvNet((1, 28, 28), 10), (1, 28, 28))
    assert found == {"conv1": 26 * 26 * 32 * 9, "conv2": 11 * 11 * 64 * 32 * 9, "output": 1600 * 10}


@pytest.mark.parametrize(
    ("layer", "shape", "count"),
    [
        (nn.Conv2d(4, 8, 3, stride=2, groups=2), (4, 9, 9), 4 * 4 * 8 * 2 * 9),
        (nn.ConvTranspose2d(4, 6, 2, stride=2), (4, 5, 5), 25 * 4 * 6 * 4),
        (nn.Conv1d(2, 3, 5, dilation=2), (2, 20), 12 * 3 * 2 * 5),
        (nn.GRU(3, 4, batch_first=True), (7, 3), 7 * (12 * 3 + 12 * 4)),
    ],
)
def test_other_layers_count_by_their_formula(layer, shape, count):
    assert sum(multiply_adds(nn.Sequential(layer), shape).values()) == count


def test_a_layer_that_is_called_twice_counts_twice_and_the_module_is_left_alone():
    shared = nn.Linear(3, 3)
    both = nn.Sequential(shared, nn.ReLU(), shared).double().train()
    assert multiply_adds(both, (3,)) == {"0": 18}
    assert both.training and shared.weight.device.type == "cpu" and not shared._forward_hooks
    assert torch.isfinite(shared.weight).all()
