"""Basis functions: counts, orthogonality, and powers against exact arithmetic and other libraries."""

from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures

from ftheta.models.linear.bases import (
    exponents,
    orthogonal,
    products,
    recurrence,
    sinusoids,
    to_monomials,
    translated,
)


@pytest.mark.parametrize(("inputs", "degree"), list(product([1, 2, 3, 7], [1, 2, 3, 5])))
def test_the_monomials_are_all_of_them_lower_degrees_first(inputs, degree):
    found = exponents(inputs, degree)
    assert len(found) == comb(inputs + degree, degree) == len({tuple(e) for e in found.tolist()})
    assert (np.diff(found.sum(1)) >= 0).all() and found.sum(1).max() == degree and found.min() == 0
    assert np.array_equal(found, PolynomialFeatures(degree).fit(np.zeros((1, inputs))).powers_)


def test_products_take_one_function_of_each_input():
    x = np.array([[2.0, 3.0], [5.0, 7.0]])
    each = [column[:, None] ** np.arange(4) for column in x.T]
    assert np.array_equal(products(each, exponents(2, 3)), PolynomialFeatures(3).fit_transform(x))


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


def test_a_recurrence_ends_where_the_distinct_values_end():
    t = np.repeat([-1.0, 0.25, 1.0], 4)
    h = recurrence(t, 5)
    assert np.count_nonzero(np.diagonal(h, -1)) == 2 and not h[:, 2:].any()
    at = orthogonal(np.array([0.3, 7.0]), h)
    assert not at[:, 3:].any() and at[:, 2].all()
    assert not recurrence(np.zeros(9), 3).any()


def test_a_point_far_away_leaves_the_others_their_digits():
    t = np.append(np.linspace(0, 1e-6, 30), 1.0)
    q = orthogonal(t, recurrence(t, 4))
    assert np.allclose(q.T @ q / 31, np.eye(5), atol=1e-8)
    assert np.linalg.cond(np.vander(t, 5)) > 1e12


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


def test_functions_that_ended_have_no_powers():
    """Three distinct values: from degree 3 on the functions are 0, whatever their weights."""
    t = np.repeat([-1.0, 0.25, 1.0], 4)
    tables = recurrence(t, 4)[None]
    w = np.array([1.0, 2.0, 3.0, 5.0, 7.0])
    found = to_monomials(w, tables, np.zeros(1), np.ones(1), exponents(1, 4))
    assert found[3:].tolist() == [0, 0]
    assert np.allclose(np.polynomial.polynomial.polyval(t, found), orthogonal(t, tables[0]) @ w)


def test_translated_functions_are_where_they_belong():
    x, centers, widths = np.array([[1.0, 2.0]]), np.array([[0.0, 1.0], [2.0, 4.0]]), np.array([[1.0, 2.0], [0.5, 4.0]])
    found = translated(x, centers, widths, "gaussian")[0]
    assert np.allclose(found, np.exp(-0.5 * np.array([1.0, 0.0, 0.0, 0.5]) ** 2))
    assert translated(x, centers, widths, "relu").tolist() == [[1.0, 0.0, 0.0, 0.0]]
    assert np.allclose(translated(x, centers, widths, "sigmoid")[0], 1 / (1 + np.exp([-1.0, 0.0, 0.0, 0.5])))


def test_far_away_gaussians_are_zero_and_sigmoids_one():
    far = np.array([[1e200]])
    one = np.ones((1, 1))
    assert [translated(far, 0 * one, one, name)[0, 0] for name in ("gaussian", "sigmoid", "tanh")] == [0, 1, 1]


def test_sinusoids_come_as_pairs():
    found = sinusoids(np.array([[0.3, 0.7]]), np.array([[1.0, 2.0], [3.0, 4.0]]))[0]
    phase = [0.3, 0.6, 2.1, 2.8]
    assert np.allclose(found, [f(p) for p in phase for f in (np.sin, np.cos)])
