"""The vector diagram: every arrow from where to where."""

import numpy as np
import pytest

from ftheta.plots import lookahead

AXIS = np.linspace(-1, 3, 9)


def test_arrows_lead_from_theta_over_the_look_ahead_point_to_both_ends():
    grid = (AXIS, AXIS, AXIS[:, None] ** 2 + AXIS**2)
    figure = lookahead([0, 0], [2, 0], [0, 1], [0.5, 0.5], grid=grid, title="Update 3")
    axes = figure.axes[0]
    ends = [tuple(map(tuple, patch._posA_posB)) for patch in axes.patches]
    assert ends == [((0, 0), (2, 0)), ((2, 0), (2, 1)), ((0, 0), (2, 1)), ((0, 0), (0.5, 0.5)), ((0, 0), (2.5, 0.5))]
    assert [line.get_xydata().tolist() for line in axes.lines] == [[[0, 0]], [[2, 0]]]
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts[0] == "momentum jump μv" and len(texts) == 7 and axes.get_title() == "Update 3"
    assert axes.get_aspect() == pytest.approx(1)
