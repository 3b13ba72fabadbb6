"""Activations by layer, against numbers that can be done in the head and the recursion written out."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import MLPClassifier
from ftheta.data import Batch, TargetSpec
from ftheta.errors import InputError
from ftheta.explain import activations, summary
from ftheta.nn import MLP
from ftheta.train import Loss, Objective

RNG = np.random.default_rng(1)


def test_statistics_by_hand():
    net = nn.Sequential(nn.Identity(), nn.ReLU())
    found = activations(net, [[-1.0, 0.0, 2.0], [-3.0, 1.0, 4.0]])
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
