"""Layers, shapes and costs, against torch's own counters and sums done by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from ftheta import MLPClassifier, Training
from ftheta.errors import InputError
from ftheta.explain import summary
from ftheta.nn import MLP
from ftheta.train import Supervised


def by_torch(net, x):
    """Multiply-adds for a row of x, by torch's counter of what its kernels do."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        net.eval()(x)
    return counter.get_total_flops() / 2 / len(x)


def mlp(*widths):
    return MLP(widths[0], widths[-1], widths[1:-1])


def row(found, name):
    i = found.names.index(name)
    columns = found.table().columns
    return {key: column[i] for key, column in columns.items()}


# --- dense nets


@pytest.mark.ledger("C005", covers="ftheta.explain.summary")
@pytest.mark.parametrize(("n_in", "parameters"), [(3, 43), (1, 35)])
def test_the_3_4_2_3_2_network(n_in, parameters):
    found = summary(mlp(n_in, 4, 2, 3, 2), input_shape=(n_in,))
    assert (found.widths, found.depth, found.hidden_units) == ((4, 2, 3), 3, 9)
    assert found.parameters.sum() == parameters and found.dense and found.feed_forward and found.deep
    assert "Dense, feed-forward, deep: hidden widths 4, 2, 3, depth 3, 9 hidden units." in str(found.table())


@pytest.mark.ledger("C007", covers="ftheta.explain.summary")
def test_the_1_4_2_network_has_18_parameters():
    found = summary(mlp(1, 4, 2), input_shape=(1,))
    assert found.shapes == ({"weight": (4, 1), "bias": (4,)}, {}, {"weight": (2, 4), "bias": (2,)})
    assert found.parameters.tolist() == [8, 0, 10] and found.deep is False
    assert "18 parameters (all trainable)" in found.table().caption


@pytest.mark.ledger(
    "C072", covers="ftheta.explain.summary", printed=[[3, 4], [4, 2], [3, 2]], right=[[2, 4], [3, 2], [2, 3]]
)
def test_every_weight_and_bias_has_its_shape_in_the_table(ledger):
    """Ω_k is D_{k+1} × D_k and β_k has D_{k+1} entries; with the printed D_{k-1} × D_k the layers do not chain."""
    net = mlp(3, 4, 2, 3, 2)
    found = summary(net, input_shape=(3,))
    shown = {name: own for name, own in zip(found.names, found.table().columns["tensors"], strict=True) if own}
    assert shown == {
        "hidden1": "weight 4×3, bias 4",
        "hidden2": "weight 2×4, bias 2",
        "hidden3": "weight 3×2, bias 3",
        "output": "weight 2×3, bias 2",
    }
    weights = Supervised(net, nn.MSELoss(reduction="none")).weights()
    weights["module.hidden2.weight"] = weights["module.hidden2.weight"].T
    with pytest.raises(InputError, match=r"module\.hidden2\.weight differ in name or shape"):
        Supervised(net, nn.MSELoss(reduction="none")).set_weights(weights)
    ledger([dict(zip(found.names, found.shapes, strict=True))[n]["weight"] for n in ("hidden2", "hidden3", "output")])


@pytest.mark.ledger(
    "A178", covers="ftheta.explain.summary", printed="a sum from j = 0, which needs an undefined n_{-1}", right=4
)
def test_a_forward_pass_of_the_2_1_2_network_costs_4(ledger):
    """Σ_{j=1} n_{j-1} n_j = 2·1 + 1·2; the sum starts at the first layer that has one before it."""
    ledger(summary(mlp(2, 1, 2), input_shape=(2,)).multiply_adds.sum())


