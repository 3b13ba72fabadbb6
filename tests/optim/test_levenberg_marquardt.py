"""Levenberg-Marquardt beside SciPy's least squares, its damping on the way, and how it resumes and ends."""

import numpy as np
import pytest
import torch
from scipy.optimize import least_squares
from torch import nn

from bench import lm as race
from ftheta.data import Rows
from ftheta.errors import InputError, NonFiniteError
from ftheta.likelihoods import Bernoulli, Gaussian, LearnedGaussian
from ftheta.models import MLPClassifier, MLPRegressor
from ftheta.nn import MLP
from ftheta.train import Objective, Supervised, Trainer, Training, iterate


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


def test_its_first_step_solves_the_damped_normal_equations():
    theta, found = race.start(0), trainer(race.start(0), damping=0.3)
    (row,) = iterate(found, rounds=1)
    r, J = race.residuals(theta), race.jacobian(theta)
    damping, d = row["damping"], vector(found) - theta
    assert np.abs((J.T @ J + damping * np.eye(61)) @ d + J.T @ r).max() < 1e-12
    assert row["step_norm"] == pytest.approx(np.linalg.norm(d))
    assert row["gradient_norm"] == pytest.approx(np.linalg.norm(J.T @ r))
    promised = -(J.T @ r) @ d - d @ J.T @ J @ d / 2
    assert row["gain"] == pytest.approx((race.cost(theta) - race.cost(theta + d)) / promised)


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


