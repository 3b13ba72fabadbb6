"""Gradients of tensors and rows against autograd and closed forms; one weight changed."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from ftheta import MLPClassifier, MLPRegressor, ModuleClassifier, Training
from ftheta.data import Batch, TargetSpec
from ftheta.errors import InputError
from ftheta.explain import backprop, gradient_flow, perturb_weight
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
    assert (
        found.table().caption == "Gradient at 2 rows: down 19.00, up -15.00. The mean |g| goes from 5 in b to 12 in a."
    )
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


# ---- examples


X4, Y4 = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([1.0, 3.0, 2.0, 5.0])
RNG2 = np.random.default_rng(0)
X2 = RNG2.normal(size=(30, 4))
Y2 = (X2[:, 0] + X2[:, 1] > 0).astype(int)


def square(raw, y):
    return (raw[:, 0] - y) ** 2


def line():
    net = nn.Linear(1, 1, dtype=torch.float64)
    nn.init.zeros_(net.weight)
    nn.init.zeros_(net.bias)
    return net


@pytest.mark.ledger("C085", covers="ftheta.explain.backprop")
def test_gradients_of_rows_sum_to_that_of_the_loss_which_central_differences_confirm():
    net = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 1)).double()
    rows, targets = torch.from_numpy(X2), torch.from_numpy(RNG2.normal(size=30))
    found = backprop(net, X2, targets, loss=square, reduction="sum")
    flat = nn.utils.parameters_to_vector(net.parameters()).detach()

    def total(theta):
        nn.utils.vector_to_parameters(theta, net.parameters())
        return float(square(net(rows), targets).sum())

    h = 1e-5
    ways = torch.eye(len(flat), dtype=torch.float64) * h
    with torch.no_grad():
        numeric = [(total(flat + way) - total(flat - way)) / (2 * h) for way in ways]
    np.testing.assert_allclose(np.concatenate([g.ravel() for g in found.gradient.values()]), numeric, 1e-6, 1e-7)
    np.testing.assert_allclose(found.gradients["0.weight"].sum(0), found.gradient["0.weight"])


@pytest.mark.ledger("C087", covers="ftheta.explain.backprop")
def test_the_straight_line_worked_out():
    """L = Σ (y - θ₀ - θ₁x)²: gradient (-22, -44) at 0, Hessian [[8, 12], [12, 28]], least at (1.1, 1.1)."""
    found = backprop(line(), X4, Y4, loss=square, reduction="sum")
    design = np.column_stack([np.ones(4), X4])
    by_hand = -2 * design * Y4[:, None]  # (4, 2): intercept, slope
    np.testing.assert_allclose(found.gradients["bias"], by_hand[:, :1])
    np.testing.assert_allclose(found.gradients["weight"][:, 0], by_hand[:, 1:])
    assert found.gradient["bias"].item() == -22 and found.gradient["weight"].item() == -44
    x, y = torch.from_numpy(X4[:, 0]), torch.from_numpy(Y4)
    loss = lambda t: (y - t[0] - t[1] * x).square().sum()  # noqa: E731
    hessian = torch.autograd.functional.hessian(loss, torch.zeros(2, dtype=torch.float64))
    np.testing.assert_allclose(torch.linalg.eigvalsh(hessian), [2.3795, 33.6205], atol=1e-4)
    best = np.linalg.solve(design.T @ design, design.T @ Y4)  # the normal equations
    np.testing.assert_allclose(best, [1.1, 1.1])
    model = float(loss(torch.zeros(2))) + by_hand.sum(0) @ best + best @ hessian.numpy() @ best / 2
    assert model == pytest.approx(float(loss(torch.from_numpy(best)))) == 2.7  # a parabola is its own Taylor model


# ---- nudge


def net(seed=0):
    torch.manual_seed(seed)
    parts = [nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1)]
    return nn.Sequential(*parts).double()


X3 = torch.randn(6, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
Y3 = torch.randn(6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.ledger("C103", covers="ftheta.explain.perturb_weight")
def test_a_small_change_ripples_to_the_loss_as_the_gradient_says(seed):
    """h1, h2, h3, output and loss; all slopes for two to three forward passes, where differences take P + 1."""
    module = net(seed)
    found = perturb_weight(module, X3, Y3, parameter="0.weight", amount=1e-7)
    assert found.slope == pytest.approx(found.gradient, rel=1e-6)
    assert found.layers == ("0", "1", "2", "3", "4", "5", "6") and found.kinds[:2] == ("Linear", "Tanh")
    for change, first, delta in zip(found.change, found.predicted, found.delta, strict=True):
        np.testing.assert_allclose(change, first, atol=1e-6 * np.abs(first).max() + 1e-15)
        assert (delta * change).sum() == pytest.approx(
            found.loss[1] - found.loss[0], rel=1e-5
        )  # every layer carries it
    with FlopCounterMode(display=False) as ahead:
        loss = module(X3).sum()
    with FlopCounterMode(display=False) as back:
        loss.backward()
    assert 2 <= 1 + back.get_total_flops() / ahead.get_total_flops() <= 3


def test_the_changes_are_those_of_two_passes():
    module = net()
    found = perturb_weight(module, X3, Y3, parameter="2.weight", index=(1, 3), amount=0.3)
    moved = net()
    with torch.no_grad():
        moved[2].weight[1, 3] += 0.3
        for k, change in enumerate(found.change):
            np.testing.assert_allclose(change, (moved[: k + 1](X3) - module[: k + 1](X3)).numpy(), atol=1e-14)
        losses = [float(((m(X3)[:, 0] - Y3) ** 2).mean() / 2) for m in (module, moved)]
    np.testing.assert_allclose(found.loss, losses)
    np.testing.assert_allclose(found.curve[[20, 30]], losses)
    assert found.weight == float(module[2].weight.detach()[1, 3]) and found.amount == 0.3
    assert not found.change[0].any() and found.table().columns["changed"][:3] == [0, 0, 6]  # one unit of six rows
    module.zero_grad()
    ((module(X3)[:, 0] - Y3) ** 2).mean().div(2).backward()
    assert found.gradient == pytest.approx(float(module[2].weight.grad[1, 3]), rel=1e-12)


def test_what_is_left_of_the_first_order_is_of_second_order():
    gaps = []
    for by in (1e-2, 1e-3):
        found = perturb_weight(net(), X3, Y3, amount=by)
        gaps.append(abs(found.loss[1] - found.loss[0] - found.gradient * by))
    assert gaps[0] / gaps[1] == pytest.approx(100, rel=0.1)


def test_by_default_the_weight_that_matters_most_in_the_first_matrix_is_nudged():
    module = net()
    found = perturb_weight(module, X3, Y3)
    ((module(X3)[:, 0] - Y3) ** 2).mean().div(2).backward()
    assert found.parameter == "0.weight"
    assert found.index == tuple(int(i) for i in np.unravel_index(int(module[0].weight.grad.abs().argmax()), (4, 3)))
    assert perturb_weight(module, X3, Y3, parameter="0.weight", index=5).index == (1, 2)
    own = perturb_weight(module, X3, Y3, lambda raw, y: 3 * (raw[:, 0] - y) ** 2)
    assert own.gradient == pytest.approx(6 * found.gradient)


def test_an_estimator_and_its_figure():
    x = X3.numpy()
    model = MLPRegressor(hidden=(4,), epochs=1, random_state=0).fit(x, x[:, 0])
    found = perturb_weight(model, x, x[:, 0], amount=0.1)
    axes = found.figure().axes
    assert axes[-1].get_title() == "loss along the weight" and len(axes) == len(found.layers) + 1
    tangent = axes[-1].get_lines()[1].get_ydata()
    np.testing.assert_allclose((tangent[-1] - tangent[0]) / 0.4, found.gradient, rtol=1e-9)
