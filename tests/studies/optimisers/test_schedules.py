"""Schedules: verdicts on made-up curves, and one small run."""

import numpy as np
import pytest

from ftheta.studies.optimisers.schedules import SHAPES, TINY, figures, judge, measure, tables

T = np.arange(101)


def made(lower=7, spikes=(20.0, 1.0), mixed=False, seeds=4):
    """The first `lower` schedules end below the constant rate, the others above; spikes in units of the start."""
    ends = np.array([1.0] + [0.5] * lower + [2.0] * (7 - lower))
    decayed = np.stack([ends[:, None] + 5 * 0.8**T] * seeds)
    if mixed:
        decayed[: seeds // 2] = decayed[: seeds // 2, ::-1]
    warmed = np.ones((seeds, 2, 50))
    warmed[:, 0, 3], warmed[:, 1, 3] = spikes
    return {"decayed": decayed, "warmed": warmed}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [({}, "confirmed"), ({"lower": 5}, "corrected"), ({"lower": 2}, "not reproduced"), ({"lower": 0}, "refuted")],
)
def test_verdicts_on_decay(changes, verdict):
    found = judge(made(**changes))[0]
    assert (found.row, found.verdict) == ("B009", verdict)


@pytest.mark.parametrize(
    ("spikes", "verdict"),
    [
        ((20.0, 1.0), "confirmed"),
        ((20.0, 5.0), "corrected"),
        ((20.0, 30.0), "refuted"),
        ((1.2, 1.0), "not reproduced"),
    ],
)
def test_verdicts_on_the_spike(spikes, verdict):
    found = judge(made(spikes=spikes))[1]
    assert (found.row, found.verdict, found.measured) == ("B028", verdict, list(spikes))


def test_the_table_names_those_that_end_higher():
    columns = tables(made(lower=6))["schedules"].columns
    assert columns["below constant"] == [None, *["100%"] * 6, "0%"] and columns["schedule"] == list(SHAPES)
    assert "three of four seeds: plateau." in judge(made(lower=6))[0].why


@pytest.mark.middle
def test_a_small_run_has_a_curve_a_schedule_from_the_same_start():
    evidence = measure(TINY)
    assert evidence["decayed"].shape == (TINY.seeds, len(SHAPES), TINY.updates + 1)
    assert np.ptp(evidence["decayed"][:, :, 0], axis=1).max() == 0
    assert (evidence["warmed"][:, 0, 0] == evidence["warmed"][:, 1, 0]).all()
    first = np.abs(np.diff(evidence["warmed"][..., :2]))[..., 0]
    assert (first[:, 1] < first[:, 0]).all()  # the first update of a warm-up is a small one
    assert set(figures(evidence)) == {"decay", "warmup"} and len(judge(evidence)) == 2
