"""Accuracy against coverage: how right the answers are where the least sure rows get none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._style import GREY, PALETTE, legend, panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["coverage"]


def coverage(share: np.ndarray, accuracy: np.ndarray, low: np.ndarray, high: np.ndarray, *, title: str = "") -> Figure:
    """The accuracy of the answered rows with its band, and the level line of rejecting at random.

    Args:
        share: Shares of rows with an answer, rising: (J,).
        accuracy: Share of them that is right: (J,).
        low: Lower ends of the band: (J,).
        high: Upper ends: (J,).
        title: Title of the figure.
    """
    x, y = "coverage (share of rows that get an answer)", "accuracy (share of answers that is right)"
    figure, axes = panel(6.0, 4.2, title=title, x=x, y=y)
    axes.fill_between(share, low, high, color=PALETTE[5], alpha=0.3, lw=0, label="95 % interval")
    axes.plot(share, accuracy, color=PALETTE[0], lw=1.8, label="least sure rejected first")
    axes.axhline(accuracy[-1], color=GREY, lw=1, ls=(0, (4, 3)), label="rejected at random")
    dots = share >= 0.1  # with fewer rows the band says nothing
    axes.set(xlim=(0, 1), ylim=(max(0.0, float(low[dots].min()) - 0.02), 1.005))
    legend(figure)
    return figure
