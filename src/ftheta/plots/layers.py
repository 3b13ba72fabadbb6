"""Statistics by layer, the first layer on top: a dot is the number or the median, lines are pairs of quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ._style import GREY, PALETTE, Figure, canvas, distinct, drawn, short, wide_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["layers"]


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
    """Dots, or dots with ranges, by layer.

    Args:
        names: Name of each layer, from input to output.
        values: (L,) one number per layer, or (L, Q) ascending quantiles with the median in the middle.
        label: What the numbers are, with their unit.
        title: Title of the figure.
        log: Logarithmic axis; None decides: where all numbers are at least 0 and span more than two decades.
        notes: Words to the right of each layer.
    """
    v = np.asarray(values, dtype=float)
    v = v[:, None] if v.ndim == 1 else v  # (L, Q)
    if v.ndim != 2 or len(v) != len(names) or v.size == 0 or v.shape[1] % 2 == 0:
        raise InputError(
            f"layers got {len(names)} names and values of shape {np.shape(values)}; "
            "one number per layer (L,) or quantiles (L, Q), Q odd, are needed."
        )
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
    shown, rows, middle = (
        np.where(np.isfinite(v) & ((v > 0) | (not log)), v, np.nan),
        np.arange(len(v)),
        v.shape[1] // 2,
    )
    for k in range(middle):  # outermost pair first
        axes.hlines(rows, shown[:, k], shown[:, -1 - k], color=PALETTE[0], lw=1.2 + 3.0 * k, alpha=0.45)
    axes.plot(shown[:, middle], rows, "o", color=PALETTE[0], mec="white", ms=7, zorder=3, clip_on=False)
    if not log and np.nanmin(v, initial=0.0) >= 0:
        axes.set_xlim(left=0)
    axes.set_yticks(range(len(names)), marks)
    axes.set_ylim(len(names) - 0.5, -0.5)
    _name_the_rest(axes, v[:, middle], log)
    for row, note in enumerate(notes):
        axes.annotate(note, (1.02, row), xycoords=axes.get_yaxis_transform(), va="center", color=GREY, size="small")
    return figure


def _name_the_rest(axes: Axes, center: np.ndarray, log: bool) -> None:
    """What has no place on the axis (0 on a log scale, NaN, inf) is written at its left end."""
    for row, value in enumerate(center):
        if not np.isfinite(value) or (log and value <= 0):
            look: dict[str, Any] = {"va": "center", "color": PALETTE[1], "weight": "bold"}
            axes.annotate(f"{value:g}", (0.015, row), xycoords=axes.get_yaxis_transform(), **look)
