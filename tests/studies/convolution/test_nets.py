"""Networks and images of the studies of convolution."""

from functools import partial

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from ftheta.nn import MLP
from ftheta.studies import Measured
from ftheta.studies.convolution import depth, rates_norm
from ftheta.studies.convolution._nets import deep, digits, fit, images, loss_and_accuracy, shuffled, two_spirals


def test_images_are_all_digits_with_their_labels_in_a_new_order_for_each_seed():
    truth = {image.tobytes(): label for image, label in zip(load_digits().images, load_digits().target, strict=True)}
    x, y = shuffled("digits", 3)
    pixels = np.round(x[:, 0].double().numpy() * 16)
    assert x.shape == (1797, 1, 8, 8) and x.max() == 1 and {image.tobytes() for image in pixels} == set(truth)
    assert [truth[image.tobytes()] for image in pixels] == y.tolist()
    assert not torch.equal(x, shuffled("digits", 1)[0]) and torch.equal(x, shuffled("digits", 3)[0])


@pytest.mark.parametrize("split", [partial(images, "digits"), digits])
def test_training_and_test_images_share_none(split):
    (x, y), (new, z) = split(1000, 0)
    assert (len(y), len(z)) == (1000, 797) and len(torch.cat([x, new]).unique(dim=0)) == 1797
    assert not torch.equal(y, split(1000, 1)[0][1])


def test_a_rim_is_dark_and_moving_loses_nothing():
    still, _ = shuffled("digits", 0, border=3)
    moved, _ = shuffled("digits", 0, border=3, shifted=True)
    assert still.shape == moved.shape == (1797, 1, 14, 14)
    assert still[..., :3, :].sum() == still[..., -3:].sum() == 0
    assert torch.equal(still[..., 3:-3, 3:-3], shuffled("digits", 0)[0])
    torch.testing.assert_close(still.sum((1, 2, 3)), moved.sum((1, 2, 3)))
    for axes in ((1, 3), (1, 2)):  # a digit begins at all seven places of both axes
        first = [(x.sum(axes) > 0).float().argmax(1) for x in (still, moved)]
        assert (first[1] - first[0]).unique().tolist() == list(range(-3, 4))


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
    assert torch.equal(two[1][-1].weight, 2 * one[1][-1].weight)
    assert not torch.equal(one[0].weight, deep(200, 200, 2, 200, seed=1)[0].weight)


def test_fit_gives_a_loss_an_epoch_and_evaluation_agrees_with_the_definition():
    rows = two_spirals(40, 0)
    net = deep(2, 2, 2, 8)
    with torch.no_grad():
        first = nn.functional.cross_entropy(net(rows[0]), rows[1]).item()
    losses = fit(net, rows, rule="adam", lr=0.01, epochs=5, batch=40, seed=0)
    assert losses.shape == (5,) and losses[0] == pytest.approx(first) and losses[-1] < losses[0]
    loss, accuracy = loss_and_accuracy(net, rows)
    with torch.no_grad():
        raw = net(rows[0])
    assert loss == pytest.approx(nn.functional.cross_entropy(raw, rows[1]).item())
    assert accuracy == pytest.approx((raw.argmax(1) == rows[1]).float().mean().item())


def test_a_history_ends_where_the_loss_is_no_longer_finite():
    losses = fit(deep(2, 2, 8, 8), two_spirals(40, 0), rule="sgd", lr=1e6, epochs=20, batch=20, seed=0)
    assert len(losses) < 20 and np.isfinite(losses).all()


def test_the_accuracy_of_a_depth_is_that_of_the_images_that_are_left(monkeypatch):
    monkeypatch.setattr(depth, "trained", lambda make, rows, **options: make())
    monkeypatch.setattr(depth, "accuracy", lambda net, rows: len(rows[1]) / 1000)
    assert depth.measure(0, 1, rows=1000)["test accuracy (%)"] == pytest.approx(79.7)


def test_networks_are_compared_at_the_rate_of_the_least_training_loss():
    """The first rate is best without batch norm, the second with it; at the others all is the other way round."""
    seeds, axes = np.array([0.0, 0.01, 0.02]), {"norm": ["none", "batch"], "scale": [1.0], "lr": [0.1, 1.0]}
    found = {
        "training accuracy": [[0.95, 0.2], [0.95, 0.95]],
        "training loss": [[0.2, 0.5], [0.4, 0.1]],
        "test loss": [[0.6, 0.5], [0.9, 0.3]],
        "test accuracy": [[0.8, 0.95], [0.5, 0.9]],
    }
    jitter = {"training loss": -seeds}  # so that gaps differ between seeds
    arrays = {name: np.array(v)[:, None, :, None] + jitter.get(name, seeds) for name, v in found.items()}
    assert [check.holds for check in rates_norm.three(Measured(arrays, axes))] == [True] * 4
