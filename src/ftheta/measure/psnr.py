"""Peak signal-to-noise ratio: how far an image is from the clean one, in decibels.

    PSNR = 10 log₁₀(peak² / MSE),     MSE = mean over the pixels of (ŷ - y)²

Ten times less squared error is 10 dB more. The mean of the PSNR of images is not the PSNR of their mean error.

Shapes: n images, each (C, H, W) or (H, W).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import InputError
from ._rows import array

__all__ = ["psnr"]


def psnr(y: Any, predicted: Any, *, peak: float = 1.0) -> np.ndarray:
    """PSNR of each image in dB, infinite where both are equal: (n,).

    Args:
        y: The clean images: (n, ...).
        predicted: Images of the same shape.
        peak: The largest value that a pixel can have: 1 for shares, 255 for bytes.

    Example:
        >>> psnr([[0.0, 1.0], [1.0, 1.0]], [[0.1, 0.9], [1.0, 0.0]])
        array([20.  ,  3.01])
    """
    clean, other = (array(*pair).astype(np.float64) for pair in (("y", y), ("predicted", predicted)))
    if clean.shape != other.shape or clean.ndim < 2:
        raise InputError(
            f"y has shape {clean.shape}, predicted {other.shape}; images of one shape (n, ...) are needed."
        )
    if not peak > 0:
        raise InputError(f"peak={peak}; it is the largest value of a pixel and must be above 0.")
    error = ((clean - other) ** 2).mean(axis=tuple(range(1, clean.ndim)))
    with np.errstate(divide="ignore"):
        return 10 * np.log10(peak**2 / error)
