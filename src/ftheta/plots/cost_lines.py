"""Cost curves: a straight line for each threshold, their lower envelope, and what constant answers cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._style import GREY, PALETTE, legend, panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["cost_lines"]

_LINES = 40


def cost_lines(fpr: np.ndarray, fnr: np.ndarray, pc: np.ndarray, envelope: np.ndarray, *, title: str = "") -> Figure:
    """One thin line a threshold, up to forty, from its false positive rate to its false negative rate.

    Args:
        fpr: False positive rates, the cost at the left end: (T,).
        fnr: False negative rates, the cost at the right end: (T,).
        pc: Places along the axis (G,).
        envelope: The least cost at each (G,).
        title: Title of the figure.
    """
    x = "probability-cost PC (share of the worst cost that misses would make)"
    figure, axes = panel(6.0, 4.6, title=title, x=x, y="expected cost (share of the worst)")
    keep = np.unique(np.linspace(0, len(fpr) - 1, min(len(fpr), _LINES)).round().astype(int))
    for i, j in enumerate(keep):
        axes.plot((0, 1), (fpr[j], fnr[j]), color=GREY, lw=0.5, alpha=0.6, label="one threshold" * (not i))
    axes.plot((0, 0.5, 1), (0, 0.5, 0), color=PALETTE[1], lw=1.6, ls="--", label="constant answers")
    axes.plot(pc, envelope, color=PALETTE[0], lw=2.4, label="best threshold")
    top = max(0.52, 1.1 * float(envelope.max()))
    axes.set(xlim=(0, 1), ylim=(0, top))
    legend(figure)
    return figure
