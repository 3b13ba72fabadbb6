"""Basins: verdicts on made-up ends, stationary points of known losses, and a descent against a plain loop."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ftheta.studies.optimisers import basins
from ftheta.studies.optimisers.basins import (
    TINY,
    _data,
    _descend,
    _ends,
    _loss,
    _starts,
    _stationary,
    figures,
    judge,
    measure,
)

BEST, OTHER, AWAY = (0.0, 16.0), (5.0, 10.0), (40.0, 40.0)


def made(gd=(0.1, 0.2, 0.3, 0.2), sgd=(0.3,) * 4, rate_two=0.1, minima=2, saddles=1, first=(0.3, 0.1)):
    """One data set to choose the rate by, four to judge, of ten starts; shares that end at the best minimum."""

    def ends(share):
        return [BEST if i < round(10 * share) else OTHER if i < 9 else AWAY for i in range(10)]

    at = [BEST, OTHER, (1.0, 3.0)][:minima] + [(2.0, 8.0)] * saddles
    points = {"at": np.array(at), "kind": np.array([0] * minima + [1] * saddles), "value": np.arange(len(at)) + 0.1}
    gds = gd if isinstance(gd, tuple) else (gd,) * 4
    return {
        "starts": np.zeros((10, 2)),
        "ends": np.array(
            [[ends(s) for s in row] for row in ((0.2, *gds), (first[0], *sgd), (first[1], *[rate_two] * 4))]
        ),
        "rates": [1.0, 2.0],
        "choose": 1,
        "points": [points] * 5,
    }


@pytest.mark.parametrize(
    ("changes", "verdicts"),
    [
        ({}, ["confirmed", "confirmed"]),
        ({"sgd": (0.1,) * 4, "rate_two": 0.0}, ["confirmed", "refuted"]),
        ({"sgd": (0.3, 0.3, 0.2, 0.1)}, ["confirmed", "not reproduced"]),
        ({"sgd": (0.1,) * 4, "rate_two": 0.4, "first": (0.1, 0.3)}, ["confirmed", "confirmed"]),  # another rate does it
        ({"sgd": (0.1,) * 4, "rate_two": 0.4}, ["confirmed", "refuted"]),  # but only the one chosen before counts
        ({"gd": (0.4, 0.4, 0.4, 0.3)}, ["corrected", "refuted"]),  # more often than printed
        ({"minima": 1}, ["not reproduced", "confirmed"]),
        ({"saddles": 0}, ["not reproduced", "confirmed"]),
        ({"gd": 0.9, "sgd": (0.9,) * 4}, ["not reproduced", "not reproduced"]),  # the start does not matter
    ],
)
def test_verdicts(changes, verdicts):
    found = judge(made(**changes))
    assert [(f.row, f.verdict) for f in found] == list(zip(["C089", "C094"], verdicts, strict=True))


def test_ends_are_sorted_by_the_minimum_they_are_at_and_the_best_is_the_lowest():
    evidence = made()
    assert _ends(evidence)[0, 0].tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 1, 2]
    evidence["points"][0]["value"][:2] = [2.0, 1.0]  # shared by all sets
    assert _ends(evidence)[0, 0].tolist() == [1, 1, 0, 0, 0, 0, 0, 0, 0, 2]
    assert judge(made())[1].measured == pytest.approx([0.2, 0.3])


def test_stationary_points_of_a_known_loss_are_found_once_and_classified(monkeypatch):
    def known(theta, x, y):  # minima at (±3, 12), a saddle at (0, 12)
        return (theta[..., 0] ** 2 - 9).square() / 36 + (theta[..., 1] - 12).square() / 2

    monkeypatch.setattr(basins, "_loss", known)
    found = _stationary(TINY, torch.zeros(1), torch.zeros(1))
    order = found["at"][:, 0].argsort()
    assert found["at"][order] == pytest.approx(np.array([[-3, 12], [0, 12], [3, 12]]), abs=1e-6)
    assert found["kind"][order].tolist() == [0, 1, 0] and found["value"][order] == pytest.approx([0, 2.25, 0])


def test_stationary_points_of_the_study_have_no_slope_and_the_signs_of_their_kind():
    x, y = _data(TINY)
    found = _stationary(TINY, x[0], y[0])
    for at, kind in zip(torch.tensor(found["at"]), found["kind"], strict=True):
        slope, curve = (
            f(lambda t: _loss(t, x[0], y[0]), at)
            for f in (torch.autograd.functional.jacobian, torch.autograd.functional.hessian)
        )
        signs = (np.linalg.eigvalsh(curve.numpy()) > 0).sum()
        assert slope.norm() < 1e-8 and 2 - signs == kind
    assert {0, 1, 2} == set(found["kind"].tolist())


def test_full_batches_descend_as_a_plain_loop_does():
    config = replace(TINY, side=2, updates=5, sets=1)
    x, y = _data(config)
    theta = _starts(config)[1].clone()
    for _ in range(5):
        u = theta[0] + 0.06 * theta[1] * x[0]
        inner = (
            (torch.sin(u) * torch.exp(-(u**2) / 32) - y[0])
            * (torch.cos(u) - torch.sin(u) * u / 16)
            * torch.exp(-(u**2) / 32)
        )
        theta = theta - 2 * torch.stack([inner.mean(), (inner * 0.06 * x[0]).mean()])
    torch.testing.assert_close(_descend(config, x, y, config.n, 1.0)[0, 1], theta)


@pytest.mark.middle
def test_batches_that_hold_all_rows_gain_nothing(monkeypatch):
    evidence = measure(TINY)
    titles = [axes.get_title().partition(":")[0] for axes in figures(evidence)["basins"].axes[:2]]
    assert titles[0] == "Full batch" and titles[1].startswith("Batches of 4, rate ")
    assert not np.array_equal(evidence["ends"][0], evidence["ends"][1])
    right = _descend
    monkeypatch.setattr(basins, "_descend", lambda c, x, y, batch, rate: right(c, x, y, c.n, 1.0))
    assert judge(measure(TINY))[1].verdict == "not reproduced"
