"""Natural gradient: Gauss-Newton for a Gaussian, IRLS for a logistic regression, and the same however θ is written."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn

from ftheta.data import Rows
from ftheta.likelihoods import Bernoulli, Categorical, Gaussian, HeteroscedasticGaussian, Poisson
from ftheta.nn import MLP
from ftheta.train import Supervised, Trainer, Training, iterate


def rows(n=60, seed=0):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 3, generator=g, dtype=torch.double)
    return x, torch.randn(n, generator=g, dtype=torch.double) + x.sum(1)


def steps(net, likelihood, x, y, rounds, rule="natural", training=Training()):
    """θ after every step."""
    trainer = Trainer(Supervised(net, likelihood), Rows(x, y, batch_size=len(x)), optimizer=rule, training=training)
    path = []
    for _ in range(rounds):
        trainer.advance()
        path.append(nn.utils.parameters_to_vector(net.parameters()).detach().clone())
    return torch.stack(path), trainer


def copies(make_net, n=2):
    nets = [make_net() for _ in range(n)]
    for net in nets[1:]:
        net.load_state_dict(nets[0].state_dict())
    return nets


def test_for_a_gaussian_of_fixed_scale_it_is_gauss_newton():
    (x, y), nets = rows(), copies(lambda: MLP(3, 1, (5,), activation="tanh").double())
    knobs = Training(l2=1e-2, options={"control": "halving"})
    found, _ = steps(nets[0], Gaussian(0.7), x, y, 6, training=knobs)
    expected, _ = steps(nets[1], Gaussian(0.7), x, y, 6, rule="gauss-newton", training=knobs)
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-8)


def test_for_a_logistic_regression_it_is_newton_s_method_and_irls():
    x, y = rows()
    y = (y > 0).double()
    nets = copies(lambda: nn.Linear(3, 1).double())
    for net in nets:
        nn.init.zeros_(net.weight), nn.init.zeros_(net.bias)
    found, _ = steps(nets[0], Bernoulli(), x, y, 4, training=Training(l2=0.02))
    newton, _ = steps(nets[1], Bernoulli(), x, y, 4, rule="newton", training=Training(l2=0.02))
    design, beta, penalty = np.c_[x, np.ones(60)], np.zeros(4), 0.04 * np.diag([1, 1, 1, 0])
    for row in found:  # iteratively reweighted least squares: weights p(1 - p), working targets Xβ + (y - p) / p(1 - p)
        p = 1 / (1 + np.exp(-design @ beta))
        w = p * (1 - p)
        target = design @ beta + (y.numpy() - p) / w
        beta = np.linalg.solve(design.T * w @ design / 60 + penalty, design.T * w @ target / 60)
        assert np.abs(row.numpy() - beta).max() < 1e-10
    torch.testing.assert_close(found, newton, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_it_ends_where_scikit_learn_s_logistic_regression_does(classes):
    x, y = rows(120)
    y = torch.bucketize(y, torch.tensor([0.0, 1.5])[: classes - 1].double())
    likelihood, width = (Bernoulli(), 1) if classes == 2 else (Categorical(), 3)
    net = nn.Linear(3, width).double()
    with torch.no_grad():
        net.weight.zero_(), net.bias.zero_()
    training = Training(l2=0.01, options={"ftol": 0.0, "xtol": 1e-12})
    _, trainer = steps(net, likelihood, x, y.double() if classes == 2 else y, 15, training=training)
    theirs = LogisticRegression(C=1 / (2 * 0.01 * 120), tol=1e-10, max_iter=1000).fit(x, y)
    torch.testing.assert_close(net.weight.detach(), torch.from_numpy(theirs.coef_), rtol=1e-4, atol=1e-5)


class Written(nn.Module):
    """A Poisson model log λ = a + b x, with θ = (a, b) written as A φ or as (a, sinh of φ)."""

    def __init__(self, phi, read):
        super().__init__()
        self.phi, self.read = nn.Parameter(torch.tensor(phi, dtype=torch.double)), read

    def forward(self, x):
        a, b = self.read(self.phi)
        return a + b * x


@pytest.mark.parametrize("rule", ["natural", "gd"])
def test_the_same_distributions_are_reached_however_linearly_theta_is_written(rule):
    x = torch.linspace(-1, 2, 30).double()[:, None]
    y = torch.poisson(torch.exp(0.3 + 0.8 * x[:, 0]), generator=torch.Generator().manual_seed(0))
    mix = torch.tensor([[2.0, 1.0], [-1.0, 3.0]], dtype=torch.double)
    start = torch.linalg.solve(mix, torch.tensor([0.0, 0.1], dtype=torch.double)).tolist()
    nets = [Written([0.0, 0.1], lambda phi: phi), Written(start, lambda phi: mix @ phi)]
    paths = [steps(net, Poisson(), x, y, 4, rule=rule)[0] for net in nets]
    apart = (paths[0] - paths[1] @ mix.T).abs().max().item()
    assert apart < 1e-9 if rule == "natural" else apart > 0.1


@pytest.mark.parametrize(
    ("likelihood", "width", "y"),
    [
        (Categorical(), 3, torch.arange(60) % 3),
        (HeteroscedasticGaussian(), 2, torch.linspace(-1, 1, 60).double()),
        (Poisson(), 1, (torch.arange(60) % 4).double()),
    ],
)
def test_it_lowers_the_loss_of_any_likelihood_without_parameters_of_its_own(likelihood, width, y):
    net = MLP(3, width, (4,), activation="tanh").double()
    trainer = Trainer(Supervised(net, likelihood), Rows(rows()[0], y, batch_size=60), optimizer="natural")
    history = iterate(trainer, rounds=8)
    assert (np.diff([row["loss"] for row in history]) <= 1e-12).all() and history[-1]["loss"] < history[0]["loss"]
