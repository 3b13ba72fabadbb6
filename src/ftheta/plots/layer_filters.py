"""Filters of the layers of a machine: what each unit weighs, as pictures, a panel for each layer.

Shapes: O filters, I input channels, window (H, W).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ._tiles import mosaic

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["layer_filters"]

COLUMNS, MOST = 8, 64


def layer_filters(layers: Mapping[str, Any]) -> Figure:
    """Layers from left to right, at most 64 filters of each; red above 0, blue below, a range of colors each.

    Args:
        layers: Name of a layer to its filters (O, I, H, W), seen from the pixels; shown is the mean over channels.
    """
    from matplotlib.figure import Figure

    made = [np.asarray(found, dtype=float)[:MOST].mean(1) for found in layers.values()]
    lines = max(-(-len(some) // COLUMNS) for some in made)
    flat = min(1.0, made[0].shape[1] / made[0].shape[2])
    size = (4.9 * len(made), max(2.2, 1.0 + 0.47 * lines * flat))
    figure = Figure(figsize=size, dpi=120, layout="constrained")
    for axes, (name, found), some in zip(
        figure.subplots(1, len(made), squeeze=False)[0], layers.items(), made, strict=True
    ):
        colors = mosaic(axes, some, min(COLUMNS, len(some)), signed=True)
        cut = f", the first {MOST} of {len(found)}" if len(found) > MOST else ""
        axes.set_title(f"Filters of {name}{cut}", size=10)
        axes.set(xlabel="unit, counted from the left", ylabel="first of the line")
        figure.colorbar(colors, ax=axes, label="weight, seen from the pixels", shrink=0.75, aspect=20)
    return figure
