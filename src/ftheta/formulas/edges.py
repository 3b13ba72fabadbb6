"""Classical kernels of image processing: fixed windows that find edges, as they were written down before any learned.

    s = (1, 2, 1),  d = (-1, 0, 1),  c = (1, -2, 1):    smoothing, slope, curvature;  longer ones: * (1, 2, 1) again
    Sobel x = s dᵀ,    Sobel y = d sᵀ,    Laplace = c δᵀ + δ cᵀ,    Gauss = s sᵀ

They are applied as nets apply theirs, Σ_ij w_ij x_(m+i, n+j): x runs to the right, y downwards.
Reference: Sobel and Feldman, A 3x3 isotropic gradient operator (1968); Gonzalez and Woods, Digital image processing.
"""

import numpy as np

from ..errors import InputError


def edge_kernels(size: int, dims: int = 2) -> dict[str, np.ndarray]:
    """Kernels of a size by name, (size,) or (size, size); none where size is 1 or an even number above 2.

    Args:
        size: Side of the window.
        dims: 1 for signals, 2 for images.

    Example:
        >>> edge_kernels(3)["Sobel x"].tolist()
        [[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]]
    """
    if size < 1 or dims not in (1, 2):
        raise InputError(f"size is {size} and dims is {dims}; a side of at least 1, in 1 or 2 dimensions, is needed.")
    if size == 2:
        return _pairs(dims)
    if size % 2 == 0 or size == 1:
        return {}
    s, d, c = (_widened(np.array(v, dtype=float), size) for v in ([1, 2, 1], [-1, 0, 1], [1, -2, 1]))
    mean = np.full((size,) * dims, 1.0 / size**dims)
    if dims == 1:
        return {"slope": d, "curvature": c, "Gauss": s, "mean": mean}
    x, y = np.outer(s, d), np.outer(d, s)
    other, name = (s, "Laplace of Gauss") if size > 3 else (np.array([0, 1, 0]), "Laplace")
    slopes = {"Sobel x": x, "Sobel y": y, "Sobel ↘": x + y, "Sobel ↗": x - y}
    return {**slopes, name: np.outer(c, other) + np.outer(other, c), "Gauss": np.outer(s, s), "mean": mean}


def _pairs(dims: int) -> dict[str, np.ndarray]:
    if dims == 1:
        return {"slope": np.array([-1.0, 1.0]), "mean": np.array([0.5, 0.5])}
    crosses = {"Roberts ↘": np.diag([-1.0, 1.0]), "Roberts ↗": np.array([[0.0, 1.0], [-1.0, 0.0]])}
    x = np.array([[-0.5, 0.5], [-0.5, 0.5]])
    return {**crosses, "slope x": x, "slope y": x.T, "mean": np.full((2, 2), 0.25)}


def _widened(v: np.ndarray, size: int) -> np.ndarray:
    """Smoothed by (1, 2, 1) until it has this length."""
    return v if len(v) == size else _widened(np.convolve(v, [1.0, 2.0, 1.0]), size)
