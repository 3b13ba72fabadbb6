"""Feature maps are what the layers gave, and probabilities what the estimator says."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import ModuleClassifier, ModuleRegressor
from ftheta.explain import activations, feature_maps

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
    model = ModuleRegressor(module=net(), epochs=1, random_state=0).fit(X, X.mean((1, 2, 3)))
    found = feature_maps(model, X)
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
