"""Reliability diagram: full bins as dots with whiskers, all bins in the histogram."""

import numpy as np

from ftheta.plots import reliability


def test_dots_whiskers_and_bars_are_where_the_numbers_are():
    nan = np.nan
    figure = reliability(
        np.array([0, 0.5, 0.75, 1]),
        np.array([0, 5, 20]),
        np.array([nan, 0.6, 0.9]),
        np.array([nan, 0.5, 0.8]),
        np.array([nan, 0.2, 0.7]),
        np.array([nan, 0.8, 0.85]),
        ece=0.1,
    )
    upper, lower = figure.axes
    assert upper.get_title() == "Calibration (ECE 0.100)" and upper.get_ylabel() == "accuracy (share that is right)"
    assert upper.lines[0].get_xydata().tolist() == [[0, 0], [1, 1]]
    assert upper.lines[1].get_xydata().tolist() == [[0.6, 0.5], [0.9, 0.8]]
    assert [s.tolist() for s in upper.collections[0].get_segments()] == [
        [[0.6, 0.2], [0.6, 0.8]],
        [[0.9, 0.7], [0.9, 0.85]],
    ]
    assert [(b.get_x(), b.get_width(), b.get_height()) for b in lower.patches] == [
        (0, 0.5, 0),
        (0.5, 0.25, 5),
        (0.75, 0.25, 20),
    ]
    assert lower.get_xlabel() == "confidence (probability of the predicted class)" and lower.get_ylabel() == "rows"
