"""Slopes by differences: right to their own bound, on easy, steep, kinked and rounded functions."""

import math

import pytest

from ftheta.explain._differences import sides, slope

SMOOTH = [  # function, its slope at 0, the size of what it adds up
    (math.exp, 1.0, 1.0),
    (lambda t: math.sin(3 * t), 3.0, 1.0),
    (lambda t: math.tanh(300 * t), 300.0, 1.0),
    (lambda t: 1e6 * math.exp(t), 1e6, 1e6),
    (lambda t: 1e-9 * math.exp(t), 1e-9, 1e-9),
    (lambda t: t**3 + 2 * t, 2.0, 1.0),
    (lambda t: 1 / (1 + math.exp(-t)), 0.25, 0.5),
    (lambda t: 5.0, 0.0, 5.0),
    (lambda t: max(t - 1e-4, 0) + 2 * t, 2.0, 1.0),  # a kink near by
    (lambda t: max(t + 3e-6, 0) ** 2, 6e-6, 1e-4),
]


@pytest.mark.parametrize("case", range(len(SMOOTH)))
def test_a_slope_is_right_to_its_own_bound(case):
    f, truth, size = SMOOTH[case]
    found, error = slope(f, size)
    assert abs(found - truth) <= error
    assert error <= 1e-7 * abs(truth) + 1e-10 * size


def test_a_smooth_function_takes_three_steps():
    """Errors of h² and h⁴ are extrapolated away: the third step agrees with the second to nine digits."""
    asked = []
    found, error = slope(lambda t: (asked.append(t), math.exp(t))[1], 1.0)
    assert len(asked) == 6 and abs(found - 1) <= error < 1e-9


def test_rounding_is_in_the_bound():
    """A slope of 1e-9 on a loss of 1 is lost in its rounding, and the bound says so."""
    f = lambda t: 1.0 + 1e-16 * math.sin(t)  # noqa: E731
    found, error = slope(f, 1.0)
    assert abs(found - 1e-16) <= error and error > 1e-16


def test_a_kink_has_two_slopes_and_a_smooth_function_one():
    left, right = sides(lambda t: abs(t) + 3 * t, 1.0)
    assert (left, right) == pytest.approx((2, 4))
    for f, _, size in SMOOTH[:7]:
        assert sides(f, size) is None
    assert sides(lambda t: 1.0, 1.0) is None
    assert sides(lambda t: math.nan, 1.0) is None
