"""Deep networks on rows: plain ones are MLPs, residual ones start as the identity; scales and seeds."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta.nn import MLP
from ftheta.studies.convolution._deep import deep, digits, fit, judged, two_spirals


def test_a_plain_network_is_an_mlp_of_the_same_depth():
    net, mlp = deep(3, 2, 4, 5, sigma="tanh"), MLP(3, 2, (5,) * 4, activation="tanh")
    mlp.load_state_dict(dict(zip(mlp.state_dict(), net.state_dict().values(), strict=True)))
    x = torch.randn(6, 3)
    torch.testing.assert_close(net(x), mlp(x))
    assert len(net) == 5  # four layers and the output


def test_residual_blocks_are_the_identity_at_the_start_and_have_the_parameters_of_plain_ones():
    net, plain = deep(2, 2, 6, 7, residual=True), deep(2, 2, 6, 7)
    x = torch.randn(5, 2)
    first = net[0](x)
    assert torch.equal(net[:-1](x), first) and not torch.equal(plain[:-1](x), plain[0](x))
    assert [p.shape for p in net.parameters()] == [p.shape for p in plain.parameters()]
    assert torch.equal(net[0].weight, plain[0].weight) and torch.equal(net[-1][-1].weight, plain[-1][-1].weight)


def test_a_norm_stands_before_every_activation():
    net = deep(2, 2, 3, 4, normed="batch")
    assert all(map(isinstance, net[1], (nn.BatchNorm1d, nn.ReLU, nn.Linear))) and len(net[1]) == 3
    assert sum(isinstance(layer, nn.BatchNorm1d) for layer in net.modules()) == 3


def test_weights_are_those_that_the_activation_asks_for_times_a_scale():
    one, two = deep(200, 200, 2, 200), deep(200, 200, 2, 200, scale=2.0)
    assert one[0].weight.std().item() == pytest.approx((2 / 200) ** 0.5, rel=0.02)  # He
    assert torch.equal(two[1][-1].weight, 2 * one[1][-1].weight) and not torch.equal(
        one[0].weight, deep(200, 200, 2, 200, seed=1)[0].weight
    )


def test_spirals_have_two_arms_of_mean_square_two():
    x, y = two_spirals(20_000, 0)
    assert x.square().sum(1).mean().item() == pytest.approx(2, rel=0.02) and y.unique().tolist() == [0, 1]
    assert x.norm(dim=1).max() <= 6**0.5 + 1e-5
    assert torch.equal(two_spirals(50, 3)[0], two_spirals(50, 3)[0])


def test_digits_are_split_without_overlap():
    (x, y), (other, rest) = digits(700, 1)
    assert len(y) == 700 and len(rest) == 1097 and x.min() == 0 and x.max() == 1
    whole, _ = digits(1797, 0)
    assert torch.cat([x, other]).sum().item() == pytest.approx(whole[0].sum().item())
    assert not torch.equal(y, digits(700, 2)[0][1])


def test_fit_gives_a_loss_an_epoch_and_judged_agrees_with_the_definition():
    rows = two_spirals(40, 0)
    net = deep(2, 2, 2, 8)
    with torch.no_grad():
        first = nn.functional.cross_entropy(net(rows[0]), rows[1]).item()
    losses = fit(net, rows, rule="adam", lr=0.01, epochs=5, batch=40, seed=0)
    assert losses.shape == (5,) and losses[0] == pytest.approx(first) and losses[-1] < losses[0]
    loss, accuracy = judged(net, rows)
    with torch.no_grad():
        raw = net(rows[0])
    assert loss == pytest.approx(nn.functional.cross_entropy(raw, rows[1]).item())
    assert accuracy == pytest.approx((raw.argmax(1) == rows[1]).float().mean().item())


def test_a_history_ends_where_the_loss_is_no_longer_finite():
    losses = fit(deep(2, 2, 8, 8), two_spirals(40, 0), rule="sgd", lr=1e6, epochs=20, batch=20, seed=0)
    assert len(losses) < 20 and np.isfinite(losses).all()
