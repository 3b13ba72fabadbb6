"""Nothing is lost: sums and products against Python's fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.formulas import two_product, two_sum, two_sums

numbers = st.floats(-1e60, 1e60).filter(lambda v: v == 0 or abs(v) > 1e-60)


@given(numbers, numbers)
def test_a_sum_and_its_error_are_the_sum(a, b):
    high, low = map(float, two_sum(np.array(a), np.array(b)))
    assert high == a + b and Fraction(high) + Fraction(low) == Fraction(a) + Fraction(b)


@given(numbers, numbers)
def test_a_product_and_its_error_are_the_product(a, b):
    high, low = map(float, two_product(np.array(a), np.array(b)))
    assert high == a * b and Fraction(high) + Fraction(low) == Fraction(a) * Fraction(b)


@pytest.mark.parametrize("k", [1, 2, 3, 7, 64, 1001])
def test_terms_that_cancel_leave_what_the_exact_sum_leaves(k):
    rng = np.random.default_rng(k)
    terms = rng.normal(size=(k, 3)) * 10.0 ** rng.integers(-8, 8, (k, 3))
    terms = np.vstack([terms, -terms[::-1] * (1 + 1e-15 * rng.integers(0, 3, (k, 3)))])
    low = np.array([1e-20, 0.0, -1e-20])
    high, rest = two_sums(terms, low)
    exact = [math.fsum([*column, e]) for column, e in zip(terms.T, low, strict=True)]
    np.testing.assert_allclose(high + rest, exact, rtol=1e-12, atol=1e-25)
