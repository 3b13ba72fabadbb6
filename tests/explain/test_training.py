"""The course of a training: curves, and gradients by layer and step."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

from ftheta import MLPClassifier, MLPRegressor, Training
from ftheta.data import Rows
from ftheta.errors import InputError
from ftheta.explain import GradientHistory, curves, gradient_history
from ftheta.models import RestrictedBoltzmannMachine
from ftheta.train import GradientNorms, Supervised, Trainer, iterate

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)


def of(*rows):
    return curves(SimpleNamespace(history_=list(rows)))


def lines(found):
    return {line.get_label(): line.get_xydata().tolist() for line in found.figure().axes[0].lines}


def test_validation_decides_where_there_is_any():
    found = of(
        {"epoch": 1, "loss": 3.0, "valid_loss": 2.0},
        {"epoch": 2, "loss": 2.0, "valid_loss": 1.0},
        {"epoch": 3, "loss": 1.0, "valid_loss": 1.0},
    )
    assert (found.watched, found.best) == ("valid_loss", 2)  # the first of two
    assert lines(found)["training loss"] == [[1, 3], [2, 2], [3, 1]]
    assert lines(found)["best: epoch 2 (1)"] == [[2, 1]]
    assert found.table().caption == "Lowest valid_loss in epoch 2."
    assert found.table().columns == {"epoch": [1, 2, 3], "loss": [3, 2, 1], "valid_loss": [2, 1, 1]}


def test_without_validation_the_training_loss_decides():
    found = of({"epoch": 5, "loss": 3.0}, {"epoch": 6, "loss": 2.5}, {"epoch": 7, "loss": 2.75})
    assert (found.watched, found.best) == ("loss", 6)


def test_rows_may_lack_columns_and_hold_what_is_no_number():
    found = of({"epoch": 1, "loss": 1.0, "note": "x", "ok": True}, {"epoch": 2, "loss": np.nan, "valid_loss": 4.0})
    assert list(found.history) == ["epoch", "loss", "valid_loss"] and found.best == 2
    assert np.isnan(found.history["valid_loss"][0]) and np.isnan(found.history["loss"][1])


def test_rounds_are_counted_where_nobody_counted_epochs():
    found = of({"loss": 2.0, "inertia": 7.0}, {"loss": 1.0, "inertia": 5.0})
    assert found.history["round"].tolist() == [1, 2] and found.best == 2
    assert found.figure().axes[0].get_xlabel() == "round"


def test_several_players_are_all_drawn_and_none_is_the_best():
    found = of({"epoch": 1, "step": 9, "critic": 1.0, "generator": 2.0, "lr": 0.1, "seconds": 1.0})
    assert found.watched is found.best is None and found.table().caption == ""
    assert set(lines(found)) == {"critic", "generator"}
    assert found.figure().axes[0].get_ylabel() == "logged value"
    watched = of({"epoch": 1, "critic": 1.0, "valid_loss": 2.0}, {"epoch": 2, "critic": 3.0, "valid_loss": 4.0})
    assert watched.best == 1 and lines(watched)["best: epoch 1 (2)"] == [[1, 2]]


@pytest.mark.ledger("A161", covers="ftheta.explain.curves")
def test_fifty_epochs_of_a_real_run_with_the_validation_minimum_marked():
    model = MLPClassifier(hidden=(30,), epochs=50, lr=0.02, validation=0.3, random_state=0).fit(X, Y)
    loss, valid = ([row[name] for row in model.history_] for name in ("loss", "valid_loss"))
    best = 1 + int(np.argmin(valid))
    assert 1 < best < 50 and len(valid) == 50  # it overfits: the minimum lies inside
    found, epochs = curves(model), np.arange(1, 51)
    drawn = lines(found)
    np.testing.assert_allclose(drawn["training loss"], np.stack([epochs, loss], 1))
    np.testing.assert_allclose(drawn["validation loss"], np.stack([epochs, valid], 1))
    assert drawn[f"best: epoch {best}"] == [[best, min(valid)]]
    assert found.table().caption.startswith(f"Lowest valid_loss in epoch {best}: overfits from epoch {best}")
    right = [row["valid_accuracy"] for row in model.history_]
    np.testing.assert_allclose(found.figure().axes[1].lines[0].get_ydata(), right)


@pytest.mark.parametrize(
    ("losses", "verdict"),
    [
        (10 * 0.8 ** np.arange(40), "level at the end"),
        (10 - np.arange(20.0), "still falling, train longer"),
        (np.r_[9, 5, 3, 2, np.full(16, 2.01)], "no better since epoch 4"),
        (np.r_[9, 5, 3, 2, np.linspace(2, 6, 16)], "overfits from epoch 4"),
        (np.r_[9, 5, 3, 2, np.full(8, 7.0), np.full(8, 2.01)], "no better since epoch 4"),  # worse, but not at the end
        ([3.0, 2, 1], ""),
        ([2.0] * 9, ""),
    ],
)
def test_the_title_says_what_the_validation_loss_does(losses, verdict):
    found = of(*({"epoch": i + 1, "loss": 1.0, "valid_loss": float(v)} for i, v in enumerate(losses)))
    assert found.verdict == verdict
    assert found.figure().axes[0].get_title() == "Learning curves" + (verdict and f": {verdict}")


def test_errors_of_a_regressor_are_in_the_units_of_its_target():
    x, y = X[:, :1], 1000 * X[:, 0] + 7
    model = MLPRegressor(hidden=(4,), epochs=5, lr=0.02, random_state=0).fit(x[:40], y[:40], X_val=x[40:], y_val=y[40:])
    found = curves(model, target="price")
    axes = found.figure().axes[1]
    assert axes.get_ylabel() == "root mean squared error of price"
    right = np.sqrt(np.mean((model.predict(x[40:]) - y[40:]) ** 2))
    assert axes.lines[1].get_ydata()[found.best - 1] == pytest.approx(right, rel=1e-4)


def test_a_difference_of_energies_is_not_called_a_loss_to_be_minimized():
    found = curves(RestrictedBoltzmannMachine(n_hidden=2, epochs=3, random_state=0).fit((X > 0).astype(float)))
    assert found.best is None and "not to be minimized" in found.caption
    assert found.figure().axes[0].get_ylabel() == "mean energy of rows minus that of samples"


X2 = torch.randn(96, 4, generator=torch.Generator().manual_seed(0))
Y2 = X2[:, 0].sin() + X2[:, 1]


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
EXPLODING = {"linear": lambda: deep(None, 16.0), "relu": lambda: deep(nn.ReLU, 20.0)}
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
    found = gradient_history(nets[name](), X2, Y2, loss=half, steps=12, lr=0.003)
    kind = "vanishing" if nets is VANISHING else "exploding" if nets is EXPLODING else "healthy"
    assert found.kind == kind, found.verdict
    if kind == "vanishing":
        assert found.factor < 1e-2 and found.verdict.startswith("The gradient vanishes: ‖g‖ of 0 is")
        assert any("residual" in said for said in found.advice) and any("Normalize" in said for said in found.advice)
    elif kind == "exploding":
        assert any("clip_norm" in said for said in found.advice)
        assert any("smaller learning rate" in s for s in found.advice)
    else:
        assert found.advice == () and 1e-2 < found.factor < 1e2 and "arrives" in found.verdict
    assert ("Sigmoid by ReLU" in " ".join(found.advice)) == (name == "sigmoid")
    assert found.verdict in found.table().caption


def test_the_advice_for_sigmoids_helps():
    """Each of: ReLU with its weights, larger weights, normalisation, residual connections."""
    torch.manual_seed(0)
    sick = gradient_history(deep(nn.Sigmoid, 1.0), X2, Y2, loss=half, steps=5, lr=0.003).factor
    larger = lambda: deep(nn.Sigmoid, 16.0)  # noqa: E731
    normal = lambda: deep(nn.Sigmoid, 1.0, between=[lambda: nn.BatchNorm1d(12)])  # noqa: E731
    skips = lambda: nn.Sequential(nn.Linear(4, 12), *(Residual(nn.Sigmoid) for _ in range(8)), nn.Linear(12, 1))  # noqa: E731
    for cure in (HEALTHY["He and ReLU"], larger, normal, skips):
        assert gradient_history(cure(), X2, Y2, loss=half, steps=5, lr=0.003).factor > 30 * sick


def test_norms_are_those_of_autograd_and_layers_put_their_tensors_together():
    net = deep(nn.Tanh, 1.0, depth=2).double()
    found = gradient_history(net, X2, Y2, loss=half, steps=1, lr=0.1, batch_size=96)
    half(net(X2.double()), Y2.double()).mean().backward()
    for k, layer in enumerate((net[0], net[2], net[4])):
        truth = (layer.weight.grad.square().sum() + layer.bias.grad.square().sum()).sqrt()
        np.testing.assert_allclose(found.norm[0, k], float(truth), rtol=1e-10)
        np.testing.assert_allclose(
            found.size[0, k],
            float((layer.weight.square().sum() + layer.bias.square().sum()).sqrt().detach()),
            rtol=1e-10,
        )
    assert found.layers == ("0", "2", "4") and found.steps.tolist() == [1]
    sgd, adam = (gradient_history(net, X2, Y2, loss=half, steps=3, optimizer=o, lr=0.1).norm for o in ("sgd", "adam"))
    np.testing.assert_array_equal(sgd[0], adam[0])
    assert not np.allclose(sgd[2], adam[2])
    np.testing.assert_allclose(found.factor, found.norm[0, 0] / found.norm[0, 2])


def test_an_estimator_trains_as_its_parameters_say():
    x, y = X2.numpy(), Y2.numpy()
    model = MLPRegressor(hidden=(8, 8), optimizer="adam", epochs=2, random_state=0)
    found = gradient_history(model, x, y, steps=10, every=3)
    assert found.steps.tolist() == [1, 4, 7, 10] and found.kind == "healthy" and not hasattr(model, "module_")
    assert np.array_equal(found.norm, gradient_history(model, x, y, steps=10, every=3).norm)
    clipped = model.set_params(training=Training(clip_norm=1e-3))
    assert (np.sqrt((gradient_history(clipped, x, y, steps=4).norm ** 2).sum(1)) <= 1.001e-3).all()
    deep_one = MLPClassifier(hidden=(8,) * 9, activation="sigmoid", init="lecun", epochs=1, random_state=0)
    assert gradient_history(deep_one, x, y > 0, steps=5).kind == "vanishing"


def test_any_run_that_was_recorded_can_be_looked_at():
    net, norms = deep(nn.Sigmoid, 1.0), GradientNorms(every=2)
    iterate(Trainer(Supervised(net, half), Rows(X2, Y2, batch_size=32), lr=0.01), rounds=4, callbacks=[norms])
    found = gradient_history(norms)
    assert found.kind == "vanishing" and found.steps.tolist() == [1, 3, 5, 7, 9, 11]
    assert "Sigmoid" in found.kinds and found.layers[0] == "0"


def made(norm, size=None, kinds=(), reason=""):
    norm = np.asarray(norm, dtype=float)
    size = np.ones_like(norm) if size is None else size
    layers = tuple(f"l{k}" for k in range(norm.shape[1]))
    return GradientHistory(layers, np.arange(1, len(norm) + 1), norm, size, kinds, reason)


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

    assert gradient_history(Listed(), X2, Y2, loss=half, steps=2, lr=0.1).layers == ("weights.0", "weights.1")


def test_a_rule_without_gradients_is_a_sentence_and_no_vanishing_gradient():
    with pytest.raises(InputError, match="No step had a gradient: all are 0, or the optimizer asks for none, as 'lm'"):
        gradient_history(MLPRegressor(hidden=(3,), optimizer="lm", random_state=0), X2, Y2, steps=2)
    other = gradient_history(MLPRegressor(hidden=(3,), optimizer="lbfgs", random_state=0), X2, Y2, steps=2)
    assert other.kind == "healthy" and (other.norm > 0).all()


def test_growth_is_that_of_the_largest_step_and_not_of_the_last():
    norm = np.array([[3.0, 4.0], [30.0, 40.0], [6.0, 8.0]])  # of all layers together 5, 50 and 10
    assert GradientHistory(("a", "b"), np.arange(3), norm, np.ones_like(norm), ()).growth == pytest.approx(10)
    assert GradientHistory(("a", "b"), np.arange(3), norm[[0, 2]], np.ones((2, 2)), ()).growth == pytest.approx(2)


def test_a_copy_starts_with_the_weights_of_the_last_fit():
    x = np.linspace(-1, 1, 32)[:, None]
    model = MLPRegressor(hidden=(4,), epochs=1).fit(x, x[:, 0])
    same = clone(model).set_params(random_state=model.seed_)
    one, two = (gradient_history(m, x, x[:, 0], steps=2) for m in (model, same))
    np.testing.assert_array_equal(one.norm, two.norm)
