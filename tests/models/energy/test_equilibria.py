"""Equilibria of the designs of two and three units, and what the table calls them."""

import numpy as np
import pytest

from ftheta.errors import InputTypeError
from ftheta.explain import available, equilibria
from ftheta.models import HopfieldNetwork

SQUARE = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
GROWTH = np.exp(0.15)


def design(patterns):
    return HopfieldNetwork(rule="design", unit="saturated", random_state=0).fit(patterns)


def test_two_units_have_four_attractors_and_five_that_are_none():
    found = equilibria(design(SQUARE))
    said = dict(zip(found.table().columns["equilibrium"], found.roles, strict=True))
    stored = dict.fromkeys(["(1, 1)", "(-1, -1)", "(1, -1)"], "stored")
    edges = dict.fromkeys(["(1, 0)", "(-1, 0)", "(0, 1)", "(0, -1)", "(0, 0)"], "not an attractor")
    assert said == {**stored, "(-1, 1)": "spurious attractor", **edges}
    assert (
        found.caption == "9 equilibria: 3 of 3 stored patterns are attractors; 1 attractors are spurious; 5 are not "
        "attractors."
    )
    for point, values, energy in zip(found.points, found.eigenvalues, found.energies, strict=True):
        np.testing.assert_allclose(values, [GROWTH] * int((point == 0).sum()))
        assert energy == pytest.approx((1 - GROWTH) * point @ point / 2, abs=1e-12)
    x, y, z = found.grid
    assert z[10, 50] == pytest.approx((1 - GROWTH) * (x[50] ** 2 + y[10] ** 2) / 2)
    uneven = design(SQUARE)
    uneven.bias_ = np.array([0.05, -0.1])
    x, y, z = equilibria(uneven).grid
    assert z[10, 50] == pytest.approx(uneven.energy(np.array([[x[50], y[10]]]))[0])


def test_a_pattern_that_does_not_hold_is_stored_and_not_an_attractor():
    with pytest.warns(UserWarning, match="do not hold saturated units"):
        net = HopfieldNetwork(rule="hebb", unit="saturated", zero_diagonal=False, scale=1 / 3).fit(SQUARE)
    found = equilibria(net)  # W = [[1, 1/3], [1/3, 1]]
    roles = dict(zip(map(tuple, found.points), found.roles, strict=True))
    assert roles[1.0, 1.0] == "stored" and roles.get((1.0, -1.0)) != "stored"


def test_sign_units_rest_in_corners():
    net = HopfieldNetwork(random_state=0).fit([[1.0, 1, 1, 1, 1, 1], [1, -1, 1, -1, 1, -1]])
    found = equilibria(net)
    corners = 2.0 * (np.arange(64)[:, None] >> np.arange(6) & 1) - 1
    resting = corners[(corners * (corners @ net.weights_) >= 0).all(1)]
    assert sorted(map(tuple, found.points)) == sorted(map(tuple, resting))
    assert found.stored.sum() == 2 and found.roles.count("spurious attractor") == len(resting) - 2
    assert len(found.figure().axes) == 1


def test_many_units_have_too_many_faces_to_look_at():
    net = HopfieldNetwork(random_state=0).fit(np.random.default_rng(0).choice([-1.0, 1.0], (2, 11)))
    assert "equilibria" not in available(net) and "basins" in available(net)
    with pytest.raises(InputTypeError, match="equilibria needs at most 10: measure basins"):
        equilibria(net)
