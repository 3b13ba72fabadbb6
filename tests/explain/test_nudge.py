"""One weight nudged, against the network computed twice by hand and against closed forms."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import MLPRegressor
from ftheta.explain import nudge


def net(seed=0):
    torch.manual_seed(seed)
    parts = [nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1)]
    return nn.Sequential(*parts).double()


X = torch.randn(6, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
Y = torch.randn(6, generator=torch.Generator().manual_seed(2), dtype=torch.float64)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.ledger("C103", covers="ftheta.explain.nudge")
def test_a_small_change_ripples_to_the_loss_as_the_gradient_says(seed):
    """h1, h2, h3, output and loss; back-propagation for two to three forward passes, differences for P + 1."""
    module = net(seed)
    found = nudge(module, X, Y, parameter="0.weight", amount=1e-7)
    assert found.slope == pytest.approx(found.gradient, rel=1e-6)
    assert found.layers == ("0", "1", "2", "3", "4", "5", "6") and found.kinds[:2] == ("Linear", "Tanh")
    for change, first, delta in zip(found.change, found.predicted, found.delta, strict=True):
        np.testing.assert_allclose(change, first, atol=1e-6 * np.abs(first).max() + 1e-15)
        assert (delta * change).sum() == pytest.approx(
            found.loss[1] - found.loss[0], rel=1e-5
        )  # every layer carries it
    assert 2 <= found.cost <= 3 and found.parameters == 4 * 4 + 3 * 5 + 2 * 4 + 3
    assert f"differences for all {found.parameters} weights {found.parameters + 1}" in found.table().caption


def test_the_changes_are_those_of_two_passes():
    module = net()
    found = nudge(module, X, Y, parameter="2.weight", index=(1, 3), amount=0.3)
    moved = net()
    with torch.no_grad():
        moved[2].weight[1, 3] += 0.3
        for k, change in enumerate(found.change):
            truth = (moved[: k + 1](X) - module[: k + 1](X)).numpy()
            np.testing.assert_allclose(change, truth, atol=1e-14)
        losses = [float(((m(X)[:, 0] - Y) ** 2).mean() / 2) for m in (module, moved)]
    np.testing.assert_allclose(found.loss, losses)
    np.testing.assert_allclose(found.curve[[20, 30]], losses)
    assert found.weight == float(module[2].weight.detach()[1, 3]) and found.amount == 0.3
    assert not found.change[0].any() and found.table().columns["changed"][:3] == [0, 0, 6]  # one unit of six rows
    module.zero_grad()
    ((module(X)[:, 0] - Y) ** 2).mean().div(2).backward()
    assert found.gradient == pytest.approx(float(module[2].weight.grad[1, 3]), rel=1e-12)


def test_what_is_left_of_the_first_order_is_of_second_order():
    gaps = []
    for by in (1e-2, 1e-3):
        found = nudge(net(), X, Y, amount=by)
        gaps.append(abs(found.loss[1] - found.loss[0] - found.gradient * by))
    assert gaps[0] / gaps[1] == pytest.approx(100, rel=0.1)


def test_by_default_the_weight_that_matters_most_in_the_first_matrix_is_nudged():
    module = net()
    found = nudge(module, X, Y)
    ((module(X)[:, 0] - Y) ** 2).mean().div(2).backward()
    assert found.parameter == "0.weight"
    assert found.index == tuple(int(i) for i in np.unravel_index(int(module[0].weight.grad.abs().argmax()), (4, 3)))
    assert nudge(module, X, Y, parameter="0.weight", index=5).index == (1, 2)


def test_work_is_counted_in_multiply_adds():
    found = nudge(nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)), X, torch.zeros(6, 2))
    assert found.cost == ((12 + 8) + (12 + 8 + 8)) / (12 + 8)  # back: both weights, and δ of the hidden layer


def test_an_estimator_and_its_figure():
    x = X.numpy()
    model = MLPRegressor(hidden=(4,), epochs=1, random_state=0).fit(x, x[:, 0])
    found = nudge(model, x, x[:, 0], amount=0.1)
    axes = found.figure().axes
    assert axes[-1].get_title() == "loss along the weight" and len(axes) == len(found.layers) + 1
    tangent = axes[-1].get_lines()[1].get_ydata()
    np.testing.assert_allclose((tangent[-1] - tangent[0]) / 0.4, found.gradient, rtol=1e-9)
