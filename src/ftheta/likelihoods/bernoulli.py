"""Bernoulli likelihood: two classes, or several labels that are each on or off.

    p(y = 1 | z) = σ(z) = 1 / (1 + e⁻ᶻ),      -log p(y | z) = y softplus(-z) + (1 - y) softplus(z)

Never log(σ(z)): at z = -1000 that is log 0, while the true value is -1000.

Shapes: B rows, L labels, raw (B, 1) for y (B,), raw (B, L) for y (B, L).
"""

from __future__ import annotations

import torch
import torch.distributions
import torch.nn.functional as F
from torch import Tensor

from ..formulas.stable import softplus
from ._base import Likelihood

__all__ = ["Bernoulli"]


class Bernoulli(Likelihood):
    """y is 1 with probability σ(raw).

    `nll` has full relative precision; the fused sum of `total` is exact to the rounding error of z, which is what
    training needs.

    Example:
        >>> Bernoulli().nll(torch.tensor([[0.0], [2.0], [-1.0]]), torch.tensor([1.0, 1.0, 0.0]))
        tensor([0.6931, 0.1269, 0.3133])
    """

    support = "binary"
    standardize = False

    def law(self, *raw: Tensor) -> torch.distributions.Bernoulli:
        return torch.distributions.Bernoulli(logits=raw[0])

    def terms(self, raw: Tensor, y: Tensor) -> Tensor:
        return y * softplus(-raw) + (1 - y) * softplus(raw)

    def total(self, raw: Tensor, y: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(raw, self._aligned(raw, y), reduction="sum")

    def probabilities(self, raw: Tensor) -> Tensor:
        """One target: p of both classes, (B, 1) -> (B, 2). Several labels: p of each being on, (B, L) -> (B, L)."""
        return torch.cat((-raw, raw), -1).sigmoid() if raw.shape[-1] == 1 else raw.sigmoid()

    def log_probabilities(self, raw: Tensor) -> Tensor:
        """Logarithms of `probabilities`, right where those underflow."""
        return -softplus(torch.cat((raw, -raw), -1)) if raw.shape[-1] == 1 else -softplus(-raw)

    def mode(self, raw: Tensor) -> Tensor:
        return (self._numbers(raw)[0] > 0).long()

    def interval(self, raw: Tensor, level: float) -> None:
        return None

    def curvature(self, raw: Tensor) -> Tensor:
        return (raw.sigmoid() * (-raw).sigmoid()).diag_embed()  # p (1 - p)
