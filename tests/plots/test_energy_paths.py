"""Ways over an energy: drawn where they were given, in the colour of their ends, on contours or flat steps."""

import numpy as np

from ftheta.plots import energy_paths

AXIS = np.linspace(-1, 1, 21)
BOWL = (AXIS, AXIS, AXIS[:, None] ** 2 + 4 * AXIS**2)
PATHS = np.array([[[0.5, 0.5], [-0.5, 0.2], [0.1, 0.9]], [[0.2, 0.1], [-0.9, 0.1], [0.0, 0.0]]])  # (T + 1, n, 2)
ENERGIES = np.array([[3.0, 2.0, 1.0], [1.0, 0.5, 0.0]])
MARKS = {"stored": [[0.0, 0.0]], "end elsewhere": np.zeros((0, 2))}


def draw(paths=PATHS, energies=ENERGIES, grid=BOWL, code=(0, 1, 0), marks=MARKS, names=("p", "q"), labels=("a", "b")):
    return energy_paths(paths, energies, list(code), names, marks=marks, labels=labels, grid=grid, title="T")


def test_ways_starts_marks_and_energies_lie_where_they_were_given():
    figure = draw()
    axes, beside = (a for a in figure.axes if a.get_label() != "<colorbar>")
    ways = [line for line in axes.lines if len(line.get_xdata()) == 2]
    np.testing.assert_allclose([line.get_xydata() for line in ways], PATHS.swapaxes(0, 1))
    starts = [
        line.get_xydata()[0].tolist() for line in axes.lines if line.get_marker() == "s" and len(line.get_xdata())
    ]
    assert starts == PATHS[0].tolist()
    assert [line.get_color() == ways[0].get_color() for line in ways] == [True, False, True]
    assert ways[0].get_linestyle() != ways[1].get_linestyle()  # not by colour alone
    np.testing.assert_allclose([line.get_ydata() for line in beside.lines], ENERGIES.T)
    assert [line.get_color() for line in beside.lines] == [line.get_color() for line in ways]
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == ["to p", "to q", "stored", "start"]  # once each; nothing ended elsewhere
    assert (axes.get_title(), axes.get_xlabel(), axes.get_ylabel(), axes.get_aspect()) == ("T", "a", "b", 1)


def test_three_coordinates_are_drawn_in_a_cube():
    paths = np.concatenate([PATHS, PATHS[..., :1]], -1)
    axes = draw(paths, grid=None, marks={"stored": [[1.0, 1.0, 1.0]]}, labels=("a", "b", "c")).axes[0]
    edges = [line for line in axes.lines if line.get_color() == "0.4"]
    lengths = [np.linalg.norm(np.diff(np.stack(line.get_data_3d()), axis=1)) for line in edges]
    assert axes.name == "3d" and lengths == [2] * 12 and axes.get_zlabel() == "c"


def test_few_energies_are_flat_steps():
    steps = np.where(BOWL[2] > 1, 2.0, -1.0)
    axes = draw(grid=(AXIS, AXIS, steps)).axes[0]
    assert not axes.collections and np.array_equal(axes.images[0].get_array(), steps)
    assert axes.images[0].origin == "lower" and draw().axes[0].collections  # else contours


def test_ends_beyond_six_are_grey():
    paths = np.zeros((2, 8, 2))
    axes = draw(paths, np.zeros((2, 8)), code=range(8), names=[str(k) for k in range(8)]).axes[0]
    colours = [line.get_color() for line in axes.lines if len(line.get_xdata()) == 2]
    assert len(set(colours)) == 7 and colours[6] == colours[7]
