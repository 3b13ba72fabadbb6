"""The first layer's outputs along directions: the same losses as plain passes, and only where it may stand in."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ftheta import explain
from ftheta.data import Batch
from ftheta.explain import _sweep
from ftheta.explain._first_layer import first_layer
from ftheta.explain._theta import Theta

X = torch.randn(40, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
Y = torch.randint(3, (40,), generator=torch.Generator().manual_seed(1))
LOSS = nn.CrossEntropyLoss(reduction="none")


def net(*layers, seed=0):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = nn.Sequential(nn.Linear(6, 5), *layers, nn.Linear(5, 3)).double()
        for p in made.parameters():
            nn.init.normal_(p)
    return made


def found(module):
    theta = Theta(module, X, Y, LOSS, None, "landscape")
    with torch.no_grad():
        return first_layer(theta, theta.flat(), torch.ones(2, theta.size, dtype=torch.float64), [theta.batch])


class Twice(nn.Module):
    """Uses its first layer again."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.b(self.a(torch.tanh(self.a(x))))


class Behind(nn.Module):
    """Uses the first layer's weight again behind its back."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.b(F.linear(torch.tanh(self.a(x)), self.a.weight))


@pytest.mark.parametrize("middle", [nn.Tanh(), nn.ReLU(inplace=True), nn.BatchNorm1d(5)])
@pytest.mark.parametrize("batches", [0, 3])
def test_a_landscape_with_it_is_the_landscape_without(monkeypatch, middle, batches):
    module = net(middle)
    monkeypatch.setattr(_sweep, "LEAST", 10**9)  # one point at a time
    asked = {"loss": LOSS, "points": 5, "batches": batches, "seed": 3}
    quick = explain.landscape(module, X, Y, **asked)
    monkeypatch.setattr(_sweep, "first_layer", lambda *given: None)
    plain = explain.landscape(module, X, Y, **asked)
    np.testing.assert_allclose(quick.loss, plain.loss, rtol=1e-10)
    assert "forward" not in vars(module[0]) and np.ptp(plain.loss) > 0.1


def test_it_stands_in_for_a_first_affine_layer_with_or_without_bias():
    assert found(net(nn.Tanh())).size == 35
    bare = nn.Sequential(nn.Linear(6, 5, bias=False), nn.ReLU(), nn.Linear(5, 3)).double()
    assert found(bare).size == 30


@pytest.mark.parametrize(
    "module",
    [
        nn.Sequential(nn.Tanh(), nn.Linear(6, 3)),
        nn.Sequential(nn.LayerNorm(6), nn.Linear(6, 3)),
        Twice(),
    ],
    ids=["another first", "a norm first", "used twice"],
)
def test_it_does_not_where_the_layer_is_not_first_or_not_called_once(module):
    assert found(module.double()) is None


def test_a_weight_that_is_used_elsewhere_is_noticed_by_the_losses(monkeypatch):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = Behind().double()
    assert found(module) is not None
    monkeypatch.setattr(_sweep, "LEAST", 10**9)
    quick = explain.landscape(module, X, Y, loss=LOSS, points=5)
    monkeypatch.setattr(_sweep, "first_layer", lambda *given: None)
    np.testing.assert_array_equal(quick.loss, explain.landscape(module, X, Y, loss=LOSS, points=5).loss)


def test_its_place_is_given_back_after_an_error():
    first = found(net(nn.Tanh()))
    with pytest.raises(KeyboardInterrupt), first.standing_in():
        raise KeyboardInterrupt
    assert "forward" not in vars(first.layer) and Batch(X).n == 40
