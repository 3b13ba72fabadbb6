"""Levenberg-Marquardt beside SciPy's least squares, its damping on the way, and how it resumes and ends."""

import numpy as np
import pytest
import torch
from scipy.optimize import least_squares
from torch import nn

from bench import lm as race
from ftheta.data import Rows
from ftheta.errors import InputError
from ftheta.likelihoods import Gaussian
from ftheta.nn import MLP
from ftheta.train import Supervised, Trainer, Training, iterate


def sinusoid(dtype=torch.double):
    return torch.from_numpy(race.X).to(dtype), torch.from_numpy(race.Y).to(dtype)


def trainer(theta, l2=race.L2, dtype=torch.double, **options):
    net = MLP(1, 1, (race.H,), activation="tanh").to(dtype)
    nn.utils.vector_to_parameters(torch.tensor(theta, dtype=dtype), net.parameters())
    source = Rows(*sinusoid(dtype), batch_size=race.N)
    return Trainer(Supervised(net, Gaussian()), source, optimizer="lm", training=Training(l2=l2, options=options))


def vector(found):
    return nn.utils.parameters_to_vector(found.objective.parameters()).detach().double().numpy()


@pytest.mark.parametrize("seed", [s if s == 9 else pytest.param(s, marks=pytest.mark.middle) for s in race.SEEDS])
def test_it_ends_at_the_cost_of_scipy(seed):
    """From the six starts of the benchmark; `trf` with its Jacobian is the peer that needs seconds, not minutes."""
    found = trainer(race.start(seed))
    iterate(found, rounds=2000)
    theirs = least_squares(race.residuals, race.start(seed), race.jacobian, method="trf").cost
    assert race.cost(vector(found)) == pytest.approx(theirs, rel=1e-4)
    assert found.reason == "the step lowered the loss by less than 1e-08 of it"


def recursion(theta, damping):
    """The method in NumPy: θ after every update."""
    while True:
        r, J = race.residuals(theta), race.jacobian(theta)
        g, B, rise = J.T @ r, J.T @ J, 2.0
        while True:
            d = -np.linalg.solve(B + damping * np.eye(len(g)), g)
            gain = (race.cost(theta) - race.cost(theta + d)) / (-g @ d - d @ B @ d / 2)
            if gain > 1e-4:
                break
            damping, rise = damping * rise, rise * 2
        theta, damping = theta + d, damping * max(1 / 3, 1 - (2 * gain - 1) ** 3)
        yield theta


def test_it_is_its_own_recursion_in_numpy_for_50_steps():
    found = trainer(race.start(9), damping=1.0)
    for _, expected in zip(range(50), recursion(race.start(9), damping=1.0), strict=False):
        iterate(found, rounds=1)
        assert np.abs(vector(found) - expected).max() < 1e-10


@pytest.mark.parametrize(
    ("option", "words"), [("gtol", "gradient is below 0.001"), ("xtol", "shorter than"), ("ftol", "less")]
)
def test_each_tolerance_ends_it(option, words):
    found = trainer(race.start(12), **{"gtol": 0.0, "xtol": 0.0, "ftol": 0.0, option: 1e-3})
    assert len(iterate(found, rounds=400)) < 400 and words in found.reason


def test_weights_of_rows_are_copies_of_rows():
    x, y = sinusoid()
    x, y = x[::10], y[::10]
    w = torch.arange(1, 21).double() % 3 + 1
    nets = [MLP(1, 1, (4,), activation="tanh").double() for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    times = w.long()
    for net, source in zip(
        nets,
        (Rows(x, y, w, batch_size=20), Rows(x.repeat_interleave(times, 0), y.repeat_interleave(times), batch_size=99)),
        strict=True,
    ):
        iterate(Trainer(Supervised(net, Gaussian()), source, optimizer="lm", training=Training(l2=1e-3)), rounds=10)
    torch.testing.assert_close(nets[0].state_dict(), nets[1].state_dict(), rtol=1e-6, atol=1e-8)


def test_where_every_step_is_refused_the_running_statistics_are_those_of_theta():
    """A net that is finite at the start alone: what a batch norm saw of the trial steps is not kept."""

    class Narrow(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.norm, self.out = nn.Linear(1, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)

        def forward(self, x):
            there = self.out.bias.detach() == 1
            return self.out(torch.tanh(self.norm(self.layer(x) + torch.where(there, 0.0, torch.inf))))

    net, (x, y) = Narrow().double(), sinusoid()
    nn.init.ones_(net.out.bias)
    found = Trainer(Supervised(net, Gaussian()), Rows(x, y, batch_size=race.N), optimizer="lm")
    iterate(found, rounds=3)
    expected = 0.1 * net.layer(x).mean(0)
    assert "no step that was tried has a finite loss" in found.reason
    torch.testing.assert_close(net.norm.running_mean, expected.detach())


@pytest.mark.parametrize("rule", ["lm", "gauss-newton"])
def test_what_changes_the_gradient_alone_is_refused(rule):
    source, objective = Rows(torch.zeros(4, 1), torch.zeros(4), batch_size=4), Supervised(nn.Linear(1, 1), Gaussian())
    with pytest.raises(InputError, match="clip_norm changes the gradient"):
        Trainer(objective, source, optimizer=rule, training=Training(clip_norm=1.0))
