"""Coefficient paths: the numbers given are the numbers drawn, the largest are named, and names do not overlap."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ftheta.errors import InputError
from ftheta.models.linear.figures.paths import paths

AT = np.geomspace(10, 0.1, 5)


def drawn(figure):
    return [line.get_xydata().tolist() for line in figure.axes[0].lines]


def test_every_coefficient_is_a_line_from_large_penalties_to_small_ones():
    coefs = np.outer([0.0, 1, 2, 3, 4], [1.0, -2.0])
    shuffled = [3, 0, 4, 1, 2]
    figure = paths(AT[shuffled], coefs[shuffled], ["a", "b"], title="T")
    for j in range(2):
        assert np.c_[AT, coefs[:, j]].tolist() in drawn(figure)
    axes = figure.axes[0]
    assert axes.get_xscale() == "log" and axes.xaxis_inverted() and axes.get_title() == "T"
    assert axes.get_xlabel() == "penalty α (log scale, falling)" and axes.get_ylabel() == "coefficient"


def test_a_penalty_of_zero_is_left_out_of_a_log_axis_but_steps_begin_at_it():
    coefs = np.array([[1.0], [2.0]])
    assert [[2.0, 2.0]] in drawn(paths([0.0, 2.0], coefs, ["a"]))
    steps = paths([0, 1], coefs, ["a"], log=False, x="steps")
    assert [[0.0, 1.0], [1.0, 2.0]] in drawn(steps)
    assert steps.axes[0].get_xlabel() == "steps" and not steps.axes[0].xaxis_inverted()


def test_degrees_of_freedom_stand_above_their_penalty_in_whatever_order_they_are_given():
    for order in ([0, 1, 2], [2, 0, 1]):
        at, dof = np.array([0.1, 1.0, 10.0])[order], np.array([3.0, 2.0, 1.0])[order]
        above = paths(at, np.ones((3, 1)), ["a"], dof=dof).axes[-1]
        said = {
            float(x): label.get_text() for x, label in zip(above.get_xticks(), above.get_xticklabels(), strict=True)
        }
        assert said == {0.1: "3", 1.0: "2", 10.0: "1"}


def test_the_seven_largest_have_names_and_colours_of_their_own():
    coefs = np.outer([0, 1.0], np.arange(1.0, 11))
    axes = paths([2.0, 1.0], coefs, [f"c{j}" for j in range(10)]).axes[0]
    assert {text.get_text() for text in axes.texts} == {f"c{j}" for j in range(3, 10)}
    colours = {text.get_text(): text.get_color() for text in axes.texts}
    assert len(set(colours.values())) == 7
    for line in axes.lines:
        end = line.get_ydata()[-1]
        if end in range(4, 11) and len(line.get_xdata()) == 2:
            assert line.get_color() == colours[f"c{int(end) - 1}"]


def test_names_that_would_overlap_are_moved_apart_and_stay_inside():
    figure = paths(AT, np.outer(np.arange(5.0), 1 + 1e-3 * np.arange(7)), [f"name {j}" for j in range(7)])
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    boxes = sorted((t.get_window_extent(canvas.get_renderer()) for t in figure.axes[0].texts), key=lambda b: b.y0)
    assert len(boxes) == 7 and all(low.y1 <= high.y0 for low, high in zip(boxes, boxes[1:], strict=False))
    assert boxes[0].y0 >= 0 and boxes[-1].y1 <= figure.bbox.y1 and max(b.x1 for b in boxes) <= figure.bbox.x1


def test_chosen_penalty_knots_freedom_and_errors_are_drawn():
    errors = {"one": np.array([3.0, 1, 2, 4, 5]), "two": np.array([3.0, 3, 3, 0.5, 5])}
    figure = paths(AT, np.ones((5, 1)), ["a"], chosen=AT[1], knots=[5.0, 0.5], dof=[1.0, 2, 3, 4, 5], errors=errors)
    top, below, above = figure.axes
    lines = {line.get_label(): line for axes in (top, below) for line in axes.lines}
    assert lines["knots"].get_xdata().tolist() == [5.0, 0.5]
    assert lines[f"chosen: {AT[1]:.3g}"].get_xdata() == [AT[1], AT[1]]
    assert lines["one, least at 3.16"].get_ydata().tolist() == [3, 1, 2, 4, 5]
    marks = [line.get_xydata().tolist() for line in below.lines if len(line.get_xdata()) == 1]
    assert marks == [[[AT[1], 1.0]], [[AT[3], 0.5]]]
    assert [t.get_text() for t in above.get_xticklabels()] == ["1", "2", "3", "4", "5"]
    assert above.get_xlim() == top.get_xlim() and below.get_xlabel() and below.get_ylabel() == "mean error²"
    ticks = paths(AT, np.ones((5, 1)), ["a"], knots=[5.0], ticks="ends").axes[0]
    assert "ends" in ticks.get_legend_handles_labels()[1]


def test_what_cannot_be_drawn_is_said():
    with pytest.raises(InputError, match=r"coefs has shape \(2, 1\), expected \(2, 3\)"):
        paths([1.0, 2.0], np.ones((2, 1)), list("abc"))
    with pytest.raises(InputError, match=r"nothing to draw at \[0.0\]; a log axis needs a position > 0"):
        paths([0.0], np.ones((1, 1)), ["a"])
