"""Territory: lines where two classes are level, colours of the winner, and every row where it is."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ftheta.plots import territory

X, Y = np.linspace(0, 1, 21), np.linspace(0, 2, 11)
ROWS, CODE = np.array([[0.1, 0.5], [0.9, 1.0], [0.5, 1.5]]), np.array([0, 2, -1])


def drawn(p, classes, **more):
    figure = territory(X, Y, p, ROWS, CODE, classes, names=("a (m)", "b (m)"), **more)
    FigureCanvasAgg(figure).draw()
    return figure, figure.axes[0]


def three():
    """The first class wins left of 0.305, the second up to 0.705, the third beyond."""
    lead = np.stack([0.305 - X, np.zeros(21), X - 0.705], -1)
    p = np.exp(20 * lead) / np.exp(20 * lead).sum(-1, keepdims=True)
    return np.tile(p, (11, 1, 1))


def test_solid_lines_lie_where_two_classes_are_level():
    figure, axes = drawn(three(), ["one", "two", "three"])
    solid = [c for c in axes.collections if hasattr(c, "levels") and list(c.levels) == [0.0]]
    found = np.concatenate([path.vertices[:, 0] for c in solid for path in c.get_paths()])
    assert found.min() == pytest.approx(0.305, abs=0.01) and found.max() == pytest.approx(0.705, abs=0.01)
    assert np.all((abs(found - 0.305) < 0.01) | (abs(found - 0.705) < 0.01))
    dotted = [c for c in axes.collections if hasattr(c, "levels") and list(c.levels) == [0.75]]
    assert len(dotted) == 1 and axes.get_xlabel() == "a (m)" and axes.get_ylabel() == "b (m)"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["winner has 75 %", "one", "three", "rows"]


def test_the_plane_is_paler_where_the_winner_is_less_sure():
    _, axes = drawn(three(), ["one", "two", "three"])
    shade = np.asarray(axes.images[0].get_array())[0]  # (21, 3)
    strength = 1 - shade.min(-1)
    assert strength[0] > strength[6] and strength[-1] > strength[14] and axes.images[0].origin == "lower"
    assert not np.allclose(shade[0], shade[10]) and not np.allclose(shade[10], shade[-1])


def test_rows_have_the_marker_of_their_class():
    _, axes = drawn(three(), ["one", "two", "three"], title="Mine")
    points = [c for c in axes.collections if not hasattr(c, "levels")]
    np.testing.assert_allclose([c.get_offsets()[0] for c in points], ROWS)
    assert len({c.get_paths()[0].vertices.tobytes() for c in points}) == 3 and axes.get_title() == "Mine"


def test_one_class_and_many_classes_are_drawn():
    _, axes = drawn(np.ones((11, 21, 1)), ["only"])
    assert np.isfinite(axes.images[0].get_array()).all()
    figure, _ = drawn(np.full((11, 21, 25), 0.04), [f"class {k}" for k in range(25)])
    assert figure.axes


def test_classes_of_the_same_colour_have_other_markers():
    rows = np.zeros((25, 2))
    figure = territory(X, Y, np.full((11, 21, 25), 0.04), rows, np.arange(25), ["k"] * 25, names=("a", "b"))
    points = [c for c in figure.axes[0].collections if not hasattr(c, "levels")]
    looks = {(c.get_paths()[0].vertices.tobytes(), tuple(c.get_facecolor()[0])) for c in points}
    assert len(points) == len(looks) == 25
