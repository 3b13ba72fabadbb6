"""A dense network as circles and lines: layers from left to right, one circle per unit, one line per weight.

Wide layers show their first and last units with dots between them. Dropped units are crossed out and lose their lines.
Shapes: K + 2 layers of widths D₀ ... D_{K+1}; masks (D_k,) of the K hidden layers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ._style import GREY, PALETTE, Figure, canvas, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["network"]

MAX_UNITS = 16  # of a layer that are all drawn
ENDS = 7  # of a wider layer, at each end


@drawn
def network(
    widths: Sequence[int], *, labels: Sequence[str] = (), dropped: Sequence[np.ndarray] = (), title: str = "Network"
) -> Figure:
    """The full network; with masks, the thinned one beside it.

    Args:
        widths: Units of each layer, input and output included.
        labels: Words above the weights of each pair of layers.
        dropped: One mask per hidden layer, True where a unit is dropped.
        title: Title of the figure.
    """
    hidden = list(widths[1:-1])
    if len(widths) < 2 or (len(dropped) and [len(mask) for mask in dropped] != hidden):
        raise InputError(
            f"network got widths {list(widths)} and masks of {[len(mask) for mask in dropped]} units; "
            "an input, an output and one mask per hidden layer are needed."
        )
    panels = 2 if len(dropped) else 1
    tall = max(min(width, MAX_UNITS) for width in widths)
    width = max(6.4 / panels, (1.15 + 0.1 * (panels == 1)) * len(widths))
    figure, grid = canvas(panels, width=width, height=1.9 + 0.21 * max(tall, 5))
    none = [np.zeros(width, dtype=bool) for width in widths]
    thin = [none[0], *(np.asarray(mask, dtype=bool) for mask in dropped), none[-1]]
    for axes, masks, name in zip(grid, (none, thin), (title, "Thinned by dropout"), strict=False):
        _frame(axes, widths, tall, name)
        _draw(axes, widths, masks)
    for k, label in enumerate(labels):
        grid[0].text(k + 0.5, tall / 2 + 0.1, label, ha="center", va="bottom", size="small", color="0.25")
    return figure


def _frame(axes: Axes, widths: Sequence[int], tall: int, title: str) -> None:
    last = len(widths) - 1
    names = ["input", *(f"hidden {k}" for k in range(1, last)), "output"]
    axes.set(title=title, xlabel="layer, with its number of units", ylabel="units")
    axes.set_xticks(range(last + 1), [f"{name}\n{width:,}" for name, width in zip(names, widths, strict=True)])
    axes.set(yticks=[], xlim=(-0.45, last + 0.45), ylim=(-tall / 2 - 0.3, tall / 2 + 1.6))
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.grid(visible=False)


def _draw(axes: Axes, widths: Sequence[int], masks: Sequence[np.ndarray]) -> None:
    shown, height = zip(*map(_shown, widths), strict=True)
    kept = [~mask[index] for mask, index in zip(masks, shown, strict=True)]
    lines = [
        line
        for k, ((low, a), (high, b)) in enumerate(pairwise(zip(height, kept, strict=True)))
        for y in low[a]
        for z in high[b]
        for line in ((k, y), (k + 1, z), (np.nan, np.nan))
    ]
    thin = 0.6 if len(lines) < 600 else 0.35
    axes.plot(*np.reshape(lines, (-1, 2)).T, color="0.62", lw=thin, ls="-", zorder=1)  # one path for all
    for k, (y, keep, width) in enumerate(zip(height, kept, widths, strict=True)):
        color = PALETTE[2] if k == 0 else PALETTE[1] if k == len(widths) - 1 else PALETTE[0]
        axes.plot([k] * keep.sum(), y[keep], "o", ms=12, color=color, mec="white", zorder=3)
        axes.plot([k] * (~keep).sum(), y[~keep], "o", ms=12, color="white", mec=GREY, zorder=3)
        axes.plot([k] * (~keep).sum(), y[~keep], "x", ms=9, color="black", mew=1.6, zorder=4)
        if width > MAX_UNITS:
            axes.plot([k] * 3, [-0.3, 0, 0.3], "o", ms=2, color="black", zorder=3)


def _shown(width: int) -> tuple[np.ndarray, np.ndarray]:
    """Which units of a layer are drawn, and at which height, the first on top; a gap of two in a wide layer."""
    if width <= MAX_UNITS:
        return np.arange(width), (width - 1) / 2 - np.arange(width)
    return np.r_[:ENDS, width - ENDS : width], np.r_[ENDS:0:-1, -1 : -ENDS - 1 : -1].astype(float)
