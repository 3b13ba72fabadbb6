"""The curve of a range test: loss against a learning rate that grows with every update.

Shapes: M updates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import GREY, PALETTE, legend, panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["rates"]


def rates(
    rate: Any, loss: Any, smoothed: Any, suggestion: float, *, limit: float | None = None, title: str = ""
) -> Figure:
    """Loss after an update with each rate, raw and smoothed, with the suggestion and the limit 2/λ.

    Args:
        rate: Ascending rates: (M,).
        loss: The loss after each: (M,); what is not finite is left out.
        smoothed: (M,).
        suggestion: The rate to mark.
        limit: 2/λ at the start, where it is known.
        title: Title of the figure.
    """
    figure, axes = panel(6.4, 4.0, title=title, x="learning rate η (log scale)", y="mean loss per row")
    rate, loss, smoothed = (np.asarray(v, dtype=float) for v in (rate, loss, smoothed))
    axes.set_xscale("log")
    axes.plot(rate, np.where(np.isfinite(loss), loss, np.nan), color=GREY, lw=0.9, alpha=0.8, label="loss")
    axes.plot(rate, smoothed, color=PALETTE[0], lw=2, label="smoothed")
    axes.plot(
        [suggestion],
        np.interp(np.log([suggestion]), np.log(rate), smoothed),
        ls="",
        marker="*",
        ms=15,
        color=PALETTE[1],
        mec="white",
        zorder=5,
        label=f"suggestion {suggestion:.2g}",
    )
    if limit is not None:
        axes.axvline(limit, color=PALETTE[2], ls="--", lw=1.6, label=f"2/λ = {limit:.2g} (gradient descent)")
    low, high = smoothed.min(), smoothed[: smoothed.argmin() + 1].max()
    fall = max(high - low, 1e-9)
    axes.set_ylim(low - 0.3 * fall, high + 0.9 * fall)  # the fall; an explosion leaves the picture
    legend(figure)
    return figure
