"""Flows and modified losses: closed forms, orders of convergence, and the solution that descent from zero finds."""

import math
from itertools import permutations

import pytest
import torch
from torch import nn
from torch.func import grad, jacrev

from ftheta.errors import InputError, NonFiniteError
from ftheta.formulas import gradient_flow, modified_gd, modified_sgd
from ftheta.optim import make

START = torch.tensor([2.0, 1.5], dtype=torch.double)
RATES = (0.1, 0.05, 0.025, 0.0125)


def loss(theta):
    return (theta[0] * theta[1] - 1) ** 2 / 2 + 0.1 * theta[0] ** 2


def descend(fs, theta, lr):
    """One step along each function in turn."""
    for f in fs:
        theta = theta - lr * grad(f)(theta)
    return theta


def off(flow, theta, time, start=START, tolerance=1e-10):
    """Distance of θ from where a flow is at a time."""
    return (gradient_flow(flow, start, [time], tolerance)[-1] - theta).norm().item()


def order(far, near):
    """The power of the rate in an error, from its values at a rate and at half of it."""
    return math.log2(far / near)


# ---- flows


def test_the_flow_of_a_quadratic_is_an_exponential():
    stiff = torch.tensor([1.0, 30.0], dtype=torch.double)
    times = [0.0, 0.1, 2.0]
    found = gradient_flow(lambda t: (stiff * t.square()).sum() / 2, START, times)
    want = START * torch.exp(-stiff * torch.tensor(times, dtype=torch.double)[:, None])  # (T, n)
    torch.testing.assert_close(found, want, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("times", [[], [-1.0, 1.0], [0.0, 2.0, 1.0], [1.0, 1.0]])
def test_times_ascend_from_zero(times):
    with pytest.raises(InputError, match=r"times=.* are not ascending from 0 on\. Pass e\.g\. times=\[0\.0, 0\.5"):
        gradient_flow(loss, START, times)


@pytest.mark.middle
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_flow_that_leaves_the_numbers_is_a_sentence():
    with pytest.raises(NonFiniteError, match=r"The flow cannot be followed to t = 10: .* Ask for shorter times"):
        gradient_flow(lambda t: -t.square().square().sum(), START, [10.0])


# ---- what gradient descent follows


@pytest.mark.ledger("C160", covers="ftheta.formulas.gradient_flow")
def test_descent_is_off_the_gradient_flow_by_the_first_order_of_the_rate():
    found = [off(loss, descend([loss] * round(1 / lr), START, lr), 1.0, tolerance=1e-8) for lr in RATES]
    assert found == pytest.approx([0.0292, 0.0140, 0.00690, 0.00343], rel=4e-3)
    assert order(*found[2:]) == pytest.approx(1, abs=0.02)


@pytest.mark.middle
def test_descent_is_off_the_modified_flow_by_the_second_order_and_the_sign_is_plus():
    rates = RATES[1:3]
    ends = [descend([loss] * round(1 / lr), START, lr) for lr in rates]
    found = [off(modified_gd(loss, lr), end, 1.0, tolerance=1e-8) for lr, end in zip(rates, ends, strict=True)]
    assert found == pytest.approx([0.00220, 0.000565], rel=2e-3)
    assert order(*found) == pytest.approx(2, abs=0.05)
    minus = off(modified_gd(loss, -0.1), descend([loss] * 10, START, 0.1), 1.0, tolerance=1e-8)
    assert minus == pytest.approx(0.0684, rel=2e-3)


@pytest.mark.ledger("C161", covers="ftheta.formulas.modified_gd")
def test_what_one_step_neglects_is_of_the_third_order():
    found = [off(modified_gd(loss, lr), descend([loss], START, lr), lr) for lr in (0.004, 0.002)]
    assert order(*found) == pytest.approx(3, rel=0.02)


@pytest.mark.ledger("C162", covers="ftheta.formulas.modified_gd")
def test_the_correction_is_half_the_rate_times_the_hessian_times_the_gradient():
    theta, lr = torch.tensor([0.7, -1.3], dtype=torch.double), 0.3
    g, h = grad(loss)(theta), jacrev(grad(loss))(theta)
    torch.testing.assert_close(grad(modified_gd(loss, lr))(theta), g + lr / 2 * h @ g)
    torch.testing.assert_close(modified_gd(loss, lr)(theta), loss(theta) + lr / 4 * g @ g)


# ---- what stochastic gradient descent follows

X = torch.tensor([-1.0, -0.8, 0.3, 0.5, 0.9, 1.2], dtype=torch.double)
Y = torch.tensor([1.0, 0.8, -1.0, -0.5, 2.0, 2.2], dtype=torch.double)
BEGIN = torch.tensor([0.8, 1.2], dtype=torch.double)


def batch(i):
    x, y = X[2 * i : 2 * i + 2], Y[2 * i : 2 * i + 2]
    return lambda theta: (theta[1] * torch.tanh(theta[0] * x) - y).square().mean() / 2


BATCHES = [batch(i) for i in range(3)]


def mean(theta):
    return torch.stack([f(theta) for f in BATCHES]).mean()


def variance(theta):
    """Σ_b ‖∇L_b - ∇L‖² / 4."""
    return sum((grad(f)(theta) - grad(mean)(theta)).square().sum() for f in BATCHES) / 4


def epoch(lr):
    """The mean end of one epoch over all orders of the batches."""
    return torch.stack([descend(each, BEGIN, lr) for each in permutations(BATCHES)]).mean(0)


@pytest.mark.middle
def test_an_epoch_is_off_the_flow_of_the_sgd_loss_by_the_third_order_and_off_others_by_the_second():
    rates = (0.05, 0.025)
    ends = [epoch(lr) for lr in rates]
    flows = {
        "sgd": lambda lr: modified_sgd(BATCHES, lr),
        "plain": lambda lr: mean,
        "gd": lambda lr: modified_gd(mean, lr),
        "size": lambda lr: lambda theta: modified_gd(mean, lr)(theta) + lr / 2 * variance(theta),  # 2 rows a batch
    }
    found = {
        name: [off(flow(lr), end, 3 * lr, BEGIN) for lr, end in zip(rates, ends, strict=True)]
        for name, flow in flows.items()
    }
    assert order(*found["sgd"]) == pytest.approx(3, abs=0.15)
    assert all(order(*found[name]) < 2.2 for name in ("plain", "gd", "size"))
    assert all(found[name][-1] > 3 * found["sgd"][-1] for name in ("plain", "gd", "size"))


@pytest.mark.ledger("C163", covers="ftheta.formulas.modified_sgd")
def test_the_variance_is_divided_by_the_number_of_batches_not_by_their_size():
    """What is left of an epoch beside the GD loss, along the gradient of the variance: one B explains it."""
    lr = 1e-3
    left = gradient_flow(modified_gd(mean, lr), BEGIN, [3 * lr])[-1] - epoch(lr)
    push = 3 * lr * lr * grad(variance)(BEGIN)  # times 1 / B
    assert (push @ push / (left @ push)).item() == pytest.approx(3, rel=0.01)


# ---- which of many solutions descent finds


def system():
    generator = torch.Generator().manual_seed(0)
    a, b, start = (torch.randn(n, generator=generator, dtype=torch.double) for n in ((5, 20), (5,), (20,)))
    return a, b, start


def solve(a, b, start):
    """500 steps of 0.01 on ‖Aθ - b‖² / 2, whose least curvature that is not 0 is above 10."""
    theta = start.clone().requires_grad_()
    optimizer, square, moved = make("gd", [theta], lr=0.01), a.T @ a, a.T @ b
    for _ in range(500):
        theta.grad = square @ theta.detach() - moved
        optimizer.step()
    return theta.detach()


@pytest.mark.ledger("A105", "C164", covers="ftheta.optim.make")
def test_descent_from_zero_finds_the_interpolant_of_least_norm():
    a, b, _ = system()
    found = solve(a, b, torch.zeros(20, dtype=torch.double))
    torch.testing.assert_close(found, torch.linalg.pinv(a) @ b, rtol=0, atol=1e-12)


@pytest.mark.ledger("C164", covers="ftheta.optim.make")
def test_descent_from_elsewhere_keeps_what_the_data_do_not_see_and_is_longer():
    a, b, start = system()
    found, least = solve(a, b, start), torch.linalg.pinv(a) @ b
    torch.testing.assert_close(found, least + (start - torch.linalg.pinv(a) @ (a @ start)), rtol=0, atol=1e-12)
    torch.testing.assert_close(a @ found, b)
    assert found.norm() > 3 * least.norm()


@pytest.mark.ledger("C164", covers="ftheta.optim.make")
def test_of_a_relu_net_at_zero_only_the_output_bias_moves():
    net = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1)).double()
    for p in net.parameters():
        nn.init.zeros_(p)
    optimizer = make("gd", net.parameters(), lr=0.1)
    x, y = system()[0][:, :3], system()[1]
    for _ in range(10):
        optimizer.zero_grad()
        (net(x)[:, 0] - y).square().mean().backward()
        optimizer.step()
    assert [bool(p.detach().any()) for p in net.parameters()] == [False, False, False, True]
