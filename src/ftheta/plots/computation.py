"""A computation graph as boxes and arrows: values go to the right, adjoints come back to the left.

    v_j = f_j(its parents),      v̄_i = Σ_j v̄_j ∂v_j/∂v_i

A box is a node with value and adjoint; an arrow carries the value on and the child's part of the adjoint back.
A box stands right of all its parents, an input just left of its first use; heights are the means of the neighbours'.
Shapes: N nodes, each with the numbers of its parents, which come before it.
Reference: Sugiyama, Tagawa and Toda, Visual Understanding of Hierarchical System Structures (1981).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ._said import said
from ._style import GREY, PALETTE, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["computation"]

MOST = 60  # nodes
_SMALL, _LABELLED = 12, 24  # arrows that all carry numbers; arrows with numbers at most
_FORWARD, _BACK = PALETTE[0], PALETTE[1]
_TALL, _THIN, _APART = 0.62, 0.2, 0.26  # a box, a passing arrow, the gap between two in a column: inches
_LETTER, _LINE = 0.068, 0.17  # of the small type: inches
Place = tuple[float, float]
Numbers = Sequence[np.ndarray | float]


def computation(
    *,
    names: Sequence[str],
    parents: Sequence[Sequence[int]],
    values: Numbers,
    adjoints: Numbers,
    parts: Sequence[Numbers] = (),
    title: str = "Computation graph",
) -> Figure:
    """Boxes with name, value (blue) and adjoint (orange), arrows from parents to children; a large array by its norm.

    Args:
        names: What each node is.
        parents: Numbers of the nodes that each is computed from.
        values: Of each node.
        adjoints: Derivative of the last node for each.
        parts: What each node sends back to each of its parents. Up to 12 arrows show values and parts; of more, those
            do that leave a node of several uses: any other carries the numbers of the box that it leaves.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    if not 0 < len(names) <= MOST:
        raise InputError(
            f"computation got {len(names):,} nodes, and 1 to {MOST} can be read in a picture; use text or table."
        )
    labels = _labels(parents, values, parts)
    words = [
        (short(name, 28), f"{said(v)} →", f"← {said(a)}") for name, v, a in zip(names, values, adjoints, strict=True)
    ]
    columns, routes = _columns(parents)
    places, wide = _places(columns, routes, words, labels, len(names))
    figure, axes = _canvas(Figure, places, wide, title)
    for node, word in enumerate(words):
        _box(axes, word, places[node], wide[node], node == len(names) - 1)
    lines = {ends: _line(route, places, wide) for ends, route in routes.items()}
    taken = [_rectangle(places[node], wide[node], _TALL) for node in range(len(names))]
    for ends, line in lines.items():
        _arrow(axes, line)
        if ends in labels:
            _label(axes, labels[ends], line, taken)
    return figure


def _labels(
    parents: Sequence[Sequence[int]], values: Numbers, parts: Sequence[Numbers]
) -> dict[tuple[int, int], tuple[str, str]]:
    """What an arrow says: each one in a small graph, else those that do not say the same as the box that they leave."""
    ends = [(p, c) for c, above in enumerate(parents) for p in above]
    uses = Counter(p for p, _ in ends)
    shown = [(p, c) for p, c in ends if len(ends) <= _SMALL or uses[p] > 1]
    sent = {(p, c): part for c, row in enumerate(parts) for p, part in zip(parents[c], row, strict=True)}
    labels = {end: (f"{said(values[end[0]])} →", f"← {said(sent[end])}") for end in shown if end in sent}
    return labels if len(labels) <= _LABELLED else {}


def _columns(parents: Sequence[Sequence[int]]) -> tuple[list[list[int]], dict[tuple[int, int], list[int]]]:
    """Nodes by column from top to bottom, and the way of each arrow; numbers from N on are places it passes by."""
    n = len(parents)
    column = [0] * n
    for node, above in enumerate(parents):
        column[node] = 1 + max((column[p] for p in above), default=-1)
    children = [[c for c in range(n) if node in parents[c]] for node in range(n)]
    column = [
        min(column[c] for c in children[i]) - 1 if children[i] and not parents[i] else column[i] for i in range(n)
    ]
    columns = [[i for i in range(n) if column[i] == k] for k in range(max(column) + 1)]
    routes: dict[tuple[int, int], list[int]] = {}
    for c, above in enumerate(parents):
        for p in dict.fromkeys(above):
            routes[p, c] = [p, *range(n, n + column[c] - column[p] - 1), c]
            for k in range(column[p] + 1, column[c]):
                columns[k].append(n)
                n += 1
    return columns, routes


def _places(
    columns: list[list[int]],
    routes: dict[tuple[int, int], list[int]],
    words: Sequence[tuple[str, ...]],
    labels: dict[tuple[int, int], tuple[str, str]],
    n: int,
) -> tuple[dict[int, Place], dict[int, float]]:
    """Centre and width of each box; a place that an arrow passes by has the width of its column."""
    beside: dict[int, list[int]] = {node: [] for column in columns for node in column}
    for route in routes.values():
        for a, b in pairwise(route):
            beside[a].append(b)
            beside[b].append(a)
    height = _heights(columns, beside, n)
    places, wide, left = {}, {}, 0.0
    for column in columns:
        width = max(max(1.2 * len(words[i][0]), *map(len, words[i])) + 2 for i in column if i < n) * _LETTER
        for node in column:
            places[node], wide[node] = (left + width / 2, height[node]), width
        leaving = [len(max(label, key=len)) for (parent, _), label in labels.items() if parent in column]
        left += width + max(leaving, default=2) * _LETTER + 0.42
    return places, wide


