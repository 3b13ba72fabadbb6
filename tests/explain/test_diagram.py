"""Diagrams: layers, joins and skips as the pass has them, drawn where they belong."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta.explain import diagram
from ftheta.nn import ConvNet, DenseBlock, UNet, residual_block


def drawn(found):
    return [text.get_text() for text in found.figure().axes[0].texts if text.get_text()]


@pytest.mark.ledger("A373", covers="ftheta.explain.diagram")
@pytest.mark.parametrize("filters", [(4, 8), (4, 8, 16), (2, 4, 8, 16)])
def test_a_u_net_is_a_u_with_channels_sizes_and_skips(filters):
    found = diagram(UNet((1, 32, 48), 3, filters), input_shape=(1, 32, 48)).blocks()
    deep = len(filters) - 1
    levels = [node.level for node in found.nodes]
    assert levels[:2] == [0, 0] and levels[1 : deep + 2] == list(range(deep + 1)) and levels[-1] == 0
    assert levels[deep + 1 :] == sorted(levels[deep + 1 :], reverse=True)  # down, then up
    down = {node.level: node.shape for node in found.nodes[1 : deep + 2]}
    assert down == {k: (filters[k], 32 // 2**k, 48 // 2**k) for k in range(deep + 1)}
    assert len(found.skips) == deep
    for a, b in found.skips:
        assert found.nodes[b].name == "concat" and found.nodes[a].level == found.nodes[b].level
        assert found.nodes[b].shape[0] == 2 * found.nodes[a].shape[0]
    said = drawn(diagram(UNet((1, 32, 48), 3, filters), input_shape=(1, 32, 48)))
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
    signs = [node.name for node in found.nodes if not node.kinds]
    assert signs == ["input", "×", "+"]
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
