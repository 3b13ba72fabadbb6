"""Grids of numbers: small maps with their values written in, windows and padding marked.

Shapes: maps (H, W), or (n,) drawn as one line; marks of the same shape: 1 and 3 two kinds of windows, 2 padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["grids"]

_COLOURS = ("white", "#F6C9A5", "#DDDDDD", "#BFDCEE")  # plain, a window, padding, another window
MOST = 16  # places on an axis whose numbers are written


def grids(
    values: Sequence[np.ndarray],
    *,
    titles: Sequence[str],
    notes: Sequence[str] = (),
    lit: Sequence[np.ndarray | None] = (),
) -> Figure:
    """Each map as a grid with its numbers, three or four beside one another.

    Args:
        values: The maps.
        titles: A title for each.
        notes: Words below each.
        lit: Marks of the cells of each: 0 plain, 1 and 3 in windows, 2 padding; None: all plain.
    """
    from matplotlib.figure import Figure

    maps = [np.atleast_2d(v) for v in values]
    height, width = (max(v.shape[axis] for v in maps) for axis in (0, 1))
    notes, marks = notes or [""] * len(maps), lit or [None] * len(maps)
    across = len(maps) if len(maps) <= 4 else 3
    lines = -(-len(maps) // across)
    cell = min(0.36, 3.2 / max(height, width)) if max(height, width) > MOST else 0.36  # inches, as all below
    slot = max(cell * width + 0.3, 2.6 if any(notes) else 1.2)
    line = cell * height + 0.8 + 0.18 * max(note.count("\n") + bool(note) for note in notes)
    figure = Figure(figsize=(slot * across, line * lines), dpi=120)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, slot * across), ylim=(line * lines, 0))
    axes.set_axis_off()
    for k, (v, title, note, mark) in enumerate(zip(maps, titles, notes, marks, strict=True)):
        middle, top = slot * (k % across + 0.5), line * (k // across) + 0.55
        axes.text(middle, top - 0.1, title, ha="center", va="bottom", fontsize=10)
        _grid(axes, v, mark, (middle - cell * v.shape[1] / 2, top), cell)
        axes.text(middle, top + cell * len(v) + 0.1, note, ha="center", va="top", fontsize=8)
    return figure


def _grid(axes: Axes, values: np.ndarray, mark: np.ndarray | None, corner: tuple[float, float], cell: float) -> None:
    """One map; of a large one the numbers are shades of grey, and what is marked is tinted."""
    from matplotlib.patches import Rectangle

    marks = np.zeros(values.shape, dtype=int) if mark is None else np.atleast_2d(mark)
    large = max(values.shape) > MOST
    if large:
        right, bottom = corner[0] + cell * values.shape[1], corner[1] + cell * len(values)
        axes.imshow(values, cmap="gray", extent=(corner[0], right, bottom, corner[1]), aspect="auto", zorder=0)
    for (i, j), value in np.ndenumerate(values):
        place = corner[0] + cell * j, corner[1] + cell * i
        if large and not marks[i, j]:
            continue
        look: dict[str, Any] = {"alpha": 0.6, "linewidth": 0} if large else {"edgecolor": GREY, "linewidth": 0.8}
        axes.add_patch(Rectangle(place, cell, cell, facecolor=_COLOURS[marks[i, j]], **look))
        if not large:
            words = f"{value:.3g}"
            size = cell / 0.36 * (9 if len(words) < 5 else 7)
            axes.text(place[0] + cell / 2, place[1] + cell / 2, words, ha="center", va="center", fontsize=size)
