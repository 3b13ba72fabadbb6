"""Scaling: verdicts on made-up races, and what a tiny race really measures."""

import numpy as np
import pytest

from ftheta.studies.optimisers import scaling
from ftheta.studies.optimisers.scaling import ABSENT, TINY, figures, judge, measure

D = np.array([2, 100, 1000, 10_000])


def made(gd=1e-9, genetic=(1e-6, 1e-3, 0.3, 0.8), gd_power=0.5, newton_seconds=2.0, bytes_power=2.0):
    two = lambda values: np.repeat(np.asarray(values, dtype=float)[:, None], 2, 1)  # noqa: E731
    return {
        "dimensions": D,
        "left": {"gd": two([gd] * 4), "newton": two([1e-16] * 3 + [ABSENT]), "genetic": two(genetic)},
        "seconds": {
            "gd": two(0.01 * D**gd_power),
            "newton": two([0.01, 0.1, newton_seconds, ABSENT]),
            "genetic": two([1, 1, 2, 9]),
        },
        "bytes": {"gd": 0.0 * D, "newton": 8.0 * D**bytes_power, "genetic": 800.0 * D},
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),
        ({"gd": 1e-2}, "not reproduced"),
        ({"gd_power": 1.6}, "not reproduced"),  # slower than in proportion to d
        ({"genetic": (1e-6, 1e-6, 1e-6, 1e-6)}, "not reproduced"),  # does not stall
        ({"genetic": (0.7, 0.7, 0.7, 0.8)}, "not reproduced"),  # as bad when small
        ({"newton_seconds": 0.1}, "not reproduced"),  # as fast as gradient descent
        ({"bytes_power": 1.0}, "not reproduced"),
    ],
)
def test_verdicts(changes, verdict):
    (found,) = judge(made(**changes))
    assert (found.row, found.verdict) == ("A115", verdict)
    assert found.measured[1] == 1e-16 and "at d = 1000 it leaves" in found.why  # the last size that Newton was given


@pytest.mark.middle
def test_a_tiny_race_measures_all_three_and_leaves_newton_out_where_it_is_too_large():
    evidence = measure(TINY)
    left = evidence["left"]
    assert (left["newton"][:2] < 1e-12).all() and (left["newton"][2] == ABSENT).all()
    assert (left["gd"] < 1e-3).all() and ((left["genetic"] > 1e-3) & (left["genetic"] < 1)).all()
    assert left["genetic"][0, 0] != left["genetic"][0, 1] and left["gd"][0, 0] == left["gd"][0, 1]
    assert np.diff(np.log(evidence["bytes"]["newton"][1:])) == pytest.approx(2 * np.log(3), abs=0.1)
    assert (evidence["seconds"]["gd"] > 0).all()
    (axes,) = figures(evidence)["left"].axes
    assert set(axes.get_legend_handles_labels()[1]) == set(scaling.NAMES.values())