def test_damping_rises_when_a_step_fails_and_falls_when_it_gains():
    """λ ν, λ ν 2ν, ... until the sum of squares falls; then λ max(1/3, 1 - (2 gain - 1)³)."""
    found = trainer(race.start(3), damping=1e-9)
    expected, rose, fell = 1e-9, 0, 0
    for row in iterate(found, rounds=60):
        steps = np.log2(row["damping"] / expected)
        rises = {n * (n + 1) // 2 for n in range(9)}  # ν doubles with every failure
        if row["damping"] == pytest.approx(expected, rel=1e-9):
            fell += 1
        else:
            rose += 1
            assert min(abs(steps - n) for n in rises) < 1e-6
        assert row["gain"] > 0
        expected = row["damping"] * max(1 / 3, 1 - (2 * row["gain"] - 1) ** 3)
    assert rose >= 5 and fell >= 20


def test_the_loss_never_rises_and_the_reason_says_why_it_ended():
    found = trainer(race.start(12), l2=0.0, ftol=1e-4)
    history = iterate(found, rounds=300)
    assert (np.diff([row["loss"] for row in history]) <= 1e-12).all()
    assert len(history) < 300 and found.reason == "the step lowered the loss by less than 0.0001 of it"


@pytest.mark.parametrize(
    ("option", "words"), [("gtol", "gradient is below"), ("xtol", "shorter than"), ("ftol", "less")]
)
def test_each_tolerance_ends_it(option, words):
    found = trainer(race.start(12), **{"gtol": 0.0, "xtol": 0.0, "ftol": 0.0, option: 1e-3})
    assert len(iterate(found, rounds=400)) < 400 and words in found.reason


def test_ftol_is_a_share_of_the_squares_and_not_of_the_constants_beside_them():
    """The loss holds ½ log 2π, a hundred times the squares at the end."""
    found, costs = trainer(race.start(12), ftol=1e-3), [race.cost(race.start(12))]
    rows = []
    while not found.reason:
        rows += iterate(found, rounds=1)
        costs.append(race.cost(vector(found)))
    falls = -np.diff(costs) / costs[:-1]
    assert falls[-1] <= 1e-3 and all(f > 1e-3 or r["gain"] <= 0.25 for f, r in zip(falls, rows[:-1], strict=False))


def test_float32_comes_to_rest_near_the_same_cost():
    found = trainer(race.start(12), dtype=torch.float32)
    assert len(iterate(found, rounds=400)) < 400
    assert race.cost(vector(found)) == pytest.approx(0.010515, rel=0.02)


def test_a_resumed_run_is_the_uninterrupted_one():
    whole, first = trainer(race.start(2)), trainer(race.start(2))
    iterate(whole, rounds=12)
    iterate(first, rounds=5)
    second = trainer(race.start(9))
    second.load_state_dict(first.state_dict())
    iterate(second, rounds=7)
    assert vector(whole).tolist() == vector(second).tolist()


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


def test_an_objective_may_bring_its_own_residuals():
    """Rosenbrock as a sum of squares: ½(10(b - a²))² + ½(1 - a)²."""

    class Squares(Objective):
        def __init__(self):
            super().__init__()
            self.theta = nn.Parameter(torch.tensor([-1.2, 1.0], dtype=torch.double))

        def residual(self, batch):
            a, b = self.theta
            return torch.stack([10 * (b - a**2), 1 - a])[None]

        def loss(self, player, batch, draw):
            from ftheta.train import Loss

            return Loss(self.residual(batch).square().sum() / 2, 1.0)

    objective = Squares()
    iterate(Trainer(objective, Rows(torch.zeros(1, 1), batch_size=1), optimizer="lm"), rounds=100)
    assert objective.theta.tolist() == pytest.approx([1, 1], abs=1e-6)


def test_residuals_may_also_be_those_of_a_supervised_objective_with_a_function_for_its_loss():
    class Own(Supervised):
        def residual(self, batch):
            return self.module(batch.x) - batch.y[:, None]

    x, y = sinusoid()
    net = nn.Linear(1, 1).double()
    objective = Own(net, lambda raw, y: (raw[:, 0] - y) ** 2 / 2)
    iterate(Trainer(objective, Rows(x, y, batch_size=race.N), optimizer="lm"), rounds=50)
    slope, intercept = np.polyfit(race.X[:, 0], race.Y, 1)
    assert [net.weight.item(), net.bias.item()] == pytest.approx([slope, intercept], abs=1e-6)


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


# ---- what it cannot be used for


@pytest.mark.parametrize("row", [0, 100])
def test_a_row_that_is_not_finite_is_named(row):
    x, y = sinusoid()
    x = x.index_fill(0, torch.tensor(row), torch.nan)
    objective = Supervised(MLP(1, 1, (3,)).double(), Gaussian())
    with pytest.raises(NonFiniteError, match="First bad tensor: input x") as caught:
        iterate(Trainer(objective, Rows(x, y, batch_size=race.N), optimizer="lm"), rounds=2)
    assert "clip_norm" not in str(caught.value)  # which it refuses


@pytest.mark.parametrize(
    ("objective", "training", "words"),
    [
        (Supervised(nn.Linear(1, 1), Bernoulli()), Training(), "Bernoulli gives no residuals"),
        (Supervised(nn.Linear(1, 1), LearnedGaussian()), Training(), "LearnedGaussian gives no residuals"),
        (Supervised(nn.Linear(1, 1), lambda raw, y: (raw[:, 0] - y) ** 2), Training(), "gives no residuals"),
        (Supervised(nn.Linear(1, 1), Gaussian()), Training(l1=0.1), "in which l1 cannot enter. Use l2"),
        (Supervised(nn.Linear(1, 1), Gaussian()), Training(clip_norm=1.0), "clip_norm changes the gradient"),
        (
            Supervised(nn.Linear(1, 1), Gaussian(), penalty=lambda m: m.weight.abs().sum()),
            Training(),
            "in which a penalty function cannot enter",
        ),
    ],
)
@pytest.mark.parametrize("rule", ["lm", "gauss-newton"])
def test_what_is_no_sum_of_squares_is_refused_in_one_sentence_before_anything_moves(rule, objective, training, words):
    before = [p.clone() for p in objective.parameters()]
    with pytest.raises(InputError, match=words):
        source = Rows(torch.zeros(4, 1), torch.zeros(4), batch_size=4)
        iterate(Trainer(objective, source, optimizer=rule, training=training), rounds=1)
    assert all(map(torch.equal, before, objective.parameters()))


def test_a_classifier_says_so_and_a_regressor_fits():
    x, y = race.X, race.Y
    with pytest.raises(InputError, match="gives no residuals, which this optimizer needs"):
        MLPClassifier(optimizer="lm", epochs=2).fit(x, y > 0)
    fitted = MLPRegressor(hidden=(20,), activation="tanh", optimizer="lm", epochs=60, random_state=0).fit(x, y)
    assert fitted.score(x, y) > 0.95
