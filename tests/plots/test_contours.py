"""Contours and races: lines where they were given, cut at the edge, on scales that fit."""

import numpy as np
import pytest

from ftheta.plots import contours, race

AXIS = np.linspace(-1, 1, 21)
BOWL = (AXIS, AXIS, AXIS[:, None] ** 2 + 4 * AXIS**2)


def lines(axes):
    return {line.get_label(): line.get_xydata() for line in axes.lines if not line.get_label().startswith("_")}


def test_paths_minima_and_start_lie_where_they_were_given():
    path = np.array([[0.5, -0.5], [0.2, 0.1], [0.0, 0.05]])
    figure = contours(BOWL, {"gd": path}, minima=[(0, 0), (0.5, 0.5)], title="A bowl", labels=("a", "b"), value="loss")
    axes, bar = figure.axes
    found = lines(axes)
    assert found["gd"].tolist() == path.tolist() and found["start"].tolist() == [[0.5, -0.5]]
    stars = [line.get_xydata()[0].tolist() for line in axes.lines if line.get_marker() == "*"]
    assert stars == [[0, 0], [0.5, 0.5]]
    ends = [
        line.get_xydata()[0].tolist() for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata()) == 1
    ]
    assert ends == [[0, 0.05]]
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), bar.get_xlabel()) == ("A bowl", "a", "b", "loss")
    assert axes.get_xlim() == axes.get_ylim() == (-1, 1)


def test_a_path_that_ends_outside_is_cut_where_it_leaves_for_the_last_time():
    path = [[0.0, 0.0], [3.0, 0.0], [0.5, 0.5], [1.5, 2.5], [0.0, 1e30], [np.nan, 0.0]]
    found = contours(BOWL, {"gd": path}).axes[0]
    shown = lines(found)["gd (leaves)"]
    np.testing.assert_allclose(shown, [[0, 0], [3, 0], [0.5, 0.5], [0.75, 1.0]])  # out and back is kept
    crosses = [line.get_xydata().tolist() for line in found.lines if line.get_marker() == "X"]
    np.testing.assert_allclose(crosses, [[[0.75, 1.0]]])


def test_a_path_that_breaks_off_inside_ends_at_its_last_finite_point():
    found = contours(BOWL, {"gd": [[0.0, 0.0], [0.5, 0.5], [np.nan, 0.5], [0.5, np.inf]]}).axes[0]
    assert lines(found)["gd"].tolist() == [[0, 0], [0.5, 0.5]]


def test_a_path_that_was_never_inside_is_said_to_leave():
    found = contours(BOWL, {"far": [[5.0, 5.0], [6.0, 0.5]]}).axes[0]
    assert "far (leaves)" in lines(found)
    crosses = [line.get_xydata().tolist() for line in found.lines if line.get_marker() == "X"]
    assert crosses == [[[1.0, 0.5]]]  # at the edge: far outside it would leave no room for the picture


def test_a_flat_surface_is_drawn_without_lines():
    figure = contours((AXIS, AXIS, np.ones((21, 21))), {"gd": [[0.0, 0.0]]})
    assert len(figure.axes) == 1 and not figure.axes[0].collections


def test_a_race_has_a_panel_a_clock_beside_the_surface():
    values = {"gd": ([0, 1, 2], [4.0, 2.0, 1.0]), "adam": ([0, 1], [4.0, 3.0])}
    ground = {"gd": [[1, 1], [0.5, 0.5]], "adam": [[1, 1], [0, 0]]}
    figure = race({"steps": values, "ms": values}, label="f", title="T", grid=BOWL, paths=ground)
    surface, *panels = (axes for axes in figure.axes if axes.get_label() != "<colorbar>")
    assert [axes.get_xlabel() for axes in panels] == ["steps", "ms"]
    assert all(axes.get_ylabel() == "f" and axes.get_yscale() == "linear" for axes in panels)
    assert lines(panels[1])["adam"].tolist() == [[0, 4], [1, 3]] and surface.get_title() == "T"
    colours = [{line.get_label(): line.get_color() for line in axes.lines} for axes in (surface, panels[0])]
    assert colours[0]["gd"] == colours[1]["gd"] != colours[1]["adam"]


def test_without_a_surface_the_clocks_stand_in_a_row_with_a_legend():
    values = {f"rule {i}": ([0, 1], [1.0, 0.5]) for i in range(9)}
    figure = race({"steps": values}, label="f", title="Nine")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(values)
    looks = {(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines}
    assert len(looks) == 9 and figure.get_suptitle() == "Nine"


def test_values_over_many_decades_get_a_log_scale_and_what_explodes_leaves_it():
    values = {"good": ([0, 1, 2], [10.0, 1e-3, 0.0]), "bad": ([0, 1, 2], [10.0, 1e9, 1e40])}
    axes = race({"steps": values}, label="f").axes[0]
    assert axes.get_yscale() == "log" and axes.get_ylim()[1] == 1000 and axes.get_ylim()[0] < 1e-3
    falls = race({"steps": {"gd": ([0, 1, 2], [1.0, -5.0, -1e9])}}, label="f").axes[0]
    assert falls.get_yscale() == "linear" and falls.get_ylim()[0] == pytest.approx(-10.05)
