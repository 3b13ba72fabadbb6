"""Summaries against counted passes and torch's counters; statistics of activations by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from ftheta import MLPClassifier, Training
from ftheta.data import Batch, TargetSpec
from ftheta.errors import InputError
from ftheta.explain import activations, summary
from ftheta.nn import MLP, Recurrent
from ftheta.train import Loss, Objective, Supervised


def by_torch(net, x):
    """Multiply-adds for a row of x, by torch's counter of what its kernels do."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        net.eval()(x)
    return counter.get_total_flops() / 2 / len(x)


def mlp(*widths):
    return MLP(widths[0], widths[-1], widths[1:-1])


def row(found, name):
    i = found.names.index(name)
    return {key: column[i] for key, column in found.table().columns.items()}


# --- dense nets


@pytest.mark.ledger("C005", covers="ftheta.explain.summary")
@pytest.mark.parametrize(("n_in", "parameters"), [(3, 43), (1, 35)])
def test_the_3_4_2_3_2_network(n_in, parameters):
    found = summary(mlp(n_in, 4, 2, 3, 2), input_shape=(n_in,))
    assert (found.widths, found.depth, found.hidden_units) == ((4, 2, 3), 3, 9)
    assert found.parameters.sum() == parameters and found.dense and found.feed_forward and found.deep
    assert "Dense, feed-forward, deep: hidden widths 4, 2, 3, depth 3, 9 hidden units." in str(found.table())


@pytest.mark.ledger(
    "C072",
    covers="ftheta.explain.summary",
    says="β_k: D_k; Ω_k: D_{k-1} × D_k, Ω_0: D_1 × D_0, Ω_K: D_K × D_o",
    printed=[[3, 4], [4, 2], [3, 2]],
    right=[[2, 4], [3, 2], [2, 3]],
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
    found = summary(kind(3, 5, num_layers=2, bidirectional=True, batch_first=True), input_shape=(7, 3))
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
    found = summary(nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, batch_first=True), input_shape=(5, 8))
    assert row(found, "self_attn")["multiply-adds"] == 4 * 5 * 64 + 2 * 25 * 8
    assert found.multiply_adds.sum() == 4 * 5 * 64 + 2 * 25 * 8 + 2 * 5 * 8 * 16


def test_a_look_up_is_no_product_and_no_dense_layer():
    found = summary(nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 2)), np.array([[1, 2, 3]]))
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
    assert found.dense and found.feed_forward
    assert found.widths is found.depth is found.hidden_units is found.deep is None


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


# ---- activations


RNG = np.random.default_rng(1)


def test_statistics_by_hand():
    found = activations(nn.Sequential(nn.Identity(), nn.ReLU()), [[-1.0, 0.0, 2.0], [-3.0, 1.0, 4.0]])
    assert found.names == ("0", "1") and found.kinds == ("Identity", "ReLU") and found.n == 2
    np.testing.assert_allclose(found.mean, [3 / 6, 7 / 6])
    np.testing.assert_allclose(found.std**2, [31 / 6 - 1 / 4, 21 / 6 - 49 / 36])
    np.testing.assert_allclose(found.quantiles[:, 2], [0.5, 0.5])  # between 0 and 1
    np.testing.assert_allclose(found.quantiles[1], np.percentile([0, 0, 0, 1, 2, 4], [5, 25, 50, 75, 95]))
    np.testing.assert_allclose(found.zeros, [1 / 6, 3 / 6])
    np.testing.assert_allclose(found.dead, [0, 1 / 3])  # the first unit; the second is 0 for one row only
    assert np.isnan(found.saturated).all() and found.values == {}


@pytest.mark.parametrize(
    ("layer", "values", "share"),
    [
        (nn.Sigmoid(), [-10.0, -4.7, -4.5, 0.0, 4.5, 4.7], 3 / 6),  # σ(4.595) = 0.99
        (nn.Tanh(), [-3.0, -2.2, 0.0, 2.2, 2.4], 2 / 5),  # tanh(2.298) = 0.98
        (nn.Softsign(), [-60.0, 40.0, 50.0, 0.0], 2 / 4),  # 49 / 50 = 0.98
        (nn.Hardsigmoid(), [-3.0, 0.0, 2.9, 3.0], 2 / 4),
        (nn.Hardtanh(-2.0, 4.0), [-2.0, -1.93, 0.0, 3.93, 3.95, 9.0], 3 / 6),
        (nn.ReLU6(), [-1.0, 0.1, 3.0, 7.0], 2 / 4),
    ],
)
def test_saturated_is_within_one_per_cent_of_the_range_of_an_end(layer, values, share):
    assert activations(layer, np.array(values)[:, None]).saturated == pytest.approx([share])


