"""Feature maps and filters: planted kernels, machines, probabilities."""

import numpy as np
import pytest
import torch
from scipy import ndimage
from sklearn.datasets import load_digits
from sklearn.neural_network import BernoulliRBM
from torch import nn

from ftheta import ModuleClassifier, ModuleRegressor
from ftheta.errors import InputError, InputTypeError
from ftheta.explain import activations, available, feature_maps, filters, samples
from ftheta.formulas import edge_kernels
from ftheta.models import DeepBoltzmannMachine, RestrictedBoltzmannMachine
from ftheta.models.energy.rbm_net import RBM

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 1, 8, 8)).astype(np.float32)


def net(outputs=1):
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 3, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Sequential(nn.Conv2d(3, 5, 2), nn.Tanh())]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(20, outputs))


@pytest.mark.ledger("A199", covers="ftheta.explain.feature_maps")
def test_a_picture_its_maps_after_each_layer_and_the_probability_of_a_binary_net():
    y = np.array(["no", "yes"] * 6)
    model = ModuleClassifier(module=net(), epochs=1, random_state=0).fit(X, y)
    found = feature_maps(model, X, row=4)
    seen = activations(model, X[4:5], keep=True).values
    assert list(found.maps) == ["0", "1", "2", "3.0", "3.1"]
    for name, made in found.maps.items():
        np.testing.assert_array_equal(made, seen[name][0])
    np.testing.assert_array_equal(found.x, X[4])
    np.testing.assert_allclose(found.probabilities, model.predict_proba(X[4:5])[0], rtol=1e-5)
    assert found.names == ("no", "yes") and found.output.shape == (1,)
    axes = found.figure().axes
    assert len(axes) == 7 and [bar.get_height() for bar in axes[-1].patches] == pytest.approx(found.probabilities)
    assert axes[-1].get_ylabel() == "probability" and axes[1].get_ylabel() == "0\n3 × 6 × 6"


def test_raw_outputs_of_a_module_are_taken_as_logits_unless_they_are_probabilities():
    four, one = net(4), net(1)
    raw = four(torch.tensor(X[:1]))
    np.testing.assert_allclose(feature_maps(four, X).probabilities, raw.softmax(1).detach()[0], rtol=1e-5)
    np.testing.assert_allclose(
        feature_maps(nn.Sequential(four, nn.Softmax(1)), X).probabilities, raw.softmax(1).detach()[0]
    )
    p = one(torch.tensor(X[:1])).sigmoid().item()
    np.testing.assert_allclose(feature_maps(one, X).probabilities, [1 - p, p], rtol=1e-5)


def test_a_regressor_has_raw_outputs_and_a_net_of_maps_has_no_bars():
    found = feature_maps(ModuleRegressor(module=net(), epochs=1, random_state=0).fit(X, X.mean((1, 2, 3))), X)
    assert found.probabilities is None and found.figure().axes[-1].get_ylabel() == "raw output"
    maps = feature_maps(nn.Sequential(nn.Conv2d(1, 2, 3)), X)
    assert maps.probabilities is None and maps.output.shape == (2, 6, 6) and len(maps.figure().axes) == 2


