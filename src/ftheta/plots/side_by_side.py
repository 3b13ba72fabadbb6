"""Pictures side by side, all drawn equally large whatever their number of pixels.

Shapes: pictures (H, W) in shades of grey or (H, W, 3) in color.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["side_by_side"]


def side_by_side(pictures: Mapping[str, np.ndarray]) -> Figure:
    """Each picture under its name and size; shades run from the smallest to the largest value of the first one.

    Args:
        pictures: Name -> picture.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    across = len(pictures) if len(pictures) <= 4 else 3
    lines = -(-len(pictures) // across)
    first = next(iter(pictures.values()))
    tall = 2.6 * first.shape[0] / first.shape[1]
    figure = Figure(figsize=(2.8 * across, (tall + 0.9) * lines), dpi=120, layout="constrained")
    grid = figure.subplots(lines, across, squeeze=False).ravel()
    low, high = float(first.min()), float(first.max())
    for axes, (name, picture) in zip(grid, pictures.items(), strict=False):
        color = picture.ndim == 3
        shown = np.clip(picture, 0, 1) if color else picture
        axes.imshow(shown, cmap="gray", vmin=low, vmax=high if high > low else low + 1, interpolation="nearest")
        axes.set_title(f"{name}, {picture.shape[0]} × {picture.shape[1]}", fontsize=10)
        axes.set(xlabel="column (pixels)", ylabel="row (pixels)")
        axes.tick_params(labelsize=7)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(4, integer=True))
    for axes in grid[len(pictures) :]:
        axes.set_visible(False)
    return figure
