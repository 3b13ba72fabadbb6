"""Gauss-Newton: linear least squares in one step, small residuals fast, rank-deficient Jacobians."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta.data import Rows
from ftheta.likelihoods import Gaussian
from ftheta.train import Supervised, Trainer, Training, iterate


def fit(net, x, y, rule="gauss-newton", rounds=50, training=Training(), **options):
    training = Training(l2=training.l2, penalize_bias=training.penalize_bias, options=options)
    trainer = Trainer(Supervised(net, Gaussian()), Rows(x, y, batch_size=len(x)), optimizer=rule, training=training)
    return trainer, iterate(trainer, rounds=rounds)


def rows(n=40, features=3, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, features, generator=g, dtype=torch.double)
    return x, torch.sin(x.sum(1)) + 0.1 * torch.randn(n, generator=g, dtype=torch.double)


@pytest.mark.parametrize("l2", [0.0, 0.05])
def test_linear_least_squares_take_one_step(l2):
    (x, y), net = rows(), nn.Linear(3, 1).double()
    fit(net, x, y, rounds=1, training=Training(l2=l2))
    design = np.c_[x, np.ones(40)]
    best = np.linalg.solve(design.T @ design / 40 + 2 * l2 * np.diag([1, 1, 1, 0]), design.T @ y.numpy() / 40)
    assert np.abs(torch.cat([net.weight[0], net.bias]).detach().numpy() - best).max() < 1e-10


def test_residuals_that_vanish_are_found_quadratically():
    """y = a exp(b x) without noise: JᵀJ is the Hessian at the end, so the right digits double."""

    class Growth(nn.Module):
        def __init__(self):
            super().__init__()
            self.theta = nn.Parameter(torch.tensor([1.0, 0.2], dtype=torch.double))

        def forward(self, x):
            return self.theta[0] * torch.exp(self.theta[1] * x)

    x = torch.linspace(0, 2, 20).double()[:, None]
    net, errors = Growth(), []
    for _ in range(7):
        errors.append((net.theta.detach() - torch.tensor([2.0, 0.7])).norm().item())
        fit(net, x, 2 * torch.exp(torch.tensor(0.7).double() * x[:, 0]), rounds=1)
    assert errors[-1] < 1e-9
    late = [(a, b) for a, b in zip(errors, errors[1:], strict=False) if a < 0.1 and b > 1e-7]
    assert late and all(b < 10 * a**2 for a, b in late)


def test_it_is_its_own_recursion_in_numpy_for_50_steps():
    """tanh(xθ) against noisy targets, at a rate of 0.1."""
    x, _ = rows(features=2)
    y = torch.tanh(x @ torch.tensor([0.8, -0.5]).double()) + 0.1 * torch.sin(9 * x[:, 0])
    net = nn.Sequential(nn.Linear(2, 1, bias=False), nn.Tanh()).double()
    theta, X, Y = net[0].weight[0].detach().numpy().copy(), x.numpy(), y.numpy()
    trainer = Trainer(Supervised(net, Gaussian()), Rows(x, y, batch_size=40), optimizer="gauss-newton", lr=0.1)
    for _ in range(50):
        iterate(trainer, rounds=1)
        out = np.tanh(X @ theta)
        J = (1 - out**2)[:, None] * X
        theta = theta - 0.1 * np.linalg.solve(J.T @ J, J.T @ (out - Y))
        assert np.abs(net[0].weight[0].detach().numpy() - theta).max() < 1e-10


def test_a_rank_deficient_jacobian_gets_just_enough_damping():
    """A column twice: JᵀJ is singular, and the fit is that of the column alone."""
    (x, y), net = rows(features=1), nn.Linear(2, 1, bias=False).double()
    trainer, history = fit(net, x.repeat(1, 2), y, rounds=3)
    assert 0 < history[0]["damping"] < 1e-6
    assert net.weight.sum().item() == pytest.approx((x[:, 0] @ y / (x[:, 0] @ x[:, 0])).item(), rel=1e-8)
