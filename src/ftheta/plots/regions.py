"""Which class where: the plane, the triangle of probabilities, and a line from score to class.

    score f(x)  ->  probability p = softmax(f) or sigmoid(f)  ->  class argmax p

Shapes: G grid points, K classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import GREY, PALETTE, panel
from .points import by_class

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["links", "regions", "simplex"]


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


def simplex(at: Any, code: Any, names: Sequence[str], *, title: str = "") -> Figure:
    """Points of the triangle x + y + z = 1 in space, coloured by class, with the planes x = y, x = z, y = z as borders.

    Args:
        at: Points (n, 3) that are not negative and sum to one.
        code: Their classes 0, 1, 2.
        names: Names of the classes.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.0, 5.6), dpi=120, layout="constrained")
    axes: Any = figure.add_subplot(projection="3d", computed_zorder=False)  # lines and words above the points
    by_class(axes, at, code, names)
    corners, third = np.eye(3), np.full(3, 1 / 3)
    axes.plot(*corners[[0, 1, 2, 0]].T, color="black", lw=1.2, zorder=5)
    for k, equal in enumerate(("y = z", "x = z", "x = y")):
        middle = (1 - corners[k]) / 2  # of the opposite side, where the two others are equal
        axes.plot(*np.stack([third, middle]).T, color="black", lw=2, zorder=5)
        axes.text(*(1.35 * middle), equal, ha="center", va="center", zorder=6)
    axes.set(title=title, xlabel="x", ylabel="y", zlabel="z")
    axes.set_box_aspect(None, zoom=0.9)  # the label of z stays inside
    axes.view_init(28, 45)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    return figure


def links(x: Any, columns: Sequence[tuple[str, Any, Any, Any]], *, title: str = "") -> Figure:
    """One column a model, three rows: raw outputs, probabilities after the link, and the predicted class over x.

    Args:
        x: Inputs (G,), ascending.
        columns: Title, raw outputs (G, R), probabilities (G, K) and predicted classes (G,) of each model.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8 * len(columns), 6.6), dpi=120, layout="constrained")
    grid = figure.subplots(3, len(columns), sharex=True, squeeze=False, height_ratios=[2, 2, 0.7])
    rows = ("raw output (score)", "probability", "class")
    for (name, raw, p, code), axes in zip(columns, grid.T, strict=True):
        for k in range(raw.shape[1]):
            axes[0].plot(x, raw[:, k], color=PALETTE[k if raw.shape[1] > 1 else -1], ls=("-", "--", ":")[k % 3])
        for k in range(p.shape[1]):
            axes[1].plot(x, p[:, k], color=PALETTE[k], ls=("-", "--", ":")[k % 3], label=f"class {k}")
        axes[0].axhline(0, color=GREY, lw=0.8)
        axes[1].set_ylim(-0.03, 1.03)
        _strip(axes[2], np.asarray(x), np.asarray(code))
        axes[0].set_title(name, size="medium")
        axes[2].set_xlabel("input x")
    for axes, label in zip(grid[:, 0], rows, strict=True):
        axes.set_ylabel(label)
    figure.align_ylabels(grid[:, 0])
    figure.legend(*grid[1, -1].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(title)
    return figure


def _strip(axes: Any, x: np.ndarray, code: np.ndarray) -> None:
    """Bars from change to change, with the class written inside."""
    ends = np.flatnonzero(np.diff(code)) + 1
    for part in np.split(np.arange(len(x)), ends):
        low, high = x[part[0]], x[min(part[-1] + 1, len(x) - 1)]
        axes.axvspan(low, high, color=PALETTE[code[part[0]]], alpha=0.6, lw=0)
        if high - low > 0.06 * (x[-1] - x[0]):
            axes.text((low + high) / 2, 0.5, str(code[part[0]]), ha="center", va="center")
    axes.set(yticks=[], ylim=(0, 1))
