"""Separation of classes, strict or touching: against a linear programme of all rows at once, and rows far away."""

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

from ftheta.models import _logistic_separated
from ftheta.models._logistic_separated import no_maximum, separated
from ftheta.models._softmax import Softmax


def truth(x, y, k):
    """The largest sum of gaps, none above 1 and none below 0, is not 0."""
    x1, lines = np.c_[x, np.ones(len(x))], []
    for row, own in zip(x1, y, strict=True):
        for other in set(range(k)) - {own}:
            line = np.zeros((k, x1.shape[1]))
            line[own], line[other] = row, -row
            lines.append(line.ravel())
    a, m = np.array(lines), len(lines)
    free = [(None, None)] * a.shape[1] + [(0, 1)] * m
    found = linprog(np.r_[np.zeros(a.shape[1]), -np.ones(m)], np.c_[-a, np.eye(m)], np.zeros(m), bounds=free)
    return -found.fun > 1e-6


def problem(seed):
    """Points in general position, on a lattice, corners of a cube, or a group that has one class only."""
    rng = np.random.default_rng(seed)
    k, n, d = 2 + seed % 3, int(rng.integers(8, 50)), int(rng.integers(1, 5))
    x = rng.normal(size=(n, d))
    x = [x, np.round(x), (x > 0.8).astype(float), np.c_[x, rng.uniform(size=n) < 0.2]][seed % 4]
    y = (x @ rng.normal(size=(x.shape[1], k)) * rng.uniform(0.3, 4) + rng.gumbel(size=(n, k))).argmax(1)
    y[:k] = np.arange(k)
    if seed % 4 == 3:
        y[x[:, -1] == 1] = k - 1
    classes, y = np.unique(y, return_inverse=True)
    return x, y, len(classes)


@pytest.mark.middle
def test_it_is_the_linear_programme_of_all_rows_on_sixty_problems():
    found = {seed: separated(*problem(seed)) for seed in range(60)}
    assert found == {seed: truth(*problem(seed)) for seed in range(60)}
    assert 20 < sum(found.values()) < 55


def test_rows_are_added_until_none_is_on_the_wrong_side():
    """More rows than the programme begins with, one of which decides."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 2))
    y = (x[:, 0] > 0).astype(int)
    assert separated(x, y, 2)
    touched = np.r_[x, [[0.0, 5], [0, 5]]], np.r_[y, 0, 1]
    assert separated(*touched, 2) and not separated(np.r_[x, [[1.0, 0], [-1, 0]]], np.r_[y, 0, 1], 2)
    group = np.zeros((3000, 1))
    group[1234] = 1.0  # one row of a group of its own among rows that overlap
    assert separated(np.c_[x, group], rng.integers(0, 2, 3000), 2)
    assert not separated(x, rng.integers(0, 2, 3000), 2)


@pytest.mark.parametrize("far", [1e3, 1e6, 1e12, 1e150])
def test_one_row_far_away_separates_nothing(far):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(200, 2)), np.arange(200) % 2
    x[1, 0] = far
    assert not separated(x, y, 2) and separated(np.c_[x, y], y, 2)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_units_do_not_matter(scale):
    x, y, k = problem(3)
    assert separated(x * scale, y, k) == separated(x, y, k)
    assert separated(x * scale + 7 * scale, y, k) == separated(x, y, k)


def test_a_fit_answers_where_it_can(monkeypatch):
    asked = []
    monkeypatch.setattr(_logistic_separated, "separated", lambda *rows: asked.append(rows) or True)
    x = torch.tensor([[-2.0], [-1], [1], [2]], dtype=torch.double)
    model = Softmax(x, torch.tensor([0, 0, 1, 1]), torch.ones(4, dtype=torch.double), 1, 0.0)
    slope = torch.tensor([[1.0, 0.0]], dtype=torch.double)
    assert no_maximum(model, slope, 1.0) and not no_maximum(model, 0 * slope, 1e-8) and not asked
    steep = torch.tensor([[30.0, 25]], dtype=torch.double)  # the second row is on the wrong side, the others are far
    assert no_maximum(model, steep, 1e-8) and no_maximum(model, 0 * slope - 1, 0.9) and len(asked) == 2
    monkeypatch.setattr(_logistic_separated, "MOST", 1)
    assert not no_maximum(model, 1e3 * steep, 0.0) and len(asked) == 2
