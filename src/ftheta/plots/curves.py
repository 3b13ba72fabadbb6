"""Learning curves: loss against epoch, with the epoch that was kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ._style import GREY, PALETTE, legend, panel, short, wide_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["curves"]


def curves(
    columns: Mapping[str, Sequence[float]],
    best: int | None = None,
    *,
    x: str = "epoch",
    label: str = "mean loss per row",
    title: str = "Learning curves",
) -> Figure:
    """One line per column, in the order given; NaN are gaps that the line bridges.

    Args:
        columns: Name to values, all of one length; a column named `x` gives the positions, else they are 1, 2, ...
        best: Position to mark, as in the column `x`; its value is read from the last line.
        x: Name and label of the positions.
        label: Label of the values, with their unit.
        title: Title of the figure.
    """
    lines = {name: np.asarray(values, dtype=float) for name, values in columns.items() if name != x}
    if not lines or not all(map(len, lines.values())):
        raise InputError(
            f"curves needs at least one column with one value, got {list(columns)}. Train for one epoch first."
        )
    first = next(iter(lines.values()))
    at = np.asarray(columns.get(x, range(1, len(first) + 1)), dtype=float)
    figure, axes = panel(6.4, 4.0, title=title, x=x, y=label)
    for i, (name, values) in enumerate(lines.items()):
        _line(axes, at, values, short(name), i)
    if best is not None:
        _mark(axes, at, next(reversed(lines.values())), best, x)
    if wide_range(np.concatenate(list(lines.values()))):
        axes.set_yscale("log")
        axes.set_ylabel(f"{label} (log scale)")
    _positions(axes, at)
    legend(figure)
    return figure


def _line(axes: Axes, at: np.ndarray, values: np.ndarray, name: str, i: int) -> None:
    keep = np.isfinite(values)
    style = ("-", "--", ":", "-.")[i % 4]  # not by color alone
    marker = "o" if keep.sum() <= 30 else ""
    axes.plot(at[keep], values[keep], style, color=PALETTE[i % len(PALETTE)], marker=marker, ms=4, lw=1.6, label=name)


def _mark(axes: Axes, at: np.ndarray, values: np.ndarray, best: int, x: str) -> None:
    axes.axvline(best, color=GREY, lw=1, ls=(0, (4, 3)), zorder=1)
    here = values[at == best]
    value = f" ({here[0]:#.4g})" if here.size else ""
    axes.plot(
        [best] * len(here),
        here,
        ls="",
        marker="*",
        ms=13,
        color="black",
        mec="white",
        zorder=5,
        label=f"best: {x} {best}{value}",
    )


def _positions(axes: Axes, at: np.ndarray) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    margin = 0.5 if at[0] == at[-1] else 0.02 * (at[-1] - at[0])
    axes.set_xlim(at[0] - margin, at[-1] + margin)
