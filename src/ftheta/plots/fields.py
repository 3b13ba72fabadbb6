"""Receptive fields over the input: how much each place counts for one unit, layer by layer.

Shapes: L layers; fields (L, H, W) of images, (L, n) of signals; frames (L, d, 2), first and last place on each axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._style import GREY, PALETTE, dress, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["fields"]

_MOST, _ACROSS = 12, 4  # panels, and those of a line


def fields(effective: np.ndarray, frames: np.ndarray, *, names: Sequence[str], sizes: Sequence[str]) -> Figure:
    """The gradient of one unit over the input, a panel a layer, with the computed field as a frame.

    Each panel is scaled to its own largest place; images are shown by their square root, so that the rim is seen.

    Args:
        effective: Mean |gradient| at each place of the input.
        frames: First and last place of the computed field on each axis.
        names: Layers.
        sizes: Sizes of the computed fields in words.
    """
    from matplotlib.figure import Figure

    shown = [int(i) for i in np.linspace(0, len(names) - 1, min(len(names), _MOST)).round()]
    lines = -(-len(shown) // _ACROSS)
    across = min(len(shown), _ACROSS)
    flat = effective.ndim == 2
    size = max(4.4, 2.9 * across + 0.8), (1.9 if flat else 2.9) * lines + 0.7
    figure = Figure(figsize=size, dpi=120, layout="constrained")
    grid = figure.subplots(lines, across, squeeze=False).ravel()
    for axes, i in zip(grid, shown, strict=False):
        top = effective[i].max()
        values = effective[i] / top if top > 0 else effective[i]
        x, y = ("place", "|gradient| / largest") if flat else ("column (pixels)", "row (pixels)")
        dress(axes, title=f"{short(names[i], 24)} sees {sizes[i]}", x=x, y=y)
        axes.title.set_fontsize(10)
        _signal(axes, values, frames[i]) if flat else _image(axes, np.sqrt(values), frames[i])
    for axes in grid[len(shown) :]:
        axes.set_visible(False)
    if not flat:
        bar = figure.colorbar(grid[0].images[0], ax=list(grid), shrink=0.8, label="square root of |gradient| / largest")
        bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    return figure


def _signal(axes: Axes, values: np.ndarray, frame: np.ndarray) -> None:
    axes.bar(np.arange(len(values)), values, width=0.9, color=PALETTE[0])
    axes.axvspan(frame[0, 0] - 0.5, frame[0, 1] + 0.5, color=PALETTE[1], alpha=0.15, linewidth=0)
    axes.set(xlim=(-0.5, len(values) - 0.5), ylim=(0, 1.05))


def _image(axes: Axes, values: np.ndarray, frame: np.ndarray) -> None:
    from matplotlib.patches import Rectangle

    axes.imshow(values, cmap="viridis", vmin=0, vmax=1)
    axes.grid(visible=False)
    (top, bottom), (left, right) = frame
    box = Rectangle((left - 0.5, top - 0.5), right - left + 1, bottom - top + 1, fill=False, edgecolor=PALETTE[1])
    box.set_linewidth(2)
    axes.add_patch(box)
    for spine in axes.spines.values():
        spine.set(visible=True, color=GREY)
