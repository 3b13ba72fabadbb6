"""Ellipses: Gaussian classes on the plane of two features, their axes, and where one class gives way to another.

Shapes: K classes, P points of an outline, n rows, G and H positions along the axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import InputError
from ....plots import PALETTE, panel, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ellipses"]

_MARKERS = "osD^vPX"
_STYLES = ("-", "--", ":")


def ellipses(
    outlines: Mapping[str, Any],
    arms: Any,
    classes: Sequence[str],
    *,
    names: Sequence[str],
    rows: Any = None,
    code: Any = None,
    grid: tuple[Any, Any, Any] | None = None,
    title: str = "",
) -> Figure:
    """Lines of constant density of each class in its colour, with both half-axes; black where two classes are level.

    Args:
        outlines: Label of a distance to the lines at it, one a class (K, P, 2).
        arms: Half-axes as segments from the mean to the outline (K, 2, 2, 2): which axis, which end, where.
        classes: Names of the classes; colours repeat after seven.
        names: Labels of both axes, with units.
        rows: Points to show (n, 2).
        code: Their classes 0, 1, ...; -1 where unknown (n,).
        grid: Positions (G,), positions (H,), and the probability of each class there (H, G, K).
        title: Title of the figure.
    """
    if not outlines:
        raise InputError("ellipses needs the lines of at least one distance, e.g. {'1 deviation': ...}.")
    figure, axes = panel(6.4, 5.6, title=title, x=short(names[0]), y=short(names[1]))
    for k, name in enumerate(classes):
        colour = PALETTE[k % len(PALETTE)]
        for i, lines in enumerate(outlines.values()):
            axes.plot(*np.asarray(lines)[k].T, _STYLES[i % 3], color=colour, lw=1.6, zorder=4)
        for arm in np.asarray(arms)[k]:
            axes.plot(*arm.T, color=colour, lw=1.2, zorder=4)
        axes.plot(*arms[k][0][0], ls="", marker=_MARKERS[k % 7], color=colour, mec="black", ms=8, zorder=5)
        axes.plot([], [], ls="", marker=_MARKERS[k % 7], color=colour, label=short(str(name), 20))
    for i, label in enumerate(outlines):
        axes.plot([], [], _STYLES[i % 3], color="0.3", label=label)
    if rows is not None:
        _points(axes, np.asarray(rows, dtype=float), np.asarray(code))
    if grid is not None:
        _boundary(axes, *(np.asarray(part) for part in grid))
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    if 1 / 3 < (right - left) / (high - low) < 3:
        axes.set_aspect("equal")  # axes are seen to be perpendicular
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure


def _points(axes: Axes, rows: np.ndarray, code: np.ndarray) -> None:
    for k in np.unique(code):
        style = {"marker": _MARKERS[k % 7], "color": PALETTE[k % len(PALETTE)]} if k >= 0 else {"color": "0.5"}
        axes.scatter(*rows[code == k].T, s=13, alpha=0.45, linewidths=0, zorder=2, **style)


def _boundary(axes: Axes, x: np.ndarray, y: np.ndarray, p: np.ndarray) -> None:
    """Lines between the winning classes, and the part of the plane that is shown."""
    winners = np.unique(p.argmax(-1))
    for k in winners[1:]:
        lead = p[..., k] - np.delete(p, k, axis=-1).max(-1)  # above 0 where k wins
        axes.contour(x, y, lead, levels=[0.0], colors="black", linewidths=1.8, zorder=3)
    if len(winners) > 1:
        axes.plot([], [], color="black", lw=1.8, label="boundary")
    axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))
