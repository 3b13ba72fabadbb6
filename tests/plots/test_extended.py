"""Lines beyond their rows: solid within them, dashed beyond, and marks where they are said to be."""

import numpy as np
import pytest

from ftheta.plots import extended


def test_lines_are_solid_within_their_rows_and_dashed_beyond():
    ends = np.array([0.0, 10.0])
    figure = extended(
        {"men": ([1.0, 3.0], [9.0, 7.0])}, {"men": (ends, 10 - ends)}, {"now": 4.0}, x="year", y="time (s)"
    )
    (axes,) = figure.axes
    dots, solid, dashed = axes.lines[:3]
    np.testing.assert_allclose(dots.get_xydata(), [[1, 9], [3, 7]])
    np.testing.assert_allclose(solid.get_xydata(), [[1, 9], [3, 7]])
    np.testing.assert_allclose(dashed.get_xydata(), [[3, 7], [10, 0]])
    assert (solid.get_linestyle(), dashed.get_linestyle(), dots.get_linestyle()) == ("-", "--", "None")
    assert [line.get_xdata()[0] for line in axes.lines if line.get_linestyle() == ":"] == [4.0]
    assert axes.texts[0].get_text() == "now" and axes.texts[0].xy[0] == pytest.approx(4.0)
    assert axes.get_xlabel() == "year" and axes.get_ylabel() == "time (s)"
