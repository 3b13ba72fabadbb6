"""Two dimensions: the law of the iterations, verdicts on made-up starts, and one small run."""

import numpy as np
import pytest

from ftheta.studies.report.hopfield_2d import (
    EXPECTED,
    MEMORIES,
    TINY,
    Config,
    enough,
    figures,
    judge,
    measure,
    tables,
)


def made(few=0.9, within=10, beyond=30, counts=None):
    """Two draws of 100 starts: a share needs few iterations, the others many."""
    stopped = np.where(np.arange(100) < 100 * few, within, beyond)
    quality = np.zeros((len(MEMORIES), 2, 5))
    quality[0, :, :4] = EXPECTED if counts is None else counts
    both = np.stack([stopped, stopped])
    return {"stopped": both, "needed": both + 1, "end": 0 * both, "quality": quality}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "corrected"),
        ({"few": 0.99}, "confirmed"),
        ({"beyond": 20}, "confirmed"),  # 20 is within
        ({"beyond": 21}, "corrected"),
        ({"few": 0.4}, "refuted"),
    ],
)
def test_verdicts_on_iterations(changes, verdict):
    found = judge(made(**changes))[0]
    assert (found.row, found.verdict) == ("B055", verdict)
    assert found.measured[0] == np.median(made(**changes)["stopped"][0]) and found.measured[-1] == changes.get(
        "beyond", 30
    )
    assert f"had {found.measured[-1] + 1:g}." in found.why


@pytest.mark.parametrize(
    ("counts", "verdict"),
    [
        ([[3, 1, 5, 0], [3, 0, 4, 0]], "confirmed"),
        ([[2, 1, 5, 0], [3, 0, 4, 0]], "refuted"),
        ([[3, 1, 5, 0], [3, 1, 4, 0]], "refuted"),
        ([[3, 1, 5, 0], [3, 0, 4, 1]], "refuted"),
    ],
)
def test_verdicts_on_the_memory(counts, verdict):
    found = judge(made(counts=counts))[1]
    assert (found.row, found.verdict) == ("B058", verdict)
    assert found.measured == [*counts[0][:3], *counts[1][:3]]


def test_the_first_draw_has_the_numbers_of_the_ledger_and_follows_the_law():
    evidence = measure(Config(draws=2))
    assert np.quantile(evidence["stopped"][0], [0.5, 0.9, 0.95, 0.99, 1]).tolist() == [9, 20, 24, 33, 57]
    t = np.arange(1, 60)
    share = (evidence["needed"][..., None] <= t).mean((0, 1))
    assert np.abs(share - enough(t)).max() < 0.015  # 10,000 starts: 1.36 / √10000 is 5 %
    assert [f.verdict for f in judge(evidence)] == ["corrected", "confirmed"]
    assert evidence["quality"][0, 0, 4] == pytest.approx(0.75, abs=0.02) and evidence["quality"][0, 1, 4] == 1


def test_the_law_by_hand():
    assert enough(np.array([0.0, np.log(2) / 0.15])) == pytest.approx([0, 0.25])
    assert enough(np.array(20.0), dims=1) == pytest.approx(1 - np.exp(-3))


def test_a_small_run():
    evidence = measure(TINY)
    assert evidence["stopped"].shape == (2, 40) and evidence["quality"].shape == (len(MEMORIES), 2, 5)
    found = tables(evidence)
    assert found["iterations"].columns["by the law"] == [9, 20, 25, 36, np.inf]
    assert found["memories"].columns["memory"] == [*MEMORIES, *MEMORIES]
    assert (
        found["memories"].columns["spurious stable"][0] == 1
        and found["memories"].columns["unstable"][len(MEMORIES)] == 4
    )
    drawn = figures(evidence)
    assert drawn["iterations"].axes[0].get_yscale() == "log" and drawn["paths"].axes
