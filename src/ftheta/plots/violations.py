"""Errors of equivariance and invariance: a cell for each layer and transformation, coloured by the power of ten.

Shapes: L layers, T transformations, errors (L, T).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._style import GREY, distinct

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["violations"]

_LEAST = 1e-8  # below it is rounding, and has the colour of 0


def violations(errors: Mapping[str, np.ndarray], *, names: Sequence[str], transforms: Sequence[str]) -> Figure:
    """A panel for each kind of error, with the numbers in the cells; grey where there is none to measure.

    Args:
        errors: Title -> errors as shares of each layer's largest number.
        names: Layers, from the input on.
        transforms: Transformations in words.
    """
    from matplotlib.figure import Figure

    rows, columns = len(names), len(transforms)
    size = 2.2 + len(errors) * max(3.4, 0.85 * columns), 1.9 + 0.32 * rows
    figure = Figure(figsize=size, dpi=120, layout="constrained")
    grid = figure.subplots(1, len(errors), sharey=True, squeeze=False)[0]
    labels, pattern = distinct(list(names), 24)
    for axes, (title, values) in zip(grid, errors.items(), strict=True):
        shade = np.log10(np.clip(values, _LEAST, 1))
        axes.imshow(shade, cmap="viridis", vmin=np.log10(_LEAST), vmax=0, aspect="auto")
        axes.set_facecolor("0.9")  # where a value is not a number
        for (i, j), value in np.ndenumerate(values):
            ink = GREY if np.isnan(value) else "black" if shade[i, j] > -3 else "white"
            axes.text(j, i, _words(value), ha="center", va="center", color=ink, fontsize=8)
        axes.set_xticks(range(columns), transforms, rotation=30, ha="right")
        axes.set_yticks(range(rows), labels)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("transformation")
    grid[0].set_ylabel(f"layer {pattern}".strip())
    bar = figure.colorbar(grid[0].images[0], ax=list(grid), label="share of the layer's largest number")
    bar.set_ticks([-8, -6, -4, -2, 0], labels=["≤ 1e-8", "1e-6", "1e-4", "0.01", "≥ 1"])
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    return figure


def _words(value: float) -> str:
    return "none" if np.isnan(value) else "0" if value == 0 else f"{value:.2g}" if value >= 1e-3 else f"{value:.0e}"
