"""Landscapes and lines: the numbers given are the numbers drawn, whatever they are."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ftheta.errors import InputError
from ftheta.plots import landscape, profile

X = Y = np.linspace(-1, 1, 9)
BOWL = X[None] ** 2 + 2 * Y[:, None] ** 2 + 1


def lines_of(figure):
    return {line.get_label(): line for line in figure.axes[0].lines}


def labels_of(figure):
    return figure.axes[0].get_legend_handles_labels()[1]


def test_places_and_paths_are_where_they_were_put():
    paths = {"one": [[-1.0, 1.0], [0.0, 0.5]], "two": [[0.5, 0.5], [0.1, 0.1]]}
    figure = landscape(X, Y, BOWL, at=(0.2, 0.1), lowest=(0, 0), paths=paths, names=("w", "b"), title="Loss")
    lines = lines_of(figure)
    assert lines["one"].get_xydata().tolist() == paths["one"] and lines["two"].get_xydata().tolist() == paths["two"]
    assert lines["weights"].get_xydata().tolist() == [[0.2, 0.1]] and lines["lowest"].get_xydata().tolist() == [[0, 0]]
    assert labels_of(figure) == ["one", "start", "two", "lowest", "weights"]
    axes, bar = figure.axes
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_title()) == ("w", "b", "Loss")
    assert bar.get_ylabel() == "mean loss per row" and axes.get_xlim() == (-1, 1)


def test_the_first_axis_of_the_loss_is_y():
    figure = landscape(X, Y, np.where(Y[:, None] > 0.6, 10.0, BOWL))
    heights = [path.vertices for path in figure.axes[0].collections[0].get_paths() if len(path.vertices)]
    assert heights[-1][:, 1].min() > 0.3  # the highest level is at the top, not to the right
    assert np.ptp(heights[-1][:, 0]) == 2


def test_a_wide_range_has_a_log_scale_and_a_flat_one_is_drawn():
    wide = landscape(X, Y, 10 ** (3 * BOWL)).axes[1]
    assert wide.get_ylabel() == "mean loss per row (log scale)"
    assert landscape(X, Y, 10 ** (3 * BOWL) - 1e4).axes[1].get_ylabel() == "mean loss per row"  # below zero
    FigureCanvasAgg(landscape(X, Y, np.full((9, 9), 2.0))).draw()


def test_batches_are_rings_around_their_lowest_places():
    surfaces = np.stack([(X[None] - c) ** 2 + Y[:, None] ** 2 for c in (-0.5, 0.5)])
    figure = landscape(X, Y, BOWL, batches=surfaces, batch_lowest=[[-0.5, 0], [0.5, 0]], lowest=(0, 0))
    assert labels_of(figure) == ["all rows", "batch 1", "batch 2", "lowest"]
    styles = {lines_of(figure)[f"batch {i}"].get_linestyle() for i in (1, 2)}
    assert len(styles) == 2  # not by colour alone


def test_losses_that_are_not_finite_stay_white_and_none_at_all_is_said():
    hole = BOWL.copy()
    hole[0, 0], hole[1, 1] = np.nan, np.inf
    FigureCanvasAgg(landscape(X, Y, hole)).draw()
    with pytest.raises(InputError, match="No loss on this grid is finite, so there is nothing to draw"):
        landscape(X, Y, BOWL * np.nan)


def test_the_legend_stays_inside_the_figure_and_above_the_title():
    paths = {f"a long name of path {i}": [[0.0, 0.0], [1.0, 1.0]] for i in range(4)}
    figure = landscape(X, Y, BOWL, at=(0, 0), lowest=(0, 0), paths=paths, title="Loss at 60 rows")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    legend, title = (
        part.get_window_extent(canvas.get_renderer()) for part in (figure.legends[0], figure.axes[0].title)
    )
    assert figure.bbox.x0 <= legend.x0 and legend.x1 <= figure.bbox.x1 and legend.y1 <= figure.bbox.y1
    assert legend.y0 >= title.y1


def test_a_profile_has_the_chord_the_ends_and_the_barrier():
    t = np.array([-0.5, 0.0, 0.5, 1.0])
    figure = profile(t, [9.0, 1.0, 5.0, 3.0], (1.0, 3.0), 3.0, title="Line")
    lines = lines_of(figure)
    assert lines["loss"].get_ydata().tolist() == [9, 1, 5, 3]
    assert lines["chord"].get_xydata()[[0, -1]].tolist() == [[0, 1], [1, 3]]
    assert lines["barrier 3.00"].get_xydata().tolist() == [[0.5, 2], [0.5, 5]]
    assert lines["solutions"].get_xydata().tolist() == [[0, 1], [1, 3]]
    assert figure.axes[0].get_yscale() == "linear" and figure.axes[0].get_ylabel() == "mean loss per row"


def test_a_profile_without_a_barrier_or_with_a_hole_has_none_marked():
    assert list(lines_of(profile([0.0, 0.5, 1.0], [1.0, 0.5, 1.0], (1.0, 1.0), 0.0))) == ["loss", "chord", "solutions"]
    assert "barrier nan" not in lines_of(profile([0.0, 0.5, 1.0], [1.0, np.nan, 1.0], (1.0, 1.0), np.nan))
    assert profile([0.0, 0.5, 1.0], [1.0, 500.0, 1.0], (1.0, 1.0), 499.0).axes[0].get_yscale() == "log"
