"""Images with a label for every pixel: discs, squares and triangles, turned and partly hidden, on a noisy ground.

    polygon of m sides:  max_k u_k · (p - c) <= r cos(π/m),   u_k = (cos, sin)(φ + 2πk/m);      disc:  |p - c| <= r
    gray = level of the topmost figure at p, or of the ground, + noise ε,   ε ~ N(0, 1), cut to [0, 1]

Brightness tells figures from each other and from the ground, and does not show their kind: that is in the outline.
Later figures cover earlier ones.

Shapes: n images of S x S pixels, x (n, S²) bytes, y (n, S, S): 0 ground, 1 disc, 2 square, 3 triangle.
"""

from __future__ import annotations

import math

import numpy as np

from ...draw import Draw
from ...errors import InputError
from ..datasets import Dataset, Truth

__all__ = ["shapes"]

_SIDES = (math.inf, 4, 3)  # of the figures of class 1, 2, 3
MAX_FIGURES = 3  # figures of an image


def shapes(n: int = 500, noise: float = 0.1, seed: int = 0, *, size: int = 32) -> Dataset:
    """Grey images of one to three figures; the label of a pixel is the figure that is seen there.

    Args:
        n: Images.
        noise: Standard deviation of the noise of a pixel, in units of the range from black to white.
        seed: Decides every pixel.
        size: Height and width.

    Example:
        >>> made = shapes(10)
        >>> made.x.shape, made.y.shape, made.target_names
        ((10, 1024), (10, 32, 32), ('ground', 'disc', 'square', 'triangle'))
    """
    if n < 1 or size < 16:
        raise InputError(f"'shapes' has {n} images of {size} x {size} pixels; at least 1 of 16 x 16 is needed.")
    if not 0 <= noise < math.inf:
        raise InputError(f"The noise of 'shapes' is {noise}; give a finite number that is not negative.")
    rng = np.random.default_rng(Draw(seed).at("make", "shapes").key())
    gray = np.broadcast_to(rng.uniform(0.0, 0.3, (n, 1, 1)), (n, size, size)).copy()
    y = np.zeros((n, size, size), np.int64)
    present = rng.integers(1, MAX_FIGURES + 1, n)
    bright = rng.permuted(np.tile([0.55, 0.75, 0.95], (n, 1)), axis=1) + rng.uniform(-0.05, 0.05, (n, MAX_FIGURES))
    for k in range(MAX_FIGURES):
        kind = rng.integers(1, 4, n)
        seen = _figures(rng, kind, size) & (k < present)[:, None, None]
        gray = np.where(seen, bright[:, k, None, None], gray)
        y = np.where(seen, kind[:, None, None], y)
    gray = np.clip(gray + noise * rng.standard_normal(gray.shape), 0, 1)
    pixels = np.round(255 * gray).astype(np.uint8).reshape(n, -1)
    truth = Truth(f"1 to {MAX_FIGURES} figures, each of its own brightness, on a darker ground, + {noise:g} ε")
    return Dataset(
        *("shapes", pixels, y, tuple(f"pixel{i}" for i in range(size**2)), ("ground", "disc", "square", "triangle")),
        *("segment", "none: the images are made"),
        kind="image",
        shape=(size, size),
        truth=truth,
    )


def _figures(rng: np.random.Generator, kind: np.ndarray, size: int) -> np.ndarray:
    """One figure per image, of a kind 1, 2 or 3, anywhere, of any angle: (n, S, S) of bool."""
    n = len(kind)
    radius = rng.uniform(0.16, 0.3, n) * size
    center = rng.uniform(radius, size - 1 - radius, (2, n))
    turn = rng.uniform(0, 2 * np.pi, n)
    di, dj = (np.arange(size)[None] - c[:, None] for c in center)  # (n, S) each
    far = np.empty((n, size, size))
    for label, sides in enumerate(_SIDES, start=1):
        own = kind == label
        far[own] = _distance(di[own][:, :, None], dj[own][:, None, :], turn[own], sides)
    return far <= radius[:, None, None]


def _distance(di: np.ndarray, dj: np.ndarray, turn: np.ndarray, sides: float) -> np.ndarray:
    """Circumradius of the polygon through each pixel: (n, S, 1), (n, 1, S), (n,) -> (n, S, S)."""
    if sides == math.inf:
        return np.hypot(di, dj)
    angles = (turn + 2 * np.pi * k / sides for k in range(int(sides)))
    planes = [np.cos(a)[:, None, None] * di + np.sin(a)[:, None, None] * dj for a in angles]
    return np.max(planes, axis=0) / math.cos(math.pi / sides)
