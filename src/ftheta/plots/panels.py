"""Panels side by side: the same named lines in each, one legend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ._style import PALETTE, dress, short, wide_range

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["panels"]

STYLES = ("-", "--", ":", "-.")


def panels(
    lines: Mapping[str, Mapping[str, tuple[Any, Any]]],
    *,
    x: str,
    label: str,
    log_x: bool = False,
    log: bool | None = None,
    share: bool = True,
) -> Figure:
    """One panel per group, from left to right; a name has the same color and style in every panel.

    Args:
        lines: Title of a panel to its lines: name to positions (E,) and values (E,). NaN are gaps.
        x: Label of the positions, with their unit.
        label: Label of the values, with their unit.
        log_x: Positions on a log scale.
        log: Values on a log scale; None decides: where all are at least 0 and span more than two decades.
        share: One range of values for all panels.
    """
    from matplotlib.figure import Figure

    if not lines or not all(lines.values()):
        raise InputError(f"panels needs at least one line in each panel, got {list(lines)}. Leave empty panels out.")
    names = list(dict.fromkeys(name for panel in lines.values() for name in panel))
    values = np.concatenate([np.ravel(y).astype(float) for panel in lines.values() for _, y in panel.values()])
    log = wide_range(values) if log is None else log
    figure = Figure(figsize=(max(6.4, 3.6 * len(lines)), 3.9), dpi=120, layout="constrained")
    grid = figure.subplots(1, len(lines), sharey=share, squeeze=False)[0]
    for axes, (title, panel) in zip(grid, lines.items(), strict=True):
        dress(axes, title=title, x=x + (" (log scale)" if log_x else ""), y="")
        for name, (at, y) in panel.items():
            i = names.index(name)
            marker = "o" if np.size(y) <= 12 else ""
            look = {"color": PALETTE[i % len(PALETTE)], "marker": marker, "ms": 4, "lw": 1.6}
            axes.plot(at, y, STYLES[i % 4], label=short(name), **look)
        axes.set(xscale="log" if log_x else "linear", yscale="log" if log else "linear")
    grid[0].set_ylabel(label + (" (log scale)" if log else ""))
    _legend(figure, grid)
    return figure


def _legend(figure: Figure, grid: Any) -> None:
    """Every name once, above the panels."""
    found = {label: handle for axes in grid for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    columns = max(1, int(12 * figure.get_figwidth() / (max(map(len, found)) + 7)))
    figure.legend(found.values(), found, loc="outside upper center", ncols=min(columns, len(found)), frameon=False)
