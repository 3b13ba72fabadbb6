"""Local models: the order of the error, and stationary points of every kind."""

import numpy as np
import pytest
import torch

from ftheta.errors import InputError
from ftheta.formulas import SURFACES, stationary, taylor


def wavy(x):
    return torch.sin(x[..., 0]) * torch.exp(x[..., 1]) + x[..., 0] * x[..., 1] ** 2


def errors(order, distances):
    """|f - model| at these distances from a point, along one direction."""
    a, way = torch.tensor([0.4, -0.3], dtype=torch.float64), torch.tensor([0.6, 0.8], dtype=torch.float64)
    near = a + torch.tensor(distances, dtype=torch.float64)[:, None] * way
    return (wavy(near) - taylor(wavy, a, order)(near)).abs().numpy()


@pytest.mark.ledger("A118", covers="ftheta.formulas.taylor")
def test_the_error_of_the_second_order_model_shrinks_as_the_cube_of_the_distance():
    distances = [0.1, 0.05, 0.025, 0.0125]
    found = errors(2, distances)
    assert (found > 0).all()  # it is an approximation
    assert np.polyfit(np.log(distances), np.log(found), 1)[0] == pytest.approx(3, abs=0.1)
    x = torch.randn(7, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    bowl = SURFACES["ravine"]
    torch.testing.assert_close(taylor(bowl, [5.0, -3.0])(x), bowl(x))  # but exact for a quadratic


@pytest.mark.parametrize(("order", "power"), [(0, 1), (1, 2)])
def test_lower_orders_have_their_own_power(order, power):
    distances = [0.02, 0.01, 0.005]
    assert np.polyfit(np.log(distances), np.log(errors(order, distances)), 1)[0] == pytest.approx(power, abs=0.05)


@pytest.mark.ledger(
    "A119",
    covers="ftheta.formulas.stationary",
    says="the edge case of a zero gradient is a local maximum",
    printed=["maximum"] * 4,
    right=["minimum", "maximum", "saddle", "none"],
)
def test_a_zero_gradient_is_a_stationary_point_of_any_kind(ledger):
    """Of x², -x², x² - y² and x³."""
    shapes = [lambda x: x[0] ** 2, lambda x: -(x[0] ** 2), lambda x: x[0] ** 2 - x[1] ** 2, lambda x: x[0] ** 3]
    ledger([stationary(f, [0.0, 0.0][:n]) for f, n in zip(shapes, (1, 1, 2, 1), strict=True)])


@pytest.mark.parametrize(
    ("f", "x", "kind"),
    [
        (lambda x: x[0] ** 2, [0.1], "not stationary"),
        (lambda x: x[0] ** 4, [0.0], "none"),  # no curvature
        (lambda x: x[0] ** 2 + x[1] ** 3, [0.0, 0.0], "none"),
        (lambda x: x[0] ** 2 - x[1] ** 2 + x[2] ** 3, [0.0, 0.0, 0.0], "saddle"),  # whatever the third does
        (lambda x: 1e6 * (x[0] - 1) ** 2 + x[1] ** 2, [1.0, 0.0], "minimum"),
    ],
)
def test_kinds_of_stationary_points(f, x, kind):
    assert stationary(f, x) == kind
    assert stationary(lambda x: x[0] ** 2 + x[1] ** 2 / 100, [0.01, 0.0], tolerance=0.03) == "none"


def test_a_point_without_derivatives_gets_a_sentence():
    with pytest.raises(InputError, match=r"The derivatives of f at \[0\.0\] are not finite"):
        stationary(lambda x: x[0].abs() ** 1.5, [0.0])
