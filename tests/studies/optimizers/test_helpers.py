"""Races: the same rows and start for every rule, an epoch is what it is said to be, and rates are chosen elsewhere."""

import numpy as np
import pytest
import torch

from ftheta.data import Rows
from ftheta.draw import Draw
from ftheta.studies.optimizers import _race, basins, gradient_noise, stability
from ftheta.studies.optimizers._line import (
    batch_gradients,
    best,
    descend,
    half_mse,
    line_rows,
    row_gradients,
    stiffness,
)
from ftheta.studies.optimizers._race import DIVERGED, RATES, TUNING, VARIANCE, Task, Track, curve_rows, race
from ftheta.train import Training

SMALL = Task(0.25, hidden=5, rows=50, epochs=4)


def test_the_curve_has_the_stated_variance_and_noise():
    z, y = curve_rows(200_000, 0.5, Draw(0))
    x = z[:, 0] / (4 / 3) ** 0.5 + 1.5
    noise = y - torch.sin(x**2)
    assert 0 <= x.min() and x.max() <= 3 and z.var() == pytest.approx(1, rel=0.01)
    assert torch.sin(x**2).var() == pytest.approx(VARIANCE, rel=0.01)
    assert noise.var() == pytest.approx(0.25 * VARIANCE, rel=0.02)


def test_every_rule_starts_from_the_same_error_and_an_epoch_is_one_point():
    tracks = [race(SMALL, rule, None, 3) for rule in ("gd", "sgd", "adam", "lbfgs")]
    starts = {(track.train[0], track.valid[0]) for track in tracks}
    assert len(starts) == 1 and all(len(track.train) == 5 for track in tracks)
    assert race(SMALL, "gd", None, 4).train[0] != tracks[0].train[0]
    assert all(track.seconds[0] == 0 and (np.diff(track.seconds) >= 0).all() for track in tracks)


def test_gd_moves_as_the_gradient_of_half_the_mean_square_says():
    lr, seed = 0.1, 2
    z, y = curve_rows(SMALL.rows, SMALL.level, Draw(seed).at("train"))
    with Draw(seed).at("build").scope():
        net = _race.MLP(1, 1, (5,), activation="tanh", init="lecun").double()
    errors = []
    for _ in range(5):
        loss = (net(z)[:, 0] - y).square().mean()
        errors.append(loss.item())
        net.zero_grad()
        (loss / 2).backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= lr * p.grad
    assert race(SMALL, "gd", lr, seed).train == pytest.approx(errors, rel=1e-12)


def test_a_race_ends_at_its_goal_or_when_it_is_lost():
    start = race(SMALL, "gd", 0.1, 0)
    goal = (start.train[2] + start.train[1]) / 2
    short = race(SMALL._replace(goal=goal), "gd", 0.1, 0)
    assert len(short.train) == 3 and short.train[-1] <= goal < short.train[-2]
    lost = race(SMALL._replace(epochs=200), "gd", 300.0, 0)
    assert lost.train[-1] == DIVERGED and len(lost.train) < 201


def test_rates_are_chosen_by_the_score_on_seeds_of_their_own(monkeypatch):
    asked = []

    def made(task, rule, lr, seed, training=None):
        asked.append(seed)
        return Track(*[np.full(5, 1.0 + abs(lr - 0.03))] * 3)

    monkeypatch.setattr(_race, "race", made)
    assert _race.tuned(SMALL, "adam", 2) == 0.03
    assert asked == [TUNING, TUNING + 1] * len(RATES)
    assert _race.tuned(SMALL, "adam", 1, lambda track: -track.train[0]) == 1.0
    assert _race.tuned(SMALL, "lbfgs", 1) == 0.0


def test_an_error_is_good_where_a_tenth_is_left_above_the_noise(monkeypatch):
    """Noise of level 0.5 has a quarter of the variance of the curve."""
    track = Track(*VARIANCE * np.array([[1, 0.3, 0.34, 0.3], [1, 0.5, 0.34, 0.4], [0, 1, 2, 3]]))
    monkeypatch.setattr(gradient_noise, "race", lambda *asked: track)
    found = gradient_noise.targets(0, 0.5, 20, epochs=3)
    assert found["epochs until good"] == found["epoch of the least validation error"] == 2
    assert (found["training"], found["validation"]) == pytest.approx((0.3, 0.4))
    assert gradient_noise.targets(0, 0.0, 20, epochs=3)["epochs until good"] == 4  # never


POINTS = line_rows(50, Draw(1))
X, Y = POINTS[0][:, 0], POINTS[1]


