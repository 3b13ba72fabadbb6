"""Updates: recursions written out in NumPy, and the claims about build-up, rescaling and decay."""

import numpy as np
import pytest

from ftheta.explain import updates

RNG = np.random.default_rng(0)
G = RNG.normal(size=(12, 3))


@pytest.mark.ledger("A134", covers="ftheta.explain.updates", printed=0.0, right=0.01)
def test_opposite_gradients_leave_a_velocity_and_equal_ones_build_it_up(ledger):
    opposite = updates("momentum", [1.0, -1.0], lr=0.1).updates["momentum"][:, 0]
    assert opposite[0] == pytest.approx(-0.1)
    ledger(opposite[1])
    equal = updates("momentum", [1.0, 1.0], lr=0.1).updates["momentum"][:, 0]
    np.testing.assert_allclose(equal, [-0.1, -0.19])


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
        t = np.arange(1, 401)
        np.testing.assert_allclose(moved["adagrad"], 0.1 / np.sqrt(t), rtol=1e-6)
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
    assert found.states["gd"] == {} and [list(s) for s in found.states.values()][1:] == [
        ["v"],
        ["G"],
        ["G"],
        ["G", "D"],
    ]
    np.testing.assert_allclose(found.states["adagrad"]["G"], np.cumsum(G**2, 0))
    velocity = found.states["momentum"]["v"]
    np.testing.assert_allclose(velocity[1:], 0.9 * velocity[:-1] + G[1:])
    np.testing.assert_allclose(found.updates["momentum"], -0.1 * velocity, atol=1e-15)
    mean, moved = np.zeros(3), np.zeros(3)  # both averages of adadelta
    for t, g in enumerate(G):
        mean = 0.9 * mean + 0.1 * g**2
        d = g * np.sqrt(moved + 1e-6) / np.sqrt(mean + 1e-6)
        moved = 0.9 * moved + 0.1 * d**2
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
