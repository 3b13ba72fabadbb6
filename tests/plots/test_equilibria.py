"""Equilibria: a sign a role in both panels, eigenvalues by their size."""

import numpy as np

from ftheta.plots import equilibria

POINTS = np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, 0.0]])
ROLES = ("stored", "spurious", "none", "lost")
VALUES = [np.zeros(0), np.zeros(0), np.array([-1.5, 0.5 + 0.5j])]
AXIS = np.linspace(-1, 1, 21)


def lines(axes):
    return {line.get_label(): line for line in axes.lines if not line.get_label().startswith("_")}


def test_both_panels_have_the_same_signs():
    grid = (AXIS, AXIS, AXIS[:, None] ** 2 - AXIS**2 / 3)
    figure = equilibria(POINTS, [0, 2, 2], ROLES, VALUES, ["a", "b", "c"], grid=grid)
    left, right = (axes for axes in figure.axes if axes.get_label() != "<colorbar>")
    assert {name: line.get_xydata().tolist() for name, line in lines(left).items()} == {
        "stored": [[1, 1]],
        "none": [[-1, 1], [0, 0]],
    }
    for name in ("stored", "none"):
        assert lines(left)[name].get_marker() == lines(right)[name].get_marker()
        assert lines(left)[name].get_color() == lines(right)[name].get_color()
    assert [text.get_text() for text in right.get_yticklabels()] == ["a", "b", "c"]
    sizes = [line.get_xdata().tolist() for line in right.lines[1:]]
    assert sizes[:2] == [[0], [0]]  # saturated
    np.testing.assert_allclose(sizes[2], [1.5, np.sqrt(0.5)])
    assert right.lines[0].get_xdata()[0] == 1  # where pushes begin to grow


def test_a_role_looks_the_same_whoever_else_is_there():
    alone = lines(equilibria(POINTS[:, [0, 1, 1]], [2, 2, 2], ROLES, VALUES, ["a", "b", "c"]).axes[0])["none"]
    among = lines(equilibria(POINTS[:, [0, 1, 1]], [0, 1, 2], ROLES, VALUES, ["a", "b", "c"]).axes[0])["none"]
    assert (alone.get_marker(), alone.get_color()) == (among.get_marker(), among.get_color())


def test_more_than_three_units_show_eigenvalues_alone_and_long_lists_are_cut():
    figure = equilibria(np.zeros((40, 4)), [2] * 40, ROLES, [np.ones(4)] * 40, [str(k) for k in range(40)])
    assert len(figure.axes) == 1 and len(figure.axes[0].get_yticklabels()) == 30
    assert figure.axes[0].get_title() == "Eigenvalues of the first 30 of 40"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["none"]
