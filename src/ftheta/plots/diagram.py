"""A net as boxes and arrows: from left to right as it runs, a level down for each halving of the map.

A map is a bar whose height falls with its level, so a U-Net is a U; an arrow past other boxes is a skip.
Shapes: N boxes, the shape of what each gives with channels first.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from ._style import GREY, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["diagram"]

_JOINS = {"+": "+", "-": "-", "×": "×", "/": "/", "concat": "‖"}
_WIDE, _TALL, _APART, _DOWN = 1.15, 0.82, 0.35, 1.5  # a box, the gap to the next, from a level to the next: inches
_JOIN = 0.2  # radius of the circle of a join
Place = tuple[float, float]
Edge = tuple[int, int]


def diagram(
    *,
    names: Sequence[str],
    shapes: Sequence[Sequence[int]],
    levels: Sequence[int],
    edges: Sequence[Edge],
    title: str = "Network",
) -> Figure:
    """Boxes with what they do and what they give, joins as circles, skips in another colour.

    Args:
        names: What each box does; `+`, `×` and `concat` are joins.
        shapes: What each gives, channels first.
        levels: How far down each stands.
        edges: (from, to), by position.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    places = [(i * (_WIDE + _APART), -level * _DOWN) for i, level in enumerate(levels)]
    ranks = _ranks(levels, edges)
    low, high = -max(levels) * _DOWN - _TALL, -min(levels) * _DOWN + _TALL + 0.5
    high += 0.22 * max((rank + 1 for rank in ranks.values()), default=0)
    width = max(places[-1][0] + _WIDE + 0.4, 5.0)
    figure = Figure(figsize=(width, high - low), dpi=120)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(-_WIDE / 2 - 0.2, width - _WIDE / 2 - 0.2), ylim=(low, high))
    axes.set(xlabel="order of the pass", ylabel="halvings of the map")
    axes.set_title(title, y=1.0, pad=-16, fontsize=11)
    axes.set_axis_off()
    halves = [_box(axes, *box) for box in zip(names, shapes, places, strict=True)]  # of the widths
    for a, b in edges:
        ends = (places[a][0] + halves[a], places[a][1]), (places[b][0] - halves[b], places[b][1])
        if (a, b) in ranks:
            top = max(y for _, y in places[a : b + 1]) + _TALL / 2 + 0.2 + 0.22 * ranks[a, b]
            _around(axes, places[a], places[b], [_JOIN if names[i] in _JOINS else _TALL / 2 for i in (a, b)], top)
        else:
            _arrow(axes, *ends, PALETTE[1] if b > a + 1 else GREY)
    return figure


def _ranks(levels: Sequence[int], edges: Sequence[Edge]) -> dict[Edge, int]:
    """Skips that must go around boxes, each with a height that no other one that it passes has."""
    found: dict[Edge, int] = {}
    around = [(a, b) for a, b in edges if b > a + 1 and min(levels[a + 1 : b]) <= max(levels[a], levels[b])]
    for a, b in sorted(around, key=lambda edge: edge[1] - edge[0]):
        used = {rank for (c, d), rank in found.items() if c < b and a < d}
        found[a, b] = next(rank for rank in range(len(around)) if rank not in used)
    return found


def _box(axes: Axes, name: str, shape: Sequence[int], place: Place) -> float:
    """A box or a circle with its words; half of its width."""
    from matplotlib.patches import Circle, FancyBboxPatch

    x, y = place
    gives = " × ".join(map(str, shape))
    if name in _JOINS:
        axes.add_patch(Circle(place, _JOIN, facecolor="white", edgecolor=PALETTE[1], linewidth=1.5, zorder=3))
        axes.text(x, y - 0.01, _JOINS[name], ha="center", va="center", fontsize=12, zorder=4)
        axes.text(
            x, y - _JOIN - 0.06, f"{name}\n{gives}" if name == "concat" else gives, ha="center", va="top", fontsize=7
        )
        return _JOIN
    corner, style = (x - _WIDE / 2, y - _TALL / 2), "round,pad=0,rounding_size=0.08"
    colour = "white" if name == "input" else "#DCEAF4"
    axes.add_patch(
        FancyBboxPatch(corner, _WIDE, _TALL, boxstyle=style, facecolor=colour, edgecolor=PALETTE[0], zorder=3)
    )
    words = "\n".join([line for part in name.split(", ") for line in wrap(part, 18)][:4])
    axes.text(x, y + 0.1, words, ha="center", va="center", fontsize=7.5, zorder=4)
    axes.text(x, y - _TALL / 2 + 0.05, gives, ha="center", va="bottom", fontsize=7.5, weight="bold", zorder=4)
    return _WIDE / 2


def _arrow(axes: Axes, start: Place, end: Place, colour: str) -> None:
    look = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.5, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", end, start, arrowprops=look)


def _around(axes: Axes, start: Place, end: Place, tall: Sequence[float], height: float) -> None:
    """Up from the top of one box, across at a height, and down onto another."""
    right, left = start[0] + 0.06, end[0] - 0.06  # beside what may come in or go out there
    axes.plot([right, right, left], [start[1] + tall[0], height, height], color=PALETTE[1], linewidth=1.5)
    _arrow(axes, (left, height), (left, end[1] + tall[1]), PALETTE[1])
