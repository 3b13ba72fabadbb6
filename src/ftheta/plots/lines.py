"""Lines and dots: learning curves, panels side by side, fits with their bands, values with intervals or by layer."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ._style import DASHES, GREY, PALETTE, Axes, Figure, canvas, distinct, drawn, legend, short, wide_range

MAX_LAYERS = 24
Row = tuple[str, float, float | None, float | None]  # name, value, low, high


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
        raise InputError(f"curves needs at least one column with one value, got {list(columns)}: train for an epoch.")
    *_, last = lines.values()
    at = np.asarray(columns.get(x, range(1, len(last) + 1)), dtype=float)
    return learning(at, {label: lines}, best, x=x, title=title)


@drawn
def learning(
    at: np.ndarray, panels: Mapping[str, Mapping[str, Any]], best: int | None, *, x: str, title: str
) -> Figure:
    """Learning curves, a panel per quantity side by side.

    Args:
        at: Positions (E,).
        panels: Label of a quantity, with its unit, to lines by name (E,), each with NaN as gaps.
        best: Position to mark.
        x: Label of the positions.
        title: Title of the figure.
    """
    figure, grid = canvas(len(panels), across=len(panels), width=6.4 if len(panels) == 1 else 4.2, height=4.0)
    for axes, (label, lines) in zip(grid, panels.items(), strict=True):
        _history(axes, at, lines, best, x, label)
    grid[0].set_title(title)
    legend(figure)
    return figure


def _history(axes: Axes, at: np.ndarray, lines: Mapping[str, np.ndarray], best: int | None, x: str, label: str) -> None:
    from matplotlib.ticker import MaxNLocator

    *_, last = lines.values()
    for name, values in lines.items():
        keep = np.isfinite(values)
        look: dict[str, Any] = {"marker": "o" if keep.sum() <= 30 else "", "ms": 4, "label": short(name)}
        if name == "validation accuracy":
            look |= {"color": PALETTE[1], "ls": "--"}  # as the validation loss
        axes.plot(at[keep], values[keep], **look)
    if best is not None:
        axes.axvline(best, color=GREY, lw=1, ls=(0, (4, 3)), zorder=1)
        here = last[at == best]
        value = f" ({here[0]:.4g})" if here.size and len(axes.figure.axes) == 1 else ""
        star: dict[str, Any] = {"ls": "", "marker": "*", "ms": 13, "color": "black", "mec": "white", "zorder": 5}
        axes.plot([best] * len(here), here, label=f"best: {x} {best}{value}", **star)
    log = wide_range(np.concatenate(list(lines.values())))
    axes.set(xlabel=x, ylabel=label + " (log scale)" * log, yscale="log" if log else "linear")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    margin = 0.5 if at[0] == at[-1] else 0.02 * (at[-1] - at[0])
    axes.set_xlim(at[0] - margin, at[-1] + margin)


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


@drawn
def whiskers(
    panels: Mapping[str, Sequence[Any]], *, title: str = "", at: float | None = None, letters: int = 24
) -> Figure:
    """Dots with whiskers, numbers beside them; a hollow dot has no interval.

    `panels` maps the label of an axis, with its unit, to rows (name, value, low, high), the first panel on top; a fifth
    entry are words in place of the numbers. `at` is where a line is drawn, such as 0 for no difference; of a name at
    most so many `letters` are shown.
    """
    if not panels or not all(panels.values()):
        raise InputError(f"whiskers got {list(panels)}; at least one, each with a row, is needed.")
    sizes = [len(rows) for rows in panels.values()]
    height = (0.5 + sum(0.75 + 0.32 * n for n in sizes)) / len(sizes)
    figure, grid = canvas(len(sizes), across=1, width=7.2, height=height, height_ratios=[n + 0.8 for n in sizes])
    figure.suptitle(title, wrap=True)
    for axes, (label, rows) in zip(grid, panels.items(), strict=True):
        if at is not None:
            axes.axvline(at, color=GREY, lw=1, ls=(0, (4, 3)), zorder=1)
        none = " [none]" * any(row[2] is not None for row in rows)  # said beside others that have one
        for i, (_, value, low, high, *words) in enumerate(rows):
            text, fill, place = f"{value:#.4g}{none}", "white", axes.get_yaxis_transform()
            if low is not None and high is not None:
                axes.hlines(i, low, high, color=PALETTE[0], lw=2)
                text, fill = f"{value:#.4g} [{low:#.3g}, {high:#.3g}]", PALETTE[0]
            if np.isfinite(value):
                axes.plot(value, i, "o", ms=7, mec=PALETTE[0], color=fill, clip_on=False)
            axes.annotate(words[0] if words else text, (1.02, i), xycoords=place, va="center", size="small")
        axes.set_yticks(range(len(rows)), [short(name, letters) for name, *_ in rows])
        axes.set(xlabel=label, ylim=(len(rows) - 0.5, -0.5))
        axes.margins(x=0.08)
    return figure


@drawn
def layers(
    names: Sequence[str],
    values: Any,
    *,
    label: str,
    title: str = "",
    log: bool | None = None,
    notes: Sequence[str] = (),
) -> Figure:
    """Dots, or dots with ranges (lines are pairs of quantiles), by layer, first on top; of many, evenly spaced.

    Args:
        names: Name of each layer, from input to output.
        values: (L,) one number per layer, or (L, Q) ascending quantiles with the median in the middle.
        label: What the numbers are, with their unit.
        title: Title of the figure.
        log: Logarithmic axis; None decides: where all numbers are at least 0 and span more than two decades.
        notes: Words to the right of each layer.
    """
    some: list[int] = np.linspace(0, len(names) - 1, min(len(names), MAX_LAYERS)).round().astype(int).tolist()
    title += f" ({len(some)} of {len(names)})" if len(some) < len(names) else ""
    v = np.asarray(values, dtype=float)[some]
    v = v[:, None] if v.ndim == 1 else v  # (L, Q)
    names = [names[i] for i in some]
    notes = [notes[i] for i in some if i < len(notes)]
    log = wide_range(v.ravel()) if log is None else log and bool((v > 0).any())
    marks, pattern = distinct(names)
    x = f"{label}{' (log scale)' if log else ''}{f'{chr(10)}* in {short(pattern, 70)}' if pattern else ''}"
    figure, axes = canvas(width=6.4, height=1.3 + 0.28 * len(names))
    axes.set(title=title, xlabel=x)
    axes.title.set_wrap(True)
    if log:
        axes.set_xscale("log")
    else:
        axes.locator_params(axis="x", nbins=5)  # small numbers have long labels
    shown = np.where(np.isfinite(v) & ((v > 0) | (not log)), v, np.nan)
    rows, middle = np.arange(len(v)), v.shape[1] // 2
    for k in range(middle):  # outermost pair first
        axes.hlines(rows, shown[:, k], shown[:, -1 - k], color=PALETTE[0], lw=1.2 + 3.0 * k, alpha=0.45)
    axes.plot(shown[:, middle], rows, "o", color=PALETTE[0], mec="white", ms=7, zorder=3, clip_on=False)
    if not log and np.nanmin(v, initial=0.0) >= 0:
        axes.set_xlim(left=0)
    axes.set_yticks(range(len(names)), marks)
    axes.set_ylim(len(names) - 0.5, -0.5)
    for row, value in enumerate(v[:, middle]):
        if not np.isfinite(value) or (log and value <= 0):  # what has no place on the axis is written at its left end
            look: dict[str, Any] = {"va": "center", "color": PALETTE[1], "weight": "bold"}
            axes.annotate(f"{value:g}", (0.015, row), xycoords=axes.get_yaxis_transform(), **look)
    for row, note in enumerate(notes):
        axes.annotate(note, (1.02, row), xycoords=axes.get_yaxis_transform(), va="center", color=GREY, size="small")
    return figure
