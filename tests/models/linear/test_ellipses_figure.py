"""Ellipses: every outline, half-axis and point is drawn where it is, and the boundary where two classes are level."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ftheta.errors import InputError
from ftheta.models.linear.figures.ellipses import ellipses

RING = np.stack([np.cos(np.linspace(0, 6.3, 20)), np.sin(np.linspace(0, 6.3, 20))], 1)
LINES = {"near": np.stack([RING, RING + 4]), "far": np.stack([2 * RING, 2 * RING + 4])}
ARMS = np.array([[[m, m + np.array([2, 0])], [m, m + np.array([0, 2])]] for m in (np.zeros(2), np.full(2, 4.0))])
ROWS, CODE = np.array([[0.5, 0.5], [4.0, 3.0], [9.0, 9.0]]), np.array([0, 1, -1])


def drawn(**more):
    figure = ellipses(LINES, ARMS, ["a", "b"], names=("x (m)", "y (m)"), **more)
    FigureCanvasAgg(figure).draw()
    return figure, figure.axes[0]


def test_outlines_and_half_axes_are_in_the_colour_of_their_class():
    figure, axes = drawn(rows=ROWS, code=CODE, title="Two")
    found = [line for line in axes.lines if len(line.get_xydata())]
    for line, given in zip(found[:2], (RING, 2 * RING), strict=True):
        np.testing.assert_allclose(line.get_xydata(), given)
    np.testing.assert_allclose(found[2].get_xydata(), ARMS[0, 0])
    np.testing.assert_allclose(found[3].get_xydata(), ARMS[0, 1])
    np.testing.assert_allclose(found[4].get_xydata(), [[0, 0]])
    assert len({line.get_color() for line in found[:5]}) == 1 and found[5].get_color() != found[0].get_color()
    assert found[0].get_linestyle() != found[1].get_linestyle()
    assert [c.get_offsets().tolist() for c in axes.collections] == [[[9, 9]], [[0.5, 0.5]], [[4, 3]]]
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel()) == ("Two", "x (m)", "y (m)")
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["a", "b", "near", "far"]
    assert axes.get_aspect() == 1


def test_the_boundary_is_where_two_classes_are_level():
    x, y = np.linspace(-3, 7, 41), np.linspace(-2, 8, 31)
    p = 1 / (1 + np.exp(-(np.add.outer(y, x) - 4)))
    figure, axes = drawn(grid=(x, y, np.stack([1 - p, p], -1)))
    (line,) = axes.collections[0].get_paths()
    np.testing.assert_allclose(line.vertices.sum(1), 4, atol=1e-3)
    assert axes.get_xlim() == (-3, 7) and axes.get_ylim() == (-2, 8)
    assert figure.legends[0].get_texts()[-1].get_text() == "boundary"
    _, axes = drawn(grid=(x, y, np.stack([1 + 0 * p, 0 * p], -1)))
    assert not axes.collections  # one class everywhere


def test_units_that_differ_much_are_not_forced_to_be_equal():
    x = np.linspace(0, 1000, 20)
    p = np.ones((20, 20, 2))
    assert drawn(grid=(x, np.linspace(0, 1, 20), p))[1].get_aspect() == "auto"


def test_no_outline_is_refused():
    with pytest.raises(InputError, match="ellipses needs the lines of at least one distance"):
        ellipses({}, ARMS, ["a", "b"], names=("x", "y"))
