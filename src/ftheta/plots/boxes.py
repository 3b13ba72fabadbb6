"""Boxes and arrows: computation graphs, architectures, steps of a pass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ._style import GREY, PALETTE, Figure, canvas, drawn

__all__ = ["boxes", "format_array"]


def format_array(value: np.ndarray | float) -> str:
    """A number, up to three of them in brackets, or shape and norm.

    Example:
        >>> format_array(0.786448), format_array(np.arange(3)), format_array(np.eye(4))
        ('0.7864', '(0, 1, 2)', '4×4, norm 2')
    """
    v = np.asarray(value)
    if v.ndim == 0:
        return f"{v:.4g}"
    if v.ndim == 1 and 0 < v.size <= 3:
        return f"({', '.join(f'{x:.3g}' for x in v)})"
    return f"{'×'.join(map(str, v.shape))}, norm {np.linalg.norm(v.ravel()):.3g}"


@drawn
def boxes(
    words: Sequence[str],
    parents: Sequence[Sequence[int]],
    *,
    levels: Sequence[int] | None = None,
    down: bool = False,
    colors: Sequence[str] | None = None,
    title: str = "",
) -> Figure:
    """Boxes in the order in which they were computed, with an arrow from each parent; arrows past a box are arcs.

    Args:
        words: Text of each box.
        parents: Numbers of the boxes that each was computed from, all smaller than its own.
        levels: One column per box, and so far down; None: a column for all boxes with the same longest way to them.
        down: From top to bottom instead of from left to right.
        colors: Fill color of each box.
        title: Title of the figure.
    """
    column, height = _places(parents, levels)
    lines = [text.split("\n") for text in words]
    wide = 0.55 + 0.068 * max(len(line) for text in lines for line in text)
    high = 0.3 + 0.15 * max(map(len, lines))
    along, across = (high, wide) if down else (wide, high)
    x, y = (np.asarray(column) * along * 1.15, np.asarray(height) * across * 1.15)
    x, y = (y, -x) if down else (x, -y)
    x, y = x - x.min(), y - y.min()
    arcs = [
        (a, b, past and (levels is None or height[a] == height[b]), np.hypot(x[b] - x[a], y[b] - y[a]))
        for b, above in enumerate(parents)
        for a in above
        for past in [column[b] > column[a] + 1]
    ]
    beside = np.abs(np.subtract.outer(x, x)) / 2 if down else np.zeros((len(x), len(x)))
    rise = {  # how far an arc goes out, in inches: past the boxes between its ends, and further for longer ones
        (a, b): max(0.2, 0.6 * (wide if down else high) + 0.08 * (column[b] - column[a]) - beside[a, b])
        for a, b, past, _ in arcs
        if past
    }
    room = max(rise.values(), default=0.0)
    right, top = (room, 0.0) if down else (0.0, room)
    size = np.ptp(x) + wide + 0.4 + right, np.ptp(y) + high + 0.9 + top
    figure, axes = canvas(width=max(size[0], 4.0), height=size[1])
    axes.set(title=title, xlim=(-wide / 2 - 0.2, np.ptp(x) + wide / 2 + 0.2 + right))
    axes.set_ylim(-high / 2 - 0.2, np.ptp(y) + high / 2 + 0.2 + top)
    axes.set_axis_off()
    fill = ["#DCEAF4"] * len(words) if colors is None else colors
    made = [
        axes.text(x[i], y[i], text, ha="center", va="center", size=8, zorder=3,
                  bbox={"boxstyle": "round", "facecolor": fill[i], "edgecolor": PALETTE[0]})
        for i, text in enumerate(words)
    ]  # fmt: skip
    for a, b, past, distance in arcs:
        bend = 2 * rise[a, b] / distance if past else 0.0
        look = {"arrowstyle": "-|>", "color": PALETTE[1] if past else GREY}
        look["connectionstyle"] = f"arc3,rad={-bend}"
        ends = {"patchA": made[a].get_bbox_patch(), "patchB": made[b].get_bbox_patch()}
        axes.annotate("", (x[b], y[b]), (x[a], y[a]), arrowprops={**look, **ends})
    return figure


def _places(parents: Sequence[Sequence[int]], levels: Sequence[int] | None) -> tuple[list[int], list[float]]:
    """Column and height of each box; in a column boxes are ordered by the mean height of their parents."""
    if levels is not None:
        return list(range(len(levels))), [float(level) for level in levels]
    column: list[int] = []
    for above in parents:
        column.append(1 + max((column[a] for a in above), default=-1))
    height = [0.0] * len(parents)
    for k in range(max(column, default=-1) + 1):
        own = [i for i, c in enumerate(column) if c == k]
        own.sort(key=lambda i: np.mean([height[a] for a in parents[i]]) if parents[i] else i)
        for place, i in enumerate(own):
            height[i] = place - (len(own) - 1) / 2
    return column, height