@pytest.mark.ledger("C071", "C005", covers="ftheta.explain.activations")
def test_every_pre_activation_and_activation_of_the_recursion_can_be_read():
    """h_{k+1} = a[β_k + Ω_k h_k] for the 3-4-2-3-2 network."""
    net, x = MLP(3, 2, (4, 2, 3), activation=("relu", "tanh", "sigmoid")).double(), RNG.normal(size=(6, 3))
    found = activations(net, x, keep=True)
    assert [found.values[name].shape[1] for name in summary(net, x).names] == [4, 4, 2, 2, 3, 3, 2]
    h, functions = x, [lambda z: np.maximum(z, 0), np.tanh, lambda z: 1 / (1 + np.exp(-z))]
    for k, name in enumerate(("hidden1", "hidden2", "hidden3", "output")):
        omega, beta = (p.detach().numpy() for p in getattr(net, name).parameters())
        z = beta + h @ omega.T
        np.testing.assert_allclose(found.values[name], z)
        if k < 3:
            h = functions[k](z)
            np.testing.assert_allclose(found.values[f"act{k + 1}"], h)


def test_a_unit_is_a_place_of_the_output_of_a_row():
    """One channel is dead everywhere, the other only at its first place."""
    images = np.ones((5, 2, 3, 4)) * np.array([0, 1])[:, None, None]
    images[:, 1, 0, 0] = 0
    assert activations(nn.Identity(), images).dead[0] == 13 / 24


def test_a_layer_used_twice_is_there_twice_and_tuples_give_their_first_tensor():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.cell, self.rnn, self.nothing = nn.Linear(2, 2), nn.GRU(2, 3, batch_first=True), Silent()

        def forward(self, x):
            self.nothing(x)
            return self.rnn(self.cell(self.cell(x)))

    class Silent(nn.Module):
        def forward(self, x):
            return None

    net, x = Net().double(), RNG.normal(size=(4, 5, 2))
    found = activations(net, x, keep=True)
    assert found.names == ("cell[1]", "cell[2]", "rnn")
    once = net.cell(torch.from_numpy(x))
    np.testing.assert_allclose(found.values["cell[1]"], once.detach())
    np.testing.assert_allclose(found.values["cell[2]"], net.cell(once).detach())
    np.testing.assert_allclose(found.values["rnn"], net.rnn(net.cell(once))[0].detach())


def test_a_layer_that_writes_into_its_input_does_not_change_what_was_seen():
    net = nn.Sequential(nn.Identity(), nn.ReLU(inplace=True))
    x = np.array([[-1.0, 2.0]])
    found = activations(net, x, keep=True)
    assert found.values["0"].tolist() == [[-1, 2]] and found.values["1"].tolist() == [[0, 2]] and found.mean[0] == 0.5
    assert x.tolist() == [[-1, 2]]


def test_evaluation_mode_is_the_default_and_training_mode_has_batch_and_noise():
    net = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout(0.5)).train()
    x = RNG.normal(3.0, 5.0, size=(400, 2))
    quiet, noisy = activations(net, x), activations(net, x, training=True)
    np.testing.assert_allclose(quiet.mean, x.mean() / np.sqrt(1 + 1e-5), rtol=1e-5)  # moments 0 and 1 at the start
    assert quiet.zeros[1] == 0 and 0.4 < noisy.zeros[1] < 0.6
    np.testing.assert_allclose([noisy.mean[0], noisy.std[0]], [0, 1], atol=1e-5)
    assert np.array_equal(noisy.quantiles, activations(net, x, training=True).quantiles)
    assert net.training and not net[0].running_mean.any()


def test_an_estimator_checks_and_encodes_its_rows():
    X = RNG.normal(size=(20, 3))
    model = MLPClassifier(hidden=(4,), epochs=1, random_state=0).fit(X, [0, 1] * 10)
    found = activations(model, X, keep=True)
    np.testing.assert_array_equal(found.values["output"][:, 0], model.decision_function(X))
    with pytest.raises(InputError, match="has 2 features, but MLPClassifier is expecting 3"):
        activations(model, X[:, :2])


class Halves(nn.Module):
    """A net with parts and no `forward`, as an autoencoder may be written."""

    def __init__(self):
        super().__init__()
        self.encoder, self.decoder = nn.Linear(3, 1, bias=False), nn.Linear(1, 3, bias=False)


class Rebuild(Objective):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def loss(self, player, batch, draw):
        return Loss(*batch.sum((self.net.decoder(self.net.encoder(batch.x)) - batch.x).square().sum(-1)))


class Coder:
    module_, target_ = Halves(), TargetSpec("none")

    def objective(self, module, y):
        return Rebuild(module)

    def batch(self, X, y=None):
        return Batch(torch.as_tensor(X, dtype=torch.float32))


def test_a_net_without_forward_is_run_by_its_objective():
    x = RNG.normal(size=(4, 3))
    assert activations(Coder(), x).names == ("encoder", "decoder")
    assert summary(Coder(), x).multiply_adds.tolist() == [3, 3]
    with pytest.raises(InputError, match=r'Halves failed on 4 rows .* missing the required "forward" function'):
        activations(Halves(), x)


@pytest.mark.parametrize(("cell", "gates"), [("lstm", 4), ("gru", 3)])
def test_recurrent_nets_of_ours_are_counted_whatever_kernel_runs(cell, gates):
    found = summary(Recurrent(3, 5, cell), torch.zeros(2, 7, 3))
    assert found.multiply_adds.tolist() == [7 * gates * 5 * (3 + 5)]
