"""Variable projection: its Jacobian against differences, its end against SciPy, and a loss that only falls."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from ftheta.formulas import SHAPES
from ftheta.models._basis_learn import VariableProjection
from ftheta.models._plain import Learned
from ftheta.train import iterate

X = np.linspace(-1, 1, 60)[:, None]
Y = np.exp(-((X - 0.3) ** 2) / 0.02) + 0.2 * X


def process(shape="gaussian", m=3, alpha=0.0, intercept=True, x=X, y=Y, weight=None):
    centres = np.linspace(-0.7, 0.8, m)[None].repeat(x.shape[1], 0)
    return VariableProjection(Learned(x, y, weight), shape, centres, 0 * centres + 0.4, alpha, intercept=intercept)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.0, 0.3])
@pytest.mark.parametrize("shape", SHAPES)
def test_half_the_gradient_is_the_jacobian_times_the_residual(shape, alpha, intercept):
    """Kaufman's Jacobian leaves out a part that is orthogonal to the residual: the gradient is exact."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (50, 2))
    y = np.stack([np.sin(3 * x[:, 0]), x[:, 1] ** 2], 1)
    made = process(shape, alpha=alpha, intercept=intercept, x=x, y=y, weight=rng.uniform(0.5, 2, 50))
    _, residual, weights, reached = made._projected(made.theta)
    found = 2 * made._jacobian(weights, reached).T @ residual.ravel()
    steps = 1e-6 * np.eye(made.theta.size)[: found.size]
    losses = [[made._projected(made.theta + sign * step)[0] for step in steps] for sign in (1, -1)]
    assert np.allclose(found, (np.subtract(*losses)) / 2e-6, atol=2e-7)


def test_it_ends_where_scipy_ends_on_all_parameters_together():
    start = np.array([[0.2]]), np.array([[0.15]])
    made = VariableProjection(Learned(X, Y, None), "gaussian", *start, 0.0, intercept=True)
    iterate(made, rounds=200)

    def residual(p):
        return p[0] + p[1] * np.exp(-0.5 * ((X[:, 0] - p[2]) / np.exp(p[3])) ** 2) - Y[:, 0]

    peer = least_squares(residual, [0.0, 1.0, 0.2, np.log(0.1)], xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert made.loss == pytest.approx(2 * peer.cost, rel=1e-8)
    assert made.centres[0, 0] == pytest.approx(peer.x[2], abs=1e-5)
    assert made.widths[0, 0] == pytest.approx(np.exp(peer.x[3]), abs=1e-5)
    assert made.reason == "converged"


@pytest.mark.parametrize("shape", SHAPES)
def test_the_loss_never_rises_and_centres_stay_among_the_rows(shape):
    made = process(shape, m=5)
    losses = [made.loss, *(row["loss"] for row in iterate(made, rounds=40))]
    assert (np.diff(losses) <= 0).all() and losses[-1] < losses[0] / 2
    assert (np.abs(made.centres) <= 1).all() and (made.widths >= 2 / 59 - 1e-12).all()
    assert shape != "relu" or np.allclose(made.widths, 0.4)


def test_no_function_hides_in_a_gap_between_rows():
    x = np.append(np.linspace(-1, -0.5, 30), np.linspace(0.5, 1, 30))[:, None]
    start = np.array([[-0.8, 0.0, 0.8]]), np.full((1, 3), 1.1)
    made = VariableProjection(Learned(x, np.sin(9 * x), None), "gaussian", *start, 0.0, intercept=True)
    iterate(made, rounds=60)
    assert made.widths.min() == pytest.approx(1.0)  # the gap


def test_a_start_outside_of_the_bounds_is_kept():
    made = VariableProjection(Learned(X, Y, None), "tanh", np.array([[7.0]]), np.array([[90.0]]), 0.0, intercept=True)
    assert made.low[0] <= 7 <= made.high[0] and np.log(90) <= made.high[1]


def test_rows_of_weight_k_are_k_copies():
    copies = np.arange(60) % 4 + 1
    made = [
        process(weight=copies.astype(float)),
        process(x=np.repeat(X, copies, 0), y=np.repeat(Y, copies, 0)),
    ]
    for one in made:
        iterate(one, rounds=5)
    assert np.allclose(made[0].theta, made[1].theta, atol=1e-6)


def test_one_column_of_equal_values_is_no_trouble():
    made = process(x=np.zeros((5, 1)), y=np.arange(5.0)[:, None])
    iterate(made, rounds=5)
    assert made.loss == pytest.approx(10.0) and np.isfinite(made.theta).all()
