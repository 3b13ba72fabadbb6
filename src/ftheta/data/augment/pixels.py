"""What augmentations share: checks, one draw per image, boxes of pixels, and affine maps by one resampling.

    out(p) = in(A⁻¹(p - c - t) + c),     A = s [cos θ  sin θ; -sin θ  cos θ] [1  -tan φ; 0  1]

p = (column, row) counts pixels, c is the middle of the image, t the shift; between pixels the value is bilinear.
Integer shifts and quarter turns copy pixels exactly: A⁻¹ is rounded to twelve decimals and the image padded to a power
of two, where the coordinates that `grid_sample` takes, 2 (p + ½) / P - 1, are exact in floating point.
Shapes: B images, C channels, H rows, W columns.
"""

import math
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from ...catalog import nearest
from ...draw import Draw
from ...errors import InputError
from ..batch import Batch

Fill = Literal["zeros", "border", "reflection"]
FILLS: tuple[Fill, ...] = ("zeros", "border", "reflection")
MAX_STRENGTH = {"shear": 89.0, "flip": 1.0, "rand_augment": 8.9}


def strength_of(name: str, strength: Any) -> float:
    try:
        value = float(strength)
    except (TypeError, ValueError):
        value = math.nan
    most = MAX_STRENGTH.get(name, math.inf)
    if not 0 <= value <= most or math.isinf(value):
        allowed = "a number of at least 0" if most == math.inf else f"a number between 0 and {most:g}"
        raise InputError(f"The strength of {name} must be {allowed}, got {strength!r}; 0 switches it off.")
    return value


def floats(batch: Batch) -> Tensor:
    """x, where it is a tensor of floats."""
    x = batch.x
    if not isinstance(x, Tensor) or not x.is_floating_point():
        found = x.dtype if isinstance(x, Tensor) else type(x).__name__
        raise InputError(f"Augmentation changes a tensor of floats, got {found}; divide integers by 255.")
    return x


def images(batch: Batch) -> Tensor:
    """x (B, C, H, W), where it is that."""
    x = floats(batch)
    if x.ndim != 4:
        shape = f"got shape {tuple(x.shape)}; reshape x to that"
        raise InputError(f"This augmentation moves pixels of images (rows, channels, height, width), {shape}.")
    return x


def uniform(draw: Draw, stream: str, x: Tensor, n: int) -> Tensor:
    """n numbers in [0, 1) for each row: (n, B)."""
    return torch.rand(n, len(x), generator=draw.generator(stream, x.device), device=x.device, dtype=torch.double)


def spread(row: Tensor, like: Tensor) -> Tensor:
    """(B,) -> (B, 1, ..., 1)."""
    return row.view(-1, *[1] * (like.ndim - 1))


def box(x: Tensor, height: Tensor, width: Tensor, draw: Draw) -> Tensor:
    """True in a box of so many rows and columns (B,) about a pixel drawn for each image: (B, 1, H, W)."""
    u = uniform(draw, "box", x, 2)
    rows, columns = (
        _between(n, (place * n).floor(), size) for n, place, size in zip(x.shape[2:], u, (height, width), strict=True)
    )
    return (rows[:, :, None] & columns[:, None])[:, None]


def _between(n: int, middle: Tensor, size: Tensor) -> Tensor:
    """Which of n pixels lie in a stretch of `size` pixels about `middle`: (B, n)."""
    at, start = torch.arange(n, device=middle.device), (middle - (size / 2).floor())[:, None]
    return (at >= start) & (at < start + size[:, None])


def warp(
    x: Tensor,
    *,
    right: float | Tensor = 0.0,
    down: float | Tensor = 0.0,
    degrees: float | Tensor = 0.0,
    scale: float | Tensor = 1.0,
    shear: float | Tensor = 0.0,
    fill: Fill = "zeros",
    mode: Literal["bilinear", "nearest"] = "bilinear",
) -> Tensor:
    """Images sheared, turned and scaled about their middle, then shifted; moves are numbers, or one per image (B,).

    Args:
        x: Images (B, C, H, W), floats.
        right, down: Pixels.
        degrees: Turn, counter-clockwise.
        scale: Factor of size; above 1 enlarges.
        shear: Degrees by which upright lines lean to the right.
        fill: What lies outside the image: zeros, its nearest pixel, or its mirror image.
        mode: Values between pixels: bilinear, or those of the nearest pixel (for labels).

    Example:
        >>> warp(torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), degrees=90)
        tensor([[[[2., 4.],
                  [1., 3.]]]])
    """
    if fill not in FILLS:
        raise InputError(nearest("fill", fill, FILLS))
    h, w = x.shape[2:]
    moves = (torch.as_tensor(v, dtype=torch.double, device=x.device) for v in (right, down, degrees, scale, shear))
    maps = _backwards(tuple(move.expand(len(x)) for move in moves), h, w)  # double: quarter turns must be exact
    return _sample(x, maps.to(x.dtype), fill, mode)


def _backwards(moves: tuple[Tensor, ...], h: int, w: int) -> Tensor:
    """From pixels of the result to pixels of the image, (B, 2, 3): a column and a row of (column, row, 1)."""
    right, down, degrees, scale, shear = moves
    angle, lean = degrees.deg2rad(), shear.deg2rad().tan()
    cos, sin = angle.cos(), angle.sin()
    inverse = torch.stack((cos + lean * sin, lean * cos - sin, sin, cos), 1).div(scale[:, None]).round(decimals=12)
    inverse = inverse.view(-1, 2, 2)
    center = inverse.new_tensor([(w - 1) / 2, (h - 1) / 2])
    moved = center + torch.stack((right, down), 1)  # (B, 2)
    return torch.cat((inverse, (center - (inverse * moved[:, None]).sum(2))[:, :, None]), 2)


def _sample(x: Tensor, maps: Tensor, fill: Fill, mode: str) -> Tensor:
    h, w = x.shape[2:]
    columns, rows = (torch.arange(n, device=x.device, dtype=x.dtype) for n in (w, h))
    along, across, start = maps[:, :, None].unbind(3)  # (B, 2, 1) each
    at = (along * columns)[:, :, None] + (across * rows + start)[..., None]  # (B, 2, H, W) pixels
    if fill != "zeros":
        at = _inside(at, x.new_tensor([w - 1, h - 1]).view(2, 1, 1), fill)
    padded = [1 << (n - 1).bit_length() for n in (w, h)]  # 28 -> 32
    unit = 2 / x.new_tensor(padded).view(2, 1, 1)
    grid = at.mul_(unit).add_(unit / 2 - 1).permute(0, 2, 3, 1)
    x = F.pad(x, (0, padded[0] - w, 0, padded[1] - h))
    return F.grid_sample(x, grid, mode=mode, padding_mode="zeros", align_corners=False)


def _inside(at: Tensor, last: Tensor, fill: Fill) -> Tensor:
    """Places outside 0...last moved to its ends, or mirrored at them."""
    if fill == "reflection":
        period = (2 * last).clamp(min=1)
        at = at.remainder(period)
        at = torch.minimum(at, period - at)
    return torch.minimum(at.clamp_(min=0), last)
