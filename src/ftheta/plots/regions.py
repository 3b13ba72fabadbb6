"""Which class where in the plane. Shapes: G grid points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import PALETTE, panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["regions"]


def regions(grid: Any, value: Any, at: Any, code: Any, names: Sequence[str], *, label: str, title: str = "") -> Figure:
    """A number over the plane, its contour at one half, and labelled points.

    Args:
        grid: Positions along both axes, (G,).
        value: The number at each, (G, G); the first axis is x2.
        at: Points (n, 2).
        code: Their classes 0, 1, ...
        names: Names of the classes.
        label: What the number is.
        title: Title of the figure.
    """
    figure, axes = panel(5.6, 4.6, title=title, x="x1", y="x2")
    drawn = axes.pcolormesh(grid, grid, value, cmap="Greys", vmin=0, vmax=1, shading="nearest", rasterized=True)
    axes.contour(grid, grid, value, levels=[0.5], colors=PALETTE[2], linestyles="--", linewidths=2)
    for k, name in enumerate(names):
        chosen = np.asarray(at)[np.asarray(code) == k]
        axes.scatter(*chosen.T, s=110, color=PALETTE[k], marker="os"[k], label=name, edgecolors="white", zorder=4)
    axes.plot([], [], "--", color=PALETTE[2], lw=2, label="boundary: one half")
    axes.locator_params(nbins=5)
    axes.set_aspect("equal")
    figure.colorbar(drawn, ax=axes, label=label)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure
