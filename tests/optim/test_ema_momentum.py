"""Momentum in both conventions: values, the conversion, and what tuning gives in a narrow valley.

The valley is ½ (θ₁² + 100 θ₂²) from (1, 1). Tuned: the best of 20,000 rates, evenly spaced over those that converge; of
2000 where β is tuned too.
"""

import numpy as np
import pytest
import torch

from ftheta.errors import InputError
from ftheta.optim import EMAMomentum, make

VALLEY = np.array([1.0, 100.0])


def final(name, lr, steps=200, **options):
    """Loss in the valley after the steps of a rule."""
    theta = torch.ones(2, dtype=torch.float64, requires_grad=True)
    rule = make(name, [theta], lr, options)
    for _ in range(steps):
        theta.grad = torch.tensor(VALLEY) * theta.detach()
        rule.step()
    return float((torch.tensor(VALLEY) * theta.detach() ** 2).sum() / 2)


def losses(mu, rates, nesterov=False):
    """Loss after 200 steps of each classical rate, by a recursion in NumPy."""
    theta, v = np.ones((2, len(rates))), np.zeros((2, len(rates)))
    for _ in range(200):
        v = mu * v + VALLEY[:, None] * (theta - (rates * mu * v if nesterov else 0))
        theta = theta - rates * v
    return (VALLEY[:, None] * theta**2).sum(0) / 2


def tuned(mu, limit, count=20_000, *, nesterov=False):
    """The best rate below the limit of stability and its loss."""
    rates = np.linspace(0, limit, count + 1)[1:-1]
    found = losses(mu, rates, nesterov)
    return rates[found.argmin()], found.min()


@pytest.mark.ledger("A133", "B189", covers="ftheta.optim.make")
@pytest.mark.parametrize(("mu", "most"), [(0.0, 1.9e-4), (0.9, 9e-13), (0.95, 1.0e-6), (0.99, 5.8e-3)])
def test_tuned_momentum_in_the_valley(mu, most):
    rate, loss = tuned(mu, 2 * (1 + mu) / 100)
    assert loss <= most
    assert final("momentum", rate, momentum=mu) == pytest.approx(loss, rel=1e-6)


@pytest.mark.ledger("B189", covers="ftheta.optim.make")
def test_the_step_under_a_constant_gradient_tends_to_the_rate_over_one_minus_momentum():
    theta = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    rule, places = make("momentum", [theta], 0.1, {"momentum": 0.9}), [0.0]
    for _ in range(400):
        theta.grad = torch.ones(1, dtype=torch.float64)
        rule.step()
        places.append(theta.item())
    moves = np.diff(places)
    assert moves[-1] == pytest.approx(-1.0)
    np.testing.assert_allclose(moves[1:], -0.1 + 0.9 * moves[:-1], atol=1e-12)


@pytest.mark.ledger("C096", covers="ftheta.optim.EMAMomentum")
def test_averages_are_damped_in_the_valley_where_descent_alone_is_slow():
    """Best of the rates for descent; best of the rates and of β = 0.60, 0.61, ..., 0.75 for averages."""
    rate, slow = tuned(0.0, 0.02)
    assert slow == pytest.approx(1.9e-4, rel=0.05)
    betas = np.arange(60, 76) / 100
    found = [tuned(beta, 2 * (1 + beta) / 100, 2000) for beta in betas]
    best = int(np.argmin([loss for _, loss in found]))
    rate, loss = found[best]
    assert loss < 1.1e-30
    assert final("ema-momentum", rate / (1 - betas[best]), beta=betas[best]) < 1.1e-30


@pytest.mark.ledger("C097", covers="ftheta.optim.EMAMomentum")
def test_the_two_conventions_differ_by_a_factor_in_the_rate():
    speeds = {}
    for name, key in (("ema-momentum", "m"), ("momentum", "momentum_buffer")):
        theta = torch.zeros(1, requires_grad=True, dtype=torch.float64)
        rule = make(name, [theta], 1e-3)
        for _ in range(500):
            theta.grad = torch.ones(1, dtype=torch.float64)
            rule.step()
        speeds[name] = rule.state[theta][key].item()
    assert speeds == pytest.approx({"ema-momentum": 1, "momentum": 10})
    assert final("ema-momentum", 0.198) == pytest.approx(6.69804e-8, rel=1e-6)
    assert final("momentum", 0.0198) == pytest.approx(6.69804e-8, rel=1e-6)
    assert not final("momentum", 0.198) < 1e30


