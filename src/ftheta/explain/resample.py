"""Smaller and larger pictures: four ways each to halve a map and to double it, side by side.

    down:   every S-th place          max of S × S          mean of S × S
    up:     nearest: each number S × S times                unpooled: at the place of its maximum, else 0
            bilinear: weighted mean of the four nearest     transposed: Σ of kernels, one on every S-th place

What is lost on the way down does not come back; each way up guesses it otherwise.
Shapes: picture (H, W) or (H, W, 3); S the factor; H and W are cut to multiples of S.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from .. import plots
from ..errors import InputError
from ..nn import RememberingPool, Unpool, pooling
from ..results import Result, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

__all__ = ["Resampled", "downsampling", "upsampling"]


@dataclass(frozen=True, eq=False)
class Resampled(Result):
    """A picture and what became of it.

    Args:
        pictures: By name, the original first: (h, w) or (h, w, 3), of values in [0, 1] if the original has them.
    """

    pictures: dict[str, np.ndarray]

    def table(self) -> Table:
        """Sizes and values; the distance to the original, where the size is its own."""
        original = self.pictures["original"]
        gaps = [
            float(np.sqrt(((p - original) ** 2).mean())) if p.shape == original.shape else None
            for p in self.pictures.values()
        ]
        columns = {
            "picture": list(self.pictures),
            "size": [" × ".join(map(str, p.shape[:2])) for p in self.pictures.values()],
            "mean": [float(p.mean()) for p in self.pictures.values()],
            "smallest": [float(p.min()) for p in self.pictures.values()],
            "largest": [float(p.max()) for p in self.pictures.values()],
        }
        return Table(columns | ({"root mean square error": gaps} if any(gaps) else {}))

    def figure(self) -> Figure:
        """All pictures side by side."""
        return plots.side_by_side(self.pictures)


def downsampling(x: ArrayLike, factor: int = 2) -> Resampled:
    """A picture made smaller: every S-th place, the largest number of each square, its mean.

    Args:
        x: Picture (H, W), (H, W, 3) or (1 or 3, H, W); whole numbers are taken as 0 to 255.
        factor: S.

    Example:
        >>> downsampling(np.eye(4)).pictures["mean"].tolist()
        [[0.5, 0.0], [0.0, 0.5]]
    """
    x = _picture(x, factor)
    ways = {"strided": "stride", "max": "max", "mean": "mean"}
    return Resampled(_shown({"original": x} | {name: pooling(kind, factor)(x) for name, kind in ways.items()}))


def upsampling(x: ArrayLike, factor: int = 2, kernel: ArrayLike | None = None) -> Resampled:
    """A picture made smaller by max pooling and larger again: nearest, unpooled, bilinear, transposed convolution.

    Args:
        x: Picture (H, W), (H, W, 3) or (1 or 3, H, W); whole numbers are taken as 0 to 255.
        factor: S.
        kernel: Of the transposed convolution, (k, k), with k - S an even number from 0; None: a tent of S + 2 places
            whose overlapping sums are about 1, so that the picture keeps its brightness.

    Example:
        >>> found = upsampling(np.eye(4)).pictures
        >>> found["nearest"][0].tolist(), found["unpooled"][0].tolist()
        ([1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0])
    """
    x = _picture(x, factor)
    pool = RememberingPool(factor)
    small = pool(x)
    weight = _kernel(kernel, factor)
    side = (len(weight) - factor) // 2
    bank = weight.expand(x.shape[1], 1, *weight.shape)  # each channel by itself
    ways = {
        "original": x,
        "max-pooled": small,
        "nearest": F.interpolate(small, scale_factor=factor),
        "unpooled": Unpool(pool)(small),
        "bilinear": F.interpolate(small, scale_factor=factor, mode="bilinear"),
        "transposed": F.conv_transpose2d(small, bank, stride=factor, padding=side, groups=x.shape[1]),
    }
    return Resampled(_shown(ways))


def _kernel(kernel: ArrayLike | None, factor: int) -> Tensor:
    if kernel is None:
        k = factor + 2
        tent = np.minimum(np.arange(1, k + 1), np.arange(k, 0, -1)).astype(float)
        kernel = np.outer(tent, tent) * (factor / tent.sum()) ** 2
    weight = torch.from_numpy(np.asarray(kernel, dtype=np.float64))
    if weight.ndim != 2 or weight.shape[0] != weight.shape[1] or (len(weight) - factor) % 2 or len(weight) < factor:
        raise InputError(
            f"kernel has shape {tuple(weight.shape)}; expected a square of {factor}, {factor + 2}, {factor + 4} ... "
            f"places for the factor {factor}."
        )
    return weight


def _picture(x: ArrayLike, factor: int) -> Tensor:
    """(1, C, H, W) in float64, H and W multiples of the factor."""
    array = np.asarray(x)
    if array.dtype.kind not in "fiub" or array.ndim not in (2, 3):
        raise InputError(f"Got {array.dtype} of shape {array.shape}; expected a picture (H, W) or (H, W, 3).")
    array = array / 255 if array.dtype.kind in "iu" else array.astype(np.float64)
    array = array[..., None] if array.ndim == 2 else array
    if array.shape[-1] not in (1, 3) and array.shape[0] in (1, 3):
        array = np.moveaxis(array, 0, -1)
    height, width, channels = array.shape
    if channels not in (1, 3) or factor != int(factor) or not 2 <= factor <= min(height, width):
        raise InputError(
            f"A picture of shape {np.shape(x)} with factor={factor!r}; expected (H, W), (H, W, 3) or (3, H, W), and a "
            "whole number from 2 to the smaller side."
        )
    array = array[: height // factor * factor, : width // factor * factor]
    return torch.from_numpy(np.moveaxis(array, -1, 0)[None].copy())


def _shown(pictures: dict[str, Tensor]) -> dict[str, np.ndarray]:
    """(1, C, H, W) as (H, W) or (H, W, 3)."""
    found = {name: p[0].permute(1, 2, 0).numpy() for name, p in pictures.items()}
    return {name: p[..., 0] if p.shape[-1] == 1 else p for name, p in found.items()}
