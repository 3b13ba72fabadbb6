"""Pictures above maps of the places that speak for an output (red) and against it (blue).

Shapes: B rows, C channels, places (L,) or (H, W).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ._style import GREY, PALETTE, Figure, canvas, drawn, short
from ._tiles import SIGNED, picture

__all__ = ["saliency"]

MAX_ROWS = 6


@drawn
def saliency(x: Any, maps: Any, titles: Sequence[str], *, label: str = "saliency") -> Figure:
    """Rows from left to right, six at most: the picture, its map below; every map has its own range.

    Args:
        x: Pictures or signals (B, C, *places).
        maps: Their maps (B, *places).
        titles: Words above each picture.
        label: What the maps show.
    """
    x, maps = np.asarray(x)[:MAX_ROWS], np.asarray(maps, dtype=float)[:MAX_ROWS]
    if x.ndim not in (3, 4) or len(x) != len(maps) or not len(x) or x.shape[2:] != maps.shape[1:]:
        raise InputError(
            f"saliency got rows {x.shape} and maps {maps.shape}; (B, C, *places) and (B, *places) are needed."
        )
    most = np.abs(maps.reshape(len(maps), -1)).max(1)
    scaled = maps / np.where(most > 0, most, 1.0).reshape(-1, *[1] * (maps.ndim - 1))
    return (_pictures if x.ndim == 4 else _signals)(x, scaled, titles, f"{label}, share of its largest value")


def _pictures(x: np.ndarray, maps: np.ndarray, titles: Sequence[str], label: str) -> Figure:
    width = max(4.6, 1.4 + 1.5 * len(x)) / len(x)
    figure, grid = canvas(2 * len(x), across=len(x), width=width, height=2.1, sharex=True, sharey=True)
    grid = grid.reshape(2, -1)
    for (top, below), row, map_, title in zip(grid.T, x, maps, titles, strict=False):
        top.imshow(picture(row), cmap="gray")
        top.set_title("\n".join(short(line, 18) for line in title.split("\n")), size=9)
        below.imshow(map_, cmap=SIGNED, vmin=-1, vmax=1)
        if min(map_.shape) > 1:  # a contour goes between places
            gray = row.mean(0)
            below.contour(gray, levels=[(gray.min() + gray.max()) / 2], colors=GREY, linewidths=0.6)
    for axes in grid.flat:
        axes.grid(visible=False)
    for axes in grid[:, 0]:
        axes.set(xlabel="column (pixels)", ylabel="row (pixels)")
    figure.colorbar(grid[1, 0].images[0], ax=grid, label="\n".join(label.split(", ")), shrink=0.6)
    return figure


def _signals(x: np.ndarray, maps: np.ndarray, titles: Sequence[str], label: str) -> Figure:
    figure, grid = canvas(len(x), across=1, width=7.0, height=1.5 + 1.0 / len(x), sharex=True)
    for axes, row, map_, title in zip(grid, x, maps, titles, strict=False):
        axes.set(title="\n".join(short(line, 40) for line in title.split("\n")), ylabel="signal")
        low, high = float(row.min()), float(row.max())
        pad = 0.05 * (high - low) or 0.5
        span = (-0.5, len(map_) - 0.5, low - pad, high + pad)
        axes.imshow(map_[None], cmap=SIGNED, vmin=-1, vmax=1, extent=span, aspect="auto", alpha=0.8)
        for channel, line in enumerate(row):
            axes.plot(line, color=PALETTE[-1 - channel % len(PALETTE)], lw=1.4)
        axes.grid(visible=False)
    grid[-1].set_xlabel("place")
    grid[0].set_xlabel("place" if len(grid) == 1 else " ")
    figure.colorbar(grid[0].images[0], ax=grid, label=label)
    return figure
