"""Accuracy against coverage: line, band and the level of rejecting at random."""

import numpy as np

from ftheta.plots import coverage


def test_line_band_and_level():
    share, right = np.array([0.02, 0.5, 1.0]), np.array([1.0, 0.95, 0.8])
    axes = coverage(share, right, right - np.array([0.9, 0.1, 0.1]), np.minimum(right + 0.05, 1), title="T").axes[0]
    line, level = axes.lines
    assert line.get_xydata().tolist() == [[0.02, 1], [0.5, 0.95], [1, 0.8]] and set(level.get_ydata()) == {0.8}
    assert len(axes.collections) == 1 and axes.get_title() == "T"
    assert 0.67 < axes.get_ylim()[0] < 0.69  # not down to the band of a handful of rows
