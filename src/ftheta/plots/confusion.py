"""Confusion matrix: true classes down, answers across, colored by their share of the true class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._style import Figure, canvas, drawn, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["confusion"]

_COUNTED, _WRITTEN, _NAMED = 10, 30, 30  # classes up to which counts, shares and every name are written


@drawn
def confusion(counts: np.ndarray, names: Sequence[str], *, title: str = "Confusion matrix") -> Figure:
    """Counts with shares of the row for up to ten classes, shares in % for up to thirty, colors alone beyond.

    Args:
        counts: Rows of data by true class and by answer: (K, K).
        names: Names of the K classes.
        title: Title of the figure.
    """
    k, rows = len(names), counts.sum(1, keepdims=True)
    share = np.divide(counts, rows, out=np.full(counts.shape, np.nan), where=rows > 0)  # an absent class stays white
    side = min(9.0, 0.62 * k + 1.6 if k <= _COUNTED else 0.27 * k + 1.9)
    figure, axes = canvas(width=max(4.2, side + 0.9), height=max(3.4, side))
    axes.set(title=title, xlabel="predicted class", ylabel="true class")
    axes.grid(visible=False)
    label = "share of the true class" + (" (numbers: in %)" if _COUNTED < k <= _WRITTEN else "")
    figure.colorbar(axes.imshow(share, cmap="Blues", vmin=0, vmax=1), ax=axes, label=label, shrink=0.8)
    _names(axes, names)
    if k <= _WRITTEN:
        for (i, j), count in np.ndenumerate(counts):
            if count:
                percent = f"{100 * share[i, j]:.0f}" if share[i, j] >= 0.005 else "<1"
                text, size = (f"{count:,}\n{percent} %", 7.5) if k <= _COUNTED else (percent, 6.0)
                color = "white" if share[i, j] > 0.68 else "black"
                axes.text(j, i, text, ha="center", va="center", size=size, color=color)
    return figure


def _names(axes: Axes, names: Sequence[str]) -> None:
    """Every name, or every m-th where there are too many; upright where they are long."""
    shown = range(0, len(names), -(-len(names) // _NAMED))
    labels = [short(names[i], 16) for i in shown]
    upright = max(map(len, labels)) > (6 if len(names) <= _COUNTED else 2)
    size = 9 if len(names) <= _COUNTED else 7
    axes.set_xticks(shown, labels, rotation=90 if upright else 0, size=size)
    axes.set_yticks(shown, labels, size=size)
