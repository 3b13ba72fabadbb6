"""The line: gradients, curvature and paths against closed forms."""

import pytest
import torch

from ftheta.data import Rows
from ftheta.draw import Draw
from ftheta.studies.optimizers._line import (
    batch_gradients,
    best,
    descend,
    half_mse,
    line_rows,
    row_gradients,
    stiffness,
)
from ftheta.train import Training

POINTS = line_rows(50, Draw(1))
X, Y = POINTS[0][:, 0], POINTS[1]


def test_the_line_is_3x_plus_1_with_a_tenth_of_noise():
    x, y = line_rows(50_000, Draw(0))
    rest = y - 3 * x[:, 0] - 1
    assert (
        rest.std() == pytest.approx(0.1, rel=0.02)
        and abs(rest.mean()) < 0.003
        and x.var() == pytest.approx(1, rel=0.03)
    )


def test_loss_gradient_and_curvature_agree_with_autograd():
    theta = torch.tensor([0.3, -0.7], dtype=torch.float64)

    def f(t):
        return (t[0] * X + t[1] - Y).square().mean() / 2

    gradient = torch.func.grad(f)(theta)
    assert half_mse(POINTS, theta[None])[0] == pytest.approx(float(f(theta)))
    assert row_gradients(POINTS, theta).mean(0).tolist() == pytest.approx(gradient.tolist())
    a, b = float(X.square().mean()), float(X.mean())  # the Hessian is [[a, b], [b, 1]]
    assert stiffness(POINTS) == pytest.approx((a + 1 + ((a - 1) ** 2 + 4 * b**2) ** 0.5) / 2)
    assert row_gradients(POINTS, best(POINTS)).mean(0).abs().max() < 1e-12


def test_batches_are_drawn_from_all_rows_and_average_to_the_gradient():
    theta = torch.zeros(2, dtype=torch.float64)
    drawn = batch_gradients(POINTS, theta, 5, 4000, Draw(0))
    each = row_gradients(POINTS, theta)
    assert drawn.shape == (4000, 2)
    assert drawn.mean(0).tolist() == pytest.approx(each.mean(0).tolist(), rel=0.1)
    assert drawn.var(0).tolist() == pytest.approx((each.var(0) / 5).tolist(), rel=0.1)


def test_the_path_of_gd_is_the_linear_recursion():
    lr, theta = 0.3, torch.tensor([1.0, -2.0], dtype=torch.float64)
    path = descend(Rows(*POINTS, batch_size=50), "gd", lr, 20, start=theta)
    expected = [theta]
    for _ in range(20):
        expected.append(expected[-1] - lr * row_gradients(POINTS, expected[-1]).mean(0))
    assert torch.allclose(path, torch.stack(expected), atol=1e-12)


def test_a_path_starts_at_zero_stops_where_numbers_end_and_takes_the_knobs():
    source = Rows(*POINTS, batch_size=50)
    assert descend(source, "gd", 0.1, 3)[0].tolist() == [0, 0]
    assert len(descend(source, "gd", 1e200, 50)) < 51
    halved = descend(source, "gd", 0.1, 1, training=Training(clip_norm=0.5))
    assert halved[1].norm() == pytest.approx(0.05)
