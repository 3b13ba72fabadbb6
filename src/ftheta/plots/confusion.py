"""Confusion matrix: true classes down, answers across, colored by their share of the true class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._style import panel, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["confusion"]

_COUNTED, _WRITTEN, _NAMED = 10, 30, 30  # classes up to which counts, shares and every name are written


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
    figure, axes = panel(max(4.2, side + 0.9), max(3.4, side), title=title, x="predicted class", y="true class")
    axes.grid(visible=False)
    label = "share of the true class" + (" (numbers: in %)" if _COUNTED < k <= _WRITTEN else "")
    image = axes.imshow(share, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    figure.colorbar(image, ax=axes, label=label, shrink=0.8)
    _names(axes, names)
    if k <= _WRITTEN:
        for (i, j), count in np.ndenumerate(counts):
            if count:
                _cell(axes, i, j, count, float(share[i, j]), k)
    return figure


def _cell(axes: Axes, i: int, j: int, count: int, share: float, k: int) -> None:
    percent = f"{100 * share:.0f}" if share >= 0.005 else "<1"
    text = f"{count:,}\n{percent} %" if k <= _COUNTED else percent
    size = 7.5 if k <= _COUNTED else 6.0
    axes.text(j, i, text, ha="center", va="center", size=size, color="white" if share > 0.68 else "black")


def _names(axes: Axes, names: Sequence[str]) -> None:
    """Every name, or every m-th where there are too many; upright where they are long."""
    shown = range(0, len(names), -(-len(names) // _NAMED))
    labels = [short(names[i], 16) for i in shown]
    upright = max(map(len, labels)) > (6 if len(names) <= _COUNTED else 2)
    size = 9 if len(names) <= _COUNTED else 7
    axes.set_xticks(shown, labels, rotation=90 if upright else 0, size=size)
    axes.set_yticks(shown, labels, size=size)
