"""Eigenvalues of a Hessian: how many lie where, on a log scale, since most are near zero and few stand out.

Shapes: J nodes with masses, K eigenvalues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import GREY, PALETTE, legend, panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["spectrum"]


def spectrum(nodes: Any, masses: Any, top: Any, bottom: float, *, size: int, title: str = "") -> Figure:
    """Expected number of eigenvalues in each of 60 bins, with the largest and the smallest marked.

    Args:
        nodes: Where masses sit: (J,).
        masses: Shares of the eigenvalues, of sum 1: (J,).
        top: The largest eigenvalues: (K,).
        bottom: The smallest.
        size: Number of eigenvalues in all.
        title: Title of the figure.
    """
    figure, axes = panel(6.4, 4.0, title=title, x="eigenvalue λ of the Hessian", y="eigenvalues in a bin (log scale)")
    counts, edges = np.histogram(nodes, bins=60, weights=np.asarray(masses) * size)
    floor = max(min(0.5, counts[counts > 0].min()), 1e-3)
    axes.stairs(np.maximum(counts, floor / 2), edges, baseline=floor / 2, fill=True, color=PALETTE[5], label="density")
    axes.set_yscale("log")
    axes.set_ylim(bottom=floor / 2)
    axes.axvline(0, color=GREY, lw=1)
    axes.plot(top, np.full(len(top), floor), ls="", marker="v", ms=8, color=PALETTE[1], mec="white", label=_name(top))
    axes.plot(
        [bottom], [floor], ls="", marker="^", ms=8, color=PALETTE[0], mec="white", label=f"smallest: {bottom:.3g}"
    )
    legend(figure)
    return figure


def _name(top: Any) -> str:
    return f"largest: {top[0]:.3g}" if len(top) == 1 else f"{len(top)} largest: {top[0]:.3g} to {top[-1]:.3g}"
