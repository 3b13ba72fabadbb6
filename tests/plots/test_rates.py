"""The curve of a range test: raw and smoothed loss, the suggestion and the limit."""

import numpy as np

from ftheta.plots import rates

RATE = np.array([1e-3, 1e-2, 1e-1, 1.0])


def test_the_suggestion_lies_on_the_smoothed_curve():
    figure = rates(RATE, [1.0, 0.9, 0.4, np.inf], [1.0, 0.8, 0.5, 9.0], 0.1, limit=0.5, title="Test")
    axes = figure.axes[0]
    lines = {line.get_label(): line for line in axes.lines}
    np.testing.assert_allclose(lines["suggestion 0.1"].get_xydata(), [[0.1, 0.5]])
    np.testing.assert_array_equal(lines["loss"].get_ydata(), [1.0, 0.9, 0.4, np.nan])
    assert lines["smoothed"].get_ydata().tolist() == [1.0, 0.8, 0.5, 9.0]
    assert list(lines["2/λ = 0.5 (gradient descent)"].get_xdata()) == [0.5, 0.5]
    assert axes.get_xscale() == "log" and axes.get_ylim()[0] < 0.5 and 1.0 < axes.get_ylim()[1] < 2.0


def test_without_a_limit_none_is_drawn_and_a_flat_curve_is():
    axes = rates(RATE, np.ones(4), np.ones(4), 0.01).axes[0]
    assert axes.get_legend_handles_labels()[1] == ["loss", "smoothed", "suggestion 0.01"]
    low, high = axes.get_ylim()
    assert low < 1 < high
