"""The table of activations: what it says is what the modules do."""

import math
import re

import mpmath
import pytest
import torch
from torch import nn

from ftheta import models
from ftheta.errors import InputError
from ftheta.nn import ACTIVATIONS, Sign, Step, activation

every = pytest.mark.parametrize("name", ACTIVATIONS)
NAMES = {
    "max": max,
    **{name: getattr(mpmath, name) for name in ("exp", "log", "tanh", "sin", "cos", "erf", "sqrt", "pi")},
}
EXTREMA = [math.pi / 2, -math.pi / 2, -0.7517915246935645, -1.2784645427610738]  # of sin, gelu, silu
GRID = torch.arange(-60, 61, dtype=torch.double) / 10  # 0 included, to the last digit


def read(text, z):
    """The value of a formula of the table, to 80 digits."""
    with mpmath.workdps(80):
        return eval(text, {"__builtins__": {}}, {**NAMES, "z": mpmath.mpf(z)})


@every
@pytest.mark.ledger("A282", "C055", "B186", covers="ftheta.nn.ACTIVATIONS")
def test_the_formula_is_what_the_module_computes(name):
    truth = torch.tensor([float(read(ACTIVATIONS[name].formula, z)) for z in GRID.tolist()], dtype=torch.double)
    torch.testing.assert_close(activation(name)(GRID), truth)


@every
@pytest.mark.ledger("A282", "C055", "B186", covers="ftheta.nn.ACTIVATIONS")
def test_the_derivative_is_that_of_the_module_also_at_the_kink(name):
    truth = torch.tensor([float(read(ACTIVATIONS[name].derivative, z)) for z in GRID.tolist()], dtype=torch.double)
    torch.testing.assert_close(ACTIVATIONS[name].slope(GRID), truth, rtol=1e-6, atol=1e-9)
    h = 1e-6
    away = GRID[GRID.abs() > 0.01]
    central = (activation(name)(away + h) - activation(name)(away - h)) / (2 * h)
    torch.testing.assert_close(ACTIVATIONS[name].slope(away), central, rtol=1e-5, atol=1e-7)


@every
@pytest.mark.ledger("A282", covers="ftheta.nn.ACTIVATIONS")
def test_the_range_has_its_values_up_to_open_ends(name):
    """A closed end is reached at a finite z, an open one only approached; nothing lies outside."""
    entry = ACTIVATIONS[name]
    opening, low, high, closing = re.fullmatch(r"([\[(])(\S+), (\S+)([\])])", entry.range).groups()
    low, high = float(low), float(high)
    with mpmath.workdps(80):
        far = [read(entry.formula, z) for z in (-60, 60)]
        values = [read(entry.formula, z) for z in [*range(-59, 60), *EXTREMA]]
        for end, sign, closed in ((low, 1, opening == "["), (-high, -1, closing == "]")):
            inside, outside = min(sign * v for v in values), min(sign * v for v in far)
            assert closed == (inside <= outside)
            assert min(inside, outside) >= end - 1e-6 * closed
            assert min(inside, outside) < (end + 1e-6 if math.isfinite(end) else -0.5)


@every
def test_monotone_is_what_it_says(name):
    assert (activation(name)(GRID).diff() < 0).any().item() != ACTIVATIONS[name].monotone


def test_options_change_the_module():
    assert activation("leaky_relu", {"negative_slope": 0.2})(torch.tensor(-1.0)).item() == pytest.approx(-0.2)
    assert activation("leaky_relu")(torch.tensor(-1.0)).item() == pytest.approx(-0.01)
    assert activation("elu", {"alpha": 2.0})(torch.tensor(-50.0)).item() == pytest.approx(-2.0)


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(
        InputError, match=r"Unknown activation 'rellu'.*[Dd]id you mean 'relu'.* Known: relu, leaky_relu, elu"
    ):
        activation("rellu")
    with pytest.raises(InputError, match=r"Unknown option of activation 'leaky_relu': 'slope'.*'negative_slope'"):
        activation("leaky_relu", {"slope": 0.2})


