"""Diagrams: boxes and arrows (graphs, architectures, steps of a pass); a dense network as circles and lines.

Shapes: a network of K + 2 layers of widths D₀ ... D_{K+1}; masks (D_k,) of the K hidden layers.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ._style import GREY, PALETTE, Axes, Figure, canvas, drawn

MAX_UNITS = 16  # of a layer that are all drawn
ENDS = 7  # of a wider layer, at each end


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
    at: Sequence[tuple[float, float]] | None = None,
    labels: Mapping[tuple[int, int], str] | None = None,
    colors: Sequence[str] | None = None,
    down: bool = False,
    title: str = "",
) -> Figure:
    """Boxes in the order in which they were computed, with an arrow from each parent; arrows past a box are arcs.

    Args:
        words: Text of each box.
        parents: Numbers of the boxes that each was computed from, all smaller than its own.
        levels: One column per box, and so far down (from top to bottom: a step to the right); None: a column for all
            boxes with the same longest way to them.
        at: Column and line of each box, counted from the left and from the top, instead of levels; all
            arrows are straight.
        labels: Words on the arrow from a box to another.
        colors: Fill color of each box.
        down: From top to bottom instead of from left to right.
        title: Title of the figure.
    """
    column, height = _places(parents, levels) if at is None else tuple(zip(*at, strict=True))
    lines, fill = [text.split("\n") for text in words], ["#DCEAF4"] * len(words) if colors is None else colors
    wide = 0.55 + 0.076 * max(len(line) for text in lines for line in text)
    high = 0.3 + 0.16 * max(map(len, lines))
    along, across = (high, wide if levels is None else 0.25 * wide) if down else (wide, high)
    x, y = (np.asarray(column) * (along * 1.15 + 0.5 * bool(labels)), np.asarray(height) * across * 1.15)
    x, y = (y, -x) if down else (x, -y)
    x, y = x - x.min(), y - y.min()
    arcs = [
        (a, b, past and (levels is None or down or height[a] == height[b]), np.hypot(x[b] - x[a], y[b] - y[a]))
        for b, above in enumerate(parents)
        for a in above
        for past in [at is None and column[b] > column[a] + 1]
    ]
    beside = np.abs(np.subtract.outer(x, x)) / 2 if down else np.zeros((len(x), len(x)))
    rise = {  # how far an arc goes out, in inches: past the boxes between its ends, and further for longer ones
        (a, b): max(0.2, 0.6 * (wide if down else high) + 0.08 * (column[b] - column[a]) - beside[a, b])
        + (max(x[a + 1 : b]) - x[a] if down and levels is not None else 0.0)
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
    made = [
        axes.text(x[i], y[i], text, ha="center", va="center", size=9, zorder=3,
                  bbox={"boxstyle": "round", "facecolor": fill[i], "edgecolor": PALETTE[0]})
        for i, text in enumerate(words)
    ]  # fmt: skip
    for a, b, past, distance in arcs:
        bend = 2 * rise[a, b] / distance if past else 0.0
        _arrow(axes, made[a], made[b], bend, (labels or {}).get((a, b), ""))
    return figure


def _arrow(axes: Axes, a: Any, b: Any, bend: float, label: str) -> None:
    """From box to box, as an arc if it bends, with a label in its middle."""
    look = {"arrowstyle": "-|>", "color": PALETTE[1] if bend else GREY, "connectionstyle": f"arc3,rad={-bend}"}
    ends = {"patchA": a.get_bbox_patch(), "patchB": b.get_bbox_patch()}
    start, end = a.get_position(), b.get_position()
    axes.annotate("", end, start, arrowprops={**look, **ends})
    if label:
        white = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none"}
        x, y = np.mean([start, end], 0)
        axes.text(x, y, label, ha="center", va="center", size=8, bbox=white)


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


@drawn
def network(
    widths: Sequence[int], *, labels: Sequence[str] = (), dropped: Sequence[np.ndarray] = (), title: str = "Network"
) -> Figure:
    """The full network, one circle per unit and one line per weight; with masks, the thinned one beside it.

    Wide layers show their first and last units; dropped units are crossed out and lose their lines.

    Args:
        widths: Units of each layer, input and output included.
        labels: Words above the weights of each pair of layers.
        dropped: One mask per hidden layer, True where a unit is dropped.
        title: Title of the figure.
    """
    panels = 2 if len(dropped) else 1
    tall = max(min(width, MAX_UNITS) for width in widths)
    width = max(6.4 / panels, (1.15 + 0.1 * (panels == 1)) * len(widths))
    figure, grid = canvas(panels, width=width, height=1.9 + 0.21 * max(tall, 5))
    none = [np.zeros(width, dtype=bool) for width in widths]
    thin = [none[0], *(np.asarray(mask, dtype=bool) for mask in dropped), none[-1]]
    for axes, masks, name in zip(grid, (none, thin), (title, "Thinned by dropout"), strict=False):
        _draw(axes, widths, masks)
        names = ["input", *(f"hidden {k}" for k in range(1, len(widths) - 1)), "output"]
        ticks = [f"{layer}\n{units:,}" for layer, units in zip(names, widths, strict=True)]
        axes.set(title=name, xlabel="layer, with its number of units", ylabel="units", yticks=[])
        axes.set_xticks(range(len(widths)), ticks)
        axes.set(xlim=(-0.45, len(widths) - 0.55), ylim=(-tall / 2 - 0.3, tall / 2 + 1.6))
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        axes.grid(visible=False)
    for k, label in enumerate(labels):
        grid[0].text(k + 0.5, tall / 2 + 0.1, label, ha="center", va="bottom", size="small", color="0.25")
    return figure


def _draw(axes: Axes, widths: Sequence[int], masks: Sequence[np.ndarray]) -> None:
    shown, height = [], []  # which units of each layer are drawn, and at which height, the first on top
    for width in widths:
        wide = width > MAX_UNITS  # a gap of two in the middle
        shown.append(np.r_[:ENDS, width - ENDS : width] if wide else np.arange(width))
        height.append(np.r_[ENDS:0.0:-1, -1 : -ENDS - 1 : -1.0] if wide else (width - 1) / 2 - np.arange(width))
    kept = [~mask[index] for mask, index in zip(masks, shown, strict=True)]
    lines = [
        line
        for k, ((low, a), (high, b)) in enumerate(pairwise(zip(height, kept, strict=True)))
        for y in low[a]
        for z in high[b]
        for line in ((k, y), (k + 1, z), (np.nan, np.nan))
    ]
    thin = 0.6 if len(lines) < 600 else 0.35
    axes.plot(*np.reshape(lines, (-1, 2)).T, color="0.62", lw=thin, ls="-", zorder=1)  # one path for all
    for k, (y, keep, width) in enumerate(zip(height, kept, widths, strict=True)):
        color = PALETTE[2] if k == 0 else PALETTE[1] if k == len(widths) - 1 else PALETTE[0]
        axes.plot([k] * keep.sum(), y[keep], "o", ms=12, color=color, mec="white", zorder=3)
        axes.plot([k] * (~keep).sum(), y[~keep], "o", ms=12, color="white", mec=GREY, zorder=3)
        axes.plot([k] * (~keep).sum(), y[~keep], "x", ms=9, color="black", mew=1.6, zorder=4)
        if width > MAX_UNITS:
            axes.plot([k] * 3, [-0.3, 0, 0.3], "o", ms=2, color="black", zorder=3)
