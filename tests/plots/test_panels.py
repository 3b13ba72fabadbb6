"""Panels: every line where it belongs, one look a name, one legend."""

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.plots import panels

AT = np.arange(1, 4)
TWO = {"first": {"a": (AT, [3.0, 2.0, 1.0]), "b": (AT, [3.0, 1.0, 0.001])}, "second": {"b": (AT, [1.0, 1.0, 1.0])}}


def test_every_panel_has_its_lines_and_its_title():
    figure = panels(TWO, x="epoch", label="error")
    left, right = figure.axes
    assert [axes.get_title() for axes in figure.axes] == ["first", "second"]
    assert left.lines[1].get_xydata().tolist() == [[1, 3], [2, 1], [3, 0.001]] and len(right.lines) == 1
    assert left.get_xlabel() == right.get_xlabel() == "epoch" and right.get_ylabel() == ""


def test_a_name_looks_the_same_in_every_panel_and_stands_in_the_legend_once():
    figure = panels(TWO, x="epoch", label="error")
    (here, there) = (figure.axes[0].lines[1], figure.axes[1].lines[0])
    assert (here.get_color(), here.get_linestyle()) == (there.get_color(), there.get_linestyle())
    assert figure.axes[0].lines[0].get_color() != here.get_color()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]


def test_scales_are_chosen_or_decided_by_the_values():
    figure = panels(TWO, x="rate", label="error", log_x=True)
    assert all(axes.get_yscale() == axes.get_xscale() == "log" for axes in figure.axes)
    assert figure.axes[0].get_ylabel() == "error (log scale)" and figure.axes[0].get_xlabel() == "rate (log scale)"
    plain = panels({"one": {"a": (AT, [1.0, 2.0, 3.0])}}, x="epoch", label="error").axes[0]
    assert plain.get_yscale() == plain.get_xscale() == "linear" and plain.get_ylabel() == "error"
    assert panels(TWO, x="epoch", label="error", log=False).axes[0].get_yscale() == "linear"


def test_panels_share_a_range_of_values_or_have_their_own():
    for share in (True, False):
        left, right = panels(TWO, x="epoch", label="error", share=share).axes
        assert (left.get_ylim() == right.get_ylim()) == share


@pytest.mark.parametrize("lines", [{}, {"one": {}}])
def test_a_panel_without_a_line_is_refused(lines):
    with pytest.raises(InputError, match="panels needs at least one line in each panel.*Leave empty panels out"):
        panels(lines, x="epoch", label="error")
