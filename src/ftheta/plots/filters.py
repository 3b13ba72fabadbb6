"""Kernels as pictures: learned ones above classical ones, and what both make of a picture.

Shapes: O filters, I input channels, K classical kernels, window (k,) or (k, k), places (L,) or (H, W).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._tiles import bare, flat, mosaic
from ._tiles import picture as as_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["filters"]

COLUMNS, MOST = 8, 64


def filters(
    kernels: Any,
    classical: Any,
    names: Sequence[str],
    *,
    picture: Any = None,
    responses: Any = None,
    classical_responses: Any = None,
    title: str = "",
) -> Figure:
    """Learned kernels, classical ones below them; with a picture, its filtered versions on the right of both.

    Args:
        kernels: Learned ones (O, I, *window); shown is the mean over input channels.
        classical: (K, *window).
        names: Their names.
        picture: (C, *places), or None.
        responses: What the learned kernels make of it (O, *places).
        classical_responses: What the classical ones make of it (K, *places).
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    learned = np.asarray(kernels, dtype=float)[:MOST]
    fixed = np.asarray(classical, dtype=float)
    lines = -(-len(learned) // COLUMNS)
    sides = 1 if picture is None else 3
    heights = [lines, 1] if len(fixed) else [lines]
    size = (0.9 + 4.2 * (1 if picture is None else 2.2), 0.5 * sum(heights) + 0.9 * len(heights))
    figure = Figure(figsize=size, dpi=120, layout="constrained")
    widths = [1.0, 1.0, 0.3][:sides]
    grid = figure.subplots(len(heights), sides, squeeze=False, height_ratios=heights, width_ratios=widths)
    cut = f", the first {MOST} of {len(kernels)}" if len(kernels) > MOST else ""
    tiles = flat(learned.mean(1))
    signs = mosaic(grid[0, 0], tiles, min(COLUMNS, len(tiles)), signed=True)
    _name(grid[0, 0], f"{title}{cut}", "filter, counted from the left", "first of the line")
    figure.colorbar(signs, ax=grid[0, 0], label="weight", shrink=0.9, aspect=12)
    if len(fixed):
        mosaic(grid[1, 0], flat(fixed), len(fixed), signed=True, each=True, names=[""])
        _name(grid[1, 0], "Classical kernels of this size", "", "")
        grid[1, 0].set_xticks(grid[1, 0].get_xticks(), names, rotation=30, ha="right")
    if picture is not None:
        _responses(grid[:, 1], np.asarray(responses)[:MOST], np.asarray(classical_responses), names)
        grid[0, 2].imshow(as_picture(np.asarray(picture)), cmap="gray", interpolation="nearest")
        _name(grid[0, 2], "The picture", "", "")
        for axes in grid[:, 2]:
            bare(axes)
    return figure


def _responses(grid: Any, learned: np.ndarray, fixed: np.ndarray, names: Sequence[str]) -> None:
    for axes, made, columns, title in zip(
        grid,
        (learned, fixed),
        (min(COLUMNS, len(learned)), len(fixed)),
        ("What they make of the picture", "What these make of it"),
        strict=False,
    ):
        if len(made):
            mosaic(axes, flat(made), columns, signed=True, each=True)
        _name(axes, title, "filter, counted from the left", "first of the line")
    if len(grid) > 1 and len(fixed):
        grid[1].set_yticks([])
        _name(grid[1], "What these make of it", "", "")
        grid[1].set_xticks(grid[1].get_xticks(), names, rotation=30, ha="right")


def _name(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_title(title, size=10)
    axes.set(xlabel=x, ylabel=y)
