"""The picture of a loss landscape: filled contours, marked places, paths, and the surfaces of mini-batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...plots import PALETTE, Figure, canvas, legend, short, wide_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DASHES = ("-", "--", ":", "-.")


def draw_landscape(found: Any) -> Figure:
    """Filled contours with marked places, paths, and the lowest 3 and 15 % of each mini-batch's surface."""
    figure, axes = canvas(width=6.6, height=5.2)
    x, y, batches = found.x, found.y, len(found.batches) > 0
    axes.grid(visible=False)
    _fill(figure, axes, x, y, found.loss, gray=batches)
    if batches:
        _rings(axes, x, y, found.loss, "black", "-", "all rows")
    for i, (surface, place) in enumerate(zip(found.batches, found.batch_lowest, strict=True)):
        _rings(axes, x, y, surface, PALETTE[i % 6], DASHES[i % 4], f"batch {i + 1}")
        _mark(axes, place, PALETTE[i % 6], None)
    for i, (name, points) in enumerate(found.paths.items()):
        _path(axes, points, short(name, 24), i)
    _mark(axes, found.lowest, "black", "lowest")
    axes.plot(*found.at, ls="", marker="o", ms=6, color="white", mec="black", mew=1.5, zorder=8, label="weights")
    axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), title=f"Loss at {found.n} rows")
    axes.set(xlabel=short(found.names[0], 60), ylabel=short(found.names[1], 60))
    legend(figure)
    return figure


def _fill(figure: Figure, axes: Axes, x: np.ndarray, y: np.ndarray, loss: np.ndarray, *, gray: bool) -> None:
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import LogLocator, MaxNLocator

    finite = loss[np.isfinite(loss)]
    if not finite.size:
        raise InputError("No loss on this grid is finite, so there is nothing to draw; choose a smaller span.")
    low, high = float(finite.min()), float(finite.max())
    log = low > 0 and wide_range(finite, 30.0)
    high = high if high > low else low + max(abs(low), 1.0) * 1e-6  # a flat surface
    levels = np.geomspace(low, high, 25) if log else np.linspace(low, high, 25)
    look: Any = {"cmap": "Greys", "alpha": 0.6} if gray else {"cmap": "viridis"}
    norm = LogNorm(low, high) if log else None
    drawn = axes.contourf(x, y, np.ma.masked_invalid(loss), levels=levels, norm=norm, **look)
    if not gray:
        axes.contour(x, y, np.ma.masked_invalid(loss), levels=levels[::2], colors="white", linewidths=0.5, alpha=0.7)
    ticks = LogLocator(subs=(1.0, 2.0, 5.0)) if log else MaxNLocator(6)
    bar = figure.colorbar(drawn, ax=axes, label=f"mean loss per row{' (log scale)' if log else ''}", ticks=ticks)
    if log:
        bar.ax.yaxis.set_major_formatter("{x:g}")
        bar.ax.minorticks_off()


def _rings(axes: Axes, x: Any, y: Any, loss: Any, color: str, style: str, name: str) -> None:
    """The contours that hold the lowest 3 and 15 % of a grid."""
    values = np.asarray(loss, dtype=float)
    levels = np.unique(np.quantile(values[np.isfinite(values)], [0.03, 0.15]))
    axes.contour(x, y, np.ma.masked_invalid(values), levels=levels, colors=color, linestyles=style, linewidths=1.6)
    axes.plot([], [], style, color=color, lw=1.6, label=name)


def _mark(axes: Axes, place: Any, color: str, name: str | None) -> None:
    """A star, not cut at an edge."""
    axes.plot(*place, ls="", marker="*", ms=15, color=color, mec="white", zorder=7, label=name, clip_on=False)


def _path(axes: Axes, points: np.ndarray, name: str, i: int) -> None:
    color = (PALETTE[1], PALETTE[5], PALETTE[3], PALETTE[4], PALETTE[2], PALETTE[0])[i % 6]
    marker = "." if len(points) <= 60 else ""
    axes.plot(*points.T, "-", color="white", lw=3.2, zorder=4)  # a rim, to stand out from any color below
    axes.plot(*points.T, "-", color=color, marker=marker, ms=6, lw=1.6, zorder=5, label=name)
    axes.plot(*points[0], ls="", marker="s", ms=7, color=color, mec="black", zorder=6)
    if i == 0:
        axes.plot([], [], ls="", marker="s", ms=7, color="white", mec="black", label="start")
