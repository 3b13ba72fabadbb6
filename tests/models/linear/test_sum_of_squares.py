"""Gradient, curvature, weights and jitter of least squares, against differences and the numbers of the course."""

import numpy as np
import pytest
import torch

from ftheta.models import LinearRegression
from ftheta.train import minimize

AGE_BMI = np.array([[25, 22.5], [35, 26.5], [45, 29.5], [55, 31.5], [65, 33.5]])
PATIENTS = np.c_[np.ones(5), AGE_BMI]
CHOLESTEROL = np.array([180.0, 210, 240, 260, 280])


def solve(a, b):
    return LinearRegression(fit_intercept=False).fit(a, b).coef_.T


def gradient(x, a, b):
    return 2 * a.T @ (a @ x - b)


def convexity(a):
    """Eigenvalues of the Hessian 2 aᵀa, rising, from singular values, and whether the minimizer is unique."""
    values = np.zeros(a.shape[1])
    values[: min(a.shape)] = 2 * np.linalg.svd(a, compute_uv=False) ** 2
    return values[::-1], bool(np.linalg.matrix_rank(a) == a.shape[1])


def normal_equations(a, b, jitter=0.0):
    return np.linalg.solve(a.T @ a + jitter * np.eye(a.shape[1]), a.T @ b)


@pytest.mark.ledger(
    "A024",
    covers="ftheta.models.LinearRegression",
    says="β can be written as Σ w_i y_i where y_i are the chosen basis functions",
    printed="basis functions",
    right="responses",
)
def test_every_coefficient_is_a_weighted_sum_of_the_responses(ledger):
    w = solve(PATIENTS, np.eye(5))
    assert w.shape == (3, 5)
    np.testing.assert_allclose(w, np.linalg.inv(PATIENTS.T @ PATIENTS) @ PATIENTS.T, rtol=1e-8, atol=1e-10)
    theta = solve(PATIENTS, CHOLESTEROL)
    sums = {"responses": w @ CHOLESTEROL, "basis functions": (w @ PATIENTS).sum(1)}
    np.testing.assert_allclose(w @ PATIENTS, np.eye(3), atol=1e-12)  # of the columns themselves: nothing new
    (same,) = [name for name, value in sums.items() if np.allclose(value, theta, rtol=1e-9)]
    ledger(same)


@pytest.mark.ledger("A020", covers="ftheta.models.LinearRegression")
def test_the_gradient_is_that_of_central_differences():
    assert gradient(np.array([1.0, 2, 3]), PATIENTS, CHOLESTEROL) == pytest.approx([-569, -24985, -16173.5])
    rng = np.random.default_rng(0)

    def total(theta):
        return np.sum((CHOLESTEROL - PATIENTS @ theta) ** 2)

    for theta in rng.normal(size=(5, 3)) * [100, 2, 2]:
        h = 1e-3 * np.eye(3)
        central = [(total(theta + d) - total(theta - d)) / 2e-3 for d in h]
        np.testing.assert_allclose(gradient(theta, PATIENTS, CHOLESTEROL), central, rtol=1e-6)
    assert np.abs(gradient(solve(PATIENTS, CHOLESTEROL), PATIENTS, CHOLESTEROL)).max() < 1e-8
    several = rng.normal(size=(3, 2))
    columns = np.c_[CHOLESTEROL, CHOLESTEROL]
    assert gradient(several, PATIENTS, columns)[:, 1] == pytest.approx(gradient(several[:, 1], PATIENTS, CHOLESTEROL))


@pytest.mark.ledger("A021", covers="ftheta.models.LinearRegression")
def test_the_hessian_has_no_negative_eigenvalue_and_zeros_where_the_minimizer_is_not_unique():
    values, unique = convexity(PATIENTS)
    assert values == pytest.approx([0.013611, 183.2926, 30463.19], rel=1e-4) and unique is True
    np.testing.assert_allclose(values, np.linalg.eigvalsh(2 * PATIENTS.T @ PATIENTS), rtol=1e-6)
    assert np.sqrt(values[-1] / values[0]) == pytest.approx(np.linalg.cond(PATIENTS)) == pytest.approx(1496, abs=0.5)
    values, unique = convexity(np.c_[PATIENTS, 2 * PATIENTS[:, 1]])
    assert values[0] < 1e-8 < values[1] and unique is False
    values, unique = convexity(PATIENTS[:2])
    assert values[0] == 0 < values[1] and len(values) == 3 and unique is False


