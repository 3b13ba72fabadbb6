"""Networks drawn, written out, and followed as graphs."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import MLPClassifier, MLPRegressor, explain
from ftheta.draw import Draw
from ftheta.errors import InputTypeError
from ftheta.explain import diagram, expression, network
from ftheta.nn import MLP, ConvNet, DenseBlock, UNet, residual_block


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
    assert network([2, 3, 1], dropped=[np.array([True, False, False])]).kept == [2, 2, 1]


# ---- expression


def seeded(make):
    with Draw(0).scope():
        return make().double()


def read(found, row):
    """The text as Python itself evaluates it."""
    names = {**found.values, **found.functions, **{f"x_{j + 1}": v for j, v in enumerate(row)}}
    return [eval(line.partition(" = ")[2], {"__builtins__": {}}, names) for line in found.text().splitlines()]


@pytest.mark.ledger("A175", covers="ftheta.explain.expression")
def test_both_outputs_of_a_2_1_2_network_are_written_out_and_evaluate_to_the_forward_pass():
    net = seeded(lambda: nn.Sequential(nn.Linear(2, 1), nn.Sigmoid(), nn.Linear(1, 2), nn.Tanh()))
    found, rows = expression(net), torch.tensor([[0.3, -1.2], [2.0, 0.5]]).double()
    hidden = "sigmoid(b1_1 + w1_1_1*x_1 + w1_1_2*x_2)"
    assert found.text() == f"y_1 = tanh(b2_1 + w2_1_1*{hidden})\ny_2 = tanh(b2_2 + w2_2_1*{hidden})"
    truth = net(rows).detach().numpy()
    np.testing.assert_allclose([read(found, row) for row in rows.tolist()], truth, rtol=1e-12)
    np.testing.assert_allclose(found.evaluate(rows), truth, rtol=1e-12)
    np.testing.assert_allclose(found.values["w1_1_2"], net[0].weight[0, 1].item())
    assert found.latex().count("&=") == 2 and r"w_{1 1 2} x_{2}" in found.latex()


NETS = {
    "one layer": lambda: nn.Linear(3, 2),
    "two affine maps in a row": lambda: nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1, bias=False)),
    "deep": lambda: MLP(2, 2, (3, 2), activation=("tanh", "gelu"), dropout=0.3),
    "two slopes": lambda: nn.Sequential(nn.Linear(1, 2), nn.LeakyReLU(0.1), nn.Linear(2, 2), nn.LeakyReLU(0.5)),
    "the same twice": lambda: nn.Sequential(nn.Linear(1, 2), nn.ELU(), nn.Linear(2, 1), nn.ELU()),
}


@pytest.mark.parametrize("name", NETS)
def test_the_text_is_the_forward_pass(name):
    net = seeded(NETS[name]).eval()
    rows = torch.linspace(-2, 2, 3 * len(expression(net).outputs) * 3).double()[: 3 * next(net.parameters()).shape[1]]
    rows = rows.view(3, -1)
    found, truth = expression(net), net(rows).detach().numpy()
    np.testing.assert_allclose([read(found, row) for row in rows.tolist()], truth, rtol=1e-10)
    np.testing.assert_allclose(found.evaluate(rows), truth, rtol=1e-10)
    assert found.widths[0] == rows.shape[1] and len(found.outputs) == found.widths[-1]


def test_numbers_stand_in_the_places_of_the_names():
    net = nn.Linear(1, 1)
    nn.init.constant_(net.weight, 2.5)
    nn.init.constant_(net.bias, -0.25)
    assert expression(net).numbers() == "y_1 = 2.5*x_1 - 0.25"
    nn.init.constant_(net.weight, 0.123456)
    assert expression(net).numbers(2) == "y_1 = 0.12*x_1 - 0.25"


def test_an_estimator_is_written_in_the_units_that_its_net_sees():
    X = np.linspace(-1, 1, 12)[:, None]
    model = MLPRegressor(hidden=(2,), epochs=1, dtype="float64", random_state=0).fit(X, X[:, 0])
    truth = model.module_(torch.from_numpy(X)).detach().numpy()
    np.testing.assert_allclose(expression(model).evaluate(X), truth, rtol=1e-10)


# ---- diagram


def drawn(found):
    return [text.get_text() for text in found.figure().axes[0].texts if text.get_text()]


@pytest.mark.ledger("A373", covers="ftheta.explain.diagram")
@pytest.mark.parametrize("filters", [(4, 8), (4, 8, 16), (2, 4, 8, 16)])
def test_a_u_net_is_a_u_with_channels_sizes_and_skips(filters):
    full = diagram(UNet((1, 32, 48), 3, filters), input_shape=(1, 32, 48))
    found = full.blocks()
    deep = len(filters) - 1
    levels = [node.level for node in found.nodes]
    assert levels[:2] == [0, 0] and levels[1 : deep + 2] == list(range(deep + 1)) and levels[-1] == 0
    assert levels[deep + 1 :] == sorted(levels[deep + 1 :], reverse=True)  # down, then up
    down = {node.level: node.shape for node in found.nodes[1 : deep + 2]}
    assert down == {k: (filters[k], 32 // 2**k, 48 // 2**k) for k in range(deep + 1)}
    assert len(found.skips) == len(full.skips) == deep
    for a, b in found.skips:
        assert found.nodes[b].kinds[0] == "concat" and found.nodes[a].level == found.nodes[b].level
    for a, b in full.skips:
        assert full.nodes[b].name == "concat" and full.nodes[b].shape[0] == 2 * full.nodes[a].shape[0]
    said = drawn(full)
    assert all(any("×".join(map(str, shape)) in words for words in said) for shape in down.values())
    assert sum(words.startswith("concat") for words in said) == deep


@pytest.mark.ledger("C211", covers="ftheta.explain.diagram")
def test_a_residual_block_shows_its_layers_and_the_skip_over_them_and_runs():
    block = residual_block(8, 8, order="pre", zero_last=False)
    x = torch.randn(5, 8, 16, 16)
    found = diagram(block, x)
    kinds = ["BatchNorm2d", "ReLU", "Conv2d 3×3"]
    assert [node.kinds[0] for node in found.nodes[1:-1]] == kinds * 2
    assert found.skips == [(0, 7)] and found.nodes[7].name == "+" and found.nodes[7].sources == (0, 6)
    assert drawn(found) == [f"{word}\n8×16×16" for word in ("input", *kinds, *kinds, "+")]
    assert block(x).shape == x.shape
    torch.testing.assert_close(block(x), x + block.branch(x))


def test_a_strided_block_projects_its_shortcut_and_a_gate_multiplies():
    found = diagram(residual_block(4, 8, stride=2, squeeze=2), input_shape=(4, 12, 12))
    assert [node.name for node in found.nodes if not node.kinds] == ["input", "×", "+"]
    names = [node.name for node in found.nodes]
    shortcut = names.index("shortcut.conv")
    assert found.nodes[shortcut].sources == (0,) and found.nodes[shortcut].kinds == ("Conv2d 1×1 /2",)
    assert found.nodes[shortcut].level == 1 and (0, shortcut) in found.skips
    gate = found.nodes[names.index("×")]
    assert gate.sources == (names.index("branch.norm2"), names.index("branch.squeeze.gate.3"))


def test_dense_blocks_concatenate_all_that_came_before():
    found = diagram(DenseBlock(3, 4, 3), input_shape=(3, 8, 8))
    assert [node.shape[0] for node in found.nodes if node.name == "concat"] == [7, 11, 15]
    assert found.skips == [(0, 4), (4, 8), (8, 12)]


def test_a_plain_chain_has_no_skips_and_a_line_for_each_layer():
    found = diagram(ConvNet((1, 28, 28), 10), input_shape=(1, 28, 28))
    assert found.skips == [] and found.title == "ConvNet, 34,826 parameters"
    columns = found.table().columns
    assert columns["layer"][:4] == ["input", "conv1", "pool1", "act1"] and columns["output"][1] == "32 × 26 × 26"
    assert columns["inputs"] == ["", *map(str, range(len(found.nodes) - 1))]
    assert columns["level"][-1] == max(columns["level"]) == 2
    assert "edges past other nodes: 0" in found.table().caption


def test_a_layer_that_runs_twice_is_drawn_twice_and_one_that_does_nothing_not_at_all():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.drop, self.act = nn.Conv1d(1, 1, 3, padding=1), nn.Dropout(0.5), nn.ReLU(inplace=True)

        def forward(self, x):
            return self.act(self.conv(self.drop(self.conv(x)))) + x

    found = diagram(Twice(), X=np.ones((3, 1, 9)))
    assert [node.name for node in found.nodes] == ["input", "conv", "conv", "act", "+"]
    assert found.nodes[4].sources == (0, 3) and found.nodes[1].kinds == ("Conv1d 3",)


class Add(nn.Module):
    def forward(self, a, b):
        return a + b


class Joined(nn.Module):
    """A sum that is a layer, and a factor of the net's own."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.add = nn.Conv2d(1, 2, 3, padding=1), nn.Conv2d(2, 2, 3, padding=1), Add()
        self.factor = nn.Parameter(torch.ones(()))

    def forward(self, x):
        h = self.a(x)
        return self.factor * self.add(h, self.b(h))


def test_a_join_that_is_a_layer_has_all_its_sources():
    found = diagram(Joined(), input_shape=(1, 8, 8))
    assert [node.name for node in found.nodes] == ["input", "a", "b", "add"]
    assert [node.sources for node in found.nodes] == [(), (0,), (1,), (1, 2)]


def test_a_block_ends_where_a_skip_begins():
    class Late(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = (nn.Conv2d(2, 2, 3, padding=1) for _ in range(3))

        def forward(self, x):
            h = self.a(x)
            return h + self.c(self.b(h))

    found = diagram(Late(), input_shape=(2, 8, 8)).blocks()
    assert [node.name for node in found.nodes] == ["input", "a", "b - c", "+"]
    assert found.nodes[2].kinds == ("Conv2d 3×3",) * 2 and found.nodes[3].sources == (1, 2)
