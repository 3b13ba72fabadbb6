"""Rules: paths are those of the rule alone, recursions are written out, and rows of the sources about steps."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.func import grad

from ftheta.explain import trajectories, updates
from ftheta.formulas import SURFACES, rosenbrock
from ftheta.nn import RememberingPool, Unpool, pooling, upsampling
from ftheta.train import minimize


def drawn(axes):
    return {line.get_label(): line.get_xydata() for line in axes.lines if not line.get_label().startswith("_")}


def test_each_path_is_that_of_the_rule_alone():
    found = trajectories("ravine", ["adam", ("gd", 0.05), ("momentum", 0.01, {"momentum": 0.5})], steps=12, lr=0.02)
    assert list(found.points) == ["adam lr=0.02", "gd lr=0.05", "momentum lr=0.01 momentum=0.5"]
    ground = SURFACES["ravine"]
    alone = minimize(ground, ground.start, optimizer="momentum", lr=0.01, options={"momentum": 0.5}, steps=12)
    assert found.points["momentum lr=0.01 momentum=0.5"].tolist() == alone.points.tolist()
    assert list(trajectories("ravine", "adam", steps=1).points) == ["adam"]  # its own rate
    assert trajectories("ravine", "adam", steps=1, size=9).grid[2].shape == (9, 9)


def test_the_table_says_where_each_ended_and_why():
    found = trajectories("himmelblau", [("gd", 0.01), ("gd", 0.1), ("lbfgs", None)], steps=300, tolerance=1e-8)
    table = found.table().columns
    good, wild, newton = range(3)
    assert table["rule"] == ["gd lr=0.01", "gd lr=0.1", "lbfgs"]
    assert table["distance to a minimum"][good] < 1e-8 and table["distance to a minimum"][newton] < 1e-8
    assert table["distance to a minimum"][wild] > 1
    assert table["steps"][good] == table["evaluations"][good] == len(found.values["gd lr=0.01"]) - 1 < 300
    assert table["evaluations"][newton] < table["evaluations"][good]
    assert "gradient" in table["ended"][good] and table["ended"][wild].startswith(("diverged", "f became"))
    assert (
        found.table().caption == "himmelblau: f = (x² + y - 11)² + (x + y² - 7)², from (0, 0); the lowest value is 0."
    )


def test_the_distance_is_to_the_nearest_minimum():
    found = trajectories("saddle", [("gd", 0.1)], start=(0.3, -0.8), steps=1)
    end = found.points["gd lr=0.1"][-1]
    assert found.distances["gd lr=0.1"] == pytest.approx(np.hypot(end[0], end[1] + 1))
    assert trajectories("no-minimum", ["gd"], steps=2).table().columns["distance to a minimum"] == [None]


@pytest.mark.ledger("A135", "B189", covers="ftheta.explain.trajectories")
def test_plain_descent_zigzags_in_a_ravine_and_momentum_is_smoother():
    found = trajectories("ravine", [("gd", 0.076), ("momentum", 0.02, {"momentum": 0.7})], steps=40)
    across = {name: np.diff(points @ [-1, 1]) for name, points in found.points.items()}  # across the valley
    turns = {name: int((step[1:] * step[:-1] < 0).sum()) for name, step in across.items()}
    assert turns["gd lr=0.076"] == 39 and turns["momentum lr=0.02 momentum=0.7"] < 20
    axes = found.figure().axes[0]
    lines = drawn(axes)
    assert set(lines) == {*found.points, "minimum", "start"}
    for name, points in found.points.items():
        np.testing.assert_allclose(lines[name], points)
    assert lines["start"].tolist() == [[-1.0, -1.6]] and lines["minimum"].tolist() == [[0, 0]]
    assert axes.get_title() == "ravine: f = ¼ (x + y)² + ¼ 25 (y - x)²"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")


def test_the_figure_has_the_paths_and_two_clocks():
    found = trajectories("saddle", [("gd", 0.1), ("adam", 0.05)], steps=60)
    ground, *clocks = (axes for axes in found.figure().axes if axes.get_label() != "<colorbar>")
    assert [axes.get_xlabel() for axes in clocks] == ["steps", "evaluations of f"]
    assert {axes.get_ylabel() for axes in clocks} == {"f - lowest f"}
    gap = found.values["adam lr=0.05"] + 0.25  # the lowest value is -1/4
    for axes, clock in zip(clocks, (np.arange(61), found.evaluations["adam lr=0.05"]), strict=True):
        np.testing.assert_allclose(drawn(axes)["adam lr=0.05"], np.stack([clock, gap], 1))
    np.testing.assert_allclose(drawn(ground)["adam lr=0.05"], found.points["adam lr=0.05"])


def test_a_rule_that_diverges_is_cut_at_the_edge_and_called_so():
    lines = drawn(trajectories("quadratic", [("gd", 0.021), ("gd", 0.01)], steps=60).figure().axes[0])
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
    assert found.grid is None and len(figure.axes) == 2
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["adam"]
    assert found.table().caption.startswith(
        "rosenbrock: f = Σ 100 (xᵢ₊₁ - xᵢ²)² + (1 - xᵢ)², from (-1.2, 1, -1.2, 1, ...)"
    )


# ---- updates


RNG = np.random.default_rng(0)
G = RNG.normal(size=(12, 3))


@pytest.mark.ledger("A134", covers="ftheta.explain.updates")
def test_opposite_gradients_leave_a_velocity_and_equal_ones_build_it_up():
    """v(2) = η (1 - μ) g for gradients g and -g: 0 in the limit of μ = 1."""
    opposite = updates("momentum", [1.0, -1.0], lr=0.1).updates["momentum"][:, 0]
    np.testing.assert_allclose(opposite, [-0.1, 0.01])
    np.testing.assert_allclose(updates("momentum", [1.0, 1.0], lr=0.1).updates["momentum"][:, 0], [-0.1, -0.19])


@pytest.mark.ledger("B011", covers="ftheta.explain.updates")
def test_the_first_step_of_adam_is_the_rate_for_any_gradient():
    found = updates("adam", [[1e-4, 0.01, 1.0, 100.0]], lr=0.001)
    np.testing.assert_allclose(found.updates["adam"][0], [-0.0009999, -0.001, -0.001, -0.001], atol=5e-8)
    rate = found.effective["adam"][0]  # it is the rate that is larger for small gradients
    np.testing.assert_allclose(rate, [9.999, 0.1, 1e-3, 1e-5], rtol=1e-4)


@pytest.mark.ledger("B041", covers="ftheta.explain.updates")
def test_under_a_constant_gradient_adagrad_fades_and_its_variants_do_not():
    for size in (0.01, 1.0, 50.0):
        found = updates(["adagrad", "rmsprop", "adadelta"], np.full(400, size), lr=0.1)
        moved = {name: -u[:, 0] for name, u in found.updates.items()}
        np.testing.assert_allclose(moved["adagrad"], 0.1 / np.sqrt(np.arange(1, 401)), rtol=1e-6)
        assert moved["adagrad"][:100].sum() == pytest.approx(1.85896, abs=1e-5)
        assert moved["rmsprop"][-1] == pytest.approx(0.1, rel=1e-4)  # η, whatever the gradient
        assert moved["adadelta"][-1] > moved["adadelta"][0]
    assert found.effective["adagrad"][-1, 0] == pytest.approx(0.1 / (50 * 20), rel=1e-6)


@pytest.mark.ledger("A137", covers="ftheta.explain.updates")
def test_large_past_gradients_shrink_the_step_of_adagrad_also_far_from_a_minimum():
    """The first coordinate slides down a steep line for ever: far from convergence its steps shrink all the same."""
    steep = np.column_stack([np.full(100, 10.0), np.where(np.arange(100) < 10, 10.0, 1e-9)])
    rate = updates("adagrad", steep, lr=0.1).effective["adagrad"]
    assert (np.diff(rate[:, 0]) < 0).all() and rate[-1, 0] == pytest.approx(rate[0, 0] / 10)
    assert rate[-1, 1] == pytest.approx(rate[9, 1], rel=1e-4)  # the one that has converged keeps its rate


def test_the_state_of_adam_and_its_correction():
    found = updates("adam", G, lr=0.1, options={"betas": (0.8, 0.95)})
    m, v = np.zeros(3), np.zeros(3)
    for t, g in enumerate(G, 1):
        m, v = 0.8 * m + 0.2 * g, 0.95 * v + 0.05 * g**2
        state = {name: values[t - 1] for name, values in found.states["adam"].items()}
        np.testing.assert_allclose(state["m"], m)
        np.testing.assert_allclose(state["v"], v)
        np.testing.assert_allclose(state["m-hat"], m / (1 - 0.8**t))
        np.testing.assert_allclose(state["v-hat"], v / (1 - 0.95**t))
        step = -0.1 * state["m-hat"] / (np.sqrt(state["v-hat"]) + 1e-8)
        np.testing.assert_allclose(found.updates["adam"][t - 1], step, atol=1e-14)


def test_states_of_the_others_have_the_names_of_their_equations():
    found = updates(["gd", "momentum", "adagrad", "rmsprop", "adadelta"], G, lr=0.1)
    assert found.states["gd"] == {}
    assert [list(s) for s in found.states.values()][1:] == [["v"], ["G"], ["G"], ["G", "D"]]
    np.testing.assert_allclose(found.states["adagrad"]["G"], np.cumsum(G**2, 0))
    velocity = found.states["momentum"]["v"]
    np.testing.assert_allclose(velocity[1:], 0.9 * velocity[:-1] + G[1:])
    np.testing.assert_allclose(found.updates["momentum"], -0.1 * velocity, atol=1e-15)
    mean, moved = np.zeros(3), np.zeros(3)  # both averages of adadelta
    for t, g in enumerate(G):
        mean = 0.9 * mean + 0.1 * g**2
        moved = 0.9 * moved + 0.1 * (g * np.sqrt(moved + 1e-6) / np.sqrt(mean + 1e-6)) ** 2
        np.testing.assert_allclose(found.states["adadelta"]["G"][t], mean)
        np.testing.assert_allclose(found.states["adadelta"]["D"][t], moved)
    np.testing.assert_allclose(found.totals["gd"], -0.1 * G.sum(0))


def test_rates_are_given_or_the_rules_own_and_options_go_to_who_knows_them():
    found = updates(["gd", "momentum"], [1.0, 1.0], options={"dampening": 0.5, "momentum": 0.5})
    assert found.rates == {"gd": 0.1, "momentum": 0.01}
    mixed = updates(["adam", "rmsprop"], [1.0], lr=0.1, options={"alpha": 0.75})
    np.testing.assert_allclose(mixed.updates["rmsprop"], -0.2)
    np.testing.assert_allclose(mixed.updates["adam"], -0.1)


def test_a_zero_gradient_has_no_effective_rate():
    found = updates("momentum", [1.0, 0.0], lr=0.1)
    assert np.isnan(found.effective["momentum"][1, 0]) and found.updates["momentum"][1, 0] == pytest.approx(-0.09)


def test_the_table_has_a_line_a_rule_step_and_parameter():
    table = updates(["gd", "adam"], [[1.0, 2.0], [3.0, 4.0]], lr=0.5).table()
    assert table.columns["rule"] == ["gd"] * 4 + ["adam"] * 4 and table.columns["step"] == [1, 1, 2, 2] * 2
    assert table.columns["parameter"] == [1, 2] * 4 and table.columns["gradient"] == [1, 2, 3, 4] * 2
    assert table.columns["update"][:4] == [-0.5, -1, -1.5, -2] and table.columns["m"][:4] == [None] * 4
    assert table.columns["m"][4:6] == pytest.approx([0.1, 0.2])
    assert table.caption == "gd with lr=0.5, adam with lr=0.5."
    assert "parameter" not in updates("gd", [1.0]).table().columns


# ---- steps


RNG3 = np.random.default_rng(0)
IMAGE = torch.from_numpy(RNG3.random((1, 1, 6, 8)))


@pytest.mark.ledger("A117", covers="ftheta.autodiff.grad")
def test_the_best_of_many_directions_turns_to_the_gradient_as_the_step_shrinks():
    def hill(x):
        return torch.sin(x[0]) * x[1] + x[1] ** 2 - x[0] * x[2]

    at = torch.tensor([0.3, 0.8, -0.5], dtype=torch.float64)
    g = grad(hill)(at)
    v = F.normalize(torch.randn(2000, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64), dim=1)
    angle = {}
    for length in (1.0, 1e-4):
        gains = torch.stack([hill(at + length * d) - hill(at) for d in torch.cat([v, -v])]) / length
        angle[length] = float(torch.rad2deg(torch.acos(torch.cat([v, -v])[gains.argmax()] @ g / g.norm())))
    assert angle[1e-4] < 4 < angle[1.0]  # the nearest of 4,000 directions in space
    assert float(gains.max()) == pytest.approx(float(g.norm()), rel=4e-3)


@pytest.mark.ledger("A120", covers="ftheta.autodiff.grad")
def test_a_small_step_does_what_the_gradient_says_and_a_long_one_overshoots():
    """f = -x² at 1 has gradient -2: a tenth of it raises f, a step of length 3 lowers it from -1 to -4."""
    f = lambda x: -(x**2)  # noqa: E731
    at = torch.tensor(1.0, dtype=torch.float64)
    g = grad(f)(at)
    change = {t: float(f(at + t * g.sign()) - f(at)) for t in (0.05, 0.2, 3.0)}
    assert change[0.05] == pytest.approx(0.05 * 2, rel=0.1) and change[0.2] == pytest.approx(0.36)
    assert -1 + change[3.0] == pytest.approx(-4)


@pytest.mark.ledger("C099", covers="ftheta.train.minimize")
@pytest.mark.parametrize("step", [2, 3, 7])
def test_nesterov_jumps_takes_the_gradient_ahead_and_corrects(step):
    """v <- μ v - η ∇f(θ + μ v), θ <- θ + v: the points that the rule visits are θ + μ v."""
    hessian, lr, momentum = np.array([[13.0, -12.0], [-12.0, 13.0]]), 0.03, 0.8  # of the ravine: ½ [1 + 25, 1 - 25]
    theta, v = np.array(SURFACES["ravine"].start), np.zeros(2)
    for _ in range(step):
        v = momentum * v - lr * hessian @ (theta + momentum * v)
        theta = theta + v
    path = minimize(SURFACES["ravine"], theta * 0 + SURFACES["ravine"].start, optimizer="nesterov", lr=lr, steps=step,
                    options={"momentum": momentum})  # fmt: skip
    np.testing.assert_allclose(path.points[step], theta + momentum * v)


@pytest.mark.ledger("C195", covers="ftheta.nn.pooling")
def test_a_smaller_image_has_every_second_place_the_largest_or_the_mean_of_a_block():
    x = IMAGE[0, 0].numpy()
    blocks = x.reshape(3, 2, 4, 2).swapaxes(1, 2)  # (3, 4, 2, 2)
    for kind, expected in (("stride", x[::2, ::2]), ("max", blocks.max((2, 3))), ("mean", blocks.mean((2, 3)))):
        np.testing.assert_allclose(pooling(kind, 2)(IMAGE)[0, 0], expected)


@pytest.mark.ledger("C200", covers="ftheta.nn.upsampling")
def test_a_larger_image_repeats_unpools_interpolates_or_adds_kernels():
    pool = RememberingPool(2)
    small = pool(IMAGE)
    nearest = F.interpolate(small, scale_factor=2)
    np.testing.assert_array_equal(nearest[0, 0], small[0, 0].numpy().repeat(2, 0).repeat(2, 1))
    np.testing.assert_array_equal(Unpool(pool)(small), np.where(nearest == IMAGE, IMAGE, 0))  # the places of the maxima
    kernel, canvas = RNG3.random((4, 4)), np.zeros((8, 10))
    for i, j in np.ndindex(3, 4):
        canvas[2 * i : 2 * i + 4, 2 * j : 2 * j + 4] += small[0, 0, i, j].item() * kernel
    made = F.conv_transpose2d(small, torch.from_numpy(kernel)[None, None], stride=2, padding=1)
    np.testing.assert_allclose(made[0, 0], canvas[1:-1, 1:-1])
    for kind, mode in (("nearest", {}), ("bilinear", {"mode": "bilinear", "align_corners": False})):
        torch.testing.assert_close(upsampling(kind, 1, 1)(small), F.interpolate(small, scale_factor=2, **mode))
