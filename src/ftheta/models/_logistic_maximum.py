"""The maximum of the likelihood of log-odds against the first class, over all coefficients or some of them.

    ℓ(θ) = Σ_i v_i log p(y_i | x_i),      θ <- θ + α I⁻¹ ∇ℓ,      I = Σ_i v_i (diag p_i - p_i p_iᵀ) ⊗ x_i x_iᵀ

Shapes: n rows, D features, K classes, θ (K - 1, D + 1) with the intercept first, P = (K - 1)(D + 1).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ._softmax import curved, losses, parts, scaled_solve

__all__ = ["Maximum", "Rows", "derivatives", "maximum"]

STEPS = 60
SOME = 1000  # rows by which the usual size of a column is known


class Rows(NamedTuple):
    """Standardised columns with a one before them (n, D + 1), class indices (n,) and weights (n,)."""

    x: Tensor
    y: Tensor
    weight: Tensor


class Maximum(NamedTuple):
    """The best θ (K - 1, D + 1), its log-likelihood, the information (P, P) and whether the last step was small."""

    theta: Tensor
    value: float
    information: Tensor
    converged: bool


def maximum(rows: Rows, free: Tensor, start: Tensor | None = None) -> Maximum:
    """Maximise the likelihood by Newton's method over the coefficients that are free; the others stay 0.

    Args:
        rows: What is explained.
        free: Which of θ may move (K - 1, D + 1).
        start: Where to begin; None: 0.
    """
    theta = torch.where(free, torch.zeros(()) if start is None else start, 0.0).double()
    value, g, h = derivatives(rows, theta)
    where, n = free.flatten(), float(rows.weight.sum())
    usual = rows.x[:: 1 + len(rows.x) // SOME].abs().median(0).values.clamp(min=1.0)  # of a column: not of odd rows
    for _ in range(STEPS):
        step = torch.zeros_like(theta)
        step[free] = scaled_solve(h[where][:, where], g[free])
        gain, rate = float((step * g).sum()), 1.0
        while (new := derivatives(rows, theta + rate * step))[0] < value - 1e-13 * abs(value) and rate > 1e-8:
            rate /= 2
        theta, (value, g, h) = theta + rate * step, new
        # the root of the gain is the error before this step, and the square of that error is left
        if gain <= 1e-12 * n and (g[free].abs() <= 1e-8 * n * usual.expand_as(g)[free]).all():
            return Maximum(theta, value, h, True)
    return Maximum(theta, value, h, False)


def derivatives(rows: Rows, theta: Tensor) -> tuple[float, Tensor, Tensor]:
    """ℓ, its gradient (K - 1, D + 1) and the information (P, P)."""
    value, g, h = 0.0, torch.zeros_like(theta), theta.new_zeros(theta.numel(), theta.numel())
    for part in parts(len(rows.x), theta.numel()):
        x, y, weight = (a[part] for a in rows)
        raw = torch.cat([torch.zeros_like(y, dtype=x.dtype)[None], theta @ x.T])  # (K, m)
        each, r = losses(raw, y)
        p = raw.softmax(0)[1:].T  # (m, K - 1)
        bend = p.diag_embed() - p[:, :, None] * p[:, None, :]
        value, g = value - float(weight @ each), g - (r[1:] * weight) @ x
        h += curved(x, weight[:, None, None] * bend)
    return value, g, h
