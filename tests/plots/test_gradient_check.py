"""The figure of a gradient check: shares on or off the diagonal, errors on a log scale."""

import numpy as np

from ftheta import plots


def test_right_and_wrong_tensors_are_told_apart_by_colour_and_mark():
    e = np.array([1.0, -2.0])
    figure = plots.gradient_check(["a", "b"], [e, 10 * e], [e, -10 * e], [0.0, 1.5], [False, True], tolerance=1e-7)
    left, right = figure.axes
    good, bad = left.get_lines()[:2]
    assert good.get_marker() != bad.get_marker() and good.get_color() != bad.get_color()
    np.testing.assert_allclose(good.get_xdata(), [0.5, -1.0])
    np.testing.assert_allclose(bad.get_ydata(), [-0.5, 1.0])  # a wrong sign lies on the other diagonal
    assert right.get_xscale() == "log" and right.get_lines()[1].get_xdata().tolist() == [1.5]
    assert right.get_lines()[0].get_xdata()[0] > 0  # 0 has a place, too


def test_empty_and_unfinished_tensors_are_drawn():
    nothing, lost = np.zeros(0), np.array([np.nan])
    figure = plots.gradient_check(
        ["a", "b"], [nothing, np.ones(1)], [nothing, lost], [0.0, np.nan], [False, True], tolerance=0.1
    )
    figure.canvas.draw()
    assert figure.axes[1].get_lines()[1].get_xdata().tolist() == [1.0]


def test_where_all_is_right_both_panels_have_room():
    entries = [np.linspace(-1, 1, 4)] * 3
    figure = plots.gradient_check(["a", "b", "c"], entries, entries, [1e-11] * 3, [False] * 3, tolerance=1e-7)
    figure.draw_without_rendering()
    assert all(axes.get_position().width > 0.25 and axes.get_position().height > 0.5 for axes in figure.axes)
