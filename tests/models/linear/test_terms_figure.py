"""Terms of a fit: what is given is drawn, and the largest have names."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from ftheta.errors import InputError
from ftheta.models.linear.figures.terms import coefficients, terms

X = np.linspace(0, 1, 5)


def test_every_term_is_a_line_and_the_fit_and_rows_too():
    parts = np.stack([np.ones(5), X, -3 * X**2], 1)
    data = np.array([[0.1, 2.0], [0.4, 3.0]])
    axes = terms(X, parts, ["1", "x", "x^2"], parts.sum(1), data).axes[0]
    lines = {line.get_label(): line.get_xydata() for line in axes.lines}
    assert list(lines) == ["1", "x", "x^2", "rows", "fit: the sum"]
    assert np.array_equal(lines["x^2"], np.c_[X, -3 * X**2]) and np.array_equal(lines["rows"], data)
    assert np.array_equal(lines["fit: the sum"][:, 1], parts.sum(1))
    assert axes.get_xlabel() and axes.get_ylabel()


def test_of_many_terms_the_six_largest_are_named_each_in_its_own_look():
    parts = np.outer(X, np.arange(10.0) * (-1) ** np.arange(10))
    figure = terms(X, parts, [f"t{k}" for k in range(10)], parts.sum(1))
    named = [line for line in figure.axes[0].lines if line.get_label().startswith("t")]
    assert [line.get_label() for line in named] == [f"t{k}" for k in range(4, 10)]
    assert len(figure.axes[0].lines) == 11
    looks = {to_hex(line.get_color()) for line in figure.axes[0].lines if not line.get_label().startswith("_")}
    assert len(looks) == 7


def test_the_legend_fits_into_the_figure():
    names = [f"gaussian(x; {k:.4f}, 0.1234)" for k in np.linspace(-1, 1, 12)]
    figure = terms(X, np.outer(X, np.arange(12.0)), names, X)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    box = figure.legends[0].get_window_extent(canvas.get_renderer())
    assert box.x0 >= 0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1


def test_parts_of_another_shape_are_refused():
    with pytest.raises(InputError, match=r"parts has shape \(5, 2\); 5 points of 1 terms are needed"):
        terms(X, np.ones((5, 2)), ["1"], X)


def test_coefficients_are_bars_in_their_order():
    axes = coefficients(["1", "x", "y"], np.array([2.0, -3.0, 0.5])).axes[0]
    assert [bar.get_width() for bar in axes.patches] == [2.0, -3.0, 0.5]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1", "x", "y"]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first on top


def test_of_many_coefficients_the_largest_are_shown():
    axes = coefficients([f"t{k}" for k in range(30)], np.arange(30.0)).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [f"t{k}" for k in range(10, 30)]
    assert axes.get_title() == "Coefficients, the 20 largest of 30"


def test_names_and_coefficients_must_match():
    with pytest.raises(InputError, match="2 names and 1 coefficients; as many of both"):
        coefficients(["a", "b"], np.ones(1))
