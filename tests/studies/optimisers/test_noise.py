"""Five rules under noise: verdicts on made-up curves, and one small run."""

import numpy as np
import pytest

from ftheta.studies.optimisers.noise import RULES, TINY, figures, judge, measure, tables

E = np.arange(21)


def made(last=0, wobbly=1, fast=True, high=True, seeds=4):
    """Curves (3, 5, S, 21): which rule ends last, which one goes up and down, and where all end at full noise."""
    ends = np.full((3, 5), 0.2)
    ends[:, last] = 0.4
    if not fast:
        ends[:, 2] = 0.5
    if not high:
        ends[2] /= 10
    curves = ends[:, :, None] + 0.5 * 0.7**E
    curves[:, wobbly] += 0.01 * (E % 2)
    shape = (3, 5, seeds, 21)
    train = np.broadcast_to(curves[:, :, None], shape)
    seconds = np.broadcast_to(0.1 * E, shape)
    return {"train": train, "valid": train + 0.1, "seconds": seconds, "rates": np.array([[0.1, 0.1, 0.1, 0.1, 0]] * 3)}


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),
        ({"wobbly": 3}, "corrected"),
        ({"high": False}, "corrected"),
        ({"last": 1}, "corrected"),
        ({"last": 1, "fast": False, "wobbly": 3}, "not reproduced"),
        ({"last": 1, "fast": False, "wobbly": 3, "high": False}, "refuted"),
    ],
)
def test_verdicts(changes, verdict):
    (found,) = judge(made(**changes))
    assert (found.row, found.verdict) == ("B026", verdict)
    assert np.shape(found.measured) == np.shape(found.spread) == (3, 5)


def test_the_table_has_a_line_for_every_level_and_rule():
    columns = tables(made())["noise"].columns
    assert (
        len(columns["rule"]) == 15 and columns["noise"][5] == "25%" and columns["rule"][:2] == ["GD", "mini-batch GD"]
    )
    assert columns["rate"][4] is None and columns["rate"][0] == 0.1 and set(columns["epochs"]) == {20}
    assert columns["training error"][0] == pytest.approx(0.4, abs=1e-3) and columns["seconds"][3] == pytest.approx(2)
    assert columns["validation error"][0] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.middle
def test_a_small_run_has_three_panels_of_five_lines_against_epochs_and_time():
    evidence = measure(TINY)
    assert evidence["train"].shape == (3, 5, TINY.seeds, TINY.epochs + 1)
    assert np.ptp(evidence["train"][:, :, :, 0], axis=1).max() == 0  # identical starts
    for name, drawn in figures(evidence).items():
        assert [len(axes.lines) for axes in drawn.axes] == [len(RULES)] * 3, name
    assert judge(evidence)[0].row == "B026"
