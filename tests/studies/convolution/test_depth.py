"""Depth: verdicts on made-up accuracies, and one small run with the maps of every layer."""

import numpy as np
import pytest

from ftheta.studies.convolution.depth import TINY, figures, judge, measure, tables

SEEDS = np.array([-1.0, 0, 1])


def made(*accuracy, noise=0.002):
    found = np.array(accuracy) + noise * SEEDS[:, None] * np.array([1, -1, 1, -1, 1])
    seen = {"x": np.zeros((1, 8, 8)), "maps": {"conv1": np.ones((2, 8, 8))}, "p": np.full(10, 0.1)}
    return {"accuracy": found, "parameters": [1, 2, 3, 4, 5], "depths": [1, 2, 3, 4, 5], "seen": seen}


@pytest.mark.parametrize(
    ("accuracy", "verdict"),
    [
        ((0.90, 0.95, 0.97, 0.97, 0.97), "confirmed"),
        ((0.90, 0.97, 0.95, 0.96, 0.93), "confirmed"),  # two are enough, more harm
        ((0.90, 0.95, 0.97, 0.974, 0.974), "confirmed"),  # a surplus within the tolerance
        ((0.97, 0.97, 0.97, 0.97, 0.97), "corrected"),  # one is enough
        ((0.80, 0.85, 0.90, 0.95, 0.96), "refuted"),  # it goes on rising
    ],
)
def test_verdicts(accuracy, verdict):
    (found,) = judge(made(*accuracy))
    assert (found.row, found.verdict) == ("B098", verdict) and found.measured == pytest.approx(accuracy)
    assert ("as good" in found.why) == (verdict == "corrected")


def test_a_surplus_in_some_seeds_is_no_rise():
    evidence = made(0.90, 0.95, 0.97, 0.97, 0.99)
    evidence["accuracy"][0, 4] = 0.96
    assert judge(evidence)[0].verdict == "confirmed"


def test_a_small_run_has_maps_of_three_convolutions():
    evidence = measure(TINY)
    assert evidence["accuracy"].shape == (TINY.seeds, 5)
    one, more = 10 * 2, 2 * (9 * 2 + 1)
    assert evidence["parameters"] == [one + k * more + 2 * 16 * 10 + 10 for k in range(5)]
    assert {name: v.shape for name, v in evidence["seen"]["maps"].items()} == {f"conv{k}": (2, 8, 8) for k in (1, 2, 3)}
    drawn = figures(evidence)
    assert drawn["depth"].axes[0].get_xlabel() == "convolutions" and len(drawn["maps"].axes) == 5
    columns = tables(evidence)["depth"].columns
    assert columns["places seen"][2] == "8 x 8" and judge(evidence)[0].row == "B098"
