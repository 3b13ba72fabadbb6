"""Ways of states against closed forms: a design of two units grows by e^0.15 a step, one of three by known weights."""

from itertools import pairwise

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.explain import energy_surface
from ftheta.models import HopfieldNetwork, ModernHopfield

SQUARE = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
CUBE = np.array([[-1.0, -1.0, 1.0], [1.0, -1.0, -1.0], [1.0, 1.0, 1.0]])
MANY = np.random.default_rng(1).choice([-1.0, 1.0], (6, 64))
TWO = HopfieldNetwork(rule="design", unit="saturated", random_state=0).fit(SQUARE)
THREE = HopfieldNetwork(rule="design", unit="saturated", random_state=0).fit(CUBE)


def drawn(axes):
    """Ways and marks by what they are."""
    found = {"starts": [], "ways": []}
    for line in axes.lines:
        at = np.stack(line.get_data_3d() if hasattr(line, "get_data_3d") else line.get_data(), 1)
        if line.get_marker() == "s" and len(at):
            found["starts"] += at.tolist()
        elif line.get_marker() in "*X":
            found[line.get_label()] = sorted(at.tolist())
        elif line.get_color() != "0.4" and len(at):  # no edge of the cube
            found["ways"].append(at)
    return found


@pytest.mark.ledger("B056", covers="ftheta.explain.energy_surface")
def test_the_plane_of_two_units_with_fifty_steps_from_everywhere():
    starts = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    starts = starts[np.abs(starts).min(1) > np.exp(-0.15 * 49)]  # the others take longer
    found = energy_surface(TWO, np.concatenate([starts, [[0.5, 0.0], [0.0, -0.2], [0.0, 0.0]]]), steps=50)
    t = np.arange(len(found.states))[:, None, None]
    np.testing.assert_allclose(found.states, np.clip(np.exp(0.15 * t) * found.states[0], -1, 1), atol=1e-12)
    n = len(starts)
    assert np.array_equal(found.states[-1, :n], np.sign(starts))
    assert found.states[-1, n:].tolist() == [[1, 0], [0, -1], [0, 0]]
    kinds = [found.ends.kinds[k] for k in found.ends.code]
    stored = [np.sign(x).tolist() in SQUARE.tolist() for x in starts]
    assert kinds == [*np.where(stored, "stored", "mirror").tolist(), "other", "other", "other"]
    shown = drawn(found.figure().axes[0])
    np.testing.assert_allclose(shown["ways"], found.states.swapaxes(0, 1))
    np.testing.assert_allclose(shown["starts"], found.states[0])
    assert shown["stored"] == sorted(SQUARE.tolist())
    assert {(-1.0, 1.0), (1.0, 0.0), (0.0, -1.0), (0.0, 0.0)} == set(map(tuple, shown["end elsewhere"]))


@pytest.mark.ledger("B062", covers="ftheta.explain.energy_surface")
def test_three_units_from_anywhere_on_spurious_points_and_beside_them():
    s = 0.060455
    points = np.array([[-s, -1, -s], [-s, s, 1], [1, s, -s], [1.1 / 3, -1.1 / 3, 1.1 / 3]])
    points = np.stack([e.point for e in THREE.equilibria() for p in points if np.abs(e.point - p).max() < 1e-5])
    target = CUBE[np.square(points[:, None] - CUBE).sum(-1).round(6).argmin(1)]  # one of the nearest to each
    beside = points + 0.03 * (target - points)
    random = np.random.default_rng(1).uniform(-1, 1, (12, 3))
    found = energy_surface(THREE, np.concatenate([points, beside, random]), steps=50)
    assert len(points) == 4
    np.testing.assert_allclose(found.states[:, :4], np.broadcast_to(points, found.states[:, :4].shape), atol=1e-9)
    assert [found.ends.kinds[k] for k in found.ends.code[:4]] == ["other"] * 4 and not found.needed[:4].any()
    assert np.array_equal(found.states[-1, 4:8], target)
    assert {tuple(x) for x in found.states[-1, 8:]} <= {tuple(x) for x in CUBE}
    assert (found.needed[4:8] > 10).all() and set(np.unique(found.ends.code[8:])) == {0, 1, 2}
    w = np.array([[0.848933, 0.312901, -0.312901], [0.312901, 0.848933, 0.312901], [-0.312901, 0.312901, 0.848933]])
    b = np.array([0.284852, -0.284852, 0.284852])
    own = (found.states**2).sum(-1) / 2 - np.einsum("tni,ij,tnj->tn", found.states, w, found.states) / 2
    np.testing.assert_allclose(found.energies, own - found.states @ b, atol=1e-5)
    assert not found.rise.any()
    space, beside = found.figure().axes
    shown = drawn(space)
    np.testing.assert_allclose(shown["ways"], found.states.swapaxes(0, 1))
    np.testing.assert_allclose(shown["stored"], sorted(CUBE.tolist()))
    np.testing.assert_allclose(shown["end elsewhere"], sorted(points.tolist()), atol=1e-9)
    np.testing.assert_allclose([line.get_ydata() for line in beside.lines], found.energies.T)
    assert (beside.get_xlabel(), beside.get_ylabel()) == ("step", "energy")


def test_three_units_are_drawn_in_space_unless_patterns_are_named():
    assert energy_surface(THREE).grid is None
    assert energy_surface(THREE, patterns=(0, 1, 2), points=5).grid[2].shape == (5, 5)


