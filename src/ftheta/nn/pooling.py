"""Pooling: each window of a map becomes one number.

    y_c[i] = max_m x_c[i S + m - P]   (or the min, or the mean),   m = 0 ... K - 1      (on each axis of an image alike)

K is the size of the window, S the stride (K unless given), P the padding on each side. Padding is never the extremum
and does not count in a mean. The mean is linear, max and min are not; `stride` keeps the first place of each window, so
every S-th, and drops the rest. The gradient goes to the place of the extremum (the first of equal ones), or in equal
parts to all places of a mean. Channels never mix, and their number stays.

Shapes: signals (B, C, L), images (B, C, H, W); sizes follow `ftheta.formulas.output_size`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from torch import Tensor, nn

from .. import check
from ..catalog import nearest
from ..errors import InputError

__all__ = ["POOLINGS", "Pooling", "pooling"]


class MinPool1d(nn.MaxPool1d):
    """min x = -max(-x)."""

    def forward(self, input: Tensor) -> Tensor:
        return -super().forward(-input)  # pyright: ignore[reportOperatorIssue]


class MinPool2d(nn.MaxPool2d):
    """min x = -max(-x)."""

    def forward(self, input: Tensor) -> Tensor:
        return -super().forward(-input)  # pyright: ignore[reportOperatorIssue]


class Subsample(nn.Module):
    """The first place of each window: every S-th place of each axis."""

    def __init__(self, dims: int, kernel_size: int, stride: int) -> None:
        super().__init__()
        self.dims, self.kernel_size, self.stride = dims, kernel_size, stride

    def forward(self, x: Tensor) -> Tensor:
        return x[..., *(slice(0, n - self.kernel_size + 1, self.stride) for n in x.shape[-self.dims :])]

    def extra_repr(self) -> str:
        return f"{self.dims}, kernel_size={self.kernel_size}, stride={self.stride}"


class Pooling(NamedTuple):
    """What there is to know of a way to pool."""

    layers: tuple[Any, Any]  # make the module for signals and for images
    formula: str  # what becomes of a window
    linear: bool  # whether the pooled sum of two maps is the sum of the pooled maps
    windows: bool = True  # False: the complete map is one window, whatever its size


POOLINGS: dict[str, Pooling] = {
    "max": Pooling((nn.MaxPool1d, nn.MaxPool2d), "the largest", False),
    "mean": Pooling((nn.AvgPool1d, nn.AvgPool2d), "the mean", True),
    "min": Pooling((MinPool1d, MinPool2d), "the smallest", False),
    "stride": Pooling((partial(Subsample, 1), partial(Subsample, 2)), "the first", True),
    "global_max": Pooling((nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d), "the largest of the map", False, False),
    "global_mean": Pooling((nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d), "the mean of the map", True, False),
}
"""Ways to pool by name."""


def pooling(kind: str, size: int = 2, *, dims: int = 2, stride: int | None = None, padding: int = 0) -> nn.Module:
    """A pooling layer by its name.

    Args:
        kind: A key of `POOLINGS`. The global ones take all of a map as their window, whatever `size` is, and leave one
            number of each: (B, C, 1, 1).
        size: Size K of the window.
        dims: 1 for signals (B, C, L), 2 for images (B, C, H, W).
        stride: Step S from one window to the next; K if None.
        padding: Places added on each side, at most K/2.

    Example:
        >>> import torch
        >>> pooling("min")(torch.tensor([[[[1.0, 3.0], [2.0, 8.0]]]])).item()
        1.0
    """
    if kind not in POOLINGS:
        raise InputError(nearest("pooling", kind, POOLINGS))
    if dims not in (1, 2):
        raise InputError(f"dims of pooling={dims!r}; it must be 1 (signals) or 2 (images).")
    layer, step = POOLINGS[kind].layers[dims - 1], size if stride is None else stride
    if not POOLINGS[kind].windows:
        return layer(1)
    for name, value, least in (("size", size, 1), ("stride", step, 1), ("padding", padding, 0)):
        check.at_least(f"{name} of pooling", value, least, integer=True)
    if 2 * padding > (0 if kind == "stride" else size):
        raise InputError(
            f"padding={padding} is more than half of the window of pooling {kind!r} with size={size}; some windows "
            "would hold nothing else."
        )
    if kind == "stride":
        return layer(size, step)
    return layer(size, step, padding, **({"count_include_pad": False} if kind == "mean" else {}))
