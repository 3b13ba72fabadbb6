"""Poisson likelihood: counts 0, 1, 2, ...

    λ = softplus(z),      -log p(y | z) = λ - y log λ + log y!

The rate is softplus and not exp of the raw output: raw outputs of 1e4 are met in training, and e^1e4 overflows. log
λ is taken of z directly, since λ rounds to 0 long before log λ stops being a number.

Shapes: B rows, D targets, raw (B, D).
"""

from __future__ import annotations

import torch
import torch.distributions
from scipy import stats
from torch import Tensor

from ..formulas.stable import log_softplus, softplus
from ._base import Likelihood

__all__ = ["Poisson"]


class Poisson(Likelihood):
    """y counts events of rate softplus(raw).

    `mode` is the rate itself, the mean: floor(λ), the most likely count, is 0 for every λ < 1
    (`distribution(raw).mode` has it).

    Example:
        >>> Poisson().nll(torch.tensor([[-10000.0]]), torch.tensor([1.0]))
        tensor([10000.])
    """

    support = "count"
    standardize = False

    def law(self, *raw: Tensor) -> torch.distributions.Poisson:
        return torch.distributions.Poisson(softplus(raw[0]))

    def terms(self, raw: Tensor, y: Tensor) -> Tensor:
        return softplus(raw) - y * log_softplus(raw) + torch.lgamma(y + 1)

    def mode(self, raw: Tensor) -> Tensor:
        return softplus(self._numbers(raw)[0])

    def interval(self, raw: Tensor, level: float) -> tuple[Tensor, Tensor]:
        tails = self._tails(raw, level)
        rate = softplus(self._numbers(raw)[0]).detach()
        low, high = (torch.as_tensor(stats.poisson.ppf(q.item(), rate.cpu())).to(rate) for q in tails)
        return low, high

    def curvature(self, raw: Tensor) -> Tensor:
        log_slope = torch.nn.functional.logsigmoid(raw)  # log dλ/dz
        return (2 * log_slope - log_softplus(raw)).exp().diag_embed()  # (dλ/dz)² / λ
