"""Step lengths: what changes, what was predicted, and both ends of the useful range."""

import numpy as np

from ftheta.plots import step_lengths

T = np.array([0.1, 0.2, 0.3])


def test_lines_shade_and_the_line_of_the_wrong_way():
    axes = step_lengths(T, T - 0.25, 2 * T, 3 * T, holds=0.2, overshoots=0.1).axes[0]
    found = {line.get_label(): line.get_ydata() for line in axes.lines}
    np.testing.assert_allclose(found["actual"], T - 0.25)
    np.testing.assert_allclose(found["gradient alone"], 2 * T)
    np.testing.assert_allclose(found["gradient and curvature"], 3 * T)
    assert "wrong way from 0.1 on" in found and axes.patches[0].get_width() == 0.2
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("length of the step along the gradient", "change of f")


def test_no_line_where_no_step_goes_the_wrong_way():
    axes = step_lengths(T, T, T, T, holds=0.3, overshoots=None).axes[0]
    assert not any(line.get_label().startswith("wrong") for line in axes.lines)
