"""Lines: the numbers given are the numbers drawn, one look per name, one legend."""

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.plots import bands, curves, panels


def lines_of(figure):
    return {line.get_label(): line for line in figure.axes[0].lines}


def test_every_column_is_a_line_over_its_epochs():
    figure = curves({"epoch": [5, 6, 7], "training": [3.0, 2.0, 1.0], "validation": [4.0, np.nan, 3.0]}, best=7)
    lines = lines_of(figure)
    assert lines["training"].get_xydata().tolist() == [[5, 3], [6, 2], [7, 1]]
    assert lines["validation"].get_xydata().tolist() == [[5, 4], [7, 3]]
    assert lines["best: epoch 7 (3)"].get_xydata().tolist() == [[7, 3]]
    assert figure.axes[0].get_xlabel() == "epoch" and figure.axes[0].get_ylabel() == "mean loss per row"


@pytest.mark.parametrize(
    ("values", "scale"),
    [([1.0, 50.0], "linear"), ([1.0, 0.001], "log"), ([-1.0, 1000.0], "linear"), ([np.inf, 1.0], "linear")],
)
def test_the_scale_is_logarithmic_where_it_must_be(values, scale):
    axes = curves({"loss": values}, label="nats").axes[0]
    assert axes.get_yscale() == scale and axes.get_ylabel() == ("nats (log scale)" if scale == "log" else "nats")


def test_lines_differ_by_more_than_colour():
    lines = lines_of(curves({"a": [1.0, 2.0], "b": [2.0, 1.0]}))
    assert lines["a"].get_linestyle() != lines["b"].get_linestyle() and lines["a"].get_color() != lines["b"].get_color()


@pytest.mark.parametrize("columns", [{}, {"epoch": [1]}, {"loss": []}])
def test_nothing_to_draw_is_said(columns):
    with pytest.raises(InputError, match="curves needs at least one column with one value"):
        curves(columns)


@pytest.mark.middle
def test_matplotlib_is_imported_when_a_figure_is_drawn(fresh):
    assert "matplotlib" not in fresh("import ftheta.plots")
    assert fresh(
        "import ftheta.plots, sys; ftheta.plots.curves({'a': [1.0]}); assert 'matplotlib.pyplot' not in sys.modules"
    )


AT = np.arange(1, 4)
TWO = {"first": {"a": (AT, [3.0, 2.0, 1.0]), "b": (AT, [3.0, 1.0, 0.001])}, "second": {"b": (AT, [1.0, 1.0, 1.0])}}


def test_every_panel_has_its_lines_and_its_title():
    figure = panels(TWO, x="epoch", label="error")
    left, right = figure.axes
    assert [axes.get_title() for axes in figure.axes] == ["first", "second"]
    assert left.lines[1].get_xydata().tolist() == [[1, 3], [2, 1], [3, 0.001]] and len(right.lines) == 1
    assert left.get_xlabel() == right.get_xlabel() == "epoch" and right.get_ylabel() == ""
    apart, other = panels(TWO, x="epoch", label="error", share=False).axes
    assert left.get_ylim() == right.get_ylim() and apart.get_ylim() != other.get_ylim()


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


@pytest.mark.parametrize("lines", [{}, {"one": {}}])
def test_a_panel_without_a_line_is_refused(lines):
    with pytest.raises(InputError, match="panels needs at least one line in each panel.*Leave empty panels out"):
        panels(lines, x="epoch", label="error")


X = np.array([0.0, 1.0])


def test_a_band_is_two_standard_deviations_wide_on_either_side():
    fits = {"point": (X, None), "band": (X, np.array([0.5, 1.0]))}
    figure = bands(([0.2], [0.3]), X, fits, (X, X), label="y (m)", title="T")
    point, band = figure.axes
    assert len(point.collections) == 0 and len(band.collections) == 1
    corners = band.collections[0].get_paths()[0].vertices
    assert {tuple(c) for c in corners.tolist()} == {(0, -1), (0, 1), (1, -1), (1, 3)}
    assert point.get_ylabel() == "y (m)" and band.get_title() == "band" and band.get_xlabel() == "input x"
    truth = [line.get_ydata().tolist() for line in band.lines if line.get_linestyle() == "--"]
    assert truth == [[0, -1], [0, 1], [0, 3]]
    assert {t.get_text() for t in figure.legends[0].get_texts()} == {"rows", "mean ± 2 sd", "mean", "truth"}


def test_without_a_truth_none_is_drawn():
    figure = bands(([0.2], [0.3]), X, {"band": (X, X)}, label="y")
    assert [line.get_label() for line in figure.axes[0].lines] == ["rows", "mean"]
