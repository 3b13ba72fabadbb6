"""A forward and a backward pass as a picture: the network of one row with its numbers on it.

Circles are units: pre-activation z, activation a and δ = ∂ℓ/∂z. A line is a weight w with its gradient ∂ℓ/∂w = δ h
under it; lines from a circle with a 1 are biases. Nets that are too large are boxes with shapes and norms.
Shapes: layers of D_k units; weights and gradients (D_{k+1}, D_k), or (D_{k+1}, 1 + D_k) with the bias first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ._style import GREY, PALETTE, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["backprop", "backprop_boxes"]

_APART, _DOWN, _RADIUS = 3.1, 1.35, 0.46  # layers, units, a circle: inches
_LONG = 60  # steps that are drawn
_LABELS = 20  # lines between two layers that carry numbers
Place = tuple[float, float]


def backprop(
    *,
    names: Sequence[str],
    nodes: Sequence[Sequence[Sequence[str]]],
    weights: Sequence[np.ndarray],
    gradients: Sequence[np.ndarray],
    title: str = "Back-propagation",
) -> Figure:
    """A dense network with the numbers of one row: in its circles, and on its lines.

    Args:
        names: Of each layer, the input first.
        nodes: Lines of text for each unit of each layer.
        weights: Of each pair of layers, the bias first where there is one.
        gradients: Their gradients.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    if not len(names) == len(nodes) == len(weights) + 1 == len(gradients) + 1:
        raise InputError(
            f"backprop got {len(names)} names, {len(nodes)} layers and {len(weights)} matrices of weights."
        )
    biased = [w.shape[1] == len(layer) + 1 for w, layer in zip(weights, nodes, strict=False)] + [False]
    tall = max(len(layer) + has for layer, has in zip(nodes, biased, strict=True))
    width, height = _APART * (len(names) - 1) + 1.6, _DOWN * tall + 0.8
    figure = Figure(figsize=(width, height), dpi=120)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(-0.8, width - 0.8), ylim=(-0.75, height - 0.75))
    axes.set(xlabel="layer", ylabel="unit")
    more = "; weights of wide layers: see the tables" if max(w.size for w in weights) > _LABELS else ""
    axes.set_title(f"{title}\nblack: values and weights, orange: derivatives{more}", y=1.0, pad=-32, fontsize=11)
    axes.set_axis_off()
    places = [_places(k, len(layer) + has, tall) for k, (layer, has) in enumerate(zip(nodes, biased, strict=True))]
    for k, (w, g) in enumerate(zip(weights, gradients, strict=True)):
        _lines(axes, places[k], places[k + 1][biased[k + 1] :], w, g)
    for k, (layer, at, name) in enumerate(zip(nodes, places, names, strict=True)):
        for lines, place in zip([["1"], *layer] if biased[k] else layer, at, strict=True):
            _circle(axes, place, lines, _colour(k, len(nodes)))
        axes.text(at[0][0], -0.6, short(name, 28), ha="center", va="bottom", fontsize=9, color="0.25")
    return figure


def _colour(k: int, n: int) -> str:
    return PALETTE[2] if k == 0 else PALETTE[3] if k == n - 1 else PALETTE[0]


def _places(k: int, n: int, tall: int) -> list[Place]:
    """Centres of a layer's circles, the first on top."""
    return [(k * _APART, (tall - 1) / 2 * _DOWN + ((n - 1) / 2 - i) * _DOWN + 0.3) for i in range(n)]


def _circle(axes: Axes, place: Place, lines: Sequence[str], colour: str) -> None:
    from matplotlib.patches import Circle

    constant = len(lines) == 1
    axes.add_patch(
        Circle(place, 0.2 if constant else _RADIUS, facecolor="white", edgecolor=colour, linewidth=1.6, zorder=3)
    )
    for i, line in enumerate(lines):
        y = place[1] + 0.19 * ((len(lines) - 1) / 2 - i)
        ink = PALETTE[1] if line.startswith("δ") else "black"
        axes.text(place[0], y, line, ha="center", va="center", fontsize=8, zorder=4, color=ink)


def _lines(axes: Axes, left: Sequence[Place], right: Sequence[Place], w: np.ndarray, g: np.ndarray) -> None:
    """A line for each weight; its numbers stand where they are farthest from those of the others."""
    taken: list[Place] = []
    for i, end in enumerate(right):
        for j, begin in enumerate(left):
            axes.plot([begin[0], end[0]], [begin[1], end[1]], color="0.75", linewidth=0.9, zorder=1)
            if w.size > _LABELS:
                continue
            step = end[0] - begin[0], end[1] - begin[1]
            spots = [(begin[0] + t * step[0], begin[1] + t * step[1]) for t in np.linspace(0.24, 0.76, 27)]
            best = max(spots, key=lambda s: min((_far(s, other) for other in taken), default=0.0))
            taken.append(best)
            _pair(axes, best, w[i, j], g[i, j])