def test_one_number_a_row_is_one_output_and_weights_in_another_form_are_no_maps():
    class Mean(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.utils.parametrizations.weight_norm(nn.Conv2d(1, 2, 3))

        def forward(self, x):
            return self.conv(x).mean((1, 2, 3))  # (B,)

    found = feature_maps(Mean(), X)
    assert list(found.maps) == ["conv"] and found.maps["conv"].shape == (2, 6, 6)
    assert found.output.shape == (1,) and found.names == ("0", "1")


def test_layers_can_be_chosen_also_parts_made_of_layers():
    chosen = feature_maps(net(), X, ["3", "0"])
    assert list(chosen.maps) == ["0", "3"]
    np.testing.assert_array_equal(chosen.maps["3"], feature_maps(net(), X).maps["3.1"])
    shared = nn.Conv2d(1, 1, 1)
    assert list(feature_maps(nn.Sequential(shared, shared), X).maps) == ["0[1]", "0[2]"]


def test_the_table_counts_silent_maps():
    silent = nn.Conv2d(1, 3, 1)
    with torch.no_grad():
        silent.weight.copy_(torch.tensor([1.0, 0.0, 2.0]).reshape(3, 1, 1, 1))
        silent.bias.zero_()
    columns = feature_maps(nn.Sequential(silent, nn.ReLU()), np.abs(X)).table().columns
    assert columns["silent"] == [1, 1] and columns["strongest map"] == [2, 2] and columns["size"] == ["8 x 8"] * 2
    assert columns["its maximum"][0] == pytest.approx(2 * np.abs(X[0]).max())


RNG2 = np.random.default_rng(0)


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
    np.testing.assert_allclose(found.table().columns["cosine"], [-1, 1, 1, -1], atol=1e-6)


def test_cosines_are_those_of_the_mean_over_input_channels():
    kernels = RNG2.normal(size=(5, 4, 3, 3))
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
        assert "nearest" not in found.table().columns and "no classical kernels of this size" in found.caption
        assert found.figure().axes[0].get_title() == f"Filters of {layer}"
        assert len(filters(net, layer, X=np.zeros((1, 1, 6, 6))).figure().axes) == 4  # colours of the weights are one


def test_a_picture_smaller_than_the_window_has_no_responses():
    found = filters(nn.Conv2d(1, 2, 5, padding=2), X=np.zeros((1, 1, 3, 3)))
    assert len(found.responses) == len(found.classical_responses) == 0 and found.figure()


def test_a_kernel_of_zeros_is_near_to_none():
    assert not filters(with_kernels(np.zeros((1, 1, 3, 3)))).cosine.any()


class Stack:
    """A deep machine of one's own."""

    def __init__(self, *weights):
        self.weights = weights

    def gibbs(self, X, steps):
        return X


def test_units_of_a_machine_are_pictures_of_their_weights():
    machine = RBM(12, 5)
    found = filters(machine, shape=(4, 3))
    np.testing.assert_array_equal(found.kernels[:, 0], machine.weight.detach().numpy().reshape(5, 4, 3))
    assert found.layer == "hidden 1" and not found.deeper and not found.names and np.isnan(found.chance)
    assert set(found.table().columns) == {"layer", "filter", "norm", "sum", "inputs"}
    np.testing.assert_allclose(found.table().columns["sum"], machine.weight.detach().sum(1), rtol=1e-5)
    assert filters(machine, X=np.zeros((2, 2, 6))).kernels.shape == (5, 1, 2, 6)
    assert filters(RBM(16, 2), X=np.zeros((2, 16))).kernels.shape == (2, 1, 4, 4)
    assert filters(RBM(12, 2), shape=(3, 2, 2)).kernels.shape == (2, 3, 2, 2)


def test_layers_above_are_projected_through_those_below():
    first, second, third = (RNG2.normal(size=size) for size in ((5, 9), (4, 5), (2, 4)))
    found = filters(Stack(first, second, third))
    np.testing.assert_array_equal(found.kernels.reshape(5, 9), first)
    by_hand = np.array([[sum(second[k, j] * first[j, i] for j in range(5)) for i in range(9)] for k in range(4)])
    np.testing.assert_allclose(found.deeper["hidden 2"].reshape(4, 9), by_hand)
    np.testing.assert_allclose(found.deeper["hidden 3"].reshape(2, 9), third @ by_hand)
    columns = found.table().columns
    assert columns["layer"] == ["hidden 1"] * 5 + ["hidden 2"] * 4 + ["hidden 3"] * 2
    assert columns["filter"] == [*range(5), *range(4), *range(2)]
    assert [axes.get_title() for axes in found.figure().axes[:3]] == [f"Filters of hidden {k}" for k in (1, 2, 3)]
    alone = filters(Stack(first, second, third), "hidden 2")
    np.testing.assert_array_equal(alone.kernels, found.deeper["hidden 2"])
    assert alone.layer == "hidden 2" and not alone.deeper and list(alone.inputs) == ["hidden 2"]


def test_inputs_count_the_pixels_or_units_that_are_weighed():
    first = np.zeros((4, 9))
    first[0, 3], first[1, 2:5], first[2, :2] = -2.0, [0.5, -0.5, 0.5], [1.0, 3.0]
    found = filters(Stack(first, np.array([[1.0, -1.0, 0.0, 0.0], [2.0, 2.0, 2.0, -2.0]])))
    np.testing.assert_allclose(found.inputs["hidden 1"], [1, 3, 100 / 82, 0])
    np.testing.assert_allclose(found.inputs["hidden 2"], [2, 4])
    assert "of hidden 1 (4 units) 1.1, of hidden 2 (2 units) 3.0" in found.caption


def test_a_machine_is_known_by_its_chains_and_weights():
    peer = BernoulliRBM(3, n_iter=1, random_state=0)
    assert "filters" not in available(peer)
    np.testing.assert_array_equal(filters(peer.fit(np.eye(4))).kernels.reshape(3, 4), peer.components_)
    assert "filters" in available(peer) and "filters" in available(RBM(4, 2))
    assert "filters" not in available(nn.Linear(4, 2))  # weights alone are none

    coupled = np.ones((4, 4)) - np.eye(4)  # every unit with every other: no layers
    assert "filters" not in available(Stack(coupled))

    class Chain:
        def gibbs(self, X, steps):
            return X

    assert "filters" not in available(Chain())
    with pytest.raises(InputTypeError, match=r"Chain has no convolution; filters needs .* or a machine with weights"):
        filters(Chain())
    with pytest.raises(InputError, match=r"layer 'hidden 2'.*hidden 1"):
        filters(RBM(4, 2), "hidden 2")
    with pytest.raises(InputError, match=r"shape=\(3, 3\) does not hold rows of 4 numbers"):
        filters(RBM(4, 2), shape=(3, 3))


@pytest.mark.middle
@pytest.mark.ledger("B135", covers="ftheta.explain.filters")
def test_filters_and_samples_of_both_machines_are_grids_of_pictures():
    """Units of a first layer weigh some of the pixels, as the RBM's do; those of the second combine several of them."""
    digits = (load_digits().data > 7.5).astype(float)
    knobs = {"epochs": 10, "batch_size": 50, "random_state": 0}
    flat = RestrictedBoltzmannMachine(n_hidden=36, method="cd", lr=0.3, **knobs).fit(digits)
    deep = DeepBoltzmannMachine(hidden=(36, 20), greedy=15, greedy_lr=0.2, lr=0.05, **knobs).fit(digits)
    one, two = filters(flat), filters(deep)
    assert one.kernels.shape == two.kernels.shape == (36, 1, 8, 8) and not one.deeper
    first, second = (w.detach().numpy() for w in deep.module_.weights)
    np.testing.assert_array_equal(two.kernels.reshape(36, 64), first)
    np.testing.assert_allclose(two.deeper["hidden 2"].reshape(20, 64), second @ first, atol=1e-5)
    for found in (one, two):
        assert 5 < np.median(found.inputs["hidden 1"]) < 45  # of 64 pixels: parts, not the whole
    assert 3 < np.median(two.inputs["hidden 2"]) < 36
    for model in (flat, deep):
        drawn = samples(model, digits)
        assert drawn.rows.shape == (64, 64) and drawn.shape == (8, 8)
        assert set(np.unique(drawn.rows)) == {0.0, 1.0}
        mean, uniform = digits.mean(0), np.full(64, 0.5)
        assert np.abs(drawn.rows.mean(0) - mean).mean() < 0.6 * np.abs(uniform - mean).mean()  # noise: 1
    assert [axes.get_title() for axes in two.figure().axes[:2]] == ["Filters of hidden 1", "Filters of hidden 2"]
