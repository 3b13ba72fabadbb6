"""Values and gradients at raw outputs from 1e-45 to 1e30 against mpmath: finite and right, in float32 and float64.

A loss or slope that is not a number of the dtype (a square of 1e30 in float32) is left out; all else is compared.
"""

import itertools

import mpmath
import pytest
import torch
from mpmath import mpf

from ftheta.likelihoods import (
    VARIANCE_FLOOR,
    Bernoulli,
    Categorical,
    Gaussian,
    HeteroscedasticGaussian,
    Laplace,
    LearnedGaussian,
    Poisson,
)

EXTREMES = [0.0, *(sign * size for size in (1e-45, 1.0, 88.0, 104.0, 1e4, 1e30) for sign in (1, -1))]
with mpmath.workdps(60):
    CONSTANT = mpmath.log(2 * mpmath.pi) / 2


def sigmoid(z):
    return 1 / (1 + mpmath.exp(-z))


def softplus(z):
    return mpmath.log1p(mpmath.exp(z))


def gaussian(scale=1):
    def truth(y, z):
        r = (z - y) / mpf(scale)
        return r**2 / 2 + CONSTANT + mpmath.log(scale), [r / mpf(scale)]

    return truth


def learned(y, z):
    variance = 1 + mpf(VARIANCE_FLOOR)
    return (z - y) ** 2 / variance / 2 + CONSTANT + mpmath.log(variance) / 2, [(z - y) / variance]


def heteroscedastic(y, m, s):
    v = softplus(s) + mpf(VARIANCE_FLOOR)
    slope = sigmoid(s) * (1 / v - (y - m) ** 2 / v**2) / 2
    return (y - m) ** 2 / (2 * v) + mpmath.log(v) / 2 + CONSTANT, [(m - y) / v, slope]


def laplace(y, z):
    return abs(z - y) + mpmath.log(2), [mpmath.sign(z - y)]


def bernoulli(y, z):
    return y * softplus(-z) + (1 - y) * softplus(z), [(1 - y) * sigmoid(z) - y * sigmoid(-z)]


def poisson(y, z):
    rate = softplus(z)
    return rate - y * mpmath.log(rate) + mpmath.loggamma(y + 1), [sigmoid(z) * (1 - y / rate)]


def categorical(y, *z):
    top = max(z)
    weights = [mpmath.exp(v - top) for v in z]
    total = mpmath.fsum(weights)
    slopes = [(w - (total if k == y else 0)) / total for k, w in enumerate(weights)]
    return top + mpmath.log(total) - z[int(y)], slopes


REAL = [0.0, 1.0, -1.0, 1e4]
EXACT = {"tiny": 1.0}  # also where the loss is nearly 0
ROUNDED = {"eps": 4.0}
STEEP = {"tiny": 1e8 / VARIANCE_FLOOR**2}  # σ(s) underflows, times r² / v²
CASES = {  # likelihood, truth, raw outputs of a row, values of y, absolute error allowed to nll, in units of the dtype
    "gaussian": (Gaussian(), gaussian(), 1, REAL, EXACT),
    "gaussian of scale 1/4": (Gaussian(0.25), gaussian(0.25), 1, REAL, EXACT),
    "learned": (LearnedGaussian(), learned, 1, REAL, EXACT),
    "heteroscedastic": (HeteroscedasticGaussian(), heteroscedastic, 2, REAL, STEEP),
    "laplace": (Laplace(), laplace, 1, REAL, EXACT),
    "bernoulli": (Bernoulli(), bernoulli, 1, [0.0, 1.0], EXACT),
    "bernoulli with soft labels": (Bernoulli(), bernoulli, 1, [0.25], EXACT),
    "poisson": (Poisson(), poisson, 1, [0.0, 1.0, 7.0], EXACT),
    "two classes": (Categorical(), categorical, 2, [0, 1], ROUNDED),
    "three classes": (Categorical(), categorical, 3, [0, 2], ROUNDED),
}


@mpmath.workdps(60)
def points(name, dtype):
    """All raw outputs and targets whose loss and slopes are numbers of the dtype: (N, R), (N,), (N,), (N, R)."""
    _, truth, r, targets, _ = CASES[name]
    values = EXTREMES if r < 3 else [0.0, 1.0, 104.0, -1e4, 1e30]
    rows = []
    for raw, y in itertools.product(itertools.product(values, repeat=r), targets):
        exact = torch.tensor(raw, dtype=dtype).tolist()
        loss, slopes = truth(mpf(y), *map(mpf, exact))
        if max(map(abs, [loss, *slopes])) < torch.finfo(dtype).max:
            rows.append((exact, y, float(loss), [float(s) for s in slopes]))
    raw, y, loss, slopes = zip(*rows, strict=True)
    kind = torch.long if name.endswith("classes") else dtype
    return (
        torch.tensor(raw, dtype=dtype),
        torch.tensor(y, dtype=kind),
        torch.tensor(loss, dtype=dtype),
        torch.tensor(slopes, dtype=dtype),
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", CASES)
def test_loss_and_gradient_are_right_at_every_extreme(name, dtype):
    raw, y, loss, slopes = points(name, dtype)
    assert len(raw) >= len(EXTREMES) - 2
    likelihood, ((unit, times),) = CASES[name][0].to(dtype), CASES[name][4].items()
    atol = times * getattr(torch.finfo(dtype), unit)
    raw.requires_grad_()
    got = likelihood.nll(raw, y)
    (slope,) = torch.autograd.grad(got.sum(), raw)
    torch.testing.assert_close(got.detach(), loss, rtol=1e-5, atol=atol)
    torch.testing.assert_close(slope, slopes, rtol=1e-5, atol=atol)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", CASES)
def test_the_fused_sum_is_right_at_every_extreme(name, dtype):
    """Row by row, so that no large loss hides a small one; right to the rounding of raw, where the loss is nearly 0."""
    raw, y, loss, slopes = points(name, dtype)
    likelihood, atol = CASES[name][0].to(dtype), 16 * torch.finfo(dtype).eps
    rows = [row[None].requires_grad_() for row in raw]
    totals = torch.stack([likelihood.total(row, y[i : i + 1]) for i, row in enumerate(rows)])
    torch.testing.assert_close(totals.detach(), loss, rtol=1e-5, atol=atol)
    torch.testing.assert_close(torch.cat(torch.autograd.grad(totals.sum(), rows)), slopes, rtol=1e-5, atol=atol)
