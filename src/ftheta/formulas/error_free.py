"""Sums and products whose rounding errors are kept: twice the precision from ordinary numbers.

    a + b = s + e   and   a b = p + e   exactly,      s = fl(a + b),  p = fl(a b)

Shapes: K terms, of arrays of any shape.
Reference: Ogita, Rump and Oishi, Accurate sum and dot product, SIAM Journal on Scientific Computing 26 (2005).
"""

from __future__ import annotations

import numpy as np

__all__ = ["two_product", "two_sum", "two_sums"]

Pair = tuple[np.ndarray, np.ndarray]  # high and low part of numbers in twice the precision
SPLIT = 2.0**27 + 1  # cuts the 53 digits of a number into two halves


def two_sum(a: np.ndarray, b: np.ndarray) -> Pair:
    """a + b: the rounded sum, and what rounding took.

    Example:
        >>> high, low = two_sum(np.array(1.0), np.array(1e-20))
        >>> float(high), float(low)
        (1.0, 1e-20)
    """
    s = a + b
    other = s - a
    return s, (a - (s - other)) + (b - other)


def two_product(a: np.ndarray, b: np.ndarray) -> Pair:
    """a b: the rounded product, and what rounding took; for numbers that are not near the ends of the range."""
    p = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return p, a_low * b_low - (((p - a_high * b_high) - a_low * b_high) - a_high * b_low)


def two_sums(terms: np.ndarray, low: np.ndarray) -> Pair:
    """The sum over the first axis (K, ...), pair by pair; `low` (...) is added to the low part."""
    while len(terms) > 1:
        half = len(terms) // 2
        total, error = two_sum(terms[:half], terms[half : 2 * half])
        low = low + error.sum(0)
        terms = np.concatenate([total, terms[2 * half :]])
    return terms[0], low


def _halves(a: np.ndarray) -> Pair:
    far = SPLIT * a
    high = far - (far - a)
    return high, a - high
