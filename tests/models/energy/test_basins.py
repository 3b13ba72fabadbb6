"""Basins against what is known: quadrants, the nearest of three symmetric patterns, the largest overlap."""

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.explain import basins
from ftheta.models import HopfieldNetwork, ModernHopfield

SQUARE = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
CUBE = np.array([[-1.0, -1.0, 1.0], [1.0, -1.0, -1.0], [1.0, 1.0, 1.0]])
MANY = np.random.default_rng(1).choice([-1.0, 1.0], (5, 64))
TWO = HopfieldNetwork(rule="design", unit="saturated", random_state=0).fit(SQUARE)


def test_two_units_have_a_quadrant_for_each_corner():
    found = basins(TWO, n=2000, points=20)
    for i, up in enumerate(found.y):
        for j, across in enumerate(found.x):
            corner = np.sign([across, up])
            assert found.names[found.code[i, j]] == f"({corner[0]:.0f}, {corner[1]:.0f})"
    np.testing.assert_allclose(found.shares, 0.25, atol=4 * np.sqrt(0.25 * 0.75 / 2000))
    assert found.kinds == ("stored", "stored", "stored", "mirror") and found.missed == 0
    assert found.shares.sum() == pytest.approx(1) and sorted(found.stored.tolist()) == sorted(SQUARE.tolist())
    columns = found.table().columns
    np.testing.assert_allclose(columns["share of the picture"], 0.25)
    p = found.shares[0]
    assert columns["standard error"][0] == pytest.approx(np.sqrt(p * (1 - p) / 2000))


def test_three_symmetric_patterns_share_their_plane_by_distance():
    found = basins(HopfieldNetwork(rule="design", unit="saturated", random_state=0).fit(CUBE), points=30)
    corners = {f"({a:.0f}, {b:.0f}, {c:.0f})": at for (a, b, c), at in zip(CUBE, found.stored, strict=True)}
    apart = np.linalg.norm(found.stored[0] - found.stored[1])
    for i, j in np.ndindex(30, 30):
        away = {name: np.hypot(*(at - [found.x[j], found.y[i]])) for name, at in corners.items()}
        first, second, _ = sorted(away.values())
        if second - first > 0.02 * apart:
            assert away[found.names[found.code[i, j]]] == first
    assert found.shares == pytest.approx([1 / 3] * 3, abs=0.06) and found.labels[1].startswith("towards (1, 1, 1)")


def test_a_sharp_memory_gives_the_pattern_with_the_largest_overlap():
    net = ModernHopfield(interaction="continuous", beta=50.0, random_state=0).fit(MANY)
    found = basins(net, n=300, points=12, patterns=(3, 1, 0))
    a, b, c = MANY[[3, 1, 0]]
    for i, j in ((0, 0), (0, 11), (11, 5), (6, 2), (8, 9)):
        s, t = found.x[j], found.y[i]
        e = (b - a) / np.linalg.norm(b - a)
        f = (c - a) - (c - a) @ e * e
        state = a + 8 * (s * e + t * f / np.linalg.norm(f))
        assert found.names[found.code[i, j]] == f"pattern {(MANY @ state).argmax()}"
    assert set(found.kinds) == {"stored"} and found.shares.sum() == pytest.approx(1)


def test_patterns_that_no_start_reaches_are_counted():
    found = basins(HopfieldNetwork(random_state=0).fit(MANY), n=1, points=6)
    reached = found.kinds[int(found.shares.argmax())] == "stored"
    assert found.missed == 5 - reached and set(found.shares) == {0, 1}


def test_all_ends_are_shown_and_the_seed_repeats():
    found, again, other = (basins(TWO, n=50, points=8, random_state=seed) for seed in (0, 0, 1))
    assert np.array_equal(found.shares, again.shares) and not np.array_equal(found.shares, other.shares)
    assert not set(basins(TWO, n=50, points=8, steps=1).kinds) <= set(found.kinds)
    left, right = found.figure().axes
    assert left.get_title() == "Basins of attraction" and right.get_xlabel() == "share of 50 random starts"
    assert {label.get_text() for label in right.get_yticklabels()} == set(found.names)


def test_nothing_to_look_at_gets_a_sentence():
    for settings in ({"n": 0}, {"points": 2}):
        with pytest.raises(InputError, match=f"'{next(iter(settings))}' parameter of basins"):
            basins(TWO, **settings)