def _far(a: Place, b: Place) -> float:
    """Distance in widths and heights of a label."""
    return max(abs(a[0] - b[0]) / 0.62, abs(a[1] - b[1]) / 0.34)


def _pair(axes: Axes, place: Place, w: float, g: float) -> None:
    look = {"boxstyle": "square,pad=0.08", "facecolor": "white", "edgecolor": "none", "alpha": 0.9}
    x, y = place
    axes.text(x, y + 0.075, f"{w:.4g}", ha="center", va="center", fontsize=7.5, zorder=2.2, bbox=look)
    axes.text(x, y - 0.075, f"{g:.4g}", ha="center", va="center", fontsize=7.5, zorder=2.2, bbox=look, color=PALETTE[1])


def backprop_boxes(
    *,
    names: Sequence[str],
    shapes: Sequence[Sequence[int]],
    norms: Sequence[tuple[float, float]],
    boxes: Sequence[bool],
    edges: Sequence[tuple[int, int]],
    title: str = "Back-propagation",
) -> Figure:
    """Steps from top to bottom with what they give, its norm, and the norm of δ; ways past other steps as arcs.

    Args:
        names: Of each step.
        shapes: What each gives, without the rows.
        norms: Of the value and of δ.
        boxes: Whether a step is a box whose VJP is automatic.
        edges: (from, to), by position.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    n = min(len(names), _LONG)
    height = 0.42 * n + 1.5
    figure = Figure(figsize=(8.2, height), dpi=120)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, 8.2), ylim=(-0.42 * n - 0.5, 1.0))
    cut = "" if n == len(names) else f"\nthe first {n} of {len(names)} steps"
    axes.set(xlabel="norms", ylabel="step")
    axes.set_title(f"{title}{cut}", y=1.0, pad=-30, fontsize=10, wrap=True)
    axes.set_axis_off()
    for x, word, colour in ((4.55, "gives", "black"), (5.9, "‖value‖", "black"), (7.1, "‖δ‖", PALETTE[1])):
        axes.text(x, 0.05, word, fontsize=9, color=colour, ha="center", weight="bold")
    for i in range(n):
        _box(axes, -0.42 * (i + 1), names[i], shapes[i], norms[i], boxes[i])
    lanes = _lanes([(a, b) for a, b in edges if b < n])
    for (a, b), lane in lanes.items():
        _arrow(axes, a, b, lane)
    return figure


def _box(axes: Axes, y: float, name: str, shape: Sequence[int], norms: tuple[float, float], boxed: bool) -> None:
    from matplotlib.patches import Rectangle

    face = "#F3E3D3" if boxed else "#DCEAF4"
    axes.add_patch(Rectangle((1.2, y - 0.14), 2.6, 0.28, facecolor=face, edgecolor=PALETTE[0], zorder=3))
    axes.text(2.5, y, short(name, 32) + " (box)" * boxed, ha="center", va="center", fontsize=8, zorder=4)
    axes.text(4.55, y, " × ".join(map(str, shape)) or "1", ha="center", va="center", fontsize=8)
    axes.text(5.9, y, f"{norms[0]:.3g}", ha="center", va="center", fontsize=8)
    axes.text(7.1, y, f"{norms[1]:.3g}", ha="center", va="center", fontsize=8, color=PALETTE[1])


def _lanes(edges: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """0 for the way to the next step; ways past others get a lane that no other one beside them has."""
    found = {(a, b): 0 for a, b in edges if b == a + 1}
    for a, b in sorted((edge for edge in edges if edge not in found), key=lambda edge: edge[1] - edge[0]):
        used = {lane for (c, d), lane in found.items() if lane and c <= b and a <= d}
        found[a, b] = next(lane for lane in range(1, len(edges) + 2) if lane not in used)
    return found


def _arrow(axes: Axes, a: int, b: int, lane: int) -> None:
    """Down to the next step, or around others."""
    look = {"arrowstyle": "-|>", "color": GREY, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0}
    start, end = -0.42 * (a + 1), -0.42 * (b + 1)
    if not lane:
        axes.annotate("", (2.5, end + 0.14), (2.5, start - 0.14), arrowprops=look)
        return
    x = max(1.2 - 0.16 * lane, 0.05)
    axes.plot([1.2, x, x], [start - 0.05, start - 0.05, end + 0.05], color=PALETTE[1], linewidth=1.0)
    axes.annotate("", (1.2, end + 0.05), (x, end + 0.05), arrowprops=look | {"color": PALETTE[1]})
