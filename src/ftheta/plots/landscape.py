"""Loss over a plane of weights, and along a line in it.

Shapes: G grid points an axis, B mini-batches, T points of a path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ._style import GREY, PALETTE, dress, legend, panel, short, wide_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["landscape", "profile"]

_STYLES = ("-", "--", ":", "-.")


def landscape(
    x: Any,
    y: Any,
    loss: Any,
    *,
    at: Any = None,
    lowest: Any = None,
    paths: Mapping[str, Any] | None = None,
    batches: Any = (),
    batch_lowest: Any = (),
    names: Sequence[str] = ("direction 1", "direction 2"),
    title: str = "",
) -> Figure:
    """Filled contours of a loss with marked places, paths, and the lowest 3 and 15 % of each mini-batch's surface.

    Args:
        x: Coordinates, (G,).
        y: Coordinates, (G,).
        loss: (G, G), the first axis is y; what is not finite stays white.
        at: Where the weights are.
        lowest: The lowest place.
        paths: Name to points (T, 2), from the first to the last.
        batches: Losses of mini-batches: (B, G, G).
        batch_lowest: The lowest place of each: (B, 2).
        names: Labels of the axes.
        title: Title of the figure.
    """
    figure, axes = panel(6.6, 5.2, title=title, x=short(names[0], 60), y=short(names[1], 60))
    axes.grid(visible=False)
    _fill(figure, axes, np.asarray(x), np.asarray(y), np.asarray(loss, dtype=float), grey=len(batches) > 0)
    if len(batches):
        _rings(axes, x, y, loss, "black", "-", "all rows")
    for i, (surface, place) in enumerate(zip(batches, batch_lowest, strict=True)):
        colour, style = PALETTE[i % 6], _STYLES[i % 4]
        _rings(axes, x, y, surface, colour, style, f"batch {i + 1}")
        _mark(axes, place, colour, None)
    for i, (name, points) in enumerate((paths or {}).items()):
        _path(axes, np.asarray(points), short(name, 24), i)
    if lowest is not None:
        _mark(axes, lowest, "black", "lowest")
    if at is not None:
        axes.plot(*at, ls="", marker="o", ms=6, color="white", mec="black", mew=1.5, zorder=8, label="weights")
    axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
    if axes.get_legend_handles_labels()[1]:
        legend(figure)
    return figure


def _fill(figure: Figure, axes: Axes, x: np.ndarray, y: np.ndarray, loss: np.ndarray, *, grey: bool) -> None:
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import LogLocator, MaxNLocator

    finite = loss[np.isfinite(loss)]
    if not finite.size:
        raise InputError("No loss on this grid is finite, so there is nothing to draw; choose a smaller span.")
    low, high = float(finite.min()), float(finite.max())
    log = low > 0 and wide_range(finite, 30.0)
    high = high if high > low else low + max(abs(low), 1.0) * 1e-6  # a flat surface
    levels = np.geomspace(low, high, 25) if log else np.linspace(low, high, 25)
    drawn = axes.contourf(
        x,
        y,
        np.ma.masked_invalid(loss),
        levels=levels,
        norm=LogNorm(low, high) if log else None,
        cmap="Greys" if grey else "viridis",
        alpha=0.6 if grey else 1.0,
    )
    if not grey:
        axes.contour(x, y, np.ma.masked_invalid(loss), levels=levels[::2], colors="white", linewidths=0.5, alpha=0.7)
    ticks = LogLocator(subs=(1.0, 2.0, 5.0)) if log else MaxNLocator(6)
    bar = figure.colorbar(drawn, ax=axes, label=f"mean loss per row{' (log scale)' if log else ''}", ticks=ticks)
    if log:
        bar.ax.yaxis.set_major_formatter("{x:g}")
        bar.ax.minorticks_off()


def _rings(axes: Axes, x: Any, y: Any, loss: Any, colour: str, style: str, name: str) -> None:
    """The contours that hold the lowest 3 and 15 % of a grid."""
    values = np.asarray(loss, dtype=float)
    levels = np.unique(np.quantile(values[np.isfinite(values)], [0.03, 0.15]))
    axes.contour(x, y, np.ma.masked_invalid(values), levels=levels, colors=colour, linestyles=style, linewidths=1.6)
    axes.plot([], [], style, color=colour, lw=1.6, label=name)


def _mark(axes: Axes, place: Any, colour: str, name: str | None) -> None:
    """A star, whole at an edge too."""
    axes.plot(*place, ls="", marker="*", ms=15, color=colour, mec="white", zorder=7, label=name, clip_on=False)


def _path(axes: Axes, points: np.ndarray, name: str, i: int) -> None:
    colour = (PALETTE[1], PALETTE[5], PALETTE[3], PALETTE[4], PALETTE[2], PALETTE[0])[i % 6]
    marker = "." if len(points) <= 60 else ""
    axes.plot(*points.T, "-", color="white", lw=3.2, zorder=4)  # a rim, to stand out from any colour below
    axes.plot(*points.T, "-", color=colour, marker=marker, ms=6, lw=1.6, zorder=5, label=name)
    axes.plot(*points[0], ls="", marker="s", ms=7, color=colour, mec="black", zorder=6)
    if i == 0:
        axes.plot([], [], ls="", marker="s", ms=7, color="white", mec="black", label="start")


def profile(t: Any, loss: Any, ends: Sequence[float], barrier: float, *, title: str = "") -> Figure:
    """The loss along a straight line between two solutions, with the chord between them and the barrier above it.

    Args:
        t: Places, ascending: 0 is the first solution, 1 the second.
        loss: The loss at each.
        ends: The losses of both solutions.
        barrier: The largest excess over the chord.
        title: Title of the figure.
    """
    figure, axes = panel(6.4, 4.0, title=title, x="t: from the first solution (0) to the second (1)", y="")
    t, loss = np.asarray(t), np.asarray(loss, dtype=float)
    log = wide_range(loss)
    dress(axes, title=title, x=axes.get_xlabel(), y=f"mean loss per row{' (log scale)' if log else ''}")
    if log:
        axes.set_yscale("log")
    axes.plot(t, loss, "-o", color=PALETTE[0], ms=3.5, lw=1.6, label="loss")
    at = np.linspace(0, 1, 50)
    chord = (1 - at) * ends[0] + at * ends[1]
    axes.plot(at, chord, "--", color=GREY, lw=1.4, label="chord")
    axes.plot([0, 1], ends, ls="", marker="s", ms=8, color=PALETTE[1], mec="white", zorder=5, label="solutions")
    inside = np.flatnonzero((t >= 0) & (t <= 1))
    excess = loss[inside] - ((1 - t[inside]) * ends[0] + t[inside] * ends[1])
    if np.isfinite(excess).all() and barrier > 0:
        k = inside[int(excess.argmax())]
        foot = loss[k] - excess.max()
        axes.plot([t[k], t[k]], [foot, loss[k]], ":", color=PALETTE[1], lw=2.2, label=f"barrier {barrier:#.3g}")
    legend(figure)
    return figure
