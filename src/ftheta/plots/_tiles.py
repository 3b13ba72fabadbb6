"""Pictures side by side in one axes: a mosaic of tiles with gaps, units counted along both axes.

Shapes: N tiles, C channels, places (L,) or (H, W); a signal is a strip, half as high as it is long.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._style import Axes

SIGNED = "RdBu_r"  # red above 0, blue below
GAP = "#c9dcea"  # between tiles in gray, and where one has no value


def picture(x: np.ndarray) -> np.ndarray:
    """(C, *places) as (H, W), or (H, W, 3) in color, scaled to [0, 1] where it is outside."""
    x = flat(x)
    if len(x) != 3:
        return x.mean(0)
    low, high = min(0.0, np.nanmin(x)), max(1.0, np.nanmax(x))
    return np.moveaxis((x - low) / (high - low), 0, -1)


def tiles(pictures: np.ndarray) -> np.ndarray:
    """(N, H, W), or (N, C, H, W) as `picture` shows each."""
    return pictures if pictures.ndim == 3 else np.stack([picture(x) for x in pictures])


def flat(maps: np.ndarray) -> np.ndarray:
    """(N, *places) as (N, H, W)."""
    return maps[:, None].repeat(-(-maps.shape[1] // 2), 1) if maps.ndim == 2 else maps


def bare(axes: Axes) -> None:
    """No frame, no ticks, no grid."""
    axes.grid(visible=False)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)


def mosaic(
    axes: Axes,
    tiles: np.ndarray,
    columns: int,
    *,
    names: Sequence[Any] | None = None,
    limits: tuple[float, float] | None = None,
    signed: bool = False,
    each: bool = False,
) -> Any:
    """Tiles (N, H, W) or (N, H, W, 3) line by line; the axes count columns, and name the lines.

    Args:
        axes: Where.
        tiles: NaN are left in the color of the gaps.
        columns: Tiles of a line.
        names: Name of each line; None: the number of its first tile.
        limits: Values of the darkest and the lightest color; None: those of the tiles.
        signed: Red above 0 and blue below, white at 0.
        each: Every tile has its own range of colors.
    """
    if each:
        axis = tuple(range(1, tiles.ndim))
        low, high = (f(tiles, axis, keepdims=True, initial=-s * np.inf) for f, s in ((np.nanmin, -1), (np.nanmax, 1)))
        base, top = (0.0, np.maximum(-low, high)) if signed else (low, high)
        with np.errstate(invalid="ignore"):
            tiles = (tiles - base) / np.where(top > base, top - base, 1.0)  # of one value: dark, or white
    n, h, w = tiles.shape[:3]
    scale = max(1, -(-24 // max(min(h, w), 2)))
    tiles = tiles.repeat(scale, 1).repeat(scale, 2)
    gap, lines = max(2, scale * max(h, w) // 8), -(-n // columns)
    down, across = scale * h + gap, scale * w + gap
    canvas = np.full((lines * down - gap, columns * across - gap, *tiles.shape[3:]), np.nan)
    for i, tile in enumerate(tiles):
        y, x = i // columns * down, i % columns * across
        canvas[y : y + scale * h, x : x + scale * w] = tile
    finite = tiles[np.isfinite(tiles)]
    low, high = limits or ((float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0))
    if signed and limits is None:
        low, high = -(max(-low, high) or 1.0), max(-low, high) or 1.0
    high = high if high > low else low + 1.0
    if canvas.ndim == 2:
        canvas = np.ma.masked_invalid(canvas)
    else:  # a fourth channel is 0 where there are no colors
        seen = ~np.isnan(canvas).any(-1, keepdims=True)
        canvas = np.concatenate([np.where(seen, canvas, 0.0), seen], -1)
    image = axes.imshow(canvas, cmap=SIGNED if signed else "gray", vmin=low, vmax=high, interpolation="nearest")
    bare(axes)
    axes.set_facecolor("white" if signed else GAP)
    axes.set_xticks(np.arange(columns) * across + scale * w / 2, map(str, range(columns)))
    marks = [str(i * columns) for i in range(lines)] if names is None else list(map(str, names))
    axes.set_yticks(np.arange(lines) * down + scale * h / 2, marks)
    axes.tick_params(length=0, labelsize=8)
    return image
