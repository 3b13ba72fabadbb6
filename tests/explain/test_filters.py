"""Filters beside classical kernels: what is near to what, and what both make of a picture."""

import numpy as np
import pytest
import torch
from scipy import ndimage
from sklearn.datasets import load_digits
from torch import nn

from ftheta import ModuleClassifier
from ftheta.errors import InputError, InputTypeError
from ftheta.explain import filters
from ftheta.formulas import edge_kernels

RNG = np.random.default_rng(0)


def with_kernels(kernels):
    net = nn.Conv2d(kernels.shape[1], len(kernels), kernels.shape[2:])
    with torch.no_grad():
        net.weight.copy_(torch.tensor(kernels))
    return net


def test_planted_kernels_are_recognised_up_to_sign_and_size():
    known = edge_kernels(3)
    planted = {"Sobel y": -0.1, "Laplace": 3.0, "mean": 2.0, "Sobel ↗": -1.0}
    found = filters(with_kernels(np.stack([factor * known[name] for name, factor in planted.items()])[:, None]))
    assert found.nearest == tuple(planted) and found.names == tuple(known) and found.layer == "Conv2d"
    cosine = found.table().columns["cosine"]
    np.testing.assert_allclose(cosine, [-1, 1, 1, -1], atol=1e-6)


def test_cosines_are_those_of_the_mean_over_input_channels():
    kernels = RNG.normal(size=(5, 4, 3, 3))
    found = filters(with_kernels(kernels))
    mine, sobel = kernels.mean(1).reshape(5, -1), edge_kernels(3)["Sobel x"].ravel()
    expected = mine @ sobel / np.linalg.norm(mine, axis=1) / np.linalg.norm(sobel)
    np.testing.assert_allclose(found.cosine[:, found.names.index("Sobel x")], expected, rtol=1e-5)
    assert found.kernels.shape == (5, 4, 3, 3)
    np.testing.assert_allclose(found.table().columns["norm"], np.linalg.norm(kernels.reshape(5, -1), axis=1), rtol=1e-5)


def test_chance_is_what_random_kernels_reach():
    found = filters(with_kernels(np.random.default_rng(7).normal(size=(3000, 1, 3, 3))))
    assert found.chance == pytest.approx(np.median(np.abs(found.cosine).max(1)), abs=0.02)


@pytest.mark.ledger("B096", covers="ftheta.explain.filters")
def test_classical_and_learned_kernels_filter_a_picture_side_by_side():
    """Responses are SciPy's correlation where the window fits, and both kinds are in one figure."""
    digits = load_digits()
    digit = digits.images[:1, None] / 16
    net = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten(), nn.Linear(216, 10))
    trained = ModuleClassifier(module=net, epochs=1, dtype="float64", random_state=0)
    trained.fit(digits.images[:200, None] / 16, digits.target[:200])
    found = filters(trained, X=digit)
    np.testing.assert_array_equal(found.kernels, trained.module_[0].weight.detach())
    inner = (slice(1, -1), slice(1, -1))
    for kernel, made in zip(
        [*found.kernels[:, 0], *found.classical], [*found.responses, *found.classical_responses], strict=True
    ):
        np.testing.assert_allclose(made, ndimage.correlate(digit[0, 0], kernel)[inner], atol=1e-12)
    assert found.layer == "0" and found.picture.shape == (1, 8, 8)
    titles = [axes.get_title() for axes in found.figure().axes]
    for title in ("Filters of 0", "Classical kernels of this size", "What they make of the picture", "The picture"):
        assert title in titles


def test_a_layer_can_be_chosen_and_sizes_without_classical_kernels_have_none():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Conv2d(2, 3, 4), nn.Conv2d(3, 1, (1, 3)))
    assert filters(net).layer == "0" and filters(net, "1").kernels.shape == (3, 2, 4, 4)
    for layer in ("1", "2"):
        found = filters(net, layer)
        assert found.names == found.nearest == () and np.isnan(found.chance) and found.cosine.shape[1] == 0
        assert "nearest" not in found.table().columns and "no classical kernels of this size" in found.alt
        assert found.figure().axes[0].get_title() == f"Filters of {layer}"
        assert len(filters(net, layer, X=np.zeros((1, 1, 6, 6))).figure().axes) == 4  # colours of the weights are one


def test_signals_have_filters_too():
    net = nn.Conv1d(1, 2, 3)
    with torch.no_grad():
        net.weight.copy_(torch.tensor([[[-1.0, 0.0, 1.0]], [[2.0, -4.0, 2.0]]]))
    found = filters(net, X=np.arange(6.0).reshape(1, 1, 6) ** 2)
    assert found.nearest == ("slope", "curvature")
    np.testing.assert_allclose(found.responses, [[4, 8, 12, 16], [4, 4, 4, 4]])
    assert found.figure()


def test_a_picture_smaller_than_the_window_has_no_responses():
    padded = nn.Conv2d(1, 2, 5, padding=2)
    found = filters(padded, X=np.zeros((1, 1, 3, 3)))
    assert len(found.responses) == len(found.classical_responses) == 0 and found.figure()


def test_a_kernel_of_zeros_is_near_to_none():
    assert not filters(with_kernels(np.zeros((1, 1, 3, 3)))).cosine.any()


def test_what_is_no_convolution_gets_a_sentence():
    net = nn.Sequential(nn.Conv2d(1, 1, 3), nn.ReLU())
    with pytest.raises(InputError, match=r"1 is a ReLU; filters needs a convolution: 0"):
        filters(net, "1")
    with pytest.raises(InputError, match=r"0 has no weights before its net has seen rows; run the net once"):
        filters(nn.Sequential(nn.LazyConv2d(2, 3)))
    with pytest.raises(InputTypeError, match=r"Linear has no convolution; filters needs a net with an nn.Conv1d"):
        filters(nn.Linear(2, 2))
