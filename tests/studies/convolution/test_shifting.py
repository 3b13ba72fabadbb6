"""Shifts: exact invariance, violations by hand, verdicts on made-up networks, and one small run."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta.studies.convolution import shifting
from ftheta.studies.convolution.shifting import (
    EXACT,
    MAX,
    MOVED,
    NETS,
    NONE,
    TINY,
    figures,
    invariant_net,
    judge,
    measure,
    tables,
)

SEEDS = np.array([-1.0, 0, 1])


def made(none=(0.6, 0.8, 0.9), pooled=(0.4, 0.6, 0.7), violation=(0.7, 0.2, 0.0), worst=(1.0, 0.9, 1e-6), noise=0.01):
    """Three seeds; changed predictions by shift without and with pooling; violations of pooled, moved and exact."""
    changed = np.zeros((3, len(NETS), 4))
    changed[:, :MAX, 1:] = none
    changed[:, MAX, 1:] = pooled
    changed[:, MAX, 1:] += noise * SEEDS[:, None]
    away = np.zeros((3, len(NETS), 4))
    away[:, MAX:, 1:] = np.array(violation)[:, None]
    away[:, MOVED, 1:] += noise * SEEDS[:, None]
    return {
        "changed": changed,
        "violation": away,
        "accuracy": np.full((3, len(NETS), 4), 0.9),
        "worst": np.tile([1.0, 1.0, *worst], (3, 1)),
    }


@pytest.mark.parametrize(
    ("pooled", "verdict"),
    [
        ((0.4, 0.6, 0.7), "confirmed"),
        ((0.4, 0.6, 0.9), "corrected"),  # not at the largest shift
        ((0.4, 0.8, 0.9), "not reproduced"),
        ((0.7, 0.9, 0.95), "refuted"),
    ],
)
def test_verdicts_on_pooling(pooled, verdict):
    found = judge(made(pooled=pooled))[0]
    assert (found.row, found.verdict) == ("A206", verdict)
    assert found.measured[0] == pytest.approx([0.6, 0.8, 0.9]) and found.measured[1] == pytest.approx(pooled)


def test_every_second_place_is_compared_too():
    assert "fewer for shifts by 1, 2, 3" in judge(made())[0].why
    assert "fewer for no shift" in judge(made(pooled=(0.6, 0.8, 0.9)))[0].why


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),
        ({"violation": (0.2, 0.2, 0.0)}, "refuted"),  # augmentation changes nothing
        ({"worst": (1.0, 1e-6, 1e-6)}, "refuted"),  # augmentation is exact
        ({"worst": (1.0, 0.9, 0.1)}, "not reproduced"),  # the architecture is not
        ({"worst": (1.0, 0.001, 1e-6)}, "not reproduced"),
    ],
)
def test_verdicts_on_augmentation(changes, verdict):
    found = judge(made(**changes))[1]
    assert (found.row, found.verdict) == ("C296", verdict)
    assert found.measured == pytest.approx(list(made(**changes)["violation"][0:3, MAX:, 1:].mean((0, 2))))


def test_the_invariant_net_gives_the_same_numbers_wherever_a_digit_is():
    net = invariant_net((3, 4), 5).double()
    x = torch.randn(2, 1, 9, 9, dtype=torch.float64)
    for by in ((1, 0), (3, -2), (4, 4)):
        torch.testing.assert_close(net(x.roll(by, (2, 3))), net(x), rtol=0, atol=1e-12)
    assert not torch.allclose(net(x.flip(3)), net(x))


def test_a_shift_has_eight_directions_and_none_at_zero():
    assert sorted(shift.by for shift in shifting._shifts(2)) == sorted(
        (a, b) for a in (-2, 0, 2) for b in (-2, 0, 2) if (a, b) != (0, 0)
    )
    assert not list(shifting._shifts(0))


def test_changes_and_violations_by_hand():
    """The net says whether the upper left pixel is bright: of eight shifts by 1, that from below right makes it so."""

    class Corner(nn.Module):
        def forward(self, x):
            return torch.stack([0 * x[:, 0, 0, 0], 100 * x[:, 0, 0, 0] - 50], 1)

    x = torch.zeros(1, 1, 4, 4)
    x[0, 0, 1, 1] = 1
    found = shifting._moved(Corner(), (x, torch.tensor([0])), 1)
    assert found["changed"] == found["violation"] == pytest.approx(1 / 8)
    assert found["accuracy"] == pytest.approx(7 / 8) and found["worst"] == pytest.approx(1)
    still = shifting._moved(Corner(), (x, torch.tensor([0])), 0)
    assert still["changed"] == still["violation"] == still["worst"] == 0 and still["accuracy"] == 1


@pytest.mark.middle
def test_a_small_run_has_every_network():
    evidence = measure(TINY)
    shape = (TINY.seeds, len(NETS))
    assert evidence["changed"].shape == (*shape, 4) and evidence["worst"].shape == shape
    assert (evidence["changed"][..., 0] == 0).all() and (evidence["worst"][:, EXACT] < 1e-5).all()
    assert (evidence["worst"][:, NONE] > 1e-3).all()
    drawn = figures(evidence)["shifts"]
    assert [axes.get_title() for axes in drawn.axes] == ["changed predictions", "test accuracy"]
    assert tables(evidence)["shifts"].columns["network"] == list(NETS) and len(judge(evidence)) == 2