@pytest.mark.ledger("A017", covers="ftheta.train.minimize")
def test_the_mean_of_squares_has_the_minimum_of_the_sum_and_a_step_shorter_by_the_number_of_rows():
    q, y = torch.tensor(np.linalg.qr(PATIENTS)[0]), torch.tensor(CHOLESTEROL)
    total = minimize(lambda theta: (y - q @ theta).square().sum(), [0.0, 0, 0], lr=0.3, steps=40)
    mean = minimize(lambda theta: (y - q @ theta).square().mean(), [0.0, 0, 0], lr=0.3 * 5, steps=40)
    np.testing.assert_allclose(mean.points, total.points, rtol=1e-9, atol=1e-9)
    assert q.numpy() @ total.best == pytest.approx(PATIENTS @ solve(PATIENTS, CHOLESTEROL))
    assert (total.values[-1], mean.values[-1]) == pytest.approx((6.31579, 1.26316), abs=5e-6)


@pytest.mark.ledger("A019", covers="ftheta.models.LinearRegression")
def test_jitter_repairs_a_singular_matrix_and_goes_to_the_shortest_solution():
    a = np.c_[np.ones(5), AGE_BMI[:, 0], 2 * AGE_BMI[:, 0]]
    assert np.linalg.matrix_rank(a.T @ a) == 2  # singular
    shortest = solve(a, CHOLESTEROL)
    assert shortest == pytest.approx([121.5, 0.5, 1.0])
    assert normal_equations(a, CHOLESTEROL, 1e-2) == pytest.approx([118.8557, 0.5107, 1.0214], abs=5e-5)
    assert normal_equations(a, CHOLESTEROL, 1e-6) == pytest.approx([121.4997, 0.5000, 1.0000], abs=5e-5)
    off = [np.linalg.norm(normal_equations(a, CHOLESTEROL, 10.0**-k) - shortest) for k in range(2, 6)]
    assert all(near < 0.2 * far for far, near in zip(off, off[1:], strict=False))
    np.testing.assert_allclose(normal_equations(PATIENTS, CHOLESTEROL), solve(PATIENTS, CHOLESTEROL), rtol=1e-8)
    assert normal_equations(a, CHOLESTEROL, -1e-6) == pytest.approx([121.5003, 0.5000, 1.0000], abs=5e-5)
    assert np.linalg.eigvalsh(a.T @ a - 1e-3 * np.eye(3))[0] < 0  # solved as well, but not positive definite


@pytest.mark.ledger("B234", covers="ftheta.models.LinearRegression")
def test_jitter_lowers_the_condition_number_and_what_a_perturbation_does():
    a = np.vander(np.linspace(0, 1, 12), 10, increasing=True)
    before, after = (np.linalg.cond(a.T @ a + jitter * np.eye(10)) for jitter in (0, 1e-6))
    assert (before, after) == (pytest.approx(4.68e13, rel=1e-2), pytest.approx(2.37e7, rel=1e-2))
    assert np.linalg.cond(a) ** 2 == pytest.approx(before, rel=1e-2)
    rng = np.random.default_rng(0)
    b = np.sin(a[:, 1])
    noise = 1e-6 * rng.normal(size=12)
    moved = [np.linalg.norm(normal_equations(a, b + noise, j) - normal_equations(a, b, j)) for j in (0, 1e-6)]
    assert moved[0] > 50 * moved[1]
    shear = np.array([[1.0, 1000], [0, 1]])  # not normal: its eigenvalues, 1 and 1, say nothing
    assert np.linalg.eigvals(shear) == pytest.approx([1, 1])
    assert np.linalg.cond(shear) == pytest.approx(1_000_002, rel=1e-9)
    symmetric = np.array([[2.0, 1], [1, 2]])
    assert np.linalg.cond(symmetric) == pytest.approx(3) and np.linalg.cond([[1.0, 1], [1, 1]]) > 1e15