@pytest.mark.parametrize("beta", [0.0, 0.5, 0.9, 0.99])
def test_converted_rates_give_the_same_path(beta):
    for steps in (1, 2, 30):
        assert make("ema-momentum", [torch.ones(1)], 0.1, {"beta": beta}).step(lambda: 3) == 3
        expected = final("momentum", 0.004, steps, momentum=beta)
        assert final("ema-momentum", 0.004 / (1 - beta), steps, beta=beta) == pytest.approx(expected, rel=1e-9)


@pytest.mark.ledger("B198", covers="ftheta.optim.EMAMomentum")
def test_the_first_step_grows_with_the_gradient_and_that_of_adam_does_not():
    def first(name, g):
        theta = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        theta.grad = torch.tensor([g], dtype=torch.float64)
        make(name, [theta], 0.001).step()
        return theta.item()

    assert [first("ema-momentum", g) for g in (100.0, 0.01)] == pytest.approx([-0.01, -1e-6])
    assert [first("adam", g) for g in (100.0, 0.01)] == pytest.approx([-0.001, -0.001], rel=1e-5)


def limit(name, **options):
    """The largest η (1 - β) · curvature with which a quadratic of curvature 1 does not blow up, by bisection."""
    low, high = 0.1, 10.0
    while high - low > 3e-3:
        middle = (low + high) / 2
        theta = torch.ones(1, dtype=torch.float64, requires_grad=True)
        rule = make(name, [theta], middle, options)
        for _ in range(200):
            theta.grad = theta.detach().clone()
            rule.step()
        low, high = (middle, high) if abs(theta.item()) < 1 else (low, middle)
    return low


@pytest.mark.ledger("C098", covers="ftheta.optim.make")
def test_nesterov_has_the_smaller_limit_of_stability_and_is_not_always_faster():
    """2(1 + β) and 2(1 + β)/(1 + 2β) at β = 0.9. Tuned over 2000 rates and β = 0.50, 0.52, ..., 0.90."""
    assert limit("momentum") == pytest.approx(3.80, abs=0.03)
    assert limit("nesterov") == pytest.approx(3.8 / 2.8, abs=0.01)
    betas = np.arange(50, 91, 2) / 100
    plain = min(tuned(b, 2 * (1 + b) / 100, 2000)[1] for b in betas)
    ahead = min(tuned(b, 2 * (1 + b) / (1 + 2 * b) / 100, 2000, nesterov=True)[1] for b in betas)
    assert final("momentum", 0.0198) < 1e-7 and not final("nesterov", 0.0198) < 1e30
    assert plain < ahead
    for b in (0.9, 0.95, 0.99):  # but often, at one and the same rate
        rates = np.linspace(0, 2 * (1 + b) / (1 + 2 * b) / 100, 2001)[1:-1]
        assert np.mean(losses(b, rates, nesterov=True) < losses(b, rates)) > 0.75


@pytest.mark.ledger(
    "B023", covers="ftheta.optim.make", says="D.1: the gradient is computed at w - η m", printed=0.93, right=0.0
)
def test_nesterov_is_the_gradient_at_the_look_ahead_point(ledger):
    """m <- β m + (1 - β) g(w - η β m), w <- w - η m on diag(100, 1): torch keeps θ = w - η β m, at rate η (1 - β)."""
    eta, beta, h = 0.015, 0.9, np.array([100.0, 1.0])
    theta = torch.ones(2, dtype=torch.float64, requires_grad=True)
    rule = make("nesterov", [theta], eta * (1 - beta), {"momentum": beta})
    w, m, wrong, k, gap = np.ones(2), np.zeros(2), np.ones(2), np.zeros(2), []
    standard, v = np.ones(2), np.zeros(2)
    for _ in range(50):
        theta.grad = torch.tensor(h) * theta.detach()
        rule.step()
        m = beta * m + (1 - beta) * h * (w - eta * beta * m)
        w = w - eta * m
        v = beta * v - eta * (1 - beta) * h * (standard + beta * v)
        standard = standard + v
        k = beta * k + (1 - beta) * h * (wrong - eta * k)
        wrong = wrong - eta * k
        np.testing.assert_allclose(theta.detach().numpy(), w - eta * beta * m, rtol=0, atol=1e-10)
        gap.append([abs(h @ (x**2 - standard**2)) / 2 for x in (w, wrong)])
    largest = np.max(gap, axis=0)
    assert largest[1] == pytest.approx(0.93, abs=0.005)
    ledger(largest[0], atol=1e-12, row="B023")


@pytest.mark.parametrize("bad", [-0.1, 1.0, float("nan")])
def test_a_share_outside_of_zero_to_one_is_refused(bad):
    with pytest.raises(InputError, match=rf"beta={bad}; it must be in \[0, 1\), e\.g\. 0\.9"):
        EMAMomentum([torch.zeros(1, requires_grad=True)], beta=bad)
