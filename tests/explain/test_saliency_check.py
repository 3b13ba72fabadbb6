"""The sanity check: what depends on the weights falls, what does not stays at 1."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import nn

from ftheta.explain import saliency, saliency_check

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 1, 8, 8)).astype(np.float32)


def deep():
    torch.manual_seed(0)
    net = nn.Sequential()
    for name, layer in {
        "conv1": nn.Conv2d(1, 8, 3),
        "act1": nn.ReLU(),
        "conv2": nn.utils.parametrizations.weight_norm(nn.Conv2d(8, 8, 3, bias=False)),
        "act2": nn.ReLU(),
        "flatten": nn.Flatten(),
        "output": nn.Linear(128, 3),
    }.items():
        net.add_module(name, layer)
    return net


def edges(module, x):
    """A map that looks like an explanation and does not ask the module."""
    x = x[:, 0].numpy()
    return np.abs(np.gradient(x, axis=1)) + np.abs(np.gradient(x, axis=2))


@pytest.mark.parametrize("method", ["gradient", "integrated", "smoothgrad", "occlusion"])
def test_maps_of_a_net_fall_as_its_layers_are_randomised_from_the_output_down(method):
    found = saliency_check(deep(), X, method=method)
    assert found.names == ("output", "conv2", "conv1") and found.passes
    assert np.abs(found.correlation[-1]) < 0.4 and (found.correlation < 0.9).all()
    np.testing.assert_allclose(found.maps[0], saliency(deep(), X[:1], method=method).maps[0], rtol=1e-4, atol=1e-6)


def test_an_edge_detector_does_not_pass():
    found = saliency_check(deep(), X, method=edges)
    assert found.correlation.tolist() == pytest.approx([1, 1, 1]) and not found.passes
    assert found.method == "edges" and "hardly depends on the weights" in found.caption


def test_it_is_the_rank_correlation_of_a_net_with_other_weights():
    """With one layer, all maps after are those of the noise that replaces its weights; |w| keeps its size."""
    seen = []

    def weights(module, x):
        seen.append(module[0].weight.detach().clone())
        return np.broadcast_to(seen[-1][0, 0].numpy(), (len(x), 8, 8))

    net = nn.Sequential(nn.Conv2d(1, 1, 8), nn.Flatten())
    found = saliency_check(net, X, method=weights)
    before, after = (w.flatten().numpy() for w in seen)
    assert found.correlation[0] == pytest.approx(spearmanr(before, after).statistic)
    assert found.absolute[0] == pytest.approx(spearmanr(abs(before), abs(after)).statistic)
    assert found.spread[0] == pytest.approx(0, abs=1e-12)
    assert 0.7 < np.linalg.norm(after) / np.linalg.norm(before) < 1.4
    again, other = (saliency_check(net, X, method=weights, random_state=seed).correlation[0] for seed in (0, 1))
    assert again == found.correlation[0] != other


def test_what_multiplies_by_the_picture_keeps_the_picture():
    """Integrated gradients are 0 where the picture is: their size is known without the net, their sign is not."""
    x = np.where(RNG.uniform(size=X.shape) < 0.3, 1.0, 0.0).astype(np.float32)
    found = saliency_check(deep(), x, method="integrated")
    assert found.absolute[-1] > 0.7 and found.correlation[-1] < 0.4


def test_a_map_without_content_has_nothing_in_common_with_any():
    found = saliency_check(deep(), X, method=lambda module, x: np.zeros((len(x), 8, 8)))
    assert found.correlation.tolist() == [0, 0, 0] and found.method == "<lambda>"


def test_the_first_rows_are_taken_and_the_net_is_left_alone():
    net, many = deep(), np.concatenate([X] * 4)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    found = saliency_check(net, many)
    np.testing.assert_allclose(found.correlation, saliency_check(net, many[:16]).correlation)
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())
