"""Newton's method on functions whose path is known, and on those where its step is none, or the wrong one."""

import math

import numpy as np
import pytest
import torch

from ftheta.errors import InputError
from ftheta.optim import make
from ftheta.train import minimize

CONTROLS = ("damping", "region", "halving")
every_control = pytest.mark.parametrize("control", CONTROLS)


def newton(f, start, steps=60, **options):
    return minimize(f, start, optimizer="newton", steps=steps, options=options)


def rosenbrock(x):
    return 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


@pytest.mark.parametrize("control", [*CONTROLS, "none"])
@pytest.mark.ledger("A113", covers="ftheta.optim.Newton")
def test_a_quadratic_is_minimised_in_one_step(control):
    rng = np.random.default_rng(0)
    axes = np.linalg.qr(rng.normal(size=(7, 7)))[0]
    A, b = axes @ np.diag(np.logspace(-2, 3, 7)) @ axes.T, rng.normal(size=7)
    At, bt = torch.from_numpy(A), torch.from_numpy(b)
    path = newton(lambda x: x @ At @ x / 2 - bt @ x, rng.normal(size=7), control=control, radius=1e9)
    best = np.linalg.solve(A, b)
    assert np.abs(path.points[1] - best).max() <= 1e-10 * np.abs(best).max()


@every_control
@pytest.mark.ledger("A113", "B191", covers="ftheta.optim.Newton")
def test_near_a_minimum_the_right_digits_double_with_every_step(control):
    path = newton(lambda x: torch.exp(x[0]) - 2 * x[0], [1.0], control=control)
    errors = np.abs(path.points[:5, 0] - math.log(2))
    assert errors == pytest.approx([0.307, 0.0426, 9.0e-4, 4.0e-7, 8.0e-14], rel=0.01)
    assert len(path.points) == 5 and "1e-08" in path.reason


@pytest.mark.ledger("B191", covers="ftheta.optim.Newton")
def test_a_singular_hessian_is_said_and_damped_where_that_is_allowed():
    def valley(x):
        return (x[0] + x[1]) ** 2 / 2

    pure = newton(valley, [1.0, 2.0], control="none")
    assert "the Hessian is singular" in pure.reason and "control='damping'" in pure.reason
    assert pure.points[-1].tolist() == [1, 2]
    for control in CONTROLS:
        assert newton(valley, [1.0, 2.0], control=control).values[-1] < 1e-12


def test_the_bare_method_goes_to_the_saddle_and_a_controlled_one_does_not():
    def saddle(x):
        return x[0] ** 2 - x[1] ** 2 + x[1] ** 4

    assert newton(saddle, [1.0, 1e-3], control="none").points[-1] == pytest.approx([0, 0], abs=1e-6)
    for control in CONTROLS:
        path = newton(saddle, [1.0, 1e-3], control=control)
        assert path.points[-1] == pytest.approx([0, 0.5**0.5], abs=1e-3)
        assert (np.diff(path.values) <= 1e-15).all()


@every_control
def test_rosenbrock_s_valley_is_followed_to_its_end(control):
    path = newton(rosenbrock, [-1.2, 1.0], control=control)
    assert path.points[-1] == pytest.approx([1, 1], abs=1e-9) and len(path.points) < 40
    assert (np.diff(path.values) <= 0).all() and "gradient" in path.reason


@every_control
def test_steps_to_where_the_loss_is_not_finite_are_shortened(control):
    """x - log x: from 3 Newton's step ends at -3."""
    path = newton(lambda x: x[0] - torch.log(x[0]), [3.0], control=control, radius=10.0)
    assert path.points[-1, 0] == pytest.approx(1, abs=1e-6) and np.isfinite(path.values).all()
    assert path.evaluations[-1] > 3 * (len(path.points) - 1)  # some trial steps were given up


def test_the_bare_method_stops_before_a_step_that_is_not_finite():
    path = newton(lambda x: x[0] - torch.log(x[0]), [3.0], control="none")
    assert path.points[-1].tolist() == [3] and "no step that was tried has a finite loss" in path.reason


