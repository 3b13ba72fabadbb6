"""Histograms of oriented gradients: features of an image that were written down before any were learned.

    g = (x_(m, n+1) - x_(m, n-1), x_(m+1, n) - x_(m-1, n)) / 2,    |g| votes for its angle in [0, π), shared by two bins
    a cell sums the votes of its pixels, a block of 2 x 2 cells is divided by its norm, cut at 0.2, and divided again

Shapes: n images of H x W pixels, B bins; features (n, (H/c - 1) (W/c - 1) 4 B) for cells of c x c pixels.
Reference: Dalal and Triggs, Histograms of oriented gradients for human detection, CVPR (2005).
"""

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError

CUT = 0.2


def hog(images: ArrayLike, cell: int = 4, bins: int = 9) -> np.ndarray:
    """Features of gray images (n, H, W); pixels beyond the last whole cell are left out.

    Args:
        cell: Side of a cell in pixels.
        bins: Angles between 0 and π.

    Example:
        >>> hog(np.ones((2, 12, 16))).shape
        (2, 216)
    """
    x = np.asarray(images, dtype=float)
    if x.ndim != 3 or cell < 1 or bins < 1 or min(x.shape[1:]) < 2 * cell:
        raise InputError(f"images have shape {x.shape}; gray ones (n, H, W) of two cells of {cell} pixels are needed.")
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1)), mode="edge")
    right, down = (padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]) / 2, (padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]) / 2
    length, place = np.hypot(right, down), np.arctan2(down, right) % np.pi * bins / np.pi - 0.5
    first = np.floor(place)
    share = place - first
    rows, columns = (side // cell for side in x.shape[1:])

    def cells(votes: np.ndarray) -> np.ndarray:
        kept = votes[:, : rows * cell, : columns * cell]
        return kept.reshape(-1, rows, cell, columns, cell).sum((2, 4))

    votes = [length * ((first % bins == b) * (1 - share) + ((first + 1) % bins == b) * share) for b in range(bins)]
    found = np.stack([cells(v) for v in votes], -1)  # (n, rows, columns, bins)
    corners = [found[:, i : rows - 1 + i, j : columns - 1 + j] for i in (0, 1) for j in (0, 1)]
    blocks = np.concatenate(corners, -1)
    for top in (CUT, np.inf):
        norm = np.sqrt((blocks**2).sum(-1, keepdims=True))
        blocks = np.minimum(blocks / np.maximum(norm, 1e-12), top)
    return blocks.reshape(len(x), -1)
