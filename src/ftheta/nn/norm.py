"""Normalization of activations: the same formula over different axes, then a learned scale and shift per channel.

    x̂ = (x - μ) / √(σ² + ε),     y = γ_c x̂ + β_c,     σ² = mean of (x - μ)² (biased)

    batch:     μ, σ of a channel over B and positions; in evaluation their running averages
    layer:     μ, σ of a row over C and positions
    instance:  μ, σ of a row and channel over positions
    group:     μ, σ of a row over a group of channels and positions
    rms:       as layer, without μ and β:  y = γ_c x / √(mean x² + ε)

Running averages move by r ← (1 - α) r + α s with α = 0.1; s² is there the unbiased variance n σ² / (n - 1), as torch
has it. After normalization the variance is σ² / (σ² + ε), which is below 1 for tiny activations.

Shapes: x (B, C) with dims=0, (B, C, L) with dims=1, (B, C, H, W) with dims=2; γ and β (C,).
References: Ioffe and Szegedy, arXiv:1502.03167; Ba et al., arXiv:1607.06450; Ulyanov et al., arXiv:1607.08022; Wu and
He, arXiv:1803.08494; Zhang and Sennrich, arXiv:1910.07467.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import check
from ..catalog import check_known
from ..errors import InputError


class MapRMSNorm(nn.Module):
    """Each row divided by its root mean square over channels and positions, times a gain for each channel.

    Args:
        channels: C.
        eps: Added to the mean square.
    """

    def __init__(self, channels: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(channels))

    def forward(self, x: Tensor) -> Tensor:
        gain = self.weight.view(-1, *(1 for _ in x.shape[2:]))  # (C, 1, ...)
        return gain * F.rms_norm(x, x.shape[1:], eps=self.eps)

    def extra_repr(self) -> str:
        return f"{len(self.weight)}, eps={self.eps}"


class Norm(NamedTuple):
    """What there is to know of a norm."""

    factory: Callable[[int, int, int], nn.Module]  # (channels, dims, groups) -> module
    over: str  # axes that a mean and a variance are taken over, for maps (B, C, H, W)
    mixes_rows: bool  # whether a row's output depends on the other rows of the batch in training
    advice: str  # where it is used


_BATCH = (nn.BatchNorm1d, nn.BatchNorm1d, nn.BatchNorm2d)
_INSTANCE = {1: nn.InstanceNorm1d, 2: nn.InstanceNorm2d}

NORMS: dict[str, Norm] = {
    "none": Norm(lambda c, dims, groups: nn.Identity(), "", False, "Shallow networks; well scaled initial weights."),
    "batch": Norm(lambda c, dims, groups: _BATCH[dims](c), "B, H, W", True,
                  "Convolutional networks with batches of 16 rows and more."),
    "layer": Norm(lambda c, dims, groups: nn.GroupNorm(1, c) if dims else nn.LayerNorm(c), "C, H, W", False,
                  "Rows and sequences; batches of any size, also of one row."),
    "instance": Norm(lambda c, dims, groups: _INSTANCE[dims](c, affine=True), "H, W", False,
                     "Pictures whose contrast carries no meaning: style transfer."),
    "group": Norm(lambda c, dims, groups: nn.GroupNorm(groups, c), "C / groups, H, W", False,
                  "Convolutional networks with batches too small for batch norm."),
    "rms": Norm(lambda c, dims, groups: MapRMSNorm(c) if dims else nn.RMSNorm(c, eps=1e-5), "C, H, W", False,
                "Transformers: as layer norm, without centering and shift."),
}  # fmt: skip


def norm(kind: str, channels: int, *, dims: int = 2, groups: int | None = None) -> nn.Module:
    """A new norm by its name: torch's module wherever torch has one.

    Args:
        kind: A key of `NORMS`.
        channels: C.
        dims: Axes of positions: 0 for rows (B, C), 1 for signals (B, C, L), 2 for maps (B, C, H, W).
        groups: Groups of channels for kind "group", a divisor of `channels`; None is the largest one up to 8 (for rows
            also up to half the channels: a group of one number would lose it).

    Example:
        >>> norm("batch", 32).weight.shape
        torch.Size([32])
        >>> norm("group", 12).num_groups
        6
    """
    check_known("norm", kind, NORMS)
    if dims not in (0, 1, 2):
        raise InputError(f"dims is {dims!r}; norm takes 0 for rows, 1 for signals or 2 for maps.")
    if kind == "instance" and dims == 0:
        raise InputError("Instance norm takes its mean over positions and rows have none; use norm='layer' for rows.")
    check.at_least("channels of norm", channels, 1, integer=True)
    if groups is None:
        most = min(8, channels if dims else max(1, channels // 2))
        groups = max(g for g in range(1, most + 1) if channels % g == 0)
    elif channels % check.at_least("groups of norm", groups, 1, integer=True):
        raise InputError(f"groups={groups!r} does not divide {channels} channels; take a divisor such as 1.")
    return NORMS[kind].factory(int(channels), dims, groups)
