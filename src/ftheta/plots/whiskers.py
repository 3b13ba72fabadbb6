"""Values with intervals: a dot and its whiskers, values of one unit in one panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import InputError
from ._style import GREY, PALETTE, Figure, canvas, drawn, short

__all__ = ["whiskers"]

Row = tuple[str, float, float | None, float | None]


@drawn
def whiskers(panels: Mapping[str, Sequence[Row]], *, title: str = "", at: float | None = None) -> Figure:
    """Dots with whiskers, numbers beside them; a hollow dot has no interval.

    Args:
        panels: Label of the axis, with its unit, to rows (name, value, low, high); the first panel is on top.
        title: Title of the figure.
        at: Where a line is drawn, such as 0 for no difference.
    """
    if not panels or not all(panels.values()):
        raise InputError(
            f"whiskers got {len(panels)} panels, {list(panels)}; at least one, each with a row, is needed."
        )
    sizes = [len(rows) for rows in panels.values()]
    height = (0.5 + sum(0.75 + 0.32 * n for n in sizes)) / len(sizes)
    figure, grid = canvas(len(sizes), across=1, width=7.2, height=height, height_ratios=[n + 0.8 for n in sizes])
    figure.suptitle(title, wrap=True)
    for axes, (label, rows) in zip(grid, panels.items(), strict=True):
        if at is not None:
            axes.axvline(at, color=GREY, lw=1, ls=(0, (4, 3)), zorder=1)
        for i, (_, value, low, high) in enumerate(rows):
            text, fill = f"{value:#.4g} [none]", "white"
            if low is not None and high is not None:
                axes.hlines(i, low, high, color=PALETTE[0], lw=2)
                text, fill = f"{value:#.4g} [{low:#.3g}, {high:#.3g}]", PALETTE[0]
            if np.isfinite(value):
                axes.plot(value, i, "o", ms=7, mec=PALETTE[0], color=fill, clip_on=False)
            axes.annotate(text, (1.02, i), xycoords=axes.get_yaxis_transform(), va="center", size="small")
        axes.set_yticks(range(len(rows)), [short(name, 24) for name, *_ in rows])
        axes.set(xlabel=label, ylim=(len(rows) - 0.5, -0.5))
        axes.margins(x=0.08)
    return figure
