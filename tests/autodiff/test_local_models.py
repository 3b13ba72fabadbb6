"""Derivatives at a point as local models: the order of Taylor's error, and stationary points of every kind."""

import numpy as np
import pytest

from ftheta import autodiff as ad


def wavy(x):
    return ad.sin(x[0]) * ad.exp(x[1]) + x[0] * x[1] ** 2


def taylor(f, a, order, x):
    """The Taylor polynomial of f around a at points (n, D): (n,)."""
    d = x - a
    slope, bend = d @ ad.grad(f)(a), np.einsum("ni,ij,nj->n", d, ad.hessian(f, a), d) / 2
    return f(a) + slope * (order > 0) + bend * (order > 1)


def errors(order, distances):
    """|f - model| at these distances from a point, along one direction."""
    a = np.array([0.4, -0.3])
    near = a + np.array(distances)[:, None] * [0.6, 0.8]
    return np.abs(wavy(near.T) - taylor(wavy, a, order, near))


@pytest.mark.ledger("A118", covers="ftheta.autodiff.hessian")
def test_the_error_of_the_second_order_model_shrinks_as_the_cube_of_the_distance():
    distances = [0.1, 0.05, 0.025, 0.0125]
    found = errors(2, distances)
    assert (found > 0).all()  # it is an approximation
    assert np.polyfit(np.log(distances), np.log(found), 1)[0] == pytest.approx(3, abs=0.1)
    x, bowl = np.random.default_rng(0).normal(size=(7, 2)), lambda x: (x[0] + x[1]) ** 2 + 25 * (x[1] - x[0]) ** 2
    np.testing.assert_allclose(taylor(bowl, np.array([5.0, -3.0]), 2, x), bowl(x.T))  # but exact for a quadratic


@pytest.mark.parametrize(("order", "power"), [(0, 1), (1, 2)])
def test_lower_orders_have_their_own_power(order, power):
    distances = [0.02, 0.01, 0.005]
    assert np.polyfit(np.log(distances), np.log(errors(order, distances)), 1)[0] == pytest.approx(power, abs=0.05)


def kind(f, n):
    """What the derivatives at 0 say."""
    assert not ad.grad(f)(np.zeros(n)).any()
    bent = np.linalg.eigvalsh(ad.hessian(f, np.zeros(n)))
    if bent[0] < 0 < bent[-1]:
        return "saddle"
    return "minimum" if bent[0] > 0 else "maximum" if bent[-1] < 0 else "none"


@pytest.mark.ledger(
    "A119",
    covers="ftheta.autodiff.hessian",
    says="the edge case of a zero gradient is a local maximum",
    printed=["maximum"] * 4,
    right=["minimum", "maximum", "saddle", "none"],
)
def test_a_zero_gradient_is_a_stationary_point_of_any_kind(ledger):
    """Of x², -x², x² - y² and x³."""
    shapes = [lambda x: x[0] ** 2, lambda x: -(x[0] ** 2), lambda x: x[0] ** 2 - x[1] ** 2, lambda x: x[0] ** 3]
    ledger([kind(f, n) for f, n in zip(shapes, (1, 1, 2, 1), strict=True)])
