"""One weight nudged: what every unit of every layer did, beside its first order, and the loss along the weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import GREY, PALETTE, dress, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["nudge"]

_MOST, _UNITS = 5, 40  # layers and units that are drawn


def nudge(
    changes: Mapping[str, Any],
    predicted: Sequence[Any],
    at: Any,
    curve: Any,
    loss: float,
    slope: float,
    *,
    title: str = "One weight nudged",
) -> Figure:
    """A panel a layer, from input to output: a bar for the change of each unit, a black dash for its first order; last
    the loss along the weight with the tangent that back-propagation gives. Of many layers the ends and some between.

    Args:
        changes: Layer to the change of its units: (D,).
        predicted: The same to first order: (D,) each.
        at: Places of the weight: (G,), the present one in the middle.
        curve: The loss there: (G,).
        loss: The loss at the present weight.
        slope: ∂L/∂w.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    names = list(changes)
    picked = np.unique(np.linspace(0, len(names) - 1, _MOST).round().astype(int)) if names else np.array([], int)
    n = len(picked) + 1
    columns = min(n, 3)
    figure = Figure(figsize=(3.5 * columns, 0.5 + 2.7 * -(-n // columns)), dpi=120, layout="constrained")
    grid = figure.subplots(-(-n // columns), columns, squeeze=False).ravel()
    for axes, k in zip(grid, picked, strict=False):
        _bars(axes, names[k], np.asarray(changes[names[k]])[:_UNITS], np.asarray(predicted[k])[:_UNITS])
    _loss(grid[n - 1], np.asarray(at), np.asarray(curve), loss, slope)
    for axes in grid[n:]:
        axes.remove()
    figure.suptitle(title)
    handles = [*grid[0].get_legend_handles_labels()[0], *grid[n - 1].get_legend_handles_labels()[0]]
    figure.legend(handles, [str(h.get_label()) for h in handles], loc="outside lower center", ncols=4, frameon=False)
    return figure


def _bars(axes: Axes, name: str, change: np.ndarray, first: np.ndarray) -> None:
    from matplotlib.ticker import MaxNLocator

    units = np.arange(len(change))
    axes.bar(units, change, width=0.7, color=PALETTE[5], label="change")
    wide = max(4, min(16, 160 / max(len(units), 1)))
    axes.plot(units, first, ls="", marker="_", ms=wide, mew=2, color="black", label="first order")
    axes.axhline(0, color=GREY, lw=0.8)
    axes.set_xlim(-0.6, len(units) - 0.4)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1, nbins=6))
    axes.locator_params(axis="y", nbins=4)
    axes.ticklabel_format(axis="y", scilimits=(-3, 4), useMathText=True)
    dress(axes, title=short(name, 30), x="unit", y="change of its value")


def _loss(axes: Axes, at: np.ndarray, curve: np.ndarray, loss: float, slope: float) -> None:
    here = at[len(at) // 2]
    axes.plot(at, curve, color=PALETTE[0], lw=2, label="loss")
    axes.plot(at, loss + slope * (at - here), color=PALETTE[1], lw=1.6, ls="--", label="tangent")
    axes.plot([here], [loss], "o", color="black", zorder=4)
    axes.locator_params(nbins=4)
    axes.ticklabel_format(useMathText=True, useOffset=True)
    dress(axes, title="loss along the weight", x="weight w", y="loss")
