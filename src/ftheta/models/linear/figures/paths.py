"""Coefficient paths: how every coefficient moves as the penalty shrinks, or step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ....errors import InputError
from ....plots import GREY, PALETTE, dress, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["paths"]

NAMED = 7  # coefficients that get a colour and a name


def paths(
    at: Sequence[float] | np.ndarray,
    coefs: np.ndarray,
    names: Sequence[str],
    *,
    chosen: float | None = None,
    knots: Sequence[float] | np.ndarray = (),
    ticks: str = "knots",
    dof: Sequence[float] | np.ndarray | None = None,
    errors: Mapping[str, np.ndarray] | None = None,
    x: str = "penalty α",
    log: bool = True,
    title: str = "Coefficient paths",
) -> Figure:
    """One line a coefficient; the seven that become largest have a colour and, at the right end, their name.

    A log axis runs from large penalties at the left to small ones at the right. Errors, where given, are drawn below
    with their minima marked; degrees of freedom stand above.

    Args:
        at: Penalties, or counts of steps (L,); a penalty of 0 is left out of a log axis.
        coefs: Coefficients there (L, D).
        names: Of the coefficients (D,).
        chosen: Penalty to mark with a dashed line.
        knots: Penalties at which a coefficient enters or leaves, as ticks along the bottom.
        ticks: What the ticks are.
        dof: Effective degrees of freedom (L,).
        errors: Name to values (L,).
        x: Label of the positions.
        log: Whether positions are penalties on a log axis.
        title: Title of the figure.
    """
    at, coefs = np.asarray(at, dtype=float), np.asarray(coefs, dtype=float)
    if coefs.shape != (len(at), len(names)):
        raise InputError(
            f"coefs has shape {coefs.shape}, expected ({len(at)}, {len(names)}): a row for each position, a column "
            "for each name."
        )
    order = np.argsort(-at if log else at, kind="stable")
    order = order[at[order] > 0] if log else order
    if not len(order):
        raise InputError(f"There is nothing to draw at {at.tolist()}; a log axis needs a position > 0.")
    figure, axes = _axes(title, x, log, below=bool(errors))
    _lines(axes[0], at[order], coefs[order], names)
    if chosen is not None and (chosen > 0 or not log):
        for axis in axes:
            label = f"chosen: {chosen:.3g}" if axis is axes[0] else None
            axis.axvline(chosen, color=GREY, lw=1.2, ls=(0, (4, 3)), zorder=1, label=label)
    if len(knots):
        level = axes[0].get_xaxis_transform()
        axes[0].plot(knots, np.full(len(knots), 0.02), "|", color="black", ms=9, transform=level, label=ticks)
    if dof is not None:
        _freedom(axes[0], at[order], np.asarray(dof, dtype=float)[order])
    for i, (name, values) in enumerate((errors or {}).items()):
        _error(axes[-1], at[order], np.asarray(values, dtype=float)[order], name, i)
    for axis in axes:
        if axis.get_legend_handles_labels()[1]:
            axis.legend(frameon=False, fontsize=8, loc="best")
    return figure


def _axes(title: str, x: str, log: bool, *, below: bool) -> tuple[Figure, list[Axes]]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 6.2 if below else 4.4), dpi=120, layout="constrained")
    ratios = [3, 2] if below else [1]
    axes = list(figure.subplots(len(ratios), 1, sharex=True, squeeze=False, height_ratios=ratios)[:, 0])
    for i, axis in enumerate(axes):
        label = f"{x} (log scale, falling)" if log else x
        dress(
            axis, title="" if i else title, x=label if axis is axes[-1] else "", y="mean error²" if i else "coefficient"
        )
    if log:
        axes[0].set_xscale("log")
        axes[0].invert_xaxis()
    return figure, axes


def _lines(axes: Axes, at: np.ndarray, coefs: np.ndarray, names: Sequence[str]) -> None:
    """Grey lines for the many; the largest on top, with names that do not overlap."""
    largest = np.argsort(-np.abs(coefs).max(0), kind="stable")[:NAMED]
    axes.axhline(0, color="0.6", lw=0.8, zorder=1)
    marker = "." if len(at) <= 30 else ""
    for j in range(coefs.shape[1]):
        if j not in largest:
            axes.plot(at, coefs[:, j], color="0.75", lw=0.9, marker=marker, ms=3, zorder=2)
    for i, j in enumerate(largest):
        axes.plot(at, coefs[:, j], color=PALETTE[i], lw=1.6, marker=marker, ms=4, zorder=3)
    _names(axes, coefs[-1, largest], [short(str(names[j]), 18) for j in largest])


def _names(axes: Axes, ends: np.ndarray, names: Sequence[str]) -> None:
    """Names beside the right ends, moved apart where they would touch."""
    low, high = axes.get_ylim()
    height = 0.055 * (high - low)
    order = np.argsort(ends)
    spots = ends[order].copy()
    for i in range(1, len(spots)):
        spots[i] = max(spots[i], spots[i - 1] + height)
    over = max(0.0, spots[-1] - high) if len(spots) else 0.0
    for i in reversed(range(len(spots))):  # back inside, from the top
        spots[i] = min(spots[i], (high if i == len(spots) - 1 else spots[i + 1] - height)) if over else spots[i]
    axes.set_ylim(low, high)
    for spot, k in zip(spots, order, strict=True):
        where = ("axes fraction", "data")
        axes.annotate(str(names[int(k)]), (1.01, spot), xycoords=where, color=PALETTE[k], va="center", fontsize=8)


def _freedom(axes: Axes, at: np.ndarray, dof: np.ndarray) -> None:
    """Degrees of freedom on a second axis above, at a few of the positions."""
    places = np.unique(np.linspace(0, len(at) - 1, 7).round().astype(int))
    above = axes.twiny()
    above.set_xscale(axes.get_xscale())
    above.set_xlim(axes.get_xlim())
    above.set_xticks(at[places], [f"{dof[i]:.3g}" for i in places])
    above.minorticks_off()
    above.set_xlabel("effective degrees of freedom", fontsize=9)
    above.tick_params(labelsize=8)
    above.spines[["top", "right"]].set_visible(False)


def _error(axes: Axes, at: np.ndarray, values: np.ndarray, name: str, i: int) -> None:
    best = int(np.argmin(values))
    colour = PALETTE[i % len(PALETTE)]
    label = f"{name}, least at {at[best]:.3g}"
    axes.plot(at, values, ("-", "--", ":")[i % 3], color=colour, lw=1.6, label=label)
    axes.plot(at[best], values[best], "oDs"[i % 3], color=colour, ms=6, mec="white", zorder=4)
