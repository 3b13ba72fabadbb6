"""Basis functions: counts, orthogonality, and powers against exact arithmetic and other libraries."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures

from ftheta.models.linear.bases import exponents, orthogonal, recurrence, to_monomials


@pytest.mark.parametrize(("inputs", "degree"), list(product([1, 2, 7], [1, 3, 5])))
def test_the_monomials_are_all_of_them_lower_degrees_first(inputs, degree):
    found = exponents(inputs, degree)
    assert len(found) == comb(inputs + degree, degree) == len({tuple(e) for e in found.tolist()})
    assert (np.diff(found.sum(1)) >= 0).all() and found.sum(1).max() == degree and found.min() == 0
    assert np.array_equal(found, PolynomialFeatures(degree).fit(np.zeros((1, inputs))).powers_)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("degree", [1, 5, 80])
def test_polynomials_of_a_recurrence_are_orthonormal_on_the_data(degree, weighted):
    rng = np.random.default_rng(degree)
    t = rng.uniform(-1, 1, 90)
    v = rng.uniform(0.1, 3, 90) if weighted else None
    h = recurrence(t, degree, v)
    q = orthogonal(t, h)
    w = np.ones(90) if v is None else v
    assert np.allclose(q.T @ (q * w[:, None]) / w.sum(), np.eye(degree + 1), atol=1e-11)
    degrees = [np.polynomial.Chebyshev.fit(t, column, k)(t) - column for k, column in enumerate(q.T[:6])]
    assert np.abs(degrees).max() < 1e-11  # column k is of degree k
    assert np.abs(np.triu(h, 2)).max() < 1e-11 if degree > 1 else True  # a three-term recurrence


def test_coefficients_of_powers_are_those_of_exact_numbers():
    """Against products expanded by hand in rational arithmetic."""
    rng = np.random.default_rng(0)
    x = rng.uniform(2, 5, (40, 2))
    middle, half = np.array([3.5, 3.25]), np.array([1.5, 1.75])
    tables = np.stack([recurrence(t, 3) for t in ((x - middle) / half).T])
    powers = exponents(2, 3)
    w = rng.normal(size=len(powers))
    found = to_monomials(w, tables, middle, half, powers)
    at = [Fraction(9, 4), Fraction(17, 4)]
    each = [[Fraction(1)] for _ in at]
    for j, q in enumerate(each):
        t = (at[j] - Fraction(middle[j])) / Fraction(half[j])
        for k in range(3):
            total = t * q[k] - sum(Fraction(tables[j, i, k]) * q[i] for i in range(k + 1))
            q.append(total / Fraction(tables[j, k + 1, k]))
    direct = sum(Fraction(a) * each[0][e] * each[1][f] for a, (e, f) in zip(w, powers.tolist(), strict=True))
    total = sum(c * float(at[0]) ** e * float(at[1]) ** f for c, (e, f) in zip(found, powers.tolist(), strict=True))
    assert total == pytest.approx(float(direct), rel=1e-9)
