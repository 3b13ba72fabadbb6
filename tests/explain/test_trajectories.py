"""Races: every path is that of the rule alone, against three clocks, drawn where it went."""

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.explain import trajectories
from ftheta.formulas import SURFACES, rosenbrock
from ftheta.train import minimize


def drawn(axes):
    return {line.get_label(): line.get_xydata() for line in axes.lines if not line.get_label().startswith("_")}


def test_each_path_is_that_of_the_rule_alone():
    found = trajectories("ravine", ["adam", ("gd", 0.05), ("momentum", 0.01, {"momentum": 0.5})], steps=12, lr=0.02)
    assert list(found.paths) == ["adam lr=0.02", "gd lr=0.05", "momentum lr=0.01 momentum=0.5"]
    ground = SURFACES["ravine"]
    alone = minimize(ground, ground.start, optimizer="momentum", lr=0.01, options={"momentum": 0.5}, steps=12)
    assert found.paths["momentum lr=0.01 momentum=0.5"].points.tolist() == alone.points.tolist()
    assert list(trajectories("ravine", "adam", steps=1).paths) == ["adam"]  # its own rate


def test_the_table_says_where_each_ended_and_why():
    rules = [("gd", 0.01), ("gd", 0.1), ("lbfgs", None)]
    found = trajectories("himmelblau", rules, steps=300, tolerance=1e-8)
    table = found.table().columns
    good, wild, newton = range(3)
    assert table["rule"] == ["gd lr=0.01", "gd lr=0.1", "lbfgs"]
    assert table["distance to a minimum"][good] < 1e-8 and table["distance to a minimum"][newton] < 1e-8
    assert table["distance to a minimum"][wild] > 1
    assert table["steps"][good] == table["evaluations"][good] == len(found.paths["gd lr=0.01"].values) - 1 < 300
    assert table["evaluations"][newton] < table["evaluations"][good]
    assert "gradient" in table["ended"][good] and table["ended"][wild].startswith(("diverged", "f became"))
    assert found.table().caption == "himmelblau: f = (x² + y - 11)² + (x + y² - 7)², from (0, 0)."


def test_the_distance_is_to_the_nearest_minimum():
    found = trajectories("saddle", [("gd", 0.1)], start=(0.3, -0.8), steps=1)
    end = found.paths["gd lr=0.1"].points[-1]
    assert found.distances["gd lr=0.1"] == pytest.approx(np.hypot(end[0], end[1] + 1))
    assert trajectories("no-minimum", ["gd"], steps=2).table().columns["distance to a minimum"] == [None]


@pytest.mark.ledger("A135", covers="ftheta.explain.trajectories")
def test_plain_descent_zigzags_in_a_ravine_and_momentum_is_smoother():
    found = trajectories("ravine", [("gd", 0.076), ("momentum", 0.02, {"momentum": 0.7})], steps=40)
    across = {name: np.diff(path.points @ [-1, 1]) for name, path in found.paths.items()}  # across the valley
    turns = {name: int((step[1:] * step[:-1] < 0).sum()) for name, step in across.items()}
    assert turns["gd lr=0.076"] == 39 and turns["momentum lr=0.02 momentum=0.7"] < 20
    axes = found.contours().axes[0]
    lines = drawn(axes)
    assert set(lines) == {*found.paths, "minimum", "start"}
    for name, path in found.paths.items():
        np.testing.assert_allclose(lines[name], path.points)
    assert lines["start"].tolist() == [[-1.0, -1.6]] and lines["minimum"].tolist() == [[0, 0]]
    assert axes.get_title() == "ravine: f = ¼ (x + y)² + ¼ 25 (y - x)²"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")


def test_the_figure_has_the_paths_and_three_clocks():
    found = trajectories("saddle", [("gd", 0.1), ("adam", 0.05)], steps=60)
    ground, *clocks = (axes for axes in found.figure().axes if axes.get_label() != "<colorbar>")
    assert [axes.get_xlabel() for axes in clocks] == ["steps", "evaluations of f", "time (ms)"]
    assert {axes.get_ylabel() for axes in clocks} == {"f - lowest f"}
    path = found.paths["adam lr=0.05"]
    gap = path.values + 0.25  # the lowest value is -1/4
    for axes, clock in zip(clocks, (np.arange(61), path.evaluations, 1e3 * path.seconds), strict=True):
        np.testing.assert_allclose(drawn(axes)["adam lr=0.05"], np.stack([clock, gap], 1))
    np.testing.assert_allclose(drawn(ground)["adam lr=0.05"], path.points)


def test_a_rule_that_diverges_is_cut_at_the_edge_and_called_so():
    found = trajectories("quadratic", [("gd", 0.021), ("gd", 0.01)], steps=60)
    lines = drawn(found.contours().axes[0])
    assert "gd lr=0.021 (leaves)" in lines and "gd lr=0.01" in lines
    shown = lines["gd lr=0.021 (leaves)"]
    assert abs(shown[-1, 1]) == pytest.approx(1.3) and (np.abs(shown) <= 1.3 + 1e-12).all()


def test_any_function_can_be_the_ground():
    f = lambda p: (p[0] - 2) ** 2 + 3 * p[1] ** 2  # noqa: E731  (2,) only
    found = trajectories(f, [("gd", 0.1)], start=(0, 1), box=((-1, 3), (-2, 2)), steps=30)
    x, y, z = found.grid
    np.testing.assert_allclose(z, (x - 2) ** 2 + 3 * y[:, None] ** 2, atol=1e-12)
    assert found.distances == {"gd lr=0.1": None} and found.table().caption == "own function, from (0, 1)."
    assert found.figure().axes[0].get_title() == "own function"


def test_more_than_two_coordinates_have_clocks_only():
    found = trajectories(rosenbrock(5), ["adam"], steps=3)
    figure = found.figure()
    assert found.grid is None and len(figure.axes) == 3
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["adam"]
    assert found.table().caption.endswith("from (-1.2, 1, -1.2, 1, ...).")
    with pytest.raises(InputError, match="rosenbrock has 5 coordinates; contours need 2"):
        found.contours()
