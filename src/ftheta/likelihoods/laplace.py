"""Laplace likelihood: least absolute deviations, robust against outliers.

    -log p(y | m) = |y - m| / b + log(2b)

Its minimum is the conditional median; the derivative jumps from -1/b to 1/b where the residual passes 0 (and is 0 at
0).

Shapes: B rows, D targets, raw (B, D).
"""

from __future__ import annotations

import math

import torch
import torch.distributions
import torch.nn.functional as F
from torch import Tensor

from ._base import Likelihood
from .gaussian import _positive

__all__ = ["Laplace"]


class Laplace(Likelihood):
    """y = raw + Laplace noise of a fixed scale.

    Args:
        scale: Mean absolute deviation b.

    Example:
        >>> Laplace().nll(torch.tensor([[1.0]]), torch.tensor([3.0]))
        tensor([2.6931])
    """

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        self.scale = _positive(scale, "Laplace")
        self.constant = math.log(2 * scale)

    def law(self, *raw: Tensor) -> torch.distributions.Laplace:
        return torch.distributions.Laplace(raw[0], self.scale)

    def terms(self, raw: Tensor, y: Tensor) -> Tensor:
        return (raw - y).abs() / self.scale + self.constant

    def total(self, raw: Tensor, y: Tensor) -> Tensor:
        off = F.l1_loss(raw, self._aligned(raw, y), reduction="sum")
        return (off if self.scale == 1 else off / self.scale) + raw.numel() * self.constant

    def curvature(self, raw: Tensor) -> Tensor:
        return torch.full_like(raw, self.scale**-2).diag_embed()
