"""Where descents end: every start on the map of a loss, coloured by its end, and the stationary points.

Shapes: S starts (S, 2); a class each (S,).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import PALETTE, dress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["basins"]

_SIGNS = ("*", "X", "^")


def basins(
    grid: Sequence[Any],
    starts: Any,
    ends: Mapping[str, Any],
    names: Sequence[str],
    marks: Mapping[str, Any],
    *,
    labels: tuple[str, str],
    title: str = "",
) -> Figure:
    """One panel a descent: contour lines, a dot at each start in the colour of its end, signs at stationary points.

    Args:
        grid: Positions (G,), positions (H,) and values (H, G).
        starts: Points (S, 2).
        ends: Title of a panel to the class of the end of each start: (S,).
        names: Names of the classes 0, 1, ...
        marks: Kind to points (M, 2), drawn as star, cross and triangle.
        labels: Labels of both axes.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.0 + 4.4 * len(ends), 5.4), dpi=120, layout="constrained")
    places = figure.subplots(1, len(ends), squeeze=False, sharey=True)[0]
    starts, drawn = np.asarray(starts), []
    for axes, (name, code) in zip(places, ends.items(), strict=True):
        drawn.append(axes.contourf(*grid, levels=14, cmap="Greys", alpha=0.6))
        for k, end in enumerate(names):
            axes.scatter(*starts[np.asarray(code) == k].T, s=16, color=PALETTE[k], marker="os^D"[k], lw=0, label=end)
        for sign, (kind, at) in zip(_SIGNS, marks.items(), strict=True):
            axes.plot(*np.asarray(at).T, ls="", marker=sign, ms=11, color="white", mec="black", label=kind)
        dress(axes, title=name, x=labels[0], y=labels[1] if axes is places[0] else "")
        axes.grid(visible=False)
    figure.colorbar(drawn[0], ax=places.tolist(), label="loss", shrink=0.8)
    figure.legend(*places[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    figure.suptitle(title)
    return figure
