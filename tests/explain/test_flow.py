"""Gradient flow, against torch.autograd, closed forms and gradients written out by hand."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import MLPClassifier, MLPRegressor, ModuleClassifier, Training
from ftheta.data import Batch, TargetSpec
from ftheta.errors import InputError
from ftheta.explain import gradient_flow
from ftheta.likelihoods import Categorical
from ftheta.train import Loss, Objective, Player

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 3)), RNG.integers(0, 3, 30)


def half_square(raw, y):
    return (raw[:, 0] - y) ** 2 / 2


def by_autograd(module, loss):
    """Gradients by torch's own backward pass, which writes into `.grad`."""
    module.zero_grad()
    loss.backward()
    found = {name: p.grad.double().numpy().ravel() for name, p in module.named_parameters()}
    module.zero_grad()
    return found


def agrees(found, truth, rtol=1e-5):
    size = [np.abs(truth[name]) for name in found.names]
    np.testing.assert_allclose(found.norm, [np.sqrt((g**2).sum()) for g in size], rtol=rtol)
    np.testing.assert_allclose(found.mean_absolute, [g.sum() / g.size for g in size], rtol=rtol)
    np.testing.assert_allclose(found.quantiles[:, 2], [np.median(g) for g in size], rtol=rtol)
    np.testing.assert_allclose(found.quantiles[:, 0], [np.percentile(g, 5) for g in size], rtol=rtol)
    np.testing.assert_allclose(found.quantiles[:, 4], [np.percentile(g, 95) for g in size], rtol=rtol)


def test_a_linear_model_has_the_gradient_of_its_normal_equations():
    net, y = nn.Linear(3, 1).double(), RNG.normal(size=30)
    w, b = net.weight.detach().numpy()[0], net.bias.item()
    r = X @ w + b - y
    found = gradient_flow(net, X, y, loss=half_square)
    agrees(found, {"weight": X.T @ r / 30, "bias": np.array([r.mean()])}, rtol=1e-12)
    assert found.names == ("weight", "bias") and found.n == 30
    np.testing.assert_allclose(found.losses["loss"], (r**2).mean() / 2)
    np.testing.assert_allclose(found.ratio[0], np.linalg.norm(X.T @ r / 30) / np.linalg.norm(w))


def test_a_regressor_has_the_gradient_in_the_units_that_its_net_sees():
    y = 100 + 40 * X[:, 0]
    model = MLPRegressor(hidden=(), epochs=1, dtype="float64", random_state=0).fit(X, y)
    w, b = model.module_.output.weight.detach().numpy()[0], model.module_.output.bias.item()
    r = X @ w + b - (y - y.mean()) / y.std()
    agrees(gradient_flow(model, X, y), {"output.weight": X.T @ r / 30, "output.bias": np.array([r.mean()])}, rtol=1e-9)


def test_a_hand_built_net_has_the_gradient_of_autograd():
    net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 4), nn.ReLU(inplace=True), nn.Linear(4, 3)).double()
    truth = by_autograd(net, nn.functional.cross_entropy(net(torch.from_numpy(X)), torch.from_numpy(Y)))
    for loss in (Categorical(), nn.CrossEntropyLoss(reduction="none")):
        found = gradient_flow(net, X, Y, loss=loss)
        assert found.names == ("0.weight", "0.bias", "2.weight", "2.bias", "4.weight", "4.bias")
        agrees(found, truth, rtol=1e-10)
        np.testing.assert_allclose(found.parameter_norm, [p.norm().item() for p in net.parameters()])


def test_a_classifier_weighs_rows_as_it_was_trained():
    weights = {"a": 1.0, "b": 5.0, "c": 0.5}
    labels = np.array(["a", "b", "c"])[Y]
    model = MLPClassifier(hidden=(4,), epochs=2, class_weight=weights, dtype="float64", random_state=0).fit(X, labels)
    raw = model.module_(torch.from_numpy(X))
    weighted = nn.functional.cross_entropy(raw, torch.from_numpy(Y), torch.tensor([1, 5, 0.5]).double())  # Σ wℓ / Σ w
    agrees(gradient_flow(model, X, labels), by_autograd(model.module_, weighted), rtol=1e-9)


def test_a_conv_net_with_normalisation_and_a_tied_layer_has_the_gradient_of_autograd():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.norm, self.drop = nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout(0.5)
            self.tied, self.head = nn.Linear(8, 8), nn.Linear(8, 3)

        def forward(self, x):
            h = self.drop(self.norm(self.conv(x)).relu().flatten(1))
            return self.head(self.tied(self.tied(h).tanh()).tanh())

    images = RNG.normal(size=(30, 1, 4, 4)).astype(np.float32)
    model = ModuleClassifier(module=Net(), epochs=2, random_state=0).fit(images, Y)
    loss = nn.functional.cross_entropy(model.module_.eval()(torch.from_numpy(images)), torch.from_numpy(Y))
    agrees(gradient_flow(model, images, Y), by_autograd(model.module_, loss), rtol=1e-4)


