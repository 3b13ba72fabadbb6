"""Chains as a film strip: one line of pictures a chain, and beside them how far it gets and its free energy.

Shapes: T steps, n chains, pictures (H, W) or (C, H, W).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import GREY, PALETTE, dress
from ._tiles import mosaic, tiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["film"]


def film(frames: Any, steps: Any, distance: Any, others: Any, free_energy: Any = None) -> Figure:
    """Chains from top to bottom, steps from left to right; means and single chains by step on the right.

    Args:
        frames: Pictures (T, n, H, W) or (T, n, C, H, W) of the chains that are shown.
        steps: Steps made (T,).
        distance: From the own start (T, N), of all chains.
        others: From the starts of others (T, N); NaN is not drawn.
        free_energy: (T, N), or None.
    """
    from matplotlib.figure import Figure

    frames, steps = np.asarray(frames, dtype=float), np.asarray(steps)
    t, n = frames.shape[:2]
    tall = min(1.0, 0.25 + 0.75 * frames.shape[-2] / frames.shape[-1])
    size = (4.6 + 0.75 * t, max(3.4 + 1.6 * (free_energy is not None), 1.2 + 0.66 * n * tall))
    figure = Figure(figsize=size, dpi=120, layout="constrained")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=(0.6 + 0.75 * t, 4.0))[0]
    strip = left.subplots()
    mosaic(strip, tiles(frames.swapaxes(0, 1).reshape(-1, *frames.shape[2:])), t, names=range(n))
    strip.set_xticks(strip.get_xticks(), [f"{s:,}" for s in steps], rotation=30 * (t > 7))
    strip.set_title("Gibbs chains", size=10)
    strip.set(xlabel="steps made", ylabel="chain")
    panels = right.subplots(1 + (free_energy is not None), 1, squeeze=False, sharex=True)[:, 0]
    _by_step(panels[0], steps, np.asarray(distance), PALETTE[0], "from its own start")
    if np.isfinite(others).all():
        mean = np.mean(others, axis=1)
        panels[0].plot(steps, mean, color=PALETTE[1], ls="--", marker="s", ms=4, lw=2, label="from other starts")
    panels[0].legend(frameon=False, fontsize=8)
    dress(panels[0], title="Distance: chains and their mean", x="", y="mean |difference| of a pixel")
    panels[0].set_ylim(0, 1.35 * max(np.max(distance), np.nanmax(others, initial=0.0)) or 1.0)  # room for the legend
    if free_energy is not None:
        _by_step(panels[1], steps, np.asarray(free_energy), PALETTE[2], "mean")
        dress(panels[1], title="Free energy: chains and their mean", x="", y="free energy (nats)")
    panels[-1].set_xlabel("steps made")
    return figure


def _by_step(axes: Axes, steps: np.ndarray, values: np.ndarray, colour: str, label: str) -> None:
    """Every chain thin, their mean thick; equal distances are equal factors, with 0 at the left end."""
    axes.plot(steps, values, color=GREY, lw=0.5, alpha=0.4)
    axes.plot(steps, values.mean(1), color=colour, marker="o", ms=4, lw=2, label=label)
    axes.set_xscale("symlog", linthresh=1)
    marked = _apart(steps)
    axes.set_xticks(marked, [f"{s:,}" for s in marked])
    axes.minorticks_off()


def _apart(steps: np.ndarray) -> list[int]:
    """Steps whose labels do not touch: a sixth of the axis lies between them."""
    places = np.where(steps > 0, 1 + np.log10(np.maximum(steps, 1)), 0.0)
    kept: list[int] = []
    for k, place in enumerate(places):
        if not kept or place - places[kept[-1]] >= places[-1] / 6:
            kept.append(k)
    return [int(steps[k]) for k in kept]
