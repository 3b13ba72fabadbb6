"""Rates and batch norm: verdicts on made-up grids, and one small run."""

import numpy as np
import pytest

from ftheta.studies.convolution import rates_norm
from ftheta.studies.convolution.rates_norm import TINY, figures, judge, measure, tables

RATES, SCALES = [0.01, 0.1, 1.0], [0.5, 1.0, 2.0]
FEW = [[0, 0, 0], [1, 1, 0], [0, 0, 0]]  # scales by rates: 1 trains
MANY = [[1, 1, 1], [1, 1, 1], [1, 1, 0]]


def made(none=FEW, batch=MANY, test=(0.9, 0.95), gap=(0.4, 0.2), noise=0.005):
    seeds = noise * np.array([-1.0, 0, 1])
    trains = np.array([none, batch], dtype=float)[..., None]  # (N, G, R, 1)
    train = np.where(trains == 1, 0.99, 0.3) + 0 * seeds
    loss = np.where(trains == 1, [[[0.02], [0.01], [0.03]]], 2.0) + 0 * seeds
    right = np.array(test)[:, None, None, None] + seeds * np.array([1, -1])[:, None, None, None] + 0 * trains
    other = loss + np.array(gap)[:, None, None, None] + seeds * np.array([1, -1])[:, None, None, None]
    return {
        "train": train,
        "test": right,
        "train_loss": loss,
        "test_loss": other,
        "rates": RATES,
        "scales": SCALES,
    }


@pytest.mark.parametrize(
    ("changes", "first", "second"),
    [
        ({}, "confirmed", "confirmed"),
        ({"test": (0.95, 0.9)}, "confirmed", "corrected"),  # does not regularise
        ({"gap": (0.2, 0.4)}, "confirmed", "corrected"),
        ({"noise": 0.1}, "confirmed", "corrected"),  # seeds decide who is better on new rows
        ({"batch": [[1, 1, 1], [1, 1, 1], [0, 0, 0]]}, "confirmed", "corrected"),  # one scale trains at no rate
        ({"batch": FEW}, "not reproduced", "not reproduced"),
        ({"none": MANY, "batch": FEW, "gap": (0.2, 0.4)}, "refuted", "refuted"),
    ],
)
def test_verdicts(changes, first, second):
    found = judge(made(**changes))
    assert [(f.row, f.verdict) for f in found] == [("C217", first), ("B328", second)]


def test_the_largest_rate_is_that_of_the_scale_that_fits_and_all_are_said():
    rates, grid = judge(made())
    assert (
        rates.measured == pytest.approx([0.1, 1.0]) and "× 0.5 none, × 1 0.1, × 2 none, 22% of the cells" in rates.why
    )
    assert grid.measured == pytest.approx([2 / 9, 8 / 9])


def test_a_rate_that_trains_above_one_that_does_not_still_counts():
    assert judge(made(none=[[0, 0, 0], [1, 0, 1], [0, 0, 0]]))[0].measured[0] == 1.0


def test_a_run_that_is_lost_counts_as_wrong_everywhere():
    found = rates_norm._trained(TINY, "none", 4.0, 1e6, 0)
    assert found == (0.0, 0.0, np.inf, np.inf)


def test_a_small_run_has_every_cell():
    evidence = measure(TINY)
    assert evidence["train"].shape == evidence["test_loss"].shape == (2, 2, 2, TINY.seeds)
    alone = rates_norm._trained(TINY, "batch", 0.5, 0.1, 1)
    assert evidence["test"][1, 0, 1, 1] == alone[1] and evidence["train_loss"][1, 0, 1, 1] == alone[2]
    assert [len(axes.lines) for axes in figures(evidence)["grid"].axes] == [2, 2]
    assert tables(evidence)["train"].columns["0.1"][2] == f"{evidence['train'][1, 0, 1].mean():.2f}"
    assert {f.row for f in judge(evidence)} == {"B328", "C217"}
