"""Points: every point is drawn where it is, in the colour of its number or class."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ftheta.plots import lifted, points

AT = np.array([[0.0, 0.0], [1.0, 0.5], [0.5, 1.0]])


def test_panels_share_their_colours():
    figure = points({"all": (AT, [0.0, 1.0, 2.0]), "some": (AT[2:], [2.0])}, label="z (m)", x=("a (s)", "b (s)"))
    left, right, bar = figure.axes
    assert left.collections[0].get_offsets().tolist() == AT.tolist()
    assert right.collections[0].get_facecolor()[0].tolist() == left.collections[0].get_facecolor()[2].tolist()
    assert (left.get_title(), right.get_title()) == ("all\nn = 3", "some\nn = 1")
    assert (left.get_xlabel(), left.get_ylabel(), bar.get_ylabel()) == ("a (s)", "b (s)", "z (m)")


def test_lifted_points_stand_over_the_plane():
    figure = lifted({"one": (AT, [0.0, -1.0, 2.0], [0, 1, 1])}, ["out", "in"], label="height")
    flat, space = figure.axes
    assert [c.get_offsets().tolist() for c in flat.collections] == [AT[:1].tolist(), AT[1:].tolist()]
    first, second, plane = space.collections
    assert np.array(second._offsets3d).T.tolist() == [[1, 0.5, -1], [0.5, 1, 2]]
    assert np.asarray(first._offsets3d[2]).tolist() == [0]
    assert plane.get_label() == "plane z = 0" and space.get_zlabel() == "height"
    colours = [tuple(c.get_facecolor()[0]) for c in flat.collections]
    assert len(set(colours)) == 2
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["out", "in", "plane z = 0"]
    FigureCanvasAgg(figure).draw()
