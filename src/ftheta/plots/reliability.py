"""Reliability diagram: accuracy against confidence above, how many rows have which confidence below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._style import GREY, PALETTE, dress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["reliability"]


def reliability(
    edges: np.ndarray,
    rows: np.ndarray,
    confidence: np.ndarray,
    accuracy: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    *,
    ece: float,
) -> Figure:
    """Dots with whiskers by bin, the diagonal of perfect calibration, and the histogram of confidences.

    Args:
        edges: Ends of the bins: (B + 1,).
        rows: Rows in each: (B,).
        confidence: Mean confidence in each: (B,).
        accuracy: Share of right rows in each: (B,).
        low: Lower ends of its intervals: (B,).
        high: Upper ends: (B,).
        ece: Expected calibration error, for the title.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.4, 5.6), dpi=120, layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    dress(upper, title=f"Calibration (ECE {ece:.3f})", x="", y="accuracy (share that is right)")
    dress(lower, title="", x="confidence (probability of the predicted class)", y="rows")
    full = rows > 0
    upper.plot((0, 1), (0, 1), color=GREY, lw=1, ls=(0, (4, 3)), label="perfect", zorder=1)
    upper.vlines(confidence[full], low[full], high[full], color=PALETTE[0], lw=1.4, label="95 % interval")
    upper.plot(confidence[full], accuracy[full], "o-", color=PALETTE[0], ms=5, lw=1.2, label="model")
    upper.set(xlim=(0, 1), ylim=(0, 1.02))
    upper.legend(frameon=False, loc="best")
    lower.bar(edges[:-1], rows, np.diff(edges), align="edge", color=PALETTE[5], edgecolor="white")
    return figure
