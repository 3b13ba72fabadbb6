"""What augmentations share: checks, one draw per image, boxes of pixels.

Shapes: B images, C channels, H rows, W columns.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ...draw import Draw
from ...errors import InputError
from ..batch import Batch

__all__ = ["box", "floats", "images", "spread", "strength_of", "uniform"]


def strength_of(name: str, strength: Any) -> float:
    try:
        value = float(strength)
    except (TypeError, ValueError):
        value = math.nan
    most = {"shear": 89.0, "flip": 1.0, "rand_augment": 8.9}.get(name, math.inf)
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
        raise InputError(
            f"This augmentation moves pixels of images (rows, channels, height, width), got shape {tuple(x.shape)}; "
            "reshape x to that."
        )
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