def test_the_line_is_3x_plus_1_with_a_tenth_of_noise():
    x, y = line_rows(50_000, Draw(0))
    rest = y - 3 * x[:, 0] - 1
    assert rest.std() == pytest.approx(0.1, rel=0.02) and abs(rest.mean()) < 0.003
    assert x.var() == pytest.approx(1, rel=0.03)


def test_loss_gradient_and_curvature_agree_with_autograd():
    theta = torch.tensor([0.3, -0.7], dtype=torch.float64)

    def f(t):
        return (t[0] * X + t[1] - Y).square().mean() / 2

    gradient = torch.func.grad(f)(theta)
    assert half_mse(POINTS, theta[None])[0] == pytest.approx(float(f(theta)))
    assert row_gradients(POINTS, theta).mean(0).tolist() == pytest.approx(gradient.tolist())
    a, b = float(X.square().mean()), float(X.mean())  # the Hessian is [[a, b], [b, 1]]
    assert stiffness(POINTS) == pytest.approx((a + 1 + ((a - 1) ** 2 + 4 * b**2) ** 0.5) / 2)
    assert row_gradients(POINTS, best(POINTS)).mean(0).abs().max() < 1e-12


def test_batches_are_drawn_from_all_rows_and_average_to_the_gradient():
    theta = torch.zeros(2, dtype=torch.float64)
    drawn = batch_gradients(POINTS, theta, 5, 4000, Draw(0))
    each = row_gradients(POINTS, theta)
    assert drawn.shape == (4000, 2)
    assert drawn.mean(0).tolist() == pytest.approx(each.mean(0).tolist(), rel=0.1)
    assert drawn.var(0).tolist() == pytest.approx((each.var(0) / 5).tolist(), rel=0.1)


def test_a_path_starts_at_zero_stops_where_numbers_end_and_takes_the_knobs():
    source = Rows(*POINTS, batch_size=50)
    assert descend(source, "gd", 0.1, 3)[0].tolist() == [0, 0]
    assert len(descend(source, "gd", 1e200, 50)) < 51
    assert descend(source, "gd", 0.1, 1, training=Training(clip_norm=0.5))[1].norm() == pytest.approx(0.05)


def test_a_path_of_batches_is_drawn_by_its_seed():
    source = Rows(*POINTS, batch_size=5)
    first, again, other = (descend(source, "sgd", 0.1, 20, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first, again) and not torch.allclose(first, other)


def test_the_loss_of_all_weights_in_one_vector_is_that_of_the_net():
    f, theta = stability.net(0, 3, 2)
    net = torch.nn.Sequential(torch.nn.Linear(1, 3), torch.nn.Tanh(), torch.nn.Linear(3, 3), torch.nn.Tanh())
    net = torch.nn.Sequential(*net, torch.nn.Linear(3, 1)).double()
    torch.nn.utils.vector_to_parameters(3 * theta, net.parameters())
    x = torch.linspace(-1, 1, 20, dtype=torch.double)
    torch.testing.assert_close(f(3 * theta), (net(x[:, None])[:, 0] - (2 * x**2 - 1)).square().mean() / 2)
    assert not torch.equal(theta, stability.net(1, 3, 2)[1])


def test_all_rows_leave_a_saddle_when_the_recursion_does():
    x, steps = 0.01, 0
    while abs(x) <= 0.5:
        x, steps = x - 0.1 * (x**3 - x), steps + 1
    assert stability.saddle(0, 0.01, steps=45)["all rows"] == steps
    found = stability.saddle(0, 0.0, steps=100)  # exactly on it
    assert found["all rows"] == np.inf and found["batches"] < 100 and found["moved"] == 0


def test_mini_batches_are_the_rows_in_an_order_of_each_start_and_epoch():
    x, y, theta = torch.linspace(-9, 9, 4).double(), torch.tensor([0.2, 1, -1, 0.5]).double(), basins.grid(2)
    found, rng = basins.descend(x, y, 2, 0.5, 4, 2, np.random.default_rng(0)), np.random.default_rng(0)
    orders = [rng.random((4, 4)).argsort() for _ in range(2)]  # of two epochs
    for k, rate in enumerate((0.5, 0.5, 0.5, 0.375)):  # it falls over the last third
        rows = orders[k // 2][:, 2 * (k % 2) :][:, :2]
        slopes = [torch.func.grad(basins.loss)(t, x[r], y[r]) for t, r in zip(theta, rows, strict=True)]
        theta = theta - rate * torch.stack(slopes)
    torch.testing.assert_close(found, theta)
