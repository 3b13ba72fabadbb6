"""Terms of a fit: names, the table, and figures in which the largest have names."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from ftheta.models.linear.bases import Terms

X = np.linspace(0, 1, 5)


def curves(parts, names=None, data=None):
    names = names or [f"t{k}" for k in range(parts.shape[1])]
    return Terms(names, np.ones(len(names)), 3.0, X, parts, parts.sum(1), data).figure()


def test_every_term_is_a_line_and_the_fit_and_rows_too():
    parts, data = np.stack([np.ones(5), X, -3 * X**2], 1), np.array([[0.1, 2.0], [0.4, 3.0]])
    axes = curves(parts, ["1", "x", "x^2"], data).axes[0]
    lines = {line.get_label(): line.get_xydata() for line in axes.lines}
    assert list(lines) == ["1", "x", "x^2", "rows", "fit: the sum"]
    assert np.array_equal(lines["x^2"], np.c_[X, -3 * X**2]) and np.array_equal(lines["rows"], data)
    assert np.array_equal(lines["fit: the sum"][:, 1], parts.sum(1)) and axes.get_xlabel() and axes.get_ylabel()


def test_of_many_terms_the_six_largest_are_named_each_in_its_own_look_and_the_legend_fits():
    figure = curves(np.outer(X, np.arange(10.0) * (-1) ** np.arange(10)))
    named = [line for line in figure.axes[0].lines if line.get_label().startswith("t")]
    assert [line.get_label() for line in named] == [f"t{k}" for k in range(4, 10)]
    looks = {to_hex(line.get_color()) for line in figure.axes[0].lines if not line.get_label().startswith("_")}
    assert len(figure.axes[0].lines) == 11 and len(looks) == 7
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    box = figure.legends[0].get_window_extent(canvas.get_renderer())
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1


def test_several_inputs_have_bars_in_their_order_of_many_the_largest():
    found = Terms(["1", "x", "y"], np.array([2.0, -3.0, 0.5]), 3.0)
    assert found.table().columns["term"] == ["1", "x", "y"] and found.caption.endswith("solved: 3.")
    axes = found.figure().axes[0]
    assert [bar.get_width() for bar in axes.patches] == [2.0, -3.0, 0.5]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1", "x", "y"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first on top
    many = Terms([f"t{k}" for k in range(30)], np.arange(30.0), 3.0).figure().axes[0]
    assert [label.get_text() for label in many.get_yticklabels()] == [f"t{k}" for k in range(10, 30)]
    assert many.get_title() == "Coefficients, the 20 largest of 30"
