"""Slopes: a straight line on log-log axes, through what was fitted."""

import numpy as np
import pytest

from ftheta.plots import slopes


def test_the_line_has_its_slope_and_goes_through_the_fitted_sizes():
    size = np.array([1, 10, 100, 1000])
    cost = np.array([50.0, 200, 20_000, 2_000_000])  # 2 size² from 10 on
    label = ("units", "seconds")
    figure = slopes({"a": (size, cost, 2.0, 10), "b": (size, cost, 2.0, 0)}, labels={"a": label, "b": label})
    first = figure.axes[0]
    line, dots = first.lines
    assert dots.get_xydata().tolist() == np.column_stack([size, cost]).tolist()
    assert line.get_ydata() == pytest.approx(2.0 * size**2)
    assert line.get_label() == "slope 2.00" and (first.get_xscale(), first.get_yscale()) == ("log", "log")
    assert (first.get_title(), first.get_xlabel(), first.get_ylabel()) == ("a", "units", "seconds")
    assert figure.axes[1].lines[0].get_ydata()[1] > 200  # pulled up by the first size
