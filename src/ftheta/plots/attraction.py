"""Basins of attraction: the places of a plane in the colours of the states that they lead to, and shares as bars.

Shapes: G and H positions, A ends, n marked points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import GREY, PALETTE, dress, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["attraction"]

COLOURED, BARS = 6, 12  # ends with a colour of their own; bars at most
_HATCHES = ("", "///", "...", "\\\\\\", "xxx", "++", "")


def attraction(
    x: Any,
    y: Any,
    code: Any,
    names: Sequence[str],
    shares: Any,
    *,
    stored: Any,
    labels: Sequence[str],
    title: str = "",
    counted: str = "share of random starts",
) -> Figure:
    """The plane in colours and hatches, borders in black, stars at stored patterns; beside it a bar an end.

    Args:
        x: Positions across (G,).
        y: Positions up (H,).
        code: Place of the end of each position in `names` (H, G).
        names: Names of the ends; the six with the largest part of the plane have a colour, the others are grey.
        shares: Share of each end (A,).
        stored: Points to mark (n, 2).
        labels: Labels of both axes, with units.
        title: Title of the picture.
        counted: What the shares are of.
    """
    from matplotlib.figure import Figure

    code, shares = np.asarray(code), np.asarray(shares, dtype=float)
    area = np.bincount(code.ravel(), minlength=len(names))
    order = np.lexsort((-shares, -area))
    rank = np.argsort(order)  # of each end
    figure = Figure(figsize=(11.0, 5.4), dpi=120, layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=[1.35, 1])
    dress(left, title=title, x=short(labels[0], 60), y=short(labels[1], 60))
    left.grid(visible=False)
    _map(left, np.asarray(x), np.asarray(y), np.minimum(rank[code], COLOURED))
    at = np.asarray(stored, dtype=float).reshape(-1, 2)
    left.plot(*at.T, ls="", marker="*", ms=16, color="white", mec="black", label="stored", zorder=5, clip_on=False)
    _bars(right, [short(name, 26) for name in names], shares, rank, counted)
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def _map(axes: Axes, x: np.ndarray, y: np.ndarray, rank: np.ndarray) -> None:
    """One colour and hatch a rank, 45 % over white, and a line around each."""
    from matplotlib.colors import to_rgb

    colours = np.array([to_rgb(colour) for colour in (*PALETTE[:COLOURED], GREY)])
    half = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2  # a position is the middle of its pixel
    extent = (x[0] - half[0], x[-1] + half[0], y[0] - half[1], y[-1] + half[1])
    axes.imshow(1 - 0.45 * (1 - colours[rank]), origin="lower", extent=extent, interpolation="nearest")
    for k in np.unique(rank):
        mine = (rank == k).astype(float)
        filled = axes.contourf(x, y, mine, levels=[0.5, 1.5], colors="none", hatches=[_HATCHES[k]])
        filled.set(edgecolor=colours[k], linewidth=0)
        if mine.min() < 0.5:
            axes.contour(x, y, mine, levels=[0.5], colors="black", linewidths=0.7)
    axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), aspect="equal")
    axes.locator_params(nbins=5)


def _bars(axes: Axes, names: Sequence[str], shares: np.ndarray, rank: np.ndarray, counted: str) -> None:
    """The ends that have a colour, and others with the largest shares, as on the map."""
    first = np.lexsort((-shares, rank >= COLOURED))[:BARS]
    shown = first[np.argsort(-shares[first], kind="stable")]
    dress(axes, title=f"Where states end: {len(shown)} of {len(shares)} ends", x=counted, y="")
    for i, k in enumerate(shown):
        colour = PALETTE[rank[k]] if rank[k] < COLOURED else GREY
        axes.barh(i, shares[k], color=colour, alpha=0.45, height=0.7)
        axes.barh(i, shares[k], color="none", edgecolor=colour, hatch=_HATCHES[min(rank[k], COLOURED)], height=0.7)
        axes.annotate(f" {shares[k]:.1%}", (shares[k], i), va="center", fontsize=9)
    axes.set_yticks(range(len(shown)), [names[int(k)] for k in shown])
    axes.set_ylim(max(len(shown), 4) - 0.4, -0.6)
    axes.set_xlim(0, 1.15 * max(float(shares.max()), 1e-9))
