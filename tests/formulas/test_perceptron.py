"""Novikoff's bound: by hand, the widest plane against a scan of all directions and a general optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ftheta.errors import InputError
from ftheta.formulas import mistake_bound


def problem(seed, d):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d)
    x = rng.normal(size=(40, d)) * rng.uniform(0.1, 10)
    x = x[np.abs(x @ w) > 0.2 * np.abs(x @ w).mean()]
    return x, np.sign(x @ w), w


def of(x, y, w):
    """(R / γ)² of a plane that separates."""
    return (x**2).sum(1).max() / ((y * (x @ w)).min() / np.linalg.norm(w)) ** 2


def test_the_bound_of_the_and_gate_by_hand():
    """The widest plane is 2 x1 + 2 x2 - 3 = 0 in (x, 1): γ² = 1/17, R² = 3."""
    corners = np.array([[0, 0, 1.0], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
    assert mistake_bound(corners, [-1, -1, -1, 1]) == pytest.approx(51)
    assert mistake_bound(corners, [-1, 1, 1, -1]) == np.inf == mistake_bound([[0.0, 0.0]], [1])


@pytest.mark.parametrize("seed", range(10))
def test_no_direction_of_the_plane_has_a_wider_margin(seed):
    x, y, _ = problem(seed, 2)
    angles = np.linspace(0, 2 * np.pi, 20001)
    best = (y[:, None] * (x @ np.stack([np.cos(angles), np.sin(angles)]))).min(0).max()
    gamma = (x**2).sum(1).max() ** 0.5 / mistake_bound(x, y) ** 0.5
    assert best * (1 - 1e-12) <= gamma < best + 4e-4 * np.abs(x).max()


@pytest.mark.parametrize("seed", range(10))
def test_a_general_optimiser_finds_the_same_plane(seed):
    x, y, w = problem(seed, 5)
    z = y[:, None] * x
    start = 1.5 * w / (z @ w).min()
    limits = {"type": "ineq", "fun": lambda v: z @ v - 1, "jac": lambda v: z}
    found = minimize(lambda v: v @ v / 2, start, jac=lambda v: v, constraints=limits, options={"ftol": 1e-14}).x
    assert mistake_bound(x, y) == pytest.approx(of(x, y, found), rel=1e-5)
    assert mistake_bound(x, y) <= of(x, y, w)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_units_do_not_change_the_bound(scale):
    x, y, _ = problem(0, 3)
    assert mistake_bound(scale * x, y) == pytest.approx(mistake_bound(x, y), rel=1e-9)


@pytest.mark.parametrize(
    ("x", "y"), [([[1.0], [2.0]], [0, 1]), ([1.0, 2.0], [1, -1]), ([[1.0], [2.0]], [1]), ([[np.nan]], [1])]
)
def test_other_labels_and_shapes_are_refused(x, y):
    with pytest.raises(InputError, match=r"the bound takes finite rows \(n, D\) and -1 or \+1 for each. Write y as np"):
        mistake_bound(x, y)
