"""A fit through its rows: a curve over one feature, or a surface over two, with a stick for every residual."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import PALETTE, dress, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["fitted"]

_ROWS = 300


def fitted(
    x: Any, y: Any, predicted: Any, grid: Sequence[Any], surface: Any, *, names: Sequence[str], title: str = ""
) -> Figure:
    """One feature: rows, curve and sticks. Two: each against y, and all three in space; at most 300 rows are drawn.

    Args:
        x: Features (n, 1) or (n, 2).
        y: Numbers (n,).
        predicted: What the fit says of the rows (n,).
        grid: Positions along each feature.
        surface: What the fit says there: (G,) or (G, G).
        names: Of the features, with units.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    step = -(-len(y) // _ROWS)
    x, y, predicted = (np.asarray(part, dtype=float)[::step] for part in (x, y, predicted))
    names = [short(str(name), 30) for name in names]
    flat = x.shape[1] == 1
    figure = Figure(figsize=(6.4, 4.4) if flat else (12.4, 4.4), dpi=120, layout="constrained")
    places = [figure.add_subplot(1, 1 if flat else 3, j + 1) for j in range(x.shape[1])]
    for j, axes in enumerate(places):
        dress(axes, title=title or f"{names[j]} and y", x=names[j], y="y")
        axes.plot(x[:, j], y, "o", color=PALETTE[0], ms=4, label="rows")
    if flat:
        places[0].vlines(x[:, 0], y, predicted, color=PALETTE[1], lw=1, label="residuals")
        places[0].plot(grid[0], surface, color=PALETTE[2], lw=1.8, label="fit")
        places[0].legend(frameon=False, loc="best")
        return figure
    space: Any = figure.add_subplot(1, 3, 3, projection="3d", computed_zorder=False)
    across, up = np.meshgrid(*grid)
    space.plot_surface(across, up, surface, color=PALETTE[2], alpha=0.25, lw=0, shade=False, label="fit")
    for a, b, low, high in zip(*x.T, y, predicted, strict=True):
        space.plot([a, a], [b, b], [low, high], color=PALETTE[1], lw=1.4)
    space.scatter(*x.T, y, color=PALETTE[0], s=16, depthshade=False, label="rows")
    space.plot([], [], [], color=PALETTE[1], label="residuals")
    space.set(title="Fit with its residuals", xlabel=names[0], ylabel=names[1], zlabel="y")
    space.locator_params(nbins=4)
    space.set_box_aspect(None, zoom=0.8)
    figure.legend(*space.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure
