"""Races: the same rows and start for every rule, an epoch is what it is said to be, and rates are chosen elsewhere."""

import numpy as np
import pytest
import torch

from ftheta.draw import Draw
from ftheta.studies.optimizers import _race
from ftheta.studies.optimizers._race import BATCH, DIVERGED, RATES, TUNING, VARIANCE, Task, Track, curve_rows, race
from ftheta.train import Trainer

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


def test_an_epoch_of_lbfgs_is_one_iteration_and_one_of_sgd_a_pass(monkeypatch):
    seen, right = [], Trainer._update

    def counted(self, batches):
        seen.append((sum(b.n for b in batches), [getattr(o, "max_iter", 0) for o in self.optimizers.values()]))
        right(self, batches)

    monkeypatch.setattr(Trainer, "_update", counted)
    race(SMALL, "lbfgs", None, 0)
    assert seen == [(50, [1])] * 4
    seen.clear()
    race(SMALL, "sgd", 0.1, 0)
    assert [n for n, _ in seen] == [BATCH, BATCH] * 4


def test_a_race_ends_at_its_goal_or_when_it_is_lost():
    start = race(SMALL, "gd", 0.1, 0)
    goal = (start.train[2] + start.train[1]) / 2
    short = race(SMALL._replace(goal=goal), "gd", 0.1, 0)
    assert len(short.train) == 3 and short.train[-1] <= goal < short.train[-2]
    lost = race(SMALL._replace(epochs=200), "gd", 300.0, 0)
    assert lost.train[-1] == DIVERGED and len(lost.train) < 201


def test_padding_repeats_the_end():
    track = Track(np.array([3.0, 2.0]), np.array([4.0, 1.0]), np.array([0.0, 0.5])).padded(3)
    assert track.train.tolist() == [3, 2, 2, 2] and track.seconds.tolist() == [0, 0.5, 0.5, 0.5]


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
