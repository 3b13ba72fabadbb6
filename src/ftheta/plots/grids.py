"""Grids of numbers: small maps with their values written in, windows and padding marked.

Shapes: maps (H, W), or (n,) drawn as one line; marks of the same shape: 1 and 3 two kinds of windows, 2 padding.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ._style import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["grids"]

_COLOURS = ("white", "#F6C9A5", "#DDDDDD", "#BFDCEE")  # plain, a window, padding, another window
_CELL = 0.36  # inches
MOST = 16  # places on an axis whose numbers can be read


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
    if max(height, width) > MOST:
        raise InputError(f"A map of {height} × {width} has too many numbers to be read; draw at most {MOST} × {MOST}.")
    notes, marks = notes or [""] * len(maps), lit or [None] * len(maps)
    across = len(maps) if len(maps) <= 4 else 3
    lines = -(-len(maps) // across)
    slot = max(width + 0.8, 7.2 if any(notes) else 3.4)  # of a map, in cells
    line = height + 2.2 + 0.5 * max(note.count("\n") + bool(note) for note in notes)
    figure = Figure(figsize=(_CELL * slot * across, _CELL * line * lines), dpi=120)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, slot * across), ylim=(line * lines, 0))
    axes.set_axis_off()
    for k, (v, title, note, mark) in enumerate(zip(maps, titles, notes, marks, strict=True)):
        middle, top = slot * (k % across + 0.5), line * (k // across) + 1.5
        axes.text(middle, top - 0.3, title, ha="center", va="bottom", fontsize=10)
        _grid(axes, v, mark, (middle - v.shape[1] / 2, top))
        axes.text(middle, top + len(v) + 0.25, note, ha="center", va="top", fontsize=8)
    return figure


def _grid(axes: Axes, values: np.ndarray, mark: np.ndarray | None, corner: tuple[float, float]) -> None:
    from matplotlib.patches import Rectangle

    marks = np.zeros(values.shape, dtype=int) if mark is None else np.atleast_2d(mark)
    for (i, j), value in np.ndenumerate(values):
        x, y = corner[0] + j, corner[1] + i
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=_COLOURS[marks[i, j]], edgecolor=GREY, linewidth=0.8))
        axes.text(x + 0.5, y + 0.5, f"{value:.3g}", ha="center", va="center", fontsize=9)
