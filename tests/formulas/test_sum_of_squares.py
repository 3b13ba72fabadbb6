"""Gradient, curvature, weights and jitter of least squares, against differences and the numbers of the course."""

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.formulas import (
    condition_number,
    convexity,
    gradient,
    hessian,
    normal_equations,
    solve,
    weights_of_responses,
)

AGE_BMI = np.array([[25, 22.5], [35, 26.5], [45, 29.5], [55, 31.5], [65, 33.5]])
PATIENTS = np.c_[np.ones(5), AGE_BMI]
CHOLESTEROL = np.array([180.0, 210, 240, 260, 280])


@pytest.mark.ledger("A024", covers="ftheta.formulas.weights_of_responses", printed="basis functions", right="responses")
def test_every_coefficient_is_a_weighted_sum_of_the_responses(ledger):
    w = weights_of_responses(PATIENTS)
    assert w.shape == (3, 5)
    np.testing.assert_allclose(w, np.linalg.inv(PATIENTS.T @ PATIENTS) @ PATIENTS.T, rtol=1e-8, atol=1e-10)
    theta = solve(PATIENTS, CHOLESTEROL).x[:, 0]
    sums = {"responses": w @ CHOLESTEROL, "basis functions": (w @ PATIENTS).sum(1)}
    np.testing.assert_allclose(w @ PATIENTS, np.eye(3), atol=1e-12)  # of the columns themselves: nothing new
    (same,) = [name for name, value in sums.items() if np.allclose(value, theta, rtol=1e-9)]
    ledger(same)


@pytest.mark.ledger("A020", covers="ftheta.formulas.gradient")
def test_the_gradient_is_that_of_central_differences():
    assert gradient([1.0, 2, 3], PATIENTS, CHOLESTEROL) == pytest.approx([-569, -24985, -16173.5])
    rng = np.random.default_rng(0)

    def total(theta):
        return np.sum((CHOLESTEROL - PATIENTS @ theta) ** 2)

    for theta in rng.normal(size=(5, 3)) * [100, 2, 2]:
        h = 1e-3 * np.eye(3)
        central = [(total(theta + d) - total(theta - d)) / 2e-3 for d in h]
        np.testing.assert_allclose(gradient(theta, PATIENTS, CHOLESTEROL), central, rtol=1e-6)
    best = solve(PATIENTS, CHOLESTEROL).x[:, 0]
    assert np.abs(gradient(best, PATIENTS, CHOLESTEROL)).max() < 1e-8
    several = rng.normal(size=(3, 2))
    columns = np.c_[CHOLESTEROL, CHOLESTEROL]
    assert gradient(several, PATIENTS, columns)[:, 1] == pytest.approx(gradient(several[:, 1], PATIENTS, CHOLESTEROL))


@pytest.mark.ledger("A021", covers="ftheta.formulas.convexity")
def test_the_hessian_has_no_negative_eigenvalue_and_zeros_where_the_minimiser_is_not_unique():
    values, unique = convexity(PATIENTS)
    assert values == pytest.approx([0.013611, 183.2926, 30463.19], rel=1e-4) and unique is True
    np.testing.assert_allclose(values, np.linalg.eigvalsh(hessian(PATIENTS)), rtol=1e-6)
    assert np.sqrt(values[-1] / values[0]) == pytest.approx(condition_number(PATIENTS)) == pytest.approx(1496, abs=0.5)
    values, unique = convexity(np.c_[PATIENTS, 2 * PATIENTS[:, 1]])
    assert values[0] < 1e-8 < values[1] and unique is False
    values, unique = convexity(PATIENTS[:2])
    assert values[0] == 0 < values[1] and len(values) == 3 and unique is False


@pytest.mark.ledger("A019", covers="ftheta.formulas.normal_equations", printed="any real", right="> 0")
def test_jitter_repairs_a_singular_matrix_and_goes_to_the_shortest_solution(ledger):
    a = np.c_[np.ones(5), AGE_BMI[:, 0], 2 * AGE_BMI[:, 0]]
    with pytest.raises(InputError, match=r"aᵀa is singular: rank 2 of 3. Pass jitter > 0, or use solve."):
        normal_equations(a, CHOLESTEROL)
    shortest = solve(a, CHOLESTEROL).x[:, 0]
    assert shortest == pytest.approx([121.5, 0.5, 1.0])
    assert normal_equations(a, CHOLESTEROL, 1e-2) == pytest.approx([118.8557, 0.5107, 1.0214], abs=5e-5)
    assert normal_equations(a, CHOLESTEROL, 1e-6) == pytest.approx([121.4997, 0.5000, 1.0000], abs=5e-5)
    off = [np.linalg.norm(normal_equations(a, CHOLESTEROL, 10.0**-k) - shortest) for k in range(2, 6)]
    assert all(near < 0.2 * far for far, near in zip(off, off[1:], strict=False))
    np.testing.assert_allclose(normal_equations(PATIENTS, CHOLESTEROL), solve(PATIENTS, CHOLESTEROL).x[:, 0], rtol=1e-8)
    smallest = convexity(PATIENTS)[0][0] / 2
    assert smallest == pytest.approx(0.0068, abs=5e-5)
    assert abs(np.linalg.det(PATIENTS.T @ PATIENTS - smallest * np.eye(3))) < 1e-3  # singular again, by what was taken
    with pytest.raises(InputError, match=r"jitter is -0.0068\d*: aᵀa is sure to be positive definite only with") as no:
        normal_equations(PATIENTS, CHOLESTEROL, -smallest)
    ledger("> 0" if no else "any real")


@pytest.mark.ledger("B234", covers="ftheta.formulas.condition_number", printed=1.0, right=1000002.0)
def test_jitter_lowers_the_condition_number_and_what_a_perturbation_does(ledger):
    a = np.vander(np.linspace(0, 1, 12), 10, increasing=True)
    before, after = (condition_number(a.T @ a + jitter * np.eye(10)) for jitter in (0, 1e-6))
    assert (before, after) == (pytest.approx(4.68e13, rel=1e-2), pytest.approx(2.37e7, rel=1e-2))
    assert condition_number(a) ** 2 == pytest.approx(before, rel=1e-2)
    rng = np.random.default_rng(0)
    b = np.sin(a[:, 1])
    noise = 1e-6 * rng.normal(size=12)
    moved = [np.linalg.norm(normal_equations(a, b + noise, j) - normal_equations(a, b, j)) for j in (0, 1e-6)]
    assert moved[0] > 50 * moved[1]
    shear = np.array([[1.0, 1000], [0, 1]])  # not normal: its eigenvalues, 1 and 1, say nothing
    assert np.linalg.eigvals(shear) == pytest.approx([1, 1])
    ledger(condition_number(shear), rtol=1e-9)
    symmetric = np.array([[2.0, 1], [1, 2]])
    assert condition_number(symmetric) == pytest.approx(3) and condition_number([[1.0, 1], [1, 1]]) > 1e15
    assert condition_number(np.diag([1.0, 0.0])) == np.inf
