"""Stability: verdicts on made-up descents, the net against nn.Linear, and descents that are broken on purpose."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta.studies.optimisers import stability
from ftheta.studies.optimisers.stability import TINY, _catapult, _escape, _net, _saddle, judge

STARTS = np.array([0.0, 1e-2, 1e-4, 1e-6])


def saddle(gd=(-1, 50, 98, 146), sgd=(90, 95), moved=0.0):
    return {"starts": STARTS, "gd": np.array(gd), "sgd": np.array(sgd), "moved": moved}


def edge(settled=(2.0, 2.1), last=0.1):
    rates, steps = np.array([0.1, 0.2]), np.arange(30)
    sharpness = np.tile(np.array(settled) / rates, (30, 1))
    sharpness[:20] = 1.0  # on the way there
    return {
        "rates": rates,
        "steps": steps,
        "losses": np.linspace(1, last, 30)[:, None] * [1, 1],
        "sharpness": sharpness,
    }


def catapult(peak=5.0, end=1.2, last=np.nan, lazy=1.0):
    products = np.array([0.5, 2.5, 4.5])
    losses = np.array([[1.0, 1.0, 1.0], [lazy, peak, 9.0], [0.1, 0.1, last]])
    sharpness = np.array([products, [0.5, 2.0, 6.0], [0.5, end, last]])
    return {"products": products, "losses": losses, "sharpness": sharpness}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),
        ({"gd": (70, 50, 98, 146)}, "not reproduced"),  # GD leaves from the ridge
        ({"sgd": (90, -1)}, "not reproduced"),  # an order stays
        ({"gd": (-1, 50, 60, 70)}, "not reproduced"),  # not at the pace of the eigenvalue
        ({"moved": 0.1}, "not reproduced"),
    ],
)
def test_verdicts_on_the_saddle(changes, verdict):
    found, _ = judge({"saddle": saddle(**changes), "edge": edge(), "catapult": catapult()})
    assert (found.row, found.verdict) == ("C094", verdict)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "corrected"),
        ({"edge": edge((2.0, 1.5))}, "not reproduced"),  # never reached the edge
        ({"edge": edge((2.0, 2.5))}, "not reproduced"),
        ({"edge": edge(last=1.5)}, "not reproduced"),  # the loss did not fall
        ({"catapult": catapult(peak=1.5)}, "not reproduced"),  # no rise
        ({"catapult": catapult(end=2.2)}, "not reproduced"),  # not flat enough
        ({"catapult": catapult(last=0.1)}, "not reproduced"),  # nothing is lost
        ({"catapult": catapult(lazy=1.5)}, "not reproduced"),  # a small step rises too
    ],
)
def test_verdicts_on_the_step(changes, verdict):
    _, found = judge({"saddle": saddle(), "edge": edge(), "catapult": catapult()} | changes)
    assert (found.row, found.verdict) == ("C165", verdict)


def test_the_net_is_a_plain_module_on_the_cubic():
    loss, theta = _net(5, 3)
    net = nn.Sequential(nn.Linear(1, 5), nn.Tanh(), nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 1)).double()
    nn.utils.vector_to_parameters(theta, net.parameters())
    x = torch.linspace(-1, 1, 20, dtype=torch.double)
    y = 4 * x**3 - 3 * x
    torch.testing.assert_close(loss(theta), (net(x[:, None])[:, 0] - y).square().mean() / 2)
    assert all(not p.any() for p in list(net.parameters())[1::2])  # biases


def test_the_catapult_follows_the_recursion_of_its_sharpness():
    """λ' = λ + α f² (α λ - 4) / m with f = u·v / √m, L = f² / 2."""
    found, m = _catapult(TINY), TINY.width
    first = float(
        torch.randn(2 * m, generator=stability.Draw(0).at("catapult").generator(), dtype=torch.double).square().sum()
        / m
    )
    for k, product in enumerate(found["products"]):
        lr, squares, sharp = product / first, 2 * found["losses"][:, k], found["sharpness"][:, k]
        ok = np.isfinite(squares[:-1]) & np.isfinite(sharp[1:])
        due = sharp + lr**2 * squares * (sharp - 4) / m
        assert sharp[0] == pytest.approx(product) and due[:-1][ok] == pytest.approx(sharp[1:][ok], rel=1e-6)
    assert np.isnan(found["losses"][-1, -1]) and np.isfinite(found["losses"][-1, 0])


def test_the_first_step_beyond_one_half_is_counted():
    assert _escape(np.array([[0.1, 9.0], [-0.5, 9.0], [-0.6, 9.0], [0.0, 9.0]])) == 2
    assert _escape(np.zeros((3, 2))) == -1


@pytest.mark.middle
def test_a_saddle_without_noise_holds_sgd_and_the_verdict_changes(monkeypatch):
    rest = {"edge": edge(), "catapult": catapult()}
    assert judge({"saddle": _saddle(TINY), **rest})[0].verdict == stability.CLAIMS["C094"]
    monkeypatch.setattr(stability, "SLOPE", 0.0)
    assert judge({"saddle": _saddle(TINY), **rest})[0].verdict == "not reproduced"