def test_the_surface_is_the_energy_of_the_states_of_the_plane():
    net = HopfieldNetwork(random_state=0).fit(MANY)
    found = energy_surface(net, patterns=(4, 0, 2), points=9)
    x, y, z = found.grid
    a, b, c = MANY[[4, 0, 2]]
    np.testing.assert_allclose(found.plane.at(found.plane.corners), [a, b, c], atol=1e-12)
    state = found.plane.at(np.array([x[7], y[2]]))
    assert z[2, 7] == pytest.approx(-state @ net.weights_ @ state / 2, rel=1e-10)
    left = found.states[0] - a  # starts: inside the triangle
    share = np.linalg.lstsq(np.stack([b - a, c - a], 1), left.T, rcond=None)[0]
    np.testing.assert_allclose(share.T @ np.stack([b - a, c - a]), left, atol=1e-10)
    assert (share >= -1e-12).all() and (share.sum(0) <= 1 + 1e-12).all() and found.states.shape[1] == 20
    assert energy_surface(net, patterns=(4, 0, 2), points=9, n=7).states.shape[1] == 7


def test_ways_that_leave_the_plane_say_how_far():
    cue = np.sign(MANY[0] + MANY[1] + MANY[2])
    found = energy_surface(HopfieldNetwork(random_state=0).fit(MANY), [cue, MANY[1], MANY[5]])
    inside = np.linalg.lstsq(np.stack([MANY[1] - MANY[0], MANY[2] - MANY[0]], 1), (found.states[-1] - MANY[0]).T)[0]
    left = found.states[-1] - MANY[0] - inside.T @ np.stack([MANY[1] - MANY[0], MANY[2] - MANY[0]])
    np.testing.assert_allclose(found.apart, np.sqrt(np.mean(left**2, 1)), atol=1e-8)
    assert found.apart[1] == 0 < found.apart[2] and found.table().columns["off the plane"] == found.apart.tolist()
    shown = drawn(found.figure().axes[0])
    np.testing.assert_allclose(shown["stored"], sorted(found.plane.corners.tolist()), atol=1e-9)  # of six the three


def test_steps_are_counted_and_a_cycle_is_no_end():
    rest = energy_surface(TWO, [[0.5, 0.5], [1.0, 1.0]])
    assert rest.needed.tolist() == [int(np.ceil(np.log(2) / 0.15)), 0] and not rest.rise.any()
    assert "2 starts" in rest.caption and "ends: 2 stored." in rest.caption
    assert energy_surface(TWO, SQUARE).needed.tolist() == [0, 0, 0]
    cycle = HopfieldNetwork(rule="hebb", random_state=0)
    with pytest.warns(UserWarning, match="not stable"):
        cycle.fit(SQUARE)  # W = [[0, 1], [1, 0]]: (1, -1) and (-1, 1) take turns
    found = energy_surface(cycle, [[1.0, 0.5], [1.0, -1.0]], steps=4)
    assert found.needed.tolist() == [1, 4] and found.ends.kinds == ("stored", "moving")
    assert found.states[-1].tolist() == [[1, 1], [1, -1]]  # it only passes by


def test_an_energy_that_rises_is_reported():
    net = HopfieldNetwork(random_state=0).fit(SQUARE[:2])
    net.weights_ = np.array([[0.0, 1.0], [-1.0, 0.0]])  # not symmetric: states go round
    found = energy_surface(net, [[1.0, 1.0]], steps=4)
    e = lambda x: -x @ net.weights_ @ x / 2  # noqa: E731
    assert found.rise.tolist() == [max(0.0, max(e(b) - e(a) for a, b in pairwise(found.states[:, 0])))]
    net.weights_ = np.array([[-1.0, 0.0], [0.0, -1.0]])  # a negative diagonal: all units at once cycle
    assert energy_surface(net, [[1.0, 0.5]], steps=3).rise[0] > 0


def test_a_memory_of_real_numbers_descends_its_own_energy():
    found = energy_surface(ModernHopfield(interaction="continuous", beta=1.0, random_state=0).fit(SQUARE))
    x, y, z = found.grid
    at = np.array([x[40], y[11]])
    known = -np.log(np.exp(SQUARE @ at).sum()) + at @ at / 2 + np.log(3) + 1
    assert z[11, 40] == pytest.approx(known, rel=1e-10) and not found.rise.any() and not found.corners
    assert found.ends.kinds == ("near stored",)  # β is low: one blend near (1, -1) for all


def test_a_memory_of_signs_has_the_energy_of_the_nearest_corner():
    found = energy_surface(ModernHopfield(random_state=0).fit(MANY), points=7)
    x, y, z = found.grid
    state = np.where(found.plane.at(np.array([x[5], y[6]])) < 0, -1, 1)
    assert z[6, 5] == pytest.approx(-np.log(np.exp(MANY @ state - 64.0).sum()) - 64) and found.corners
    assert np.isin(found.states, (-1, 1)).all()
    assert found.figure().axes[0].get_title().startswith("Energy of the nearest corners")
    changed = (found.states[0][:, None] != MANY[:3]).mean(-1).min(1)
    assert 0.2 < changed.mean() < 0.4  # starts: patterns with 30 % flipped


def test_settings_that_cannot_be_get_a_sentence():
    for settings in ({"steps": 0}, {"points": 2}, {"n": 0}):
        with pytest.raises(InputError, match=f"'{next(iter(settings))}' parameter of energy_surface"):
            energy_surface(TWO, **settings)
    for starts in (np.zeros((2, 3)), [[0.0, np.nan]]):
        with pytest.raises(InputError, match=r"starts has shape .*; rows of 2 finite numbers are needed\."):
            energy_surface(TWO, starts)