@every_control
def test_where_every_step_is_refused_the_search_ends_and_the_point_stays(control):
    """Finite at the start alone, with a slope that promises much."""

    def spike(x):
        return (x**2).sum() + torch.where((x.detach() == 1).all(), 0.0, torch.inf)

    path = newton(spike, [1.0, 1.0], control=control)
    assert path.points[-1].tolist() == [1, 1] and "has a finite loss; θ stays where it was" in path.reason
    assert path.evaluations[-1] <= 50


@every_control
def test_a_step_that_is_too_short_to_matter_ends_it(control):
    """A kink: the gradient promises a fall that no step keeps."""

    def kink(x):
        x = x - 1
        return 3 + x.detach().abs().sum() + (x - x.detach()).sum() + (x**2).sum() / 2

    path = newton(kink, [1.0], control=control)
    assert path.points[-1].tolist() == [1] and "no step that was tried lowers the loss" in path.reason


def test_it_is_its_own_recursion_in_numpy_for_50_steps():
    """Of Σ log cosh(θ - a) + θ²/20 with a rate of 0.1: tanh(θ - a) + θ/10 over sech²(θ - a) + 1/10."""
    a = np.array([0.5, -1.0, 2.0])
    shift, theta = torch.from_numpy(a), np.array([0.3, -0.2, 1.4])
    path = minimize(
        lambda x: (torch.log(torch.cosh(x - shift)) + x**2 / 20).sum(), theta, optimizer="newton", lr=0.1, steps=50
    )
    assert len(path.points) == 51
    for found in path.points[1:]:
        theta = theta - 0.1 * (np.tanh(theta - a) + theta / 10) / (1 / np.cosh(theta - a) ** 2 + 0.1)
        assert np.abs(found - theta).max() < 1e-10


def test_a_region_confines_the_steps_and_grows():
    path = newton(lambda x: ((x - 100) ** 2).sum(), [0.0], control="region", radius=1.0, steps=8)
    assert np.abs(np.diff(path.points[:, 0])).round(9).tolist() == [1, 2, 4, 8, 16, 32, 37]


def test_a_step_that_does_not_gain_leaves_a_quarter_of_itself_as_the_radius():
    """Of √(1 + x²) at 2 Newton's step is -x (1 + x²) = -10, inside of any radius above that, and F is higher there."""
    for radius in (11.0, 100.0, 1e9):
        path = newton(lambda x: torch.sqrt(1 + x[0] ** 2), [2.0], control="region", radius=radius, steps=1)
        assert path.points[1, 0] == pytest.approx(2 - 10 / 4)


@pytest.mark.parametrize("control", ["damping", "halving", "none"])
def test_damping_that_is_given_is_in_the_first_step(control):
    """(H + λ) d = -g of x² + 4y²: 2x / (2 + 3) and 8y / (8 + 3)."""
    path = newton(lambda x: x[0] ** 2 + 4 * x[1] ** 2, [1.0, 1.0], control=control, damping=3.0, steps=1)
    assert path.points[1] == pytest.approx([1 - 2 / 5, 1 - 8 / 11])


def test_damping_falls_back_to_nothing_after_steps_that_gain():
    path = newton(rosenbrock, [-1.2, 1.0], control="damping")
    assert np.abs(path.points[-1] - 1).max() < 1e-12  # quadratic at the end: with any λ left it is linear


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"control": "dampin"}, "Unknown control 'dampin'. Did you mean 'damping'"),
        ({"damping": -1.0}, "damping=-1.0"),
        ({"radius": 0.0}, "radius=0.0; it must be above 0"),
        ({"ftol": -1e-3}, "ftol=-0.001"),
    ],
)
def test_options_out_of_range_are_refused_by_name(options, message):
    with pytest.raises(InputError, match=message):
        make("newton", [torch.zeros(2, requires_grad=True)], options=options)
