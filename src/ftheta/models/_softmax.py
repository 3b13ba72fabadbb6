"""The loss of linear log-odds and its gradient: fast in float32, to the last digit in float64.

    z_k = w_k·x̃ + b_k,    x̃ = (x - m) / s,    s² = var x + 2 l2        of two classes z is the log-odds of the second
    loss = Σ_i v_i (log Σ_k e^{z_ik} - z_iy) + Σ ridge w² / 2,     Σ_i v_i = 1
    ∂loss/∂z_ik = v_i (p_ik - [y_i = k]),                   ∂loss/∂w_k = Σ_i ∂loss/∂z_ik x̃_i + ridge w_k

In float32 the standardised rows lie in memory twice, by rows and by columns: each of the two products then reads in
the order of memory. In float64 they are made anew a part at a time from the rows given, so that no copy is kept.

Shapes: n rows, D features, R raw outputs (1 for two classes, K for K > 2), θ (R, D + 1) with b in its last column.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

__all__ = ["Softmax", "curved", "losses", "parts", "ridge", "scaled_solve", "standards"]

PART = 2**21  # numbers of a part of the rows
CURVATURE = 0.02  # p (1 - p) of a usual row of a good fit
SAMPLE = 4000  # rows from which the covariance of the columns is guessed
WHITENED = 2000  # columns up to which it is
MIDDLE = 1000  # rows from which the median of a column is taken
ODD = 100.0  # median deviations from which on a standard deviation is that of odd rows
MOST = 1e15  # standardised number in float32, whose square must not overflow
LEAST = 1e-4  # of the variance of a standardised column, added to the covariance


def parts(n: int, width: int) -> Iterator[slice]:
    """The rows 0 ... n - 1 in parts of about `PART` numbers."""
    step = max(1, PART // max(1, width))
    return (slice(i, i + step) for i in range(0, n, step))


def standards(x: Tensor, weight: Tensor, l2: float) -> tuple[Tensor, Tensor]:
    """Mean and scale of each column: (n, D), weights with sum 1 -> (D,), (D,).

    The scale is the root of variance + 2 l2, so that the loss with its penalty bends about as much for all columns; it
    is infinite for a column that does not vary. Where a few odd rows make the variance, the median and the median
    deviation of some rows stand for mean and deviation: else the gradient would say nothing about the other rows.
    """
    mean, low, high = weight @ x, x.amin(0), x.amax(0)
    peak = torch.maximum(high - mean, mean - low)  # squares of x itself may overflow
    varies = peak > 1e-12 * torch.maximum(high, -low)
    unit = torch.where(varies, peak, 1.0)
    share = sum(weight[p] @ ((x[p] - mean) / unit).square() for p in parts(*x.shape))
    deviation, some = unit * torch.as_tensor(share).sqrt(), x[:: 1 + len(x) // MIDDLE]
    middle = some.median(0).values
    typical = 1.5 * (some - middle).abs().median(0).values
    odd = (deviation > ODD * typical) & (typical > 1e-150 * deviation)
    scale = torch.hypot(torch.where(odd, typical, deviation), torch.tensor((2**0.5) * l2**0.5, dtype=x.dtype))
    return torch.where(odd, middle, mean), torch.where(varies, scale, torch.inf)


def ridge(scale: Tensor, l2: float) -> Tensor:
    """The penalty l2 Σ w² is Σ ridge θ² / 2: of w, not b, at most 1; (D,) -> (D + 1,)."""
    return torch.cat([((2**0.5) * l2**0.5 / scale).square(), scale.new_zeros(1)])


def losses(raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """-log p(y) of each row, and p - [y = k]: (R, n), class indices (n,) -> (n,), (R, n)."""
    if len(raw) == 1:
        z = raw[0]
        return F.softplus(torch.where(y > 0, -z, z), threshold=40.0), (z.sigmoid() - y)[None]
    raw, at = raw - raw.amax(0), y[None]
    own = raw.gather(0, at)[0]
    p = raw.exp_()
    total = p.sum(0)
    return total.log() - own, p.div_(total).scatter_add_(0, at, torch.full_like(p[:1], -1.0))


def curved(x: Tensor, curvature: Tensor) -> Tensor:
    """Σ_i curvature_i ⊗ x_i x_iᵀ by matrix products: (n, D), (n, R, R) -> (R D, R D)."""
    (n, d), r = x.shape, curvature.shape[1]
    h = x.new_zeros(r, r * d, d)
    for p in parts(n, r * d):
        for s in range(r):
            bent = (curvature[p, :, s, None] * x[p, None, :]).view(-1, r * d)
            h[s].addmm_(bent.T, x[p])
    return h.view(r, r, d, d).permute(1, 2, 0, 3).reshape(r * d, r * d)


def scaled_solve(h: Tensor, g: Tensor) -> Tensor:
    """h⁻¹ g for a symmetric h >= 0, the shortest solution where it is singular: (P, P), (P,) -> (P,).

    Rows and columns are divided by the root of the diagonal first, so that units and penalties of any size do no harm.
    """
    bent = h.diagonal() > 0
    size = torch.where(bent, h.diagonal(), 1.0).sqrt()
    a, b = h / size / size[:, None], g / size
    a.diagonal().add_(torch.where(bent, 0.0, 1.0))
    root, failed = torch.linalg.cholesky_ex(a)
    if not failed and root.diagonal().min() > 1e-5:
        return torch.cholesky_solve(b[:, None], root)[:, 0] / size
    return torch.linalg.lstsq(a, b[:, None], rcond=1e-12, driver="gelsd").solution[:, 0] / size


class Softmax:
    """Loss and gradient at any θ.

    Args:
        x: Rows (n, D), float64.
        y: Class indices (n,).
        weight: Of the rows (n,), float64.
        n_raw: R.
        l2: Weight of Σ w² in the units of x.
    """

    def __init__(self, x: Tensor, y: Tensor, weight: Tensor, n_raw: int, l2: float) -> None:
        self.x, self.y, self.n_raw, self.weight = x, y, n_raw, weight / weight.sum()
        self.mean, self.scale = standards(x, self.weight, l2)
        self.ridge = ridge(self.scale, l2)

    def start(self) -> Tensor:
        """θ of no features: the log-odds of the shares of the classes."""
        theta = self.x.new_zeros(self.n_raw, len(self.ridge))
        shares = torch.bincount(self.y, weights=self.weight, minlength=2).log()
        theta[:, -1] = shares - shares.mean() if self.n_raw > 1 else shares[1] - shares[0]
        return theta

    def standardised(self, w: Tensor, b: Tensor) -> Tensor:
        """θ of w (R, D) and b (R,) in the units of x."""
        varies = self.scale.isfinite()
        return torch.cat([w * torch.where(varies, self.scale, 0.0), (b + w @ self.mean)[:, None]], 1)

    def rows(self, part: slice) -> Tensor:
        """Standardised rows: (m, D)."""
        return (self.x[part] - self.mean) / self.scale

    @cached_property
    def fast(self) -> tuple[Tensor, Tensor]:
        """All of them in float32, by rows (n, D) and by columns (D, n)."""
        z = torch.empty(self.x.shape, dtype=torch.float32)
        for part in parts(*z.shape):
            z[part] = self.rows(part).clamp(-MOST, MOST)
        return z, z.T.contiguous()

    def __call__(self, theta: Tensor, *, exact: bool) -> tuple[Tensor, Tensor]:
        """Loss () and gradient (R, D + 1) at θ, in float64; `exact`: computed so, too."""
        if exact:
            found = [self._sums(theta, (z := self.rows(p)), z.T, p) for p in parts(*self.x.shape)]
            value, g = (torch.stack(sums).sum(0) for sums in zip(*found, strict=True))
        else:
            value, g = self._sums(theta.float(), *self.fast, slice(None))
        return value + (self.ridge * theta.square()).sum() / 2, g + self.ridge * theta

    def _sums(self, theta: Tensor, z: Tensor, columns: Tensor, part: slice) -> tuple[Tensor, Tensor]:
        """Σ v loss and Σ v ∂loss over some rows."""
        raw = torch.addmm(theta[:, -1:], theta[:, :-1], columns)  # (R, m)
        each, r = losses(raw, self.y[part])
        weight = self.weight[part]
        r.mul_(weight.to(r.dtype))
        return weight @ each.double(), torch.cat([r @ z, r.sum(1, keepdim=True)], 1).double()

    def margins(self, theta: Tensor) -> tuple[float, float]:
        """The least and the largest gap of a row from the raw output of its class down to that of another."""
        ends = []
        for part in parts(*self.x.shape):
            raw, y = torch.addmm(theta[:, -1:], theta[:, :-1], self.rows(part).T), self.y[part][None]
            raw = torch.cat([torch.zeros_like(raw), raw]) if len(raw) == 1 else raw
            own = raw.gather(0, y)[0]
            ends.append(((own - raw.scatter(0, y, -torch.inf).amax(0)).min(), (own - raw.amin(0)).max()))
        least, most = zip(*ends, strict=True)
        return float(min(least)), float(max(most))

    def hessian(self, theta: Tensor) -> Tensor:
        """∂²loss: (P, P)."""
        x1 = torch.cat([self.rows(slice(None)), torch.ones_like(self.x[:, :1])], 1)
        raw = x1 @ theta.T
        p = raw.softmax(1) if self.n_raw > 1 else raw.sigmoid()
        bend = p.diag_embed() - p[:, :, None] * p[:, None, :]  # (n, R, R)
        return curved(x1, self.weight[:, None, None] * bend) + self.ridge.repeat(self.n_raw).diag()

    def root(self) -> Tensor:
        """What makes the loss rounder: w = φ root, (D, D), or (D,) where there are too many columns for it.

        root rootᵀ is the inverse of the guessed curvature of w, covariance + ridge / CURVATURE.
        """
        (n, d), stiff = self.x.shape, self.ridge[:-1] / CURVATURE + LEAST
        if d > min(WHITENED, n // 4):
            return (1 + stiff).rsqrt()
        z = self.fast[0][:: max(1, n // max(SAMPLE, 4 * d))].clamp(-2 * ODD, 2 * ODD)
        lower = torch.linalg.cholesky((z.T @ z).double() / len(z) + stiff.diag())
        return torch.linalg.solve_triangular(lower, torch.eye(d, dtype=lower.dtype), upper=False)
