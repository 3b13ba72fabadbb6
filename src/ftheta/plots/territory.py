"""Territory: the class that wins at each place of a plane, paler where it wins by less."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import GREY, PALETTE, dress, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["territory"]

_MARKERS = "osD^vPX"


def territory(
    x: Any, y: Any, p: Any, rows: Any, code: Any, classes: Sequence[str], *, names: Sequence[str], title: str = ""
) -> Figure:
    """The plane in the colours of the winning classes; solid lines between classes, dotted where the winner has 75 %.

    Args:
        x: Positions across (G,).
        y: Positions up (H,).
        p: Probability of each class (H, G, K).
        rows: Points to show (n, 2).
        code: Their classes 0, 1, ...; -1 where unknown (n,).
        classes: Names of the classes; colours repeat after seven, with other markers.
        names: Labels of both axes, with units.
        title: Title of the figure.
    """
    from matplotlib.colors import to_rgb
    from matplotlib.figure import Figure

    p, code, rows = np.asarray(p, dtype=float), np.asarray(code), np.asarray(rows, dtype=float)
    colours = np.array([to_rgb(PALETTE[k % len(PALETTE)]) for k in range(len(classes))])
    best, top = p.argmax(-1), p.max(-1)
    least = 1 / max(len(classes), 2)
    strength = 0.1 + 0.5 * np.clip((top - least) / (1 - least), 0, 1)  # of the colour over white
    shade = 1 - strength[..., None] * (1 - colours[best])
    figure = Figure(figsize=(6.4, 5.4), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    dress(axes, title=title or "Decision regions", x=short(names[0]), y=short(names[1]))
    axes.grid(visible=False)
    extent = (x[0], x[-1], y[0], y[-1])
    axes.imshow(shade, origin="lower", extent=extent, aspect="auto", interpolation="bilinear")
    for k in np.unique(best)[1:]:
        lead = p[..., k] - np.delete(p, k, axis=-1).max(-1)  # above 0 where k wins
        axes.contour(x, y, lead, levels=[0.0], colors="black", linewidths=1.4)
    if top.min() < 0.75 < top.max():
        axes.contour(x, y, top, levels=[0.75], colors=GREY, linewidths=1.1, linestyles="dotted")
        axes.plot([], [], ls="dotted", color=GREY, label="winner has 75 %")
    for k in [k for k in (*range(len(classes)), -1) if (code == k).any()]:
        style = {
            "marker": _MARKERS[(k + k // len(PALETTE)) % 7] if k >= 0 else ".",
            "color": colours[k] if k >= 0 else "0.3",
        }
        said = short(str(classes[k]), 20) if k >= 0 else "rows"
        axes.scatter(*rows[code == k].T, s=18, edgecolors="white", linewidths=0.5, label=said, **style, zorder=3)
    if axes.get_legend_handles_labels()[1]:
        figure.legend(loc="outside lower center", ncols=4, frameon=False)
    return figure
