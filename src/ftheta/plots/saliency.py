"""Pictures above maps of the places that speak for an output (red) and against it (blue).

Shapes: B rows, C channels, places (L,) or (H, W).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ._style import GREY, PALETTE, dress, short
from ._tiles import SIGNED, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["saliency"]

MOST = 6


def saliency(x: Any, maps: Any, titles: Sequence[str], *, label: str = "saliency") -> Figure:
    """Rows from left to right, six at most: the picture, its map below; every map has its own range.

    Args:
        x: Pictures or signals (B, C, *places).
        maps: Their maps (B, *places).
        titles: Words above each picture.
        label: What the maps show.
    """
    x, maps = np.asarray(x)[:MOST], np.asarray(maps, dtype=float)[:MOST]
    if x.ndim not in (3, 4) or len(x) != len(maps) or not len(x) or x.shape[2:] != maps.shape[1:]:
        raise InputError(
            f"saliency got rows {x.shape} and maps {maps.shape}; (B, C, *places) and (B, *places) are needed."
        )
    most = np.abs(maps.reshape(len(maps), -1)).max(1)
    scaled = maps / np.where(most > 0, most, 1.0).reshape(-1, *[1] * (maps.ndim - 1))
    return (_pictures if x.ndim == 4 else _signals)(x, scaled, titles, f"{label}, share of its largest value")


def _pictures(x: np.ndarray, maps: np.ndarray, titles: Sequence[str], label: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(max(4.6, 1.4 + 1.5 * len(x)), 4.2), dpi=120, layout="constrained")
    grid = figure.subplots(2, len(x), squeeze=False, sharex=True, sharey=True)
    for (top, below), row, map_, title in zip(grid.T, x, maps, titles, strict=False):
        top.imshow(picture(row), cmap="gray", interpolation="nearest")
        top.set_title("\n".join(short(line, 18) for line in title.split("\n")), size=9)
        below.imshow(map_, cmap=SIGNED, vmin=-1, vmax=1, interpolation="nearest")
        if min(map_.shape) > 1:  # a contour goes between places
            below.contour(_outline(row), levels=[0.5], colors=GREY, linewidths=0.6)
    grid[0, 0].set(xlabel="column (pixels)", ylabel="row (pixels)")
    grid[1, 0].set(xlabel="column (pixels)", ylabel="row (pixels)")
    figure.colorbar(grid[1, 0].images[0], ax=grid, label="\n".join(label.split(", ")), shrink=0.6)
    return figure


def _outline(row: np.ndarray) -> np.ndarray:
    """The picture in grey from 0 to 1, whose middle line is drawn into the map."""
    grey = row.mean(0)
    span = grey.max() - grey.min()
    return (grey - grey.min()) / span if span else np.zeros_like(grey)


def _signals(x: np.ndarray, maps: np.ndarray, titles: Sequence[str], label: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 1.0 + 1.5 * len(x)), dpi=120, layout="constrained")
    grid = figure.subplots(len(x), 1, squeeze=False, sharex=True)[:, 0]
    for axes, row, map_, title in zip(grid, x, maps, titles, strict=False):
        dress(axes, title="\n".join(short(line, 40) for line in title.split("\n")), x="", y="signal")
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
