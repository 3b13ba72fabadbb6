"""Statistics by layer: dots where the numbers are, ranges between quantiles, and words for what no axis can show."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ftheta.plots import layers

LONG = [f"encoder.transformer.blocks.{i}.self_attention.projection.weight" for i in range(30)]


def dots(figure):
    return figure.axes[0].lines[0].get_xydata()


def words(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def ticks(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_numbers_are_dots_from_the_first_layer_down():
    figure = layers(["in", "out"], [2.0, 1.0], label="norm", title="Flow")
    assert dots(figure).tolist() == [[2, 0], [1, 1]] and ticks(figure) == ["in", "out"]
    axes = figure.axes[0]
    assert axes.get_ylim()[0] > axes.get_ylim()[1] and axes.get_xlim()[0] == 0
    assert axes.get_xlabel() == "norm" and axes.get_title() == "Flow" and axes.get_xscale() == "linear"


def test_quantiles_are_ranges_around_the_median():
    figure = layers(["a", "b"], [[-2, -1, 0, 1, 2], [0, 1, 2, 3, 4]], label="x")
    outer, inner = ([s[:, 0].tolist() for s in c.get_segments()] for c in figure.axes[0].collections)
    assert outer == [[-2, 2], [0, 4]] and inner == [[-1, 1], [1, 3]] and dots(figure)[:, 0].tolist() == [0, 2]
    thin, thick = (c.get_linewidth()[0] for c in figure.axes[0].collections)
    assert thin < thick


def test_a_dead_layer_on_a_log_scale_and_what_is_not_finite_are_written():
    figure = layers(list("abcd"), [1.0, 1e-5, 0.0, np.nan], label="norm")
    assert figure.axes[0].get_xscale() == "log" and figure.axes[0].get_xlabel() == "norm (log scale)"
    assert words(figure) == ["0", "nan"] and np.isnan(dots(figure)[2:, 0]).all()
    assert words(layers(["a", "b"], [np.inf, -np.inf], label="x")) == ["inf", "-inf"]


def test_of_many_layers_evenly_spaced_ones_are_drawn_with_the_first_and_the_last():
    notes = [f"n{i}" for i in range(47)]
    figure = layers([str(i) for i in range(47)], np.arange(47.0), label="n", title="t", notes=notes)
    assert ticks(figure) == [str(i) for i in range(0, 47, 2)] and dots(figure)[:, 0].tolist() == list(range(0, 47, 2))
    assert words(figure) == notes[::2] and figure.axes[0].get_title() == "t (24 of 47)"


def test_long_names_stay_distinct_and_say_what_they_share():
    figure = layers(LONG[:20], np.ones(20), label="norm")
    assert ticks(figure) == [str(i) for i in range(20)]
    assert figure.axes[0].get_xlabel() == "norm\n* in encoder.transformer.blocks.*.self_attention.projection.weight"
    assert ticks(layers(["x" * 60], [1.0], label="n")) == ["x" * 17 + "…" + "x" * 17]
    names = ["a" * 40 + ".w", "b" * 40 + ".w"]
    assert ticks(layers(names, [1, 2], label="n")) == ["a" * 17 + "…" + "a" * 17, "b" * 17 + "…" + "b" * 17]


def test_notes_stand_beside_their_layers_and_fit_the_figure():
    figure = layers(["in", "out"], [2.0, 1.0], label="norm", notes=["", "12.5 % dead, 50 % saturated"])
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    axes = figure.axes[0]
    note, tick = axes.texts[1], axes.get_yticklabels()[1]
    box, beside = (t.get_window_extent(canvas.get_renderer()) for t in (note, tick))
    assert words(figure) == ["", "12.5 % dead, 50 % saturated"]
    assert axes.bbox.x1 < box.x0 and box.x1 <= figure.bbox.x1 and abs(box.y0 + box.y1 - beside.y0 - beside.y1) < 8
