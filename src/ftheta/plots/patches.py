"""Patches by layer: one panel per layer, one line of images per unit.

Shapes: U units, N patches of each, C channels, window (k,) or (k_y, k_x).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ._style import short
from ._tiles import mosaic, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["patches"]


def patches(
    layers: Mapping[str, Any], units: Sequence[Any], *, x: str = "patch", y: str = "unit", signed: bool = False
) -> Figure:
    """Panels from left to right, units from top to bottom, patches of a unit side by side.

    Args:
        layers: Title of a panel to its patches (U, N, C, *window); NaN, beyond the edge of a picture, have the
            color of the gaps.
        units: Names of the units of each panel.
        x: What the patches of a line are.
        y: What the lines are.
        signed: Every patch has its own range, red above 0 and blue below; else all share one, in grey.
    """
    from matplotlib.figure import Figure

    if not layers or len(layers) != len(units):
        raise InputError(f"patches got {len(layers)} panels and names for {len(units)}; one of each is needed.")
    made = {title: np.asarray(found, dtype=float) for title, found in layers.items()}
    lines, columns = max(v.shape[0] for v in made.values()), max(v.shape[1] for v in made.values())
    across = min(3, len(made))
    down = -(-len(made) // across)
    width = max(4.4, across * (0.9 + 0.48 * columns))
    titles = [fill(title, int(10 * width / across)) for title in made]
    height = 0.3 + down * (0.9 + 0.5 * lines + 0.17 * max(title.count("\n") for title in titles))
    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    grid = figure.subplots(down, across, squeeze=False).ravel()
    for axes, title, found, names in zip(grid, titles, made.values(), units, strict=False):
        tiles = np.stack([picture(p) for p in found.reshape(-1, *found.shape[2:])])
        color = tiles.ndim == 4
        said, own = [short(str(name), 14) for name in names], signed and not color
        mosaic(axes, tiles, found.shape[1], names=said, signed=own, each=own)
        axes.set_title(title, size=10)
        axes.set(xlabel=x, ylabel=y)
    for axes in grid[len(made) :]:
        axes.remove()
    return figure
