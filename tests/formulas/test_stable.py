"""Softplus and its logarithm against mpmath."""

import mpmath
import pytest
import torch

from ftheta.formulas import log_softplus, softplus

POINTS = [0.0, *(s * v for v in (1e-45, 1.0, 19.9, 20.1, 39.9, 40.1, 88.0, 104.0, 1e4, 1e30) for s in (1, -1))]


@pytest.mark.parametrize(("dtype", "rtol"), [(torch.float32, 1e-6), (torch.float64, 1e-14)])
@pytest.mark.parametrize(
    ("formula", "truth", "slope"),
    [
        (softplus, lambda z: mpmath.log1p(mpmath.exp(z)), lambda z: 1 / (1 + mpmath.exp(-z))),
        (
            log_softplus,
            lambda z: mpmath.log(mpmath.log1p(mpmath.exp(z))),
            lambda z: 1 / (1 + mpmath.exp(-z)) / mpmath.log1p(mpmath.exp(z)),
        ),
    ],
)
def test_value_and_slope_have_the_precision_of_the_dtype(formula, truth, slope, dtype, rtol):
    z = torch.tensor(POINTS, dtype=dtype, requires_grad=True)
    value = formula(z)
    value.sum().backward()
    tiny = torch.finfo(dtype).tiny
    for got, want in ((value.detach(), truth), (z.grad, slope)):
        reference = torch.tensor([float(want(mpmath.mpf(p))) for p in z.tolist()], dtype=dtype)
        torch.testing.assert_close(got, reference, rtol=rtol, atol=tiny)
