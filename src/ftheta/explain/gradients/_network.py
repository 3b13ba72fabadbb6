"""A dense network drawn with the numbers of one row.

Circles are units: pre-activation z, activation a and δ = ∂ℓ/∂z. A line is a weight w with its gradient ∂ℓ/∂w = δ h
under it; lines from a circle with a 1 are biases.
Shapes: layers of D_k units; weights and gradients (D_{k+1}, D_k), or (D_{k+1}, 1 + D_k) with the bias first.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...plots import PALETTE, Figure, drawn, short
from ._passes import BackpropStep
from ._sheet import label_of
from ._words import ELEMENTWISE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

APART, DOWN, RADIUS = 3.1, 1.35, 0.46  # layers, units, a circle: inches
MAX_UNITS, MAX_LAYERS = 5, 4  # units of a layer, dense layers that are drawn with their numbers
MAX_LABELS = 20  # lines between two layers that carry numbers
Place = tuple[float, float]


def columns_of(found: Any, row: int) -> dict[str, Any] | None:
    """What is drawn of a small dense chain: a column for the input and for each dense layer with its activation."""
    steps = found.steps
    if any(step.sources != ((i - 1,) if i else ()) or step.value.ndim != 2 for i, step in enumerate(steps)):
        return None
    plain = all(step.kind in {"input", "Linear"} or step.kind in ELEMENTWISE for step in steps)
    layers = [i for i, step in enumerate(steps) if step.kind == "Linear"]
    owners = [_owner(found, steps[i].name) for i in layers]
    wide = max(step.value.shape[1] for step in steps)
    if not (plain and layers and layers[0] == 1 and wide <= MAX_UNITS and len(layers) <= MAX_LAYERS) or None in owners:
        return None
    nodes = [_node(steps[:1], row), *(_node(steps[a:b], row) for a, b in pairwise([*layers, len(steps)]))]
    lines = []
    for owner in owners:
        weight, bias = f"{owner}weight", f"{owner}bias"
        names = [bias, weight] if bias in found.parameters else [weight]
        lines.append([np.column_stack([v[n] for n in names]) for v in (found.parameters, _of(found.gradients, row))])
    return {
        "names": ["input", *(label_of(steps[i]) for i in layers)],
        "nodes": nodes,
        "weights": [w for w, _ in lines],
        "gradients": [g for _, g in lines],
    }


def _of(gradients: dict[str, np.ndarray], row: int) -> dict[str, np.ndarray]:
    return {name: g[row] for name, g in gradients.items()}


def _owner(found: Any, name: str) -> str | None:
    """What the names of a dense layer's parameters start with."""
    return next((start for start in (f"{name}.", "") if f"{start}weight" in found.parameters), None)


def _node(steps: Sequence[BackpropStep], row: int) -> list[list[str]]:
    """Lines of each unit: what goes in, what comes out, and δ of what goes in."""
    first, last, name = steps[0], steps[-1], "x" if steps[0].kind == "input" else "z"
    values = [(name, first.value[row])] + [("a", last.value[row])] * (last is not first) + [("δ", first.delta[row])]
    return [[f"{key} = {v[u]:.4g}" for key, v in values] for u in range(first.value.shape[1])]


@drawn
def network_with_numbers(
    *,
    names: Sequence[str],
    nodes: Sequence[Sequence[Sequence[str]]],
    weights: Sequence[np.ndarray],
    gradients: Sequence[np.ndarray],
    title: str,
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

    biased = [w.shape[1] == len(layer) + 1 for w, layer in zip(weights, nodes, strict=False)] + [False]
    tall = max(len(layer) + has for layer, has in zip(nodes, biased, strict=True))
    width, height = APART * (len(names) - 1) + 1.6, DOWN * tall + 0.8
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(-0.8, width - 0.8), ylim=(-0.75, height - 0.75))
    axes.set(xlabel="layer", ylabel="unit")
    more = "; weights of wide layers: see the tables" if max(w.size for w in weights) > MAX_LABELS else ""
    axes.set_title(f"{title}\nblack: values and weights, orange: derivatives{more}", y=1.0, pad=-32, fontsize=11)
    axes.set_axis_off()
    places = [_places(k, len(layer) + has, tall) for k, (layer, has) in enumerate(zip(nodes, biased, strict=True))]
    for k, (w, g) in enumerate(zip(weights, gradients, strict=True)):
        _lines(axes, places[k], places[k + 1][biased[k + 1] :], w, g)
    for k, (layer, at, name) in enumerate(zip(nodes, places, names, strict=True)):
        for lines, place in zip([["1"], *layer] if biased[k] else layer, at, strict=True):
            _circle(axes, place, lines, _color(k, len(nodes)))
        axes.text(at[0][0], -0.6, short(name, 28), ha="center", va="bottom", fontsize=9, color="0.25")
    return figure


def _color(k: int, n: int) -> str:
    return PALETTE[2] if k == 0 else PALETTE[3] if k == n - 1 else PALETTE[0]


def _places(k: int, n: int, tall: int) -> list[Place]:
    """Centers of a layer's circles, the first on top."""
    return [(k * APART, (tall - 1) / 2 * DOWN + ((n - 1) / 2 - i) * DOWN + 0.3) for i in range(n)]


def _circle(axes: Axes, place: Place, lines: Sequence[str], color: str) -> None:
    from matplotlib.patches import Circle

    constant = len(lines) == 1
    axes.add_patch(
        Circle(place, 0.2 if constant else RADIUS, facecolor="white", edgecolor=color, linewidth=1.6, zorder=3)
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
            axes.plot([begin[0], end[0]], [begin[1], end[1]], color="0.75", ls="-", linewidth=0.9, zorder=1)
            if w.size > MAX_LABELS:
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
