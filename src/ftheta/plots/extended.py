"""Lines that go on beyond their rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import GREY, PALETTE, panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["extended"]


def extended(
    rows: Mapping[str, tuple[Any, Any]],
    lines: Mapping[str, tuple[Any, Any]],
    marks: Mapping[str, float],
    *,
    x: str,
    y: str,
    title: str = "A line goes on where the data end",
) -> Figure:
    """Rows as dots; lines solid within their rows and dashed beyond; marked places as grey uprights.

    Args:
        rows: Name to positions (n,) and values (n,).
        lines: The same names to positions (2,) and values (2,).
        marks: Words to positions.
        x: Label of the positions, with its unit.
        y: Label of the values, with its unit.
        title: Title of the figure.
    """
    figure, axes = panel(7.6, 4.6, title=title, x=x, y=y)
    for k, (name, (at, values)) in enumerate(rows.items()):
        axes.plot(at, values, "os^D"[k % 4], color=PALETTE[k], ms=4, label=name)
        ends, heights = (np.asarray(part, dtype=float) for part in lines[name])
        inside = np.array([np.min(at), np.max(at)])
        fit = np.interp(inside, ends, heights)
        axes.plot(inside, fit, color=PALETTE[k], lw=2)
        axes.plot([inside[1], ends[1]], [fit[1], heights[1]], color=PALETTE[k], lw=1.4, ls="--")
    axes.axhline(0, color="black", lw=0.8)
    for words, place in marks.items():
        axes.axvline(place, color=GREY, lw=1, ls=":")
        axes.annotate(words, (place, 0.2), xycoords=("data", "axes fraction"), rotation=90, va="bottom", ha="right")
    axes.plot([], [], color="black", ls="--", label="beyond the data")
    axes.legend(frameon=False, loc="upper right")
    return figure
