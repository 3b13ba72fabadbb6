"""Learning curves: the numbers given are the numbers drawn, and nothing overlaps."""

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.plots import curves


def lines_of(figure):
    return {line.get_label(): line for line in figure.axes[0].lines}


def test_every_column_is_a_line_over_its_epochs():
    figure = curves({"epoch": [5, 6, 7], "training": [3.0, 2.0, 1.0], "validation": [4.0, np.nan, 3.0]}, best=7)
    lines = lines_of(figure)
    assert lines["training"].get_xydata().tolist() == [[5, 3], [6, 2], [7, 1]]
    assert lines["validation"].get_xydata().tolist() == [[5, 4], [7, 3]]
    assert lines["best: epoch 7 (3.000)"].get_xydata().tolist() == [[7, 3]]
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


def test_one_epoch_has_one_tick():
    axes = curves({"loss": [0.5]}, best=1).axes[0]
    assert [t for t in axes.get_xticks() if axes.get_xlim()[0] <= t <= axes.get_xlim()[1]] == [1]


def test_many_epochs_are_lines_without_markers():
    lines = lines_of(curves({"few": np.ones(30), "x": np.ones(30)})), lines_of(curves({"many": np.ones(1000)}))
    assert lines[0]["few"].get_marker() == "o" and lines[1]["many"].get_marker() == ""


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
