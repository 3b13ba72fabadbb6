"""Initial weights: their moments against the equations."""

import math

import pytest
from torch import nn

from ftheta.errors import InputError
from ftheta.nn import initialize

LAYERS = {  # layer, connections into and out of a unit
    "linear": (lambda: nn.Linear(300, 500), 300, 500),
    "conv2d": (lambda: nn.Conv2d(20, 40, (3, 5)), 20 * 15, 40 * 15),
    "grouped": (lambda: nn.Conv2d(40, 80, 3, groups=4), 10 * 9, 20 * 9),
    "transposed": (lambda: nn.ConvTranspose2d(20, 40, (3, 5)), 20 * 15, 40 * 15),
    "conv1d": (lambda: nn.Conv1d(50, 100, 7), 50 * 7, 100 * 7),
}


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize(
    ("scheme", "variance"),
    [
        ("lecun", lambda i, o: 1 / i),
        ("glorot", lambda i, o: 2 / (i + o)),
        ("he", lambda i, o: 2 / i),
        ("normal", lambda i, o: 0.3**2),
    ],
)
def test_weights_are_gaussian_with_the_variance_of_the_scheme(kind, scheme, variance):
    make, n_in, n_out = LAYERS[kind]
    layer = make()
    initialize(layer, scheme, sigma=0.3)
    w = layer.weight.detach().flatten()
    z = w / math.sqrt(variance(n_in, n_out))
    spread = 5 / math.sqrt(w.numel())
    assert z.mean().item() == pytest.approx(0, abs=spread)
    assert z.square().mean().item() == pytest.approx(1, abs=spread * math.sqrt(2))
    assert (z.abs() < 1).float().mean().item() == pytest.approx(0.6827, abs=spread)  # a uniform draw has 0.577
    assert not layer.bias.any()


def test_zeros_are_zeros_and_other_layers_keep_theirs():
    net = nn.Sequential(nn.Linear(3, 4, bias=False), nn.BatchNorm1d(4), nn.Embedding(5, 4))
    before = net[2].weight.clone()
    initialize(net, "zeros")
    assert not net[0].weight.any()
    assert (net[1].weight == 1).all() and net[2].weight.equal(before)


def test_an_unknown_scheme_is_answered_with_the_nearest():
    with pytest.raises(InputError, match=r"Unknown initializer 'glorott'.*[Dd]id you mean 'glorot'"):
        initialize(nn.Linear(2, 2), "glorott")


@pytest.mark.parametrize("sigma", [0.0, -1.0, float("nan")])
def test_a_sigma_that_is_not_positive_is_named(sigma):
    with pytest.raises(InputError, match=r"sigma of initialize"):
        initialize(nn.Linear(2, 2), "normal", sigma)
