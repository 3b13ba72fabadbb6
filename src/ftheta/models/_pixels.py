"""X as images, or a good sentence.

(n, C, H, W), (n, H, W), or flat rows (n, D) with a shape   ->   (n, C, H, W), C-contiguous and finite
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..check import not_finite, plain, reject_memory
from ..errors import InputError, InputTypeError

__all__ = ["images"]


def images(name: str, X: Any, *, dtype: str, shape: Sequence[int] | None = None) -> np.ndarray:
    """X as images (n, C, H, W): uint8 and uint16 as they are, all else in the dtype and finite.

    (n, H, W) is grey; flat rows (n, D) need `shape`, (H, W) or (C, H, W).
    """
    X = plain(X)
    if isinstance(X, list | tuple) and len({np.shape(x) for x in X}) > 1:
        sizes = sorted({np.shape(x) for x in X})
        raise InputError(f"X is a list of arrays of shapes {sizes[0]}, {sizes[1]}, ...: bring all images to one size.")
    try:
        x = np.asarray(X)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"X must hold numbers only: {error}.") from None
    x = _shaped(name, x, shape)
    reject_memory(x, dtype)
    if x.dtype in (np.uint8, np.uint16):
        return np.ascontiguousarray(x)
    if x.dtype.kind not in "fiub":
        raise InputTypeError(f"X holds {x.dtype}; {name} needs pixels: whole numbers of 8 or 16 bits, or floats.")
    with np.errstate(over="ignore"):
        result = np.ascontiguousarray(x, dtype=dtype)
    if not np.isfinite(result.min()) or not np.isfinite(result.max()):
        raise InputError(not_finite(x, result))
    return result


def _shaped(name: str, x: np.ndarray, shape: Sequence[int] | None) -> np.ndarray:
    """The axes n, C, H, W, from what they were given as."""
    if x.ndim == 2 and shape is not None:
        whole = (1, *shape) if len(shape) == 2 else tuple(shape)
        if len(whole) != 3 or int(np.prod(whole)) != x.shape[1]:
            raise InputError(
                f"X has {x.shape[1]} columns, but image_shape={tuple(shape)} has {int(np.prod(whole))} pixels. Give "
                "(height, width) or (channels, height, width)."
            )
        x = x.reshape(len(x), *whole)
    x = x[:, None] if x.ndim == 3 else x
    if x.ndim != 4:
        raise InputError(
            f"X has shape {x.shape}; {name} takes images (n, channels, height, width) or (n, height, width), or flat "
            "rows with image_shape=(height, width). One image alone is X[None]."
        )
    if x.shape[3] in (1, 3, 4) and x.shape[1] not in (1, 3, 4) and x.shape[2] > 4:
        raise InputError(
            f"X has shape {x.shape}, which looks like (n, height, width, channels). Channels come first: "
            "X.transpose(0, 3, 1, 2)."
        )
    if 0 in x.shape:
        raise InputError(f"X has shape {x.shape}: nothing is in it. Check the filter or file that produced it.")
    return x