@pytest.mark.ledger("A178", covers="ftheta.explain.summary")
@settings(max_examples=30)
@given(st.lists(st.integers(1, 7), min_size=2, max_size=5))
def test_the_cost_is_that_of_an_instrumented_pass(widths):
    net = mlp(*widths)
    found = summary(net, input_shape=widths[:1])
    assert found.multiply_adds.sum() == sum(a * b for a, b in zip(widths, widths[1:], strict=False))
    assert found.multiply_adds.sum() == by_torch(net, torch.zeros(3, widths[0]))
    assert found.parameters.sum() == sum(p.numel() for p in net.parameters())
    assert found.widths == tuple(widths[1:-1]) and found.chain == tuple(widths)


@pytest.mark.ledger("A178", covers="ftheta.explain.summary")
@given(st.integers(1, 8), st.integers(0, 4))
def test_equal_widths_cost_their_square_a_layer(n, k):
    assert summary(mlp(*[n] * (k + 2)), input_shape=(n,)).multiply_adds.sum() == (k + 1) * n**2


def test_a_net_without_hidden_layers_is_shallow():
    found = summary(nn.Linear(3, 2), input_shape=(3,))
    assert found.names == ("Linear",) and found.widths == () and found.depth == 0 and found.deep is False
    assert "shallow: no hidden layer, depth 0, 0 hidden units" in found.table().caption


# --- other layers

SHAPES = {
    "conv1d": (nn.Conv1d(4, 6, 3, stride=2, groups=2), (4, 9)),
    "conv2d": (nn.Conv2d(3, 8, (3, 5), padding=1, dilation=2), (3, 12, 14)),
    "conv3d": (nn.Conv3d(2, 3, 2), (2, 4, 5, 6)),
    "transposed1d": (nn.ConvTranspose1d(4, 6, 3, stride=2, groups=2), (4, 5)),
    "transposed2d": (nn.ConvTranspose2d(3, 5, (2, 3), stride=2), (3, 5, 6)),
    "linear in time": (nn.Linear(5, 3), (7, 5)),
    "two layers": (nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10)), (1, 8, 8)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_multiply_adds_are_those_of_torch(name):
    net, shape = SHAPES[name]
    found = summary(net, input_shape=shape)
    assert found.multiply_adds.sum() == by_torch(net, torch.zeros(3, *shape)) > 0
    assert found.outputs[-1] == tuple(net(torch.zeros(3, *shape)).shape[1:])


@pytest.mark.parametrize(("kind", "gates"), [(nn.RNN, 1), (nn.GRU, 3), (nn.LSTM, 4)])
def test_recurrent_layers_use_every_matrix_in_every_step(kind, gates):
    net = kind(3, 5, num_layers=2, bidirectional=True, batch_first=True)
    found = summary(net, input_shape=(7, 3))
    first, second = 5 * (3 + 5), 5 * (2 * 5 + 5)  # input and state into each gate
    assert found.multiply_adds.tolist() == [7 * 2 * gates * (first + second)]
    assert found.outputs == ((7, 10),) and not found.feed_forward and found.widths is None


def test_packed_sequences_pay_for_their_own_steps():
    class Packed(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn = nn.RNN(3, 5, batch_first=True)

        def forward(self, x):
            return self.rnn(nn.utils.rnn.pack_padded_sequence(x, [4, 2], batch_first=True))

    assert summary(Packed(), torch.zeros(2, 4, 3)).multiply_adds.sum() == (4 + 2) * 5 * (3 + 5) / 2


def test_attention_is_counted_too():
    """Q, K, V and the output: 4 T d²; scores and mixture: 2 T² d."""
    layer = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True)
    found = summary(layer, input_shape=(5, 8))
    assert row(found, "self_attn")["multiply-adds"] == 4 * 5 * 64 + 2 * 25 * 8
    assert found.multiply_adds.sum() == 4 * 5 * 64 + 2 * 25 * 8 + 2 * 5 * 8 * 16


def test_a_look_up_is_no_product_and_no_dense_layer():
    net = nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 2))
    found = summary(net, np.array([[1, 2, 3]]))
    assert found.multiply_adds.tolist() == [0, 3 * 4 * 2] and not found.dense
    assert found.outputs == ((3, 4), (3, 2)) and found.widths is None


