"""Jacobians three ways: each against autograd row by row, the right way for each kind of net, in chunks of any size."""

import pytest
import torch
from torch import nn

from ftheta.data import Batch
from ftheta.likelihoods import Gaussian
from ftheta.train import Supervised, _jacobian
from ftheta.train._jacobian import Jacobians
from tests.train._toys import seeded


class Twice(nn.Module):
    """A layer that is used twice, and a parameter that is in no layer."""

    def __init__(self):
        super().__init__()
        self.layer, self.gain = nn.Linear(3, 3), nn.Parameter(torch.tensor(0.7))

    def forward(self, x):
        return self.gain * self.layer(torch.tanh(self.layer(x)))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(torch.tanh(self.layer(x)))


class Centred(nn.Module):
    """Rows that see one another before the only layer: its slopes are theirs all the same."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        return self.layer(torch.tanh(x - x.mean(0)))


class Picture(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.out = nn.Conv1d(1, 2, 2), nn.Linear(4, 2)

    def forward(self, x):
        return self.out(torch.tanh(self.conv(x[:, None])).flatten(1))


def mlp():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def norm():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))


def noisy():
    return nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))


def noisy_picture():
    return nn.Sequential(Picture(), nn.Dropout(0.5))


KINDS = {
    mlp: "by_layers",
    Tied: "by_layers",
    noisy: "by_layers",
    Twice: "by_rows",
    Picture: "by_rows",
    Centred: "by_layers",
    norm: "of_batch",
    noisy_picture: "of_batch",
}


def jacobians(net, parameters=None):
    objective = Supervised(net, Gaussian())
    return Jacobians(objective, parameters or list(net.parameters()), lambda micro: torch.manual_seed(micro))


def batch(n=7, weight=None):
    return Batch(torch.randn(n, 3, generator=torch.Generator().manual_seed(1)).double(), weight=weight)


def one_by_one(found, batches):
    """Every output of every row by a backward pass of its own."""
    rows = []
    for micro, part in enumerate(batches):
        found.prepare(micro)
        out = found.objective("raw", part)
        for value in out.flatten():
            slopes = torch.autograd.grad(value, found.parameters, retain_graph=True, materialize_grads=True)
            rows.append(torch.cat([s.flatten() for s in slopes]))
    return torch.stack(rows)


@pytest.mark.parametrize("chunk", [2**26, 1, 500])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_way_fits_the_net_and_gives_the_slope_of_every_output_of_every_row(kind, chunk, monkeypatch):
    monkeypatch.setattr(_jacobian, "CHUNK", chunk)
    found, batches = jacobians(seeded(kind).double()), [batch(7), batch(5)]
    parts = [(out.clone(), jacobian, weight) for out, jacobian, weight in found("raw", batches)]
    assert found.ways == {"raw": KINDS[kind]}
    width = parts[0][0].shape[1]
    expected = one_by_one(found, batches).view(12, width, -1)
    torch.testing.assert_close(torch.cat([j for _, j, _ in parts]), expected, rtol=1e-10, atol=1e-12)
    assert all(weight is None for *_, weight in parts)
    assert len(parts) == 2 if chunk == 2**26 else len(parts) > 2


@pytest.mark.parametrize("weight", [torch.tensor([1.0, 2, 0.5]), torch.tensor([[1.0, 0], [2, 1], [0.5, 3]])])
def test_tokens_have_a_jacobian_and_a_weight_each(weight):
    net, x = seeded(mlp).double(), torch.randn(3, 2, 3).double()
    found = jacobians(net)
    ((out, jacobian, w),) = found("raw", [Batch(x, weight=weight)])
    assert found.ways == {"raw": "by_layers"}
    torch.testing.assert_close(out, net(x).flatten(0, 1).detach())
    assert jacobian.shape == (6, 2, 26)
    expected = one_by_one(jacobians(net), [Batch(x)]).view(6, 2, -1)
    torch.testing.assert_close(jacobian, expected, rtol=1e-10, atol=1e-12)
    assert w.tolist() == weight.reshape(3, -1).expand(3, 2).flatten().tolist()
