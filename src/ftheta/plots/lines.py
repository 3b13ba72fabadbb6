"""Lines: learning curves, panels side by side, the same seeds under several treatments, fits with their bands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ._style import DASHES, GREY, PALETTE, Figure, canvas, drawn, legend, short, wide_range

__all__ = ["bands", "curves", "paired", "panels"]


@drawn
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
    from matplotlib.ticker import MaxNLocator

    lines = {name: np.asarray(values, dtype=float) for name, values in columns.items() if name != x}
    if not lines or not all(map(len, lines.values())):
        raise InputError(
            f"curves needs at least one column with one value, got {list(columns)}. Train for one epoch first."
        )
    *_, last = lines.values()
    at = np.asarray(columns.get(x, range(1, len(last) + 1)), dtype=float)
    figure, axes = canvas()
    for name, values in lines.items():
        keep = np.isfinite(values)
        axes.plot(at[keep], values[keep], marker="o" if keep.sum() <= 30 else "", ms=4, label=short(name))
    if best is not None:
        axes.axvline(best, color=GREY, lw=1, ls=(0, (4, 3)), zorder=1)
        here = last[at == best]
        value = f" ({here[0]:#.4g})" if here.size else ""
        star: dict[str, Any] = {"ls": "", "marker": "*", "ms": 13, "color": "black", "mec": "white", "zorder": 5}
        axes.plot([best] * len(here), here, label=f"best: {x} {best}{value}", **star)
    log = wide_range(np.concatenate(list(lines.values())))
    axes.set(title=title, xlabel=x, ylabel=label + " (log scale)" * log, yscale="log" if log else "linear")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    margin = 0.5 if at[0] == at[-1] else 0.02 * (at[-1] - at[0])
    axes.set_xlim(at[0] - margin, at[-1] + margin)
    legend(figure)
    return figure


@drawn
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
    if not lines or not all(lines.values()):
        raise InputError(f"panels needs at least one line in each panel, got {list(lines)}. Leave empty panels out.")
    names = list(dict.fromkeys(name for panel in lines.values() for name in panel))
    values = np.concatenate([np.ravel(y).astype(float) for panel in lines.values() for _, y in panel.values()])
    log = wide_range(values) if log is None else log
    width = max(6.4 / len(lines), 3.6)
    figure, grid = canvas(len(lines), across=len(lines), width=width, height=3.9, sharey=share)
    for axes, (title, panel) in zip(grid, lines.items(), strict=True):
        for name, (at, y) in panel.items():
            i = names.index(name)
            look = {"color": PALETTE[i % len(PALETTE)], "ls": DASHES[i % 4], "marker": "o" if np.size(y) <= 12 else ""}
            axes.plot(at, y, ms=4, label=short(name), **look)
        axes.set(title=title, xlabel=x + " (log scale)" * log_x)
        axes.set(xscale="log" if log_x else "linear", yscale="log" if log else "linear")
        axes.title.set_wrap(True)
    grid[0].set_ylabel(label + " (log scale)" * bool(log))
    legend(figure)
    return figure


@drawn
def paired(panels: Mapping[str, Any], names: Sequence[str], *, title: str = "") -> Figure:
    """One panel per quantity: a thin line joins what one seed gave under each treatment, a thick one the means of
    the seeds that have all.

    Args:
        panels: Label of a quantity, with its unit, to values (seeds, names); NaN where a seed has none.
        names: Names of the treatments.
        title: Title of the figure.
    """
    given = {label: np.asarray(values, dtype=float) for label, values in panels.items()}
    if not given or any(v.ndim != 2 or v.shape[1] != len(names) for v in given.values()):
        shapes = {label: v.shape for label, v in given.items()}
        raise InputError(f"paired got values of shapes {shapes} for {len(names)} names; (seeds, names) is needed.")
    figure, places = canvas(len(given))
    for axes, (label, values) in zip(places, given.items(), strict=True):
        for i, line in enumerate(values):
            axes.plot(line, "-o", color=GREY, lw=0.8, ms=3.5, alpha=0.7, label="" if i else "one seed")
        complete = values[np.isfinite(values).all(1)]
        if len(complete):
            axes.plot(complete.mean(0), "-D", color=PALETTE[1], lw=2.2, ms=6, label="mean of the seeds that have all")
        log = wide_range(values.ravel(), 30.0)
        axes.set(ylabel=label + "\n(log scale)" * log, yscale="log" if log else "linear")
        axes.set_xticks(range(len(names)), names)
        axes.margins(x=0.12)
    figure.suptitle(title, wrap=True)
    legend(figure)
    return figure


@drawn
def bands(
    rows: tuple[Any, Any],
    x: Any,
    fits: Mapping[str, tuple[Any, Any]],
    truth: tuple[Any, Any] | None = None,
    *,
    label: str,
    title: str = "",
) -> Figure:
    """One panel per fit: rows as dots, mean as a line, mean ± 2 sd as a band; the truth dashed.

    Args:
        rows: Inputs and targets (n,).
        x: Where the fits are drawn (G,).
        fits: Title to mean (G,) and standard deviation (G,), None where a fit has none.
        truth: Mean and standard deviation of the truth (G,).
        label: What the target is, with its unit.
        title: Title of the figure.
    """
    figure, places = canvas(len(fits), across=len(fits), width=4.3, height=4.3, sharex=True, sharey=True)
    for axes, (name, (mean, sd)) in zip(places, fits.items(), strict=True):
        axes.plot(*rows, ".", color=GREY, ms=3, alpha=0.6, label="rows")
        if sd is not None:
            axes.fill_between(x, mean - 2 * sd, mean + 2 * sd, color=PALETTE[0], alpha=0.25, lw=0, label="mean ± 2 sd")
        axes.plot(x, mean, "-", color=PALETTE[0], lw=2, label="mean")
        if truth is not None:
            for sign in (-2, 0, 2):
                axes.plot(x, truth[0] + sign * truth[1], "--", color=PALETTE[1], lw=1, label="truth" * (not sign))
        axes.set(title=name, xlabel="input x")
    places[0].set_ylabel(label)
    figure.suptitle(title)
    legend(figure)
    return figure