def test_training_mode_sees_the_batch_and_the_noise():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).double()
    truth = by_autograd(net.train(), half_square(net(torch.from_numpy(X)), torch.from_numpy(X[:, 0])).mean())
    net.eval()
    net[1].running_mean.fill_(3.0)
    found = gradient_flow(net, X, X[:, 0], loss=half_square, training=True)
    np.testing.assert_allclose(found.norm, [np.linalg.norm(truth[name]) for name in found.names], atol=1e-12)
    assert (net[1].running_mean == 3).all() and not net.training and not net[1].training
    assert not np.allclose(found.norm, gradient_flow(net, X, X[:, 0], loss=half_square).norm)
    noisy = nn.Sequential(nn.Linear(3, 50), nn.Dropout(0.5), nn.Linear(50, 1))
    one, two = (gradient_flow(noisy, X, X[:, 0], loss=half_square, training=True) for _ in range(2))
    assert np.array_equal(one.norm, two.norm)
    assert not np.allclose(one.norm, gradient_flow(noisy, X, X[:, 0], loss=half_square).norm)


def test_frozen_tensors_are_left_out_and_unused_ones_have_no_gradient():
    net = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    net.spare = nn.Parameter(torch.zeros(2))
    net[0].weight.requires_grad_(False)
    net.forward = lambda x: net[1](net[0](x))
    found = gradient_flow(net, X, Y, loss=half_square)
    assert found.names == ("spare", "0.bias", "1.weight", "1.bias")
    assert found.norm[0] == 0 and np.isnan(found.ratio[0]) and (found.norm[1:] > 0).all()
    net[0].bias.data.zero_()
    assert np.isinf(gradient_flow(net, X, Y, loss=half_square).ratio[1])
    net.requires_grad_(False)
    with pytest.raises(InputError, match=r"All parameters of Sequential are frozen"):
        gradient_flow(net, X, Y, loss=half_square)


def test_a_learned_variance_is_a_tensor_too():
    y = RNG.normal(size=30)
    model = MLPRegressor(hidden=(), likelihood="gaussian-learned", epochs=1, dtype="float64", random_state=0).fit(X, y)
    found = gradient_flow(model, X, y)
    s = model.likelihood_.log_var.detach().numpy()
    r = (y - y.mean()) / y.std() - model.module_(torch.from_numpy(X)).detach().numpy()[:, 0]
    place = found.names.index("nll.log_var")
    truth = abs((1 - r**2 / np.exp(s)).mean() / 2)  # of (s + r² e^{-s}) / 2, but for the floor under the variance
    np.testing.assert_allclose(found.norm[place], truth, rtol=1e-5)
    assert set(found.names) == {"nll.log_var", "output.weight", "output.bias"}


# --- any object with the capability


class Duel(Objective):
    """f(a, b) = mean(x) a b: a goes down, b goes up, and a pays a² once."""

    def __init__(self, net, memory):
        super().__init__()
        self.net, self.memory, self.noise = net, memory, torch.rand(2)

    def players(self):
        return Player("down", [self.net.a]), Player("up", [{"params": [self.net.b]}])

    def loss(self, player, batch, draw):
        self.memory.running_mean += 1
        each = batch.x[:, 0] * self.net.a * self.net.b
        return Loss(*batch.sum(each), self.net.a**2) if player == "down" else Loss(*batch.sum(-each))


class Game:
    """No estimator of ours: it only has what the protocol asks for."""

    def __init__(self):
        self.module_, self.target_ = nn.Module(), TargetSpec("none")
        self.memory_ = nn.BatchNorm1d(1)
        self.module_.a, self.module_.b = nn.Parameter(torch.tensor(2.0)), nn.Parameter(torch.tensor(3.0))

    def objective(self, module, y):
        return Duel(module, self.memory_)

    def batch(self, X, y=None):
        return Batch(torch.as_tensor(X))


def test_every_player_has_the_gradient_of_his_own_loss():
    game, before = Game(), torch.get_rng_state()
    found = gradient_flow(game, [[1.0], [4.0]])  # mean(x) = 2.5
    assert found.names == ("a", "b") and found.players == ("down", "up")
    np.testing.assert_allclose(found.norm, [2.5 * 3 + 2 * 2, 2.5 * 2])  # ∂(2.5ab + a²)/∂a, ∂(-2.5ab)/∂b
    assert found.losses == {"down": 2.5 * 6 + 4, "up": -15}
    assert found.table().columns["player"] == ["down", "up"]
    assert found.table().caption == "Gradient at 2 rows: down 19.00, up -15.00."
    assert torch.equal(torch.get_rng_state(), before) and not game.memory_.running_mean.any() and game.memory_.training
    game.module_.a.requires_grad_(False)
    assert gradient_flow(game, [[1.0], [4.0]]).names == ("b",)


def test_the_penalties_of_training_are_not_in_it():
    plain = MLPClassifier(hidden=(), epochs=1, lr=1e-30, random_state=0).fit(X, Y)
    heavy = MLPClassifier(hidden=(), epochs=1, lr=1e-30, random_state=0, training=Training(l2=100.0)).fit(X, Y)
    np.testing.assert_allclose(gradient_flow(plain, X, Y).norm, gradient_flow(heavy, X, Y).norm, rtol=1e-5)


def test_an_own_loss_replaces_that_of_the_estimator():
    model = MLPRegressor(hidden=(), epochs=1, dtype="float64", random_state=0).fit(X, X[:, 0])
    loss = gradient_flow(model, X, X[:, 0], loss=lambda raw, y: raw[:, 0] * 0 + raw[:, 0])
    np.testing.assert_allclose(loss.norm, [np.linalg.norm(X.mean(0)), 1])


# --- shown and refused
