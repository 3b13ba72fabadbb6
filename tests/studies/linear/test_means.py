"""Regression towards the mean, and lines drawn too far: verdicts on made-up evidence, and figures."""

import numpy as np
import pytest

from ftheta.studies.linear.means import RHO, TINY, YEARS, figures, judge, measure


def made(centred=(1.49, 1.51), off=0.0, sons=((4.0, -4.0), (4.1, -3.9)), said=None):
    rho = np.array([0.948, 0.949])
    return {
        "centred": np.array(centred),
        "standardised": rho + off,
        "correlation": rho,
        "sons": np.array(sons),
        "said": np.array(list(YEARS.values()) if said is None else said),
        "interval": np.array([[7.5, 8.7], [7.2, 9.0]]),
        "leverage": np.array([9.0, 12.0]),
    }


@pytest.mark.parametrize(
    ("evidence", "row", "verdict"),
    [
        (made(), 0, "corrected"),
        (made(centred=(RHO - 0.01, RHO + 0.01)), 0, "confirmed"),
        (made(off=0.01), 0, "not reproduced"),  # standardised, the slope is the correlation itself
        (made(), 1, "corrected"),
        (made(sons=((-4.0, 4.0), (-4.1, 3.9))), 1, "not reproduced"),
        (made(sons=((7.0, -7.0), (7.1, -6.9))), 1, "not reproduced"),  # not closer to the mean
        (made(sons=((2.0, -2.0), (2.001, -2.0))), 1, "not reproduced"),  # closer, but not by a third
        (made(), 2, "confirmed"),
        (made(said=[8.098, 8.079, 2152.0, 2636, 2892]), 2, "not reproduced"),
        (made(said=[8.079, 8.098, 2152.6, 2636, 2892]), 2, "not reproduced"),
    ],
)
def test_verdicts(evidence, row, verdict):
    found = judge(evidence)
    assert [f.row for f in found] == ["A037", "A038", "A039"] and found[row].verdict == verdict


def test_the_lines_are_those_of_least_squares():
    evidence = measure(TINY)
    for of, line in ((~evidence["women"], 0), (evidence["women"], 1)):
        w, b = np.polyfit(evidence["years"][of], evidence["seconds"][of], 1)
        np.testing.assert_allclose(evidence["lines"][line], [b, w], rtol=1e-8)
    assert judge(evidence)[2].verdict == "confirmed" and (evidence["leverage"] > 5).all()
    low, high = evidence["interval"].T
    assert (low < evidence["said"][:2]).all() and (evidence["said"][:2] < high).all()


def test_the_figure_ends_where_a_line_reaches_zero():
    axes = figures(measure(TINY))["sprint"].axes[0]
    assert axes.get_xlabel() == "year" and axes.get_ylabel() == "winning time over 100 m (s)"
    beyond = [line for line in axes.lines if line.get_linestyle() == "--" and len(line.get_xdata()) == 2]
    assert len(beyond) == 2 and beyond[1].get_ydata()[1] < 0 < beyond[0].get_ydata()[1]
