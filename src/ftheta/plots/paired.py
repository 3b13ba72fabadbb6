"""The same seeds under several treatments: one line per seed, and the mean.

Shapes: S seeds, K treatments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ._style import GREY, PALETTE, dress, wide_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["paired"]


def paired(panels: Mapping[str, Any], names: Sequence[str], *, title: str = "") -> Figure:
    """One panel per quantity: a thin line joins what one seed gave under each treatment, a thick one the means of
    the seeds that gave something under all.

    Args:
        panels: Label of a quantity, with its unit, to values (S, K); NaN where a seed gave none.
        names: Names of the K treatments.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    found = {label: np.asarray(values, dtype=float) for label, values in panels.items()}
    if not found or any(v.ndim != 2 or v.shape[1] != len(names) for v in found.values()):
        shapes = {label: v.shape for label, v in found.items()}
        raise InputError(f"paired got values of shapes {shapes} for {len(names)} names; (seeds, names) is needed.")
    rows = -(-len(found) // 3)
    columns = -(-len(found) // rows)
    figure = Figure(figsize=(1.0 + 2.9 * columns, 0.8 + 3.0 * rows), dpi=120, layout="constrained")
    places = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (label, values) in zip(places, found.items(), strict=False):
        _draw(axes, values, names, label)
    for axes in places[len(found) :]:
        axes.set_visible(False)
    figure.legend(*places[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    figure.suptitle(title, wrap=True)
    return figure


def _draw(axes: Axes, values: np.ndarray, names: Sequence[str], label: str) -> None:
    dress(axes, title="", x="", y=label)
    for i, line in enumerate(values):
        axes.plot(line, "-o", color=GREY, lw=0.8, ms=3.5, alpha=0.7, label="" if i else "one seed")
    whole = values[np.isfinite(values).all(1)]
    if len(whole):
        axes.plot(whole.mean(0), "-D", color=PALETTE[1], lw=2.2, ms=6, label="mean of the seeds that have all")
    axes.set_xticks(range(len(names)), names)
    axes.margins(x=0.12)
    if wide_range(values.ravel(), 30.0):
        axes.set_yscale("log")
        axes.set_ylabel(f"{label}\n(log scale)")
