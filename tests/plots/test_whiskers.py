"""Values with intervals: dots and whiskers where the numbers are, numbers beside them, nothing outside the figure."""

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.plots import whiskers

PANELS = {
    "share": [("accuracy", 0.9, 0.8, 0.95), ("area", 0.7, None, None), ("undefined", np.nan, None, None)],
    "nats": [("log loss", 1.5, 1.25, 2.0)],
}


def test_dots_and_whiskers_are_where_the_numbers_are():
    upper, lower = whiskers(PANELS, title="Scores").axes
    assert [line.get_xydata().tolist() for line in upper.lines] == [[[0.9, 0]], [[0.7, 1]]]
    assert [s.tolist() for c in upper.collections for s in c.get_segments()] == [[[0.8, 0], [0.95, 0]]]
    assert [t.get_text() for t in upper.texts] == ["0.9000 [0.800, 0.950]", "0.7000 [none]", "nan [none]"]
    assert [t.get_text() for t in upper.get_yticklabels()] == ["accuracy", "area", "undefined"]
    assert lower.get_xlabel() == "nats" and upper.get_ylim()[0] > upper.get_ylim()[1]


def test_without_an_interval_the_dot_is_hollow():
    dots = whiskers(PANELS).axes[0].lines
    assert dots[0].get_markerfacecolor() == dots[0].get_markeredgecolor() != dots[1].get_markerfacecolor() == "white"


def test_a_line_of_reference():
    lines = whiskers({"difference": [("A - B", 0.1, -0.1, 0.3)]}, at=0.0).axes[0].lines
    assert lines[0].get_xdata() == [0, 0] and len(lines) == 2


@pytest.mark.parametrize("panels", [{}, {"x": []}])
def test_nothing_to_draw_is_said(panels):
    with pytest.raises(InputError, match="whiskers got .* at least one, each with a row, is needed"):
        whiskers(panels)