def _heights(columns: list[list[int]], beside: dict[int, list[int]], n: int, sweeps: int = 12) -> dict[int, float]:
    """Each near the mean of its neighbours, in an order that follows them, and clear of the next in its column."""
    tall = {node: _TALL if node < n else _THIN for node in beside}
    height = {node: float(i) - len(column) / 2 for column in columns for i, node in enumerate(column)}
    for sweep in range(sweeps):
        for column in columns if sweep % 2 == 0 else columns[::-1]:
            wanted = {node: np.mean([height[b] for b in beside[node]] or [height[node]]) for node in column}
            if sweep < sweeps // 2:
                column.sort(key=wanted.__getitem__)
            gaps = [(tall[a] + tall[b]) / 2 + _APART for a, b in pairwise(column)]
            height.update(zip(column, _clear(np.array([wanted[node] for node in column]), gaps), strict=True))
    return height


def _clear(wanted: np.ndarray, gaps: Sequence[float]) -> np.ndarray:
    """The nearest heights in the same order with these gaps: isotonic regression of what the gaps leave."""
    offset = np.concatenate([[0.0], np.cumsum(gaps)])
    blocks: list[list[float]] = []
    for w in wanted - offset:
        blocks.append([w])
        while len(blocks) > 1 and np.mean(blocks[-2]) >= np.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return np.concatenate([np.full(len(block), np.mean(block)) for block in blocks]) + offset


def _canvas(make: type[Figure], places: dict[int, Place], wide: dict[int, float], title: str) -> tuple[Figure, Axes]:
    """Axes in inches, from top to bottom, with a key to the colours."""
    right = max(max(x + wide[node] / 2 for node, (x, _) in places.items()), 5.0)
    low, high = min(y for _, y in places.values()) - _TALL, max(y for _, y in places.values()) + _TALL
    figure = make(figsize=(right + 0.4, high - low + 0.35), dpi=120)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(-0.2, right + 0.2), ylim=(high + 0.15, low - 0.2))
    axes.set(xlabel="order of the computation", ylabel="nodes")
    axes.set_axis_off()
    axes.set_title(title, y=1.0, pad=-16, fontsize=11)
    for x, ha, key, colour in [(-0.1, "left", "value →", _FORWARD), (right + 0.1, "right", "← adjoint", _BACK)]:
        axes.text(x, high + 0.1, key, ha=ha, va="bottom", fontsize=9, color=colour, weight="bold")
    return figure, axes


def _box(axes: Axes, words: tuple[str, str, str], place: Place, wide: float, last: bool) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y = place
    style = "round,pad=0,rounding_size=0.06"
    look = {"facecolor": "#DCEAF4" if last else "white", "edgecolor": "black", "linewidth": 1.6 if last else 0.9}
    axes.add_patch(FancyBboxPatch((x - wide / 2, y - _TALL / 2), wide, _TALL, boxstyle=style, zorder=3, **look))
    for word, shift, colour in zip(words, (-0.19, 0.01, 0.2), ("black", _FORWARD, _BACK), strict=True):
        weight = "bold" if colour == "black" else "normal"
        axes.text(x, y + shift, word, ha="center", va="center", fontsize=8, color=colour, weight=weight, zorder=4)


def _line(route: Sequence[int], places: dict[int, Place], wide: dict[int, float]) -> np.ndarray:
    """Corners of an arrow from the right of a box to the left of another, level through the columns that it passes."""
    first, *between, last = route
    corners = [(places[first][0] + wide[first] / 2, places[first][1])]
    for node in between:
        x, y = places[node]
        corners += [(x - wide[node] / 2, y), (x + wide[node] / 2, y)]
    return np.array([*corners, (places[last][0] - wide[last] / 2, places[last][1])])


def _arrow(axes: Axes, line: np.ndarray) -> None:
    axes.plot(*line[:-1].T, color=GREY, linewidth=1.1, zorder=1)
    look = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", tuple(line[-1]), tuple(line[-2]), arrowprops=look, zorder=1)


def _rectangle(place: Place, wide: float, tall: float) -> np.ndarray:
    """Left, upper, right and lower side."""
    x, y = place
    return np.array([x - wide / 2, y - tall / 2, x + wide / 2, y + tall / 2])


def _spots(line: np.ndarray) -> Iterator[Place]:
    """Where a label of an arrow may stand: on its first leg before the others, near its middle before its ends."""
    for a, b in pairwise(line):
        for t in (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74):
            yield tuple(a + t * (b - a))


def _label(axes: Axes, words: tuple[str, str], line: np.ndarray, taken: list[np.ndarray]) -> None:
    """The two numbers of an arrow at the first spot that is free; none where there is none."""
    size = len(max(words, key=len)) * _LETTER, 2 * _LINE
    for place in _spots(line):
        new = _rectangle(place, *size)
        if all((new[:2] >= old[2:]).any() or (new[2:] <= old[:2]).any() for old in taken):
            taken.append(new)
            for word, shift, colour in zip(words, (-_LINE / 2, _LINE / 2), (_FORWARD, _BACK), strict=True):
                back = {"facecolor": "white", "edgecolor": "none", "pad": 0.4}
                spot = {"ha": "center", "va": "center", "fontsize": 7, "zorder": 2}
                axes.text(place[0], place[1] + shift, word, color=colour, bbox=back, **spot)
            return
