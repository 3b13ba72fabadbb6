"""Points of two features: flat in panels, or lifted into a third coordinate.

Shapes: n points (n, 2), one number or class each (n,).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["lifted", "points"]

MARKERS = "osD^v"


def points(
    panels: Mapping[str, tuple[Any, Any]], *, label: str, x: Sequence[str] = ("x1", "x2"), title: str = ""
) -> Figure:
    """One panel a set, left to right, on shared axes; colour is the number that belongs to each point.

    Args:
        panels: Title to points (n, 2) and numbers (n,).
        label: What the numbers are, with their unit.
        x: Labels of the two axes, with their units.
        title: Title of the figure.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.9 * len(panels) + 1.1, 2.9), dpi=120, layout="constrained")
    axes = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    numbers = np.concatenate([np.asarray(v, dtype=float) for _, v in panels.values()])
    colour = ScalarMappable(Normalize(numbers.min(), numbers.max()), "viridis")
    for place, (name, (at, value)) in zip(axes, panels.items(), strict=True):
        place.scatter(*np.asarray(at).T, c=colour.to_rgba(value), s=9, linewidths=0)
        place.set(title=f"{name}\nn = {len(at)}", xlabel=x[0], aspect="equal")
        place.title.set_size("medium")
    axes[0].set_ylabel(x[1])
    figure.colorbar(colour, ax=axes.tolist(), label=label, shrink=0.8)
    figure.suptitle(title)
    return figure


def lifted(sets: Mapping[str, tuple[Any, Any, Any]], names: Sequence[str], *, label: str, title: str = "") -> Figure:
    """Each set twice: flat, and below with its third coordinate over the plane z = 0, classes by colour and marker.

    Args:
        sets: Title to points (n, 2), third coordinates (n,) and classes 0, 1, ... (n,).
        names: Names of the classes.
        label: What the third coordinate is.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6 * len(sets), 8.4), dpi=120, layout="constrained")
    for i, (name, (at, z, code)) in enumerate(sets.items()):
        flat: Any = figure.add_subplot(2, len(sets), i + 1)
        by_class(flat, at, code, names)
        flat.set(title=f"{name}: flat", xlabel="x1", ylabel="x2", aspect="equal")
        space: Any = figure.add_subplot(2, len(sets), len(sets) + i + 1, projection="3d")
        by_class(space, np.column_stack([at, z]), code, names)
        _plane(space, np.asarray(at))
        space.set(title=f"{name}: lifted", xlabel="x1", ylabel="x2", zlabel=label)
        space.locator_params(nbins=4)
        space.set_box_aspect((1, 1, 0.8), zoom=0.95)
        space.view_init(18, -60)
    figure.legend(*figure.axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle(title)
    return figure


def by_class(axes: Axes, at: Any, code: Any, names: Sequence[str]) -> None:
    """Points of each class in its own colour and marker."""
    for k, name in enumerate(names):
        chosen = np.asarray(at)[np.asarray(code) == k]
        axes.scatter(*chosen.T, s=14, color=PALETTE[k], marker=MARKERS[k], label=name, linewidths=0)


def _plane(axes: Any, at: np.ndarray) -> None:
    low, high = at.min(0), at.max(0)
    u, v = np.meshgrid([low[0], high[0]], [low[1], high[1]])
    axes.plot_surface(u, v, np.zeros_like(u), color="0.6", alpha=0.35, label="plane z = 0")
