"""Dense networks written out: what Python reads in the text is what the network computes."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import MLPRegressor
from ftheta.draw import Draw
from ftheta.explain import expression
from ftheta.nn import MLP


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


def test_an_estimator_is_written_in_the_units_that_its_net_sees():
    X = np.linspace(-1, 1, 12)[:, None]
    model = MLPRegressor(hidden=(2,), epochs=1, dtype="float64", random_state=0).fit(X, X[:, 0])
    truth = model.module_(torch.from_numpy(X)).detach().numpy()
    np.testing.assert_allclose(expression(model).evaluate(X), truth, rtol=1e-10)
