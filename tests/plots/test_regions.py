"""Regions: boundaries, borders and steps are where the numbers put them."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ftheta.plots import links, regions, simplex
from ftheta.plots._style import PALETTE


def test_the_boundary_is_the_contour_at_one_half():
    grid = np.linspace(0, 1, 11)
    value = np.broadcast_to(grid, (11, 11))  # grows with x1
    figure = regions(grid, value, [[0, 0], [1, 1]], [0, 1], ["no", "yes"], label="p", title="T")
    axes, bar = figure.axes
    (line,) = [c for c in axes.collections if type(c).__name__ == "QuadContourSet"]
    vertices = line.get_paths()[0].vertices
    assert np.allclose(vertices[:, 0], 0.5) and np.ptp(vertices[:, 1]) == 1
    assert (axes.get_xlabel(), axes.get_ylabel(), bar.get_ylabel(), axes.get_title()) == ("x1", "x2", "p", "T")
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["no", "yes", "boundary: one half"]


def test_borders_of_the_simplex_lie_in_the_planes_that_they_name():
    figure = simplex(np.eye(3), [0, 1, 2], ["x", "y", "z"], title="Argmax")
    axes = figure.axes[0]
    _, *borders = axes.lines
    for border, text in zip(borders, axes.texts, strict=True):
        place = dict(zip("xyz", np.array(border.get_data_3d()), strict=True))
        a, b = text.get_text().split(" = ")
        assert np.allclose(place[a], place[b]) and np.allclose(sum(place.values()), 1)
        assert sorted(float(c[1]) for c in place.values()) == [0, 0.5, 0.5]  # to the middle of a side
    assert len(borders) == 3
    points = [np.array(c._offsets3d).T.tolist() for c in axes.collections]
    assert points == [[[1, 0, 0]], [[0, 1, 0]], [[0, 0, 1]]]
    FigureCanvasAgg(figure).draw()


def test_the_steps_stand_one_below_the_other():
    x, p = np.linspace(0, 1, 5), np.linspace(0, 1, 5)
    two = ("sigmoid", p[:, None] - 0.5, np.stack([1 - p, p], 1), np.array([0, 0, 1, 1, 1]))
    figure = links(x, [two, ("other", *two[1:])], title="Steps")
    raw, _, prob, _, strip, _ = figure.axes
    assert raw.lines[0].get_ydata().tolist() == (p - 0.5).tolist() and raw.get_title() == "sigmoid"
    assert [line.get_ydata().tolist() for line in prob.lines] == [(1 - p).tolist(), p.tolist()]
    spans = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in strip.patches]
    assert spans == [(0, 0.5), (0.5, 1)] and [t.get_text() for t in strip.texts] == ["0", "1"]
    assert prob.lines[1].get_color() == PALETTE[1] and prob.lines[0].get_linestyle() != prob.lines[1].get_linestyle()
    assert [a.get_ylabel() for a in (raw, prob, strip)] == ["raw output (score)", "probability", "class"]
    assert strip.get_xlabel() == "input x"
