"""Growth on log-log axes: measurements, and the straight line whose slope is the power.

log cost = slope · log size + constant
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import PALETTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["slopes"]


def slopes(panels: Mapping[str, tuple[Any, Any, float, float]], *, labels: Mapping[str, tuple[str, str]]) -> Figure:
    """One panel a measurement: dots, and the line of the given slope through them.

    Args:
        panels: Title to sizes (G,), costs (G,), slope, and the smallest size that the slope was fitted to.
        labels: Title to the labels of both axes, with units.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    figure = Figure(figsize=(3.9 * len(panels) / 2, 6.6), dpi=120, layout="constrained")
    grid = figure.subplots(2, len(panels) // 2).T.ravel()
    for axes, (name, (size, cost, slope, start)) in zip(grid, panels.items(), strict=True):
        size, cost = np.asarray(size, dtype=float), np.asarray(cost, dtype=float)
        fitted = size >= start
        through = np.exp(np.mean(np.log(cost[fitted]) - slope * np.log(size[fitted])))
        axes.loglog(size, through * size**slope, "--", color=PALETTE[1], label=f"slope {slope:.2f}")
        axes.loglog(size, cost, "o", color=PALETTE[0], label="measured")
        axes.set(title=name, xlabel=labels[name][0], ylabel=labels[name][1])
        axes.set_xticks(size, [f"{s:g}" for s in size])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.grid(color="0.9")
        axes.legend(frameon=False)
    return figure
