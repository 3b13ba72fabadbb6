"""Samples as a grid of pictures or as points, beside the training rows that are nearest to them.

Shapes: N samples; pictures (H, W) or (C, H, W), or D columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import GREY, PALETTE, dress
from ._tiles import mosaic, tiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["sampled", "sampled_points"]

MOST = 64
BELOW: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14), "frameon": False, "fontsize": 8}


def sampled(pictures: Any, neighbours: Any = None, distance: Any = None, usual: Any = None) -> Figure:
    """At most 64 samples line by line; with neighbours, these at the same places, and how far samples are from them.

    Args:
        pictures: Samples (N, ...).
        neighbours: The training rows that are nearest to them (N, ...), or None.
        distance: Their distances (N,).
        usual: Distances of training rows from their nearest other ones.
    """
    from matplotlib.figure import Figure

    some = np.asarray(pictures, dtype=float)[:MOST]
    columns = min(8, len(some))
    lines, flat = -(-len(some) // columns), min(1.0, some.shape[-2] / some.shape[-1])
    near = {} if neighbours is None else {"Nearest training rows": np.asarray(neighbours, dtype=float)[:MOST]}
    wide = 0.8 + 0.42 * columns
    size = (max(3.2, wide * (1 + len(near)) + 3.2 * len(near)), max(3.0, 1.0 + 0.42 * lines * flat))
    figure = Figure(figsize=size, dpi=120, layout="constrained")
    grid = figure.subplots(1, 1 + 2 * len(near), squeeze=False, width_ratios=[wide] + [wide, 3.2] * len(near))[0]
    cut = f", the first {MOST} of {len(pictures)}" if len(pictures) > MOST else ""
    both = np.concatenate([some, *near.values()])
    for axes, (title, shown) in zip(grid, {f"Samples{cut}": some, **near}.items(), strict=False):
        mosaic(axes, tiles(shown), columns, limits=(float(both.min()), float(both.max()) or 1.0))
        axes.set_title(title, size=10)
        axes.set(xlabel="sample, counted from the left", ylabel="first of the line")
    if near:
        _distances(grid[2], np.asarray(distance), np.asarray(usual))
    return figure


def sampled_points(rows: Any, neighbours: Any = None, distance: Any = None, usual: Any = None) -> Figure:
    """The first two columns of samples, and the training rows that are nearest to them; of one column, its order.

    Args:
        rows: Samples (N, D).
        neighbours: The training rows that are nearest to them (N, D), or None.
        distance: Their distances (N,).
        usual: Distances of training rows from their nearest other ones.
    """
    from matplotlib.figure import Figure

    rows, known = np.asarray(rows), neighbours is not None
    figure = Figure(figsize=(8.6 if known else 4.8, 4.0), dpi=120, layout="constrained")
    axes = figure.subplots(1, 1 + known, squeeze=False)[0]
    for k, (label, x) in enumerate({"sample": rows, "nearest training row": neighbours}.items()):
        if x is not None:
            x = np.column_stack([np.arange(len(x)), x]) if np.shape(x)[1] == 1 else np.asarray(x)
            axes[0].scatter(x[:, 0], x[:, 1], s=18, marker="ox"[k], color=PALETTE[k], label=label)
    one = rows.shape[1] == 1
    dress(axes[0], title="Samples", x="sample" if one else "column 1", y="column 1" if one else "column 2")
    if known:
        axes[0].legend(**BELOW)
        _distances(axes[1], np.asarray(distance), np.asarray(usual))
    return figure


def _distances(axes: Axes, distance: np.ndarray, usual: np.ndarray) -> None:
    """Shares of samples and of training rows that lie nearer than this to a training row."""
    for values, colour, style, label in (
        (distance, PALETTE[0], "-", "samples"),
        (usual, GREY, "--", "training rows, to the others"),
    ):
        if len(values):
            x = np.sort(values)
            axes.step([0.0, *x], np.arange(len(x) + 1) / len(x), where="post", color=colour, ls=style, label=label)
    dress(axes, title="Copies?", x="distance to the nearest training row", y="share that is nearer than this")
    axes.set(ylim=(0, 1.45), xlim=(0, None), yticks=np.linspace(0, 1, 6))
    axes.legend(frameon=False, fontsize=8, loc="upper left")