@every
def test_extreme_inputs_stay_finite(name):
    z = torch.tensor([-1e4, -104.0, -88.0, 0.0, 88.0, 104.0, 1e4])
    assert activation(name)(z).isfinite().all() and ACTIVATIONS[name].slope(z).isfinite().all()


INPUTS = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]])


def neuron(w, b, name):
    """One unit with these weights and the activation of this name."""
    dense = nn.Linear(len(w), 1)
    with torch.no_grad():
        dense.weight.copy_(torch.tensor([w]))
        dense.bias.copy_(torch.tensor([b]))
    return nn.Sequential(dense, activation(name))


@pytest.mark.ledger("B002", covers="ftheta.nn.ACTIVATIONS")
def test_a_neuron_has_a_value_and_a_derivative_by_the_name_of_its_activation():
    x = torch.tensor([[1.0, -2.0], [0.5, 0.25], [-1.0, 3.0]])
    a = x @ torch.tensor([0.7, 0.4]) - 0.1  # 0.7 x1 + 0.4 x2 - 0.1
    slopes = {
        "identity": lambda f: torch.ones(3),
        "tanh": lambda f: 1 - f**2,
        "sigmoid": lambda f: f * (1 - f),
        "relu": lambda f: (f > 0).float(),
        "sign": lambda f: torch.zeros(3),
    }
    for name, slope in slopes.items():
        f = neuron([0.7, 0.4], -0.1, name)(x)[:, 0]
        torch.testing.assert_close(f, activation(name)(a))
        torch.testing.assert_close(ACTIVATIONS[name].slope(a), slope(f.detach()))
    assert neuron([0.7, 0.4], -0.1, "sign")(x)[:, 0].tolist() == [-1, 1, 1]
    assert activation("sign")(torch.tensor([-1e-30, 0.0, 1e-30])).tolist() == [-1, -1, 1]


@pytest.mark.ledger("B002", covers="ftheta.models.Perceptron")
@pytest.mark.parametrize("name", ["identity", "tanh", "sigmoid", "sign"])
def test_a_neuron_learns_a_gate_whatever_its_activation(name):
    x, y = INPUTS.numpy(), [0, 0, 0, 1]
    if name == "sign":  # by its own rule: its slope is 0
        model = models.Perceptron(random_state=0).fit(x, y)
        unit = neuron(model.coef_[0].tolist(), float(model.intercept_[0]), name)
    else:
        start = neuron([0.1, -0.1], 0.0, name)
        unit = models.ModuleRegressor(module=start, epochs=300, lr=0.1, random_state=0).fit(x, y).module_
    values = unit(INPUTS)[:, 0].detach().tolist()
    assert max(values[:3]) < values[3]


@pytest.mark.ledger("B177", covers="ftheta.nn.Step")
@pytest.mark.parametrize(
    ("w", "b", "truth"), [([1.0, 1.0], -1.5, [0, 0, 0, 1]), ([1.0, 1.0], -0.5, [0, 1, 1, 1]), ([-1.0], 0.5, [1, 0])]
)
def test_a_threshold_neuron_is_and_or_and_not(w, b, truth):
    x = INPUTS if len(w) == 2 else torch.tensor([[0.0], [1.0]])
    assert neuron(w, b, "step")(x)[:, 0].tolist() == truth
    assert neuron(w, b, "sign")(x)[:, 0].tolist() == [2 * t - 1 for t in truth]
    for name in ("tanh", "sigmoid"):  # other nonlinearities have the gate on either side of their middle
        middle = activation(name)(torch.tensor(0.0))
        assert (neuron(w, b, name)(x)[:, 0] > middle).int().tolist() == truth


def test_gradients_stop_at_a_threshold_and_training_leaves_its_weights():
    for name in ("sign", "step"):
        net = neuron([1.0, 1.0], -1.5, name)
        net(INPUTS).sum().backward()
        assert not net[0].weight.grad.any() and not net[0].bias.grad.any()
    assert isinstance(activation("sign"), Sign) and isinstance(activation("step"), Step)
