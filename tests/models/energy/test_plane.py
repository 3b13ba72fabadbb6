"""The plane through three patterns against least squares, and ends by name against what was put there."""

from types import SimpleNamespace

import numpy as np
import pytest

from ftheta.errors import InputError, InputTypeError
from ftheta.explain import basins
from ftheta.models import ModernHopfield
from ftheta.models.energy.energy_surface import ends_of, plane_of

RNG = np.random.default_rng(1)
PATTERNS = RNG.choice([-1.0, 1.0], (4, 30))


def resting(patterns, moves=0.0, **more):
    """A memory in which every state rests, or all move by as much."""
    own = {"matched": lambda x: np.full(len(x), -1), "labels_": None} | more
    return SimpleNamespace(patterns_=patterns, recall=lambda x, steps=None: np.asarray(x) + moves, **own)


def test_places_are_the_nearest_ones_and_distances_are_root_mean_squares():
    plane = plane_of(resting(PATTERNS), None)
    a, b, c, d = PATTERNS
    apart = [np.sqrt(np.mean((x - y) ** 2)) for x, y in ((a, b), (b, c), (c, a))]
    shown = [np.linalg.norm(x - y) for x, y in zip(plane.corners, np.roll(plane.corners, -1, 0), strict=True)]
    np.testing.assert_allclose(shown, apart)
    np.testing.assert_allclose(plane.corners[0], 0, atol=1e-12)
    left = d - plane.at(plane.of(d))
    np.testing.assert_allclose([left @ (b - a), left @ (c - a)], 0, atol=1e-10)  # at right angles: the nearest


def test_too_few_patterns_are_filled_up_and_those_on_a_line_left_out():
    one = plane_of(resting(PATTERNS[:1]), None)
    np.testing.assert_allclose(one.at(one.corners)[1:], [np.zeros(30), np.eye(30)[0]], atol=1e-12)
    line = np.array([[1.0, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3], [1, 1, 1, 0]])
    plane = plane_of(resting(line), None)
    np.testing.assert_allclose(plane.at(plane.corners), line[[0, 1, 3]], atol=1e-12)
    assert plane_of(resting(line[:, 1:]), None).names[0] == "from (1, 1, 1) to (2, 2, 2) (RMS per unit)"
    with pytest.raises(InputError, match=r"Patterns \[0, 1, 2\] lie on a line, so there is no one plane"):
        plane_of(resting(line), (0, 1, 2))


@pytest.mark.parametrize("given", [(0, 1), (0, 1, 1), (0, 1, 4), (0, 1, 2, 3), 2, (0.0, 1.0, 2.0)])
def test_three_different_patterns_are_needed(given):
    with pytest.raises(InputError, match=r"patterns=.*; three different numbers from 0 to 3 are needed\."):
        plane_of(resting(PATTERNS), given)


def test_ends_are_named_by_what_they_are_and_frequent_ones_come_first():
    other = RNG.choice([-1.0, 1.0], 30)
    at = np.stack([PATTERNS[2], -PATTERNS[1], other, PATTERNS[0], PATTERNS[2] + 0.009, PATTERNS[2]])
    ends = ends_of(resting(PATTERNS), at)
    assert ends.names == ("pattern 2", "pattern 0", "minus pattern 1", "other state 1")
    assert ends.kinds == ("stored", "stored", "mirror", "other") and ends.code.tolist() == [0, 2, 3, 1, 0, 0]
    moving = ends_of(resting(PATTERNS, moves=1e-3), at)  # they only pass by
    assert moving.kinds == ("moving",) and moving.names == ("still moving",) and not moving.code.any()


def test_a_mirror_image_that_is_stored_is_stored():
    ends = ends_of(resting(np.concatenate([PATTERNS, -PATTERNS])), -PATTERNS[:2])
    assert ends.kinds == ("stored", "stored") and ends.names == ("pattern 4", "pattern 5")


def test_a_state_that_the_memory_takes_for_a_pattern_is_near_it():
    net = resting(PATTERNS, matched=lambda x: np.full(len(x), 3))
    ends = ends_of(net, np.stack([0.8 * PATTERNS[3], PATTERNS[1]]))
    assert ends.names == ("pattern 1", "near pattern 3") and ends.kinds == ("stored", "near stored")


def test_rare_states_are_counted_together():
    at = np.repeat(RNG.choice([-1.0, 1.0], (9, 30)), [9, 8, 7, 6, 5, 4, 3, 2, 1], axis=0)
    ends = ends_of(resting(PATTERNS), at)
    count = dict(zip(ends.names, np.bincount(ends.code).tolist(), strict=True))
    assert count == {**{f"other state {k + 1}": 9 - k for k in range(6)}, "3 rarer states": 6}


def test_what_is_not_a_memory_or_has_one_unit_gets_a_sentence():
    with pytest.raises(InputTypeError, match=r"object has no patterns_; basins needs a fitted object with patterns_"):
        basins(object())
    with pytest.raises(InputTypeError, match=r"ModernHopfield has 1 unit; basins needs two or more\."):
        basins(ModernHopfield().fit([[1.0], [-1.0]]))
