"""Looking leaves no trace: neither in the module nor in the rows, and also not after an error."""

import random

import numpy as np
import pytest
import torch
from torch import nn

from ftheta.data import Batch
from ftheta.errors import InputError
from ftheta.explain._probe import batch_of, calls, first_tensor, forward, layers_of, untouched


class Counting(nn.Module):
    """Replaces one buffer and writes into another in every pass, in any mode."""

    def __init__(self):
        super().__init__()
        self.register_buffer("passes", torch.zeros(()))
        self.register_buffer("last", torch.zeros(2))

    def forward(self, x):
        self.passes += 1
        self.last = x[0]
        return x + torch.rand_like(x) + random.random() + np.random.rand()


def test_modes_buffers_and_generators_go_back_after_an_error():
    net = nn.Sequential(Counting(), nn.Dropout(), nn.BatchNorm1d(2))
    net[1].eval()
    last, before = net[0].last, (torch.get_rng_state(), np.random.get_state()[1], random.getstate())
    with pytest.raises(ZeroDivisionError), untouched(net, training=True):
        assert net[1].training
        net(torch.ones(3, 2))
        assert net[0].passes == 1 and net[2].num_batches_tracked == 1 and net[2].running_mean.abs().sum() > 0
        _ = 1 / 0
    assert [part.training for part in net] == [True, False, True]
    assert net[0].passes == 0 and net[0].last is last and not last.any()
    assert net[2].num_batches_tracked == 0 and not net[2].running_mean.any()
    after = torch.get_rng_state(), np.random.get_state()[1], random.getstate()
    assert torch.equal(before[0], after[0]) and np.array_equal(before[1], after[1]) and before[2] == after[2]


def test_a_backward_pass_that_waits_outside_still_works():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).eval()
    loss = net(torch.randn(4, 2)).sum()  # holds the buffers of BatchNorm
    with untouched(net):
        net(torch.randn(4, 2))
    loss.backward()


def test_hooks_go_away_after_an_error():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    with pytest.raises(ZeroDivisionError), calls(net):
        assert all(part._forward_hooks for part in net)
        _ = 1 / 0
    assert not any(part._forward_hooks for part in net)


def test_layers_are_what_has_parameters_or_no_parts():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.scale = nn.Sequential(nn.Linear(2, 2), nn.Tanh()), nn.Parameter(torch.ones(2))

    net = nn.Sequential(Block(), nn.utils.parametrizations.spectral_norm(nn.Linear(2, 1, bias=False)))
    names = [name for name, _ in layers_of(net) if "parametrizations" not in name]
    assert names == ["0", "0.inner.0", "0.inner.1", "1"]
    assert [name for name, _ in layers_of(nn.Linear(1, 1))] == ["Linear"]


def test_the_first_tensor_is_found_in_any_nest():
    x, y = torch.zeros(1), torch.ones(1)
    assert first_tensor(x) is x and first_tensor((x, (y,))) is x and first_tensor([None, {"a": (), "b": y}]) is y
    assert first_tensor("text") is None and first_tensor(None) is None and first_tensor(3.0) is None
    packed = nn.utils.rnn.pack_sequence([torch.ones(2, 3), torch.ones(1, 3)])
    assert first_tensor(packed).shape == (3, 3)


def test_rows_for_a_plain_module_are_copies_in_its_dtype():
    net, array, tensor = nn.Linear(2, 1).double(), np.zeros((3, 2), np.float32), torch.zeros(3, 2)
    array.setflags(write=False)
    same = torch.zeros(3, 2, dtype=torch.double)
    for x in (array, tensor, same, same.numpy(), [[0.0, 0.0]] * 3):
        batch = batch_of(net, x, [0, 1, 2])
        assert batch.x.dtype == torch.double and batch.y.dtype == torch.long
        batch.x.add_(1)
    assert not array.any() and not tensor.any() and not same.any()
    nested = batch_of(net, {"a": array, "b": (array, np.arange(3))}).x
    assert nested["b"][0].dtype == torch.double and nested["b"][1].dtype == torch.long


@pytest.mark.parametrize("net", [nn.Linear(3, 1), nn.BatchNorm2d(3), nn.Embedding(3, 1), nn.Bilinear(2, 2, 1)])
def test_a_pass_that_fails_says_on_what(net):
    with pytest.raises(
        InputError, match=rf"^{type(net).__name__} failed on 4 rows of shape \(2,\) and torch\.float32: \w"
    ):
        forward(net, Batch(torch.full((4, 2), 7.0)))
