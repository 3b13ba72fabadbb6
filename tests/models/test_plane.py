"""A plane taken apart: orthonormal columns, the way back to the coefficients, and which of them the rows decide."""

import numpy as np
import pytest

from ftheta.models._plane import norms, plane


def rows(n=20, d=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) + 100
    return x, x @ np.ones(d) + rng.normal(size=n), rng.uniform(0.5, 2, n)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_root_leads_from_the_orthonormal_columns_to_the_coefficients(intercept, weighted):
    x, y, v = rows()
    found = plane(x, y, v if weighted else None, intercept)
    a = np.column_stack([np.ones(20), x]) if intercept else x
    a, b = (a * np.sqrt(v)[:, None], y * np.sqrt(v)) if weighted else (a, y)
    np.testing.assert_allclose(found.q.T @ found.q, np.eye(3 + intercept), atol=1e-12)
    np.testing.assert_allclose(found.root @ (found.q.T @ b), found.theta, rtol=1e-9)
    np.testing.assert_allclose(found.root @ found.root.T, np.linalg.inv(a.T @ a), rtol=1e-6)
    np.testing.assert_allclose(found.residual * found.unit, b - a @ found.theta, atol=1e-9)
    mean = a[:, 0] * np.average(y, weights=v if weighted else None) if intercept else 0.0
    assert found.total * found.unit**2 == pytest.approx(((b - mean) ** 2).sum())


def test_leverage_keeps_its_digits_where_columns_are_almost_the_same():
    """A parabola through x = 10⁵ + 0 ... 9 spans what one through 0 ... 9 does."""
    x = 100_000 + np.arange(10.0)
    q = plane(np.column_stack([x, x**2]), np.sin(x), None, True).q
    basis = np.linalg.qr(np.vander(np.arange(10.0), 3))[0]
    np.testing.assert_allclose((q**2).sum(1), (basis**2).sum(1), rtol=1e-7)


def test_a_coefficient_is_known_if_every_solution_agrees():
    x, y, _ = rows()
    double = plane(np.column_stack([x, x[:, 0] + x[:, 1]]), y, None, True)
    assert double.known.tolist() == [True, False, False, True, False] and double.q.shape == (20, 4)
    flat = plane(np.column_stack([x, np.full(20, 3.3)]), y, None, True)
    assert flat.known.tolist() == [True, True, True, True, False] and flat.varies.tolist() == [True] * 3 + [False]


@pytest.mark.parametrize("size", [1e-200, 1e-3, 1.0, 1e200])
def test_lengths_need_no_squares(size):
    given = np.array([[3.0, -4.0], [0.0, 0.0], [-5.0, 12.0]])
    np.testing.assert_allclose(norms(given * size), np.array([5, 0, 13]) * size, rtol=1e-14)
    assert norms(np.zeros((2, 0))).tolist() == [0, 0]
