"""Gradient flow of a run: nets built to vanish, to explode and to be well are told apart, and advice helps."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from ftheta import MLPClassifier, MLPRegressor, Training
from ftheta.data import Rows
from ftheta.errors import InputError
from ftheta.explain import FlowOverSteps, flow_over_steps
from ftheta.train import GradientNorms, Supervised, Trainer, iterate

X = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
Y = X[:, 0].sin() + X[:, 1]


def half(raw, y):
    return (raw[:, 0] - y) ** 2 / 2


class Residual(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(12, 12), act())

    def forward(self, x):
        return x + self.inner(x) / 3


def deep(act, variance, *, depth=8, between=()):
    """Layers whose weights have variance v / fan-in."""
    parts, n = [], 4
    for _ in range(depth):
        parts += [nn.Linear(n, 12), *(make() for make in between), *([act()] if act else [])]
        n = 12
    for part in parts:
        if isinstance(part, nn.Linear):
            nn.init.normal_(part.weight, 0, (variance / part.in_features) ** 0.5)
            nn.init.zeros_(part.bias)
    return nn.Sequential(*parts, nn.Linear(12, 1))


VANISHING = {
    "sigmoid": lambda: deep(nn.Sigmoid, 1.0),
    "small weights": lambda: deep(nn.ReLU, 0.05),
    "tanh, small weights": lambda: deep(nn.Tanh, 0.1),
}
EXPLODING = {
    "linear": lambda: deep(None, 16.0),
    "relu": lambda: deep(nn.ReLU, 20.0),
}
HEALTHY = {
    "He and ReLU": lambda: deep(nn.ReLU, 2.0),
    "Glorot and tanh": lambda: deep(nn.Tanh, 1.0),
    "residual": lambda: nn.Sequential(nn.Linear(4, 12), *(Residual(nn.ReLU) for _ in range(8)), nn.Linear(12, 1)),
    "normalised": lambda: deep(nn.ReLU, 0.05, between=[lambda: nn.BatchNorm1d(12)]),
}
CASES = [(kind, name) for kind in (VANISHING, EXPLODING, HEALTHY) for name in kind]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("nets", "name"), CASES, ids=[name for _, name in CASES])
def test_nets_are_told_apart(nets, name, seed):
    torch.manual_seed(seed)
    found = flow_over_steps(nets[name](), X, Y, loss=half, steps=12, lr=0.003)
    kind = "vanishing" if nets is VANISHING else "exploding" if nets is EXPLODING else "healthy"
    assert found.kind == kind, found.verdict
    if kind == "vanishing":
        assert found.factor < 1e-2 and found.verdict.startswith("The gradient vanishes: ‖g‖ of 0 is")
        assert any("residual" in said for said in found.advice) and any("Normalize" in said for said in found.advice)
    elif kind == "exploding":
        assert any("clip_norm" in said for said in found.advice) and any(
            "smaller learning rate" in s for s in found.advice
        )
    else:
        assert found.advice == () and 1e-2 < found.factor < 1e2 and "arrives" in found.verdict
    assert (
        ("Sigmoid by ReLU" in " ".join(found.advice)) == (name == "sigmoid")
    ) and found.verdict in found.table().caption


def test_the_advice_for_sigmoids_helps():
    """Each of: ReLU with its weights, larger weights, normalisation, residual connections."""
    torch.manual_seed(0)
    sick = flow_over_steps(deep(nn.Sigmoid, 1.0), X, Y, loss=half, steps=5, lr=0.003).factor
    larger = lambda: deep(nn.Sigmoid, 16.0)  # noqa: E731
    normal = lambda: deep(nn.Sigmoid, 1.0, between=[lambda: nn.BatchNorm1d(12)])  # noqa: E731
    skips = lambda: nn.Sequential(nn.Linear(4, 12), *(Residual(nn.Sigmoid) for _ in range(8)), nn.Linear(12, 1))  # noqa: E731
    for cure in (HEALTHY["He and ReLU"], larger, normal, skips):
        assert flow_over_steps(cure(), X, Y, loss=half, steps=5, lr=0.003).factor > 30 * sick


def test_norms_are_those_of_autograd_and_layers_put_their_tensors_together():
    net = deep(nn.Tanh, 1.0, depth=2).double()
    found = flow_over_steps(net, X, Y, loss=half, steps=1, lr=0.1, batch_size=96)
    half(net(X.double()), Y.double()).mean().backward()
    for k, layer in enumerate((net[0], net[2], net[4])):
        truth = (layer.weight.grad.square().sum() + layer.bias.grad.square().sum()).sqrt()
        np.testing.assert_allclose(found.norm[0, k], float(truth), rtol=1e-10)
        np.testing.assert_allclose(
            found.size[0, k],
            float((layer.weight.square().sum() + layer.bias.square().sum()).sqrt().detach()),
            rtol=1e-10,
        )
    assert found.layers == ("0", "2", "4") and found.steps.tolist() == [1]
    np.testing.assert_allclose(found.factor, found.norm[0, 0] / found.norm[0, 2])


def test_an_estimator_trains_as_its_parameters_say():
    x, y = X.numpy(), Y.numpy()
    model = MLPRegressor(hidden=(8, 8), optimizer="adam", epochs=2, random_state=0)
    found = flow_over_steps(model, x, y, steps=10, every=3)
    assert found.steps.tolist() == [1, 4, 7, 10] and found.kind == "healthy" and not hasattr(model, "module_")
    assert np.array_equal(found.norm, flow_over_steps(model, x, y, steps=10, every=3).norm)
    clipped = model.set_params(training=Training(clip_norm=1e-3))
    assert (np.sqrt((flow_over_steps(clipped, x, y, steps=4).norm ** 2).sum(1)) <= 1.001e-3).all()
    deep_one = MLPClassifier(hidden=(8,) * 9, activation="sigmoid", init="lecun", epochs=1, random_state=0)
    assert flow_over_steps(deep_one, x, y > 0, steps=5).kind == "vanishing"


def test_any_run_that_was_recorded_can_be_looked_at():
    net, norms = deep(nn.Sigmoid, 1.0), GradientNorms(every=2)
    iterate(Trainer(Supervised(net, half), Rows(X, Y, batch_size=32), lr=0.01), rounds=4, callbacks=[norms])
    found = flow_over_steps(norms)
    assert found.kind == "vanishing" and found.steps.tolist() == [1, 3, 5, 7, 9, 11]
    assert "Sigmoid" in found.kinds and found.layers[0] == "0"


def made(norm, size=None, kinds=(), reason=""):
    norm = np.asarray(norm, dtype=float)
    size = np.ones_like(norm) if size is None else size
    layers = tuple(f"l{k}" for k in range(norm.shape[1]))
    return FlowOverSteps(layers, np.arange(1, len(norm) + 1), norm, size, kinds, reason)


@pytest.mark.parametrize(
    ("norm", "kind"),
    [
        ([[1.0, 1.0, 1.0]], "healthy"),
        ([[0.011, 0.1, 1.0]], "healthy"),
        ([[0.009, 0.1, 1.0]], "vanishing"),
        ([[99.0, 10.0, 1.0]], "healthy"),
        ([[101.0, 10.0, 1.0]], "exploding"),  # 101 times the weights, too
        ([[50.0, 1.0, 0.4]], "exploding"),
        ([[99.0, 99.0, 99.0]], "healthy"),
        ([[101.0, 101.0, 101.0]], "exploding"),  # by their size alone
        ([[1e-7, 1e-7, 1e-7]], "vanishing"),
        ([[0.01, 0.01, 0.01], [11.0, 11.0, 11.0]], "exploding"),
        ([[1.0, 1.0, 1.0], [1.0, np.inf, 1.0]], "exploding"),
        ([[1.0, 1.0, 1.0], [np.nan, 1.0, 1.0]], "exploding"),
        ([[np.nan, np.nan, np.nan]], "exploding"),
    ],
)
def test_the_bounds_between_the_kinds(norm, kind):
    found = made(norm)
    assert found.kind == kind and bool(found.advice) == (kind != "healthy") and found.table().text() and found.figure()


def test_growth_is_that_of_the_largest_step_wherever_it_is():
    assert made([[3.0, 4.0], [0.0, 5e4], [0.3, 0.4]]).growth == pytest.approx(1e4)  # ‖(3, 4)‖ = 5
    passing = made([[0.01, 0.01], [20.0, 20.0], [0.01, 0.01]])
    assert passing.kind == "exploding" and passing.factor == 1


def test_advice_knows_what_the_net_is_made_of():
    norm = [[1e-5, 1e-3, 1.0]]
    assert len(made(norm, kinds=("Tanh",)).advice) == 4 and "Tanh" in made(norm, kinds=("Tanh",)).advice[0]
    assert len(made(norm, kinds=("ReLU", "BatchNorm1d", "Residual")).advice) == 1
    ended = made([[1.0, 1.0, 1.0]], reason="Loss became inf.")
    assert ended.kind == "exploding" and "Training ended: Loss became inf." in ended.verdict


def test_tensors_of_a_list_are_a_layer_each():
    class Listed(nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = nn.ParameterList([torch.randn(4, 3), torch.randn(3, 1)])
            self.biases = nn.ParameterList([torch.zeros(3), torch.zeros(1)])

        def forward(self, x):
            for w, b in zip(self.weights, self.biases, strict=True):
                x = torch.tanh(x @ w + b)
            return x

    assert flow_over_steps(Listed(), X, Y, loss=half, steps=2, lr=0.1).layers == ("weights.0", "weights.1")


def test_a_rule_without_gradients_is_a_sentence_and_no_vanishing_gradient():
    with pytest.raises(InputError, match="No step had a gradient: all are 0, or the optimizer asks for none, as 'lm'"):
        flow_over_steps(MLPRegressor(hidden=(3,), optimizer="lm", random_state=0), X, Y, steps=2)
    other = flow_over_steps(MLPRegressor(hidden=(3,), optimizer="lbfgs", random_state=0), X, Y, steps=2)
    assert other.kind == "healthy" and (other.norm > 0).all()


def test_growth_is_that_of_the_largest_step_and_not_of_the_last():
    norm = np.array([[3.0, 4.0], [30.0, 40.0], [6.0, 8.0]])  # of all layers together 5, 50 and 10
    found = FlowOverSteps(("a", "b"), np.arange(3), norm, np.ones_like(norm), ())
    assert found.growth == pytest.approx(10)
    assert FlowOverSteps(("a", "b"), np.arange(3), norm[[0, 2]], np.ones((2, 2)), ()).growth == pytest.approx(2)


def test_a_copy_starts_with_the_weights_of_the_last_fit():
    x = np.linspace(-1, 1, 32)[:, None]
    model = MLPRegressor(hidden=(4,), epochs=1).fit(x, x[:, 0])
    same = clone(model).set_params(random_state=model.seed_)
    one, two = (flow_over_steps(m, x, x[:, 0], steps=2) for m in (model, same))
    np.testing.assert_array_equal(one.norm, two.norm)
