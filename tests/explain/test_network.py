"""Dense networks from widths, modules and estimators: shapes, counts, and masks that dropout really draws."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import MLPClassifier, explain
from ftheta.draw import Draw
from ftheta.errors import InputTypeError
from ftheta.explain import network
from ftheta.nn import MLP


def above(found):
    """The words above the weights."""
    return [text.get_text() for text in found.figure().axes[0].texts]


@pytest.mark.ledger("C073", "A174", covers="ftheta.explain.network")
@pytest.mark.parametrize(("inputs", "parameters"), [(3, 43), (1, 35)])
def test_the_network_of_the_notes_from_its_widths(inputs, parameters):
    """Hidden layers 4-2-3 and 2 outputs: every layer named with its width, every β and Ω with its shape."""
    widths = [inputs, 4, 2, 3, 2]
    found = network(widths)
    net = MLP(inputs, 2, (4, 2, 3))
    assert sum(found.parameters) == parameters == sum(p.numel() for p in net.parameters())
    assert above(found) == [f"Ω₀: 4 × {inputs}\nβ₀: 4", "Ω₁: 2 × 4\nβ₁: 2", "Ω₂: 3 × 2\nβ₂: 3", "Ω₃: 2 × 3\nβ₃: 2"]
    (axes,) = found.figure().axes
    names = [label.get_text().split("\n") for label in axes.get_xticklabels()]
    assert names == [["input", str(inputs)], ["hidden 1", "4"], ["hidden 2", "2"], ["hidden 3", "3"], ["output", "2"]]
    assert len(axes.lines[0].get_xydata()) == 3 * sum(a * b for a, b in zip(widths, widths[1:], strict=False))
    assert axes.get_title() == f"Network, {parameters} parameters"
    assert found.table().caption == f"{parameters} parameters."


def test_the_table_has_a_line_for_each_layer():
    assert network(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2, bias=False))).table().columns == {
        "layer": ["input", "hidden 1", "output"],
        "units": [3, 4, 2],
        "Ω": ["", "4 × 3", "2 × 4"],
        "β": ["", "4", "none"],
        "parameters": [0, 16, 8],
    }


CHAINS = {
    "one layer": nn.Linear(5, 2),
    "nested": nn.Sequential(nn.Flatten(), nn.Sequential(nn.Linear(5, 3), nn.ReLU()), nn.Dropout(0.5), nn.Linear(3, 2)),
    "without bias": nn.Sequential(nn.Linear(5, 3, bias=False), nn.Linear(3, 2)),
    "ours": MLP(5, 2, (3, 3), dropout=0.2),
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_has_as_many_parameters_as_the_module(name):
    found = network(CHAINS[name])
    assert sum(found.parameters) == sum(p.numel() for p in CHAINS[name].parameters())
    assert (found.widths[0], found.widths[-1]) == (5, 2) and "network" in explain.available(CHAINS[name])
    assert len(above(found)) == len(found.parameters)


def test_an_estimator_shows_its_net():
    model = MLPClassifier(hidden=(5, 4), epochs=1, random_state=0).fit(np.eye(6), [0, 1, 2] * 2)
    assert explain.run("network", model, np.eye(6)).widths == (6, 5, 4, 3)
    with pytest.raises(InputTypeError, match=r"^MLPClassifier has no module_; network needs an nn\.Module or a fitted"):
        network(MLPClassifier())
    with pytest.raises(InputTypeError, match=r"^str has no module_"):
        network("34")


@pytest.mark.ledger("A164", covers="ftheta.explain.network")
def test_the_thinned_network_is_drawn_from_a_mask_that_dropout_draws():
    found = network([6, 9, 7, 2], dropped=0.5, random_state=1)
    net = nn.Sequential(nn.Dropout(0.5), nn.Dropout(0.5))
    with Draw(1).at("dropout").scope():
        silent = [(layer(torch.ones(n)) == 0).numpy() for layer, n in zip(net, (9, 7), strict=True)]
    np.testing.assert_equal(list(found.dropped), silent)
    full, thin = found.figure().axes
    crossed = {x: int(sum((line.get_xdata() == x).sum() for line in thin.lines if line.get_marker() == "x"))
               for x in (0, 1, 2, 3)}  # fmt: skip
    assert crossed == {0: 0, 1: silent[0].sum(), 2: silent[1].sum(), 3: 0} and 0 < crossed[1] < 9
    kept = [6, 9 - crossed[1], 7 - crossed[2], 2]
    joined = [len(axes.lines[0].get_xydata()) / 3 for axes in (full, thin)]
    assert joined == [6 * 9 + 9 * 7 + 7 * 2, sum(a * b for a, b in zip(kept, kept[1:], strict=False))]
    assert found.table().columns["units kept"] == kept
    inside = sum(p.numel() for p in MLP(6, 2, kept[1:3]).parameters())
    assert found.table().caption == f"{6 * 9 + 9 + 9 * 7 + 7 + 7 * 2 + 2} parameters, {inside} in the thinned network."


def test_masks_can_be_given():
    mask = np.array([True, False, False])
    assert network([2, 3, 1], dropped=[mask]).kept == [2, 2, 1]
