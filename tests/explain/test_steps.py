"""Directions and lengths of a step, look-ahead, and smaller and larger images: rows of the sources, by torch alone."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.func import grad

from ftheta.formulas import SURFACES
from ftheta.nn import RememberingPool, Unpool, pooling, upsampling
from ftheta.train import minimize

RNG = np.random.default_rng(0)
IMAGE = torch.from_numpy(RNG.random((1, 1, 6, 8)))


@pytest.mark.ledger("A117", covers="ftheta.autodiff.grad")
def test_the_best_of_many_directions_turns_to_the_gradient_as_the_step_shrinks():
    def hill(x):
        return torch.sin(x[0]) * x[1] + x[1] ** 2 - x[0] * x[2]

    at = torch.tensor([0.3, 0.8, -0.5], dtype=torch.float64)
    g = grad(hill)(at)
    v = F.normalize(torch.randn(2000, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64), dim=1)
    angle = {}
    for length in (1.0, 1e-4):
        gains = torch.stack([hill(at + length * d) - hill(at) for d in torch.cat([v, -v])]) / length
        best = torch.cat([v, -v])[gains.argmax()]
        angle[length] = float(torch.rad2deg(torch.acos(best @ g / g.norm())))
    assert angle[1e-4] < 4 < angle[1.0]  # the nearest of 4,000 directions in space
    assert float(gains.max()) == pytest.approx(float(g.norm()), rel=4e-3)


@pytest.mark.ledger("A120", covers="ftheta.autodiff.grad")
def test_a_small_step_does_what_the_gradient_says_and_a_long_one_overshoots():
    """f = -x² at 1 has gradient -2: a tenth of it raises f, a step of length 3 lowers it from -1 to -4."""
    f = lambda x: -(x**2)  # noqa: E731
    at = torch.tensor(1.0, dtype=torch.float64)
    g = grad(f)(at)
    change = {t: float(f(at + t * g.sign()) - f(at)) for t in (0.05, 0.2, 3.0)}
    assert change[0.05] == pytest.approx(0.05 * 2, rel=0.1) and change[0.2] == pytest.approx(0.36)
    assert -1 + change[3.0] == pytest.approx(-4)


@pytest.mark.ledger("C099", covers="ftheta.train.minimize")
@pytest.mark.parametrize("step", [2, 3, 7])
def test_nesterov_jumps_takes_the_gradient_ahead_and_corrects(step):
    """v <- μ v - η ∇f(θ + μ v), θ <- θ + v: the points that the rule visits are θ + μ v."""
    hessian, lr, momentum = np.array([[13.0, -12.0], [-12.0, 13.0]]), 0.03, 0.8  # of the ravine: ½ [1 + 25, 1 - 25]
    theta, v = np.array(SURFACES["ravine"].start), np.zeros(2)
    for _ in range(step):
        v = momentum * v - lr * hessian @ (theta + momentum * v)
        theta = theta + v
    path = minimize(SURFACES["ravine"], theta * 0 + SURFACES["ravine"].start, optimizer="nesterov", lr=lr, steps=step,
                    options={"momentum": momentum})  # fmt: skip
    np.testing.assert_allclose(path.points[step], theta + momentum * v)


@pytest.mark.ledger("C195", covers="ftheta.nn.pooling")
def test_a_smaller_image_has_every_second_place_the_largest_or_the_mean_of_a_block():
    x = IMAGE[0, 0].numpy()
    blocks = x.reshape(3, 2, 4, 2).swapaxes(1, 2)  # (3, 4, 2, 2)
    for kind, expected in (("stride", x[::2, ::2]), ("max", blocks.max((2, 3))), ("mean", blocks.mean((2, 3)))):
        np.testing.assert_allclose(pooling(kind, 2)(IMAGE)[0, 0], expected)


@pytest.mark.ledger("C200", covers="ftheta.nn.upsampling")
def test_a_larger_image_repeats_unpools_interpolates_or_adds_kernels():
    pool = RememberingPool(2)
    small = pool(IMAGE)
    nearest = F.interpolate(small, scale_factor=2)
    np.testing.assert_array_equal(nearest[0, 0], small[0, 0].numpy().repeat(2, 0).repeat(2, 1))
    np.testing.assert_array_equal(Unpool(pool)(small), np.where(nearest == IMAGE, IMAGE, 0))  # the places of the maxima
    kernel, canvas = RNG.random((4, 4)), np.zeros((8, 10))
    for i, j in np.ndindex(3, 4):
        canvas[2 * i : 2 * i + 4, 2 * j : 2 * j + 4] += small[0, 0, i, j].item() * kernel
    made = F.conv_transpose2d(small, torch.from_numpy(kernel)[None, None], stride=2, padding=1)
    np.testing.assert_allclose(made[0, 0], canvas[1:-1, 1:-1])
    assert upsampling is not None