# --- layers used twice, frozen, shared, never used


class Twice(nn.Module):
    """One layer used twice, one whose weight is another's, one that never runs, and a parameter of its own."""

    def __init__(self):
        super().__init__()
        self.layer, self.decoder, self.spare = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)
        self.decoder.weight = self.layer.weight
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return self.decoder(self.layer(self.layer(x))) * self.scale, {"aux": x}


def test_layers_used_twice_cost_twice_and_shared_weights_count_once():
    net = Twice()
    found = summary(net, input_shape=(4,))
    assert found.names == ("layer", "decoder", "Twice", "spare")
    assert found.calls.tolist() == [2, 1, 1, 0] and found.multiply_adds.tolist() == [32, 16, 0, 0]
    assert found.parameters.tolist() == [20, 4, 4, 5] and found.shapes[1] == {"bias": (4,)}
    assert found.parameters.sum() == sum(p.numel() for p in net.parameters())
    assert found.outputs == ((4,), (4,), (4,), None) and not found.feed_forward and found.chain is None
    assert found.multiply_adds.sum() == by_torch(net, torch.zeros(3, 4))


def test_a_matrix_outside_of_dense_layers_is_named():
    class Own(nn.Module):
        def __init__(self):
            super().__init__()
            self.matrix = nn.Parameter(torch.zeros(3, 2))

        def forward(self, x):
            return x @ self.matrix

    found = summary(Own(), input_shape=(3,))
    assert not found.dense and found.parameters.tolist() == [6]


def test_heads_side_by_side_are_no_chain():
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(3, 2), nn.Linear(3, 1)

        def forward(self, x):
            return self.one(x), self.two(x)

    found = summary(Heads(), input_shape=(3,))
    assert (
        found.dense and found.feed_forward and found.widths is found.depth is found.hidden_units is found.deep is None
    )


def test_a_net_with_normalisation_is_still_dense():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(), nn.PReLU(), nn.Linear(4, 2))
    assert summary(net, input_shape=(3,)).widths == (4,)


def test_weight_normalised_layers_count_as_what_they_are():
    net = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(3, 4, bias=False)), nn.Linear(4, 2))
    found = summary(net, input_shape=(3,))
    assert found.multiply_adds.sum() == 20 and found.widths == (4,)
    assert found.parameters.sum() == sum(p.numel() for p in net.parameters())


@pytest.mark.ledger("B035", covers="ftheta.explain.summary")
def test_frozen_layers_move_to_the_parameters_that_do_not_train():
    X, y = np.eye(3)[[0, 1, 2] * 4], [0, 1, 2] * 4
    model = MLPClassifier(hidden=(5,), epochs=3, random_state=0, training=Training(freeze=("hidden1.*",))).fit(X, y)
    start = MLPClassifier(hidden=(5,), epochs=1, lr=1e-30, random_state=0).fit(X, y).module_
    found = summary(model)
    assert found.frozen.tolist() == [20, 0, 0] and found.parameters.tolist() == [20, 0, 18]
    assert "38 parameters (18 trainable, 20 frozen)" in found.table().caption
    assert row(found, "hidden1")["frozen"] == 20 and "frozen" not in summary(start, X).table().columns
    assert torch.equal(start.hidden1.weight, model.module_.hidden1.weight)
    assert not torch.equal(start.output.weight, model.module_.output.weight)


# --- rows


def test_an_estimator_knows_its_rows_and_a_module_is_told():
    X, y = np.eye(4)[[0, 1, 2, 3] * 3], [0, 1] * 6
    model = MLPClassifier(hidden=(3,), epochs=1, dtype="float64", random_state=0).fit(X, y)
    of_rows = [summary(model), summary(model, X), summary(model.module_, X), summary(model.module_, input_shape=[4])]
    assert len({found.table().text() for found in of_rows}) == 1
    with pytest.raises(InputError, match=r"MLP does not know the shape of its rows"):
        summary(model.module_)
