"""Updates of rules that were given the same gradients: what went in, what came out, and their ratio."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import PALETTE, dress, wide_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["updates"]

_MOST = 4  # parameters that are drawn
_STYLES = ("-", "--", ":", "-.")


def updates(gradients: Any, moves: Mapping[str, Any], effective: Mapping[str, Any]) -> Figure:
    """Three columns against the step: gradient, update of each rule, effective rate (update over gradient, signed so
    that descent is positive); one row a parameter, the first four of them.

    Args:
        gradients: What the rules were given: (T, D).
        moves: Rule to its updates: (T, D).
        effective: Rule to its effective rates: (T, D).
    """
    from matplotlib.figure import Figure

    gradients = np.asarray(gradients, dtype=float)
    shown = min(gradients.shape[1], _MOST)
    figure = Figure(figsize=(11.4, 1.0 + 2.5 * shown), dpi=120, layout="constrained")
    grid = figure.subplots(shown, 3, squeeze=False, sharex=True)
    titles = ("gradient g", "update Δθ", "effective rate -Δθ / g")
    for d, row in enumerate(grid):
        of = f" of θ{'₁₂₃₄'[d]}" if gradients.shape[1] > 1 else ""
        _lines(row[0], {"given": gradients[:, d]}, color="black")
        _lines(row[1], {name: np.asarray(v)[:, d] for name, v in moves.items()})
        _lines(row[2], {name: np.asarray(v)[:, d] for name, v in effective.items()})
        for axes, title in zip(row, titles, strict=True):
            dress(axes, title="", x="step" if d == shown - 1 else "", y=title + of)
    hidden = gradients.shape[1] - shown
    figure.suptitle("What rules make of the same gradients" + (f" (first {shown} parameters)" if hidden else ""))
    handles, names = grid[0, 1].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), 6), frameon=False)
    return figure


def _lines(axes: Axes, lines: Mapping[str, np.ndarray], color: str = "") -> None:
    from matplotlib.ticker import MaxNLocator

    for i, (name, values) in enumerate(lines.items()):
        marker = "o" if len(values) <= 30 else ""
        style = {"color": color or PALETTE[i % len(PALETTE)], "ls": _STYLES[i % 4], "marker": marker, "ms": 4}
        axes.plot(np.arange(1, len(values) + 1), values, lw=1.5, label=name, **style)
    every = np.concatenate(list(lines.values()))
    if wide_range(every) and (every[np.isfinite(every)] > 0).all():
        axes.set_yscale("log")
    elif (every[np.isfinite(every)] < 0).any():
        axes.axhline(0, color="0.6", lw=0.8, zorder=1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
