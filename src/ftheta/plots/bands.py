"""Fits with what they say of the noise: a line, a band, the rows, and the truth where it is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ._style import GREY, PALETTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["bands"]


def bands(
    rows: tuple[Any, Any],
    x: Any,
    fits: Mapping[str, tuple[Any, Any]],
    truth: tuple[Any, Any] | None = None,
    *,
    label: str,
    title: str = "",
) -> Figure:
    """One panel a fit: rows as dots, mean as a line, mean ± 2 sd as a band; the truth dashed.

    Args:
        rows: Inputs and targets (n,).
        x: Where the fits are drawn (G,).
        fits: Title to mean (G,) and standard deviation (G,), or None where a fit says none.
        truth: Mean and standard deviation of the truth (G,).
        label: What the target is, with its unit.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.3 * len(fits), 4.3), dpi=120, layout="constrained")
    panels = figure.subplots(1, len(fits), sharex=True, sharey=True, squeeze=False)[0]
    for axes, (name, (mean, sd)) in zip(panels, fits.items(), strict=True):
        axes.plot(*rows, ".", color=GREY, ms=3, alpha=0.6, label="rows")
        if sd is not None:
            axes.fill_between(x, mean - 2 * sd, mean + 2 * sd, color=PALETTE[0], alpha=0.25, lw=0, label="mean ± 2 sd")
        axes.plot(x, mean, color=PALETTE[0], lw=2, label="mean")
        if truth is not None:
            for sign in (-2, 0, 2):
                axes.plot(x, truth[0] + sign * truth[1], "--", color=PALETTE[1], lw=1, label="truth" * (not sign))
        axes.set(title=name, xlabel="input x")
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel(label)
    figure.legend(*panels[-1].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(title)
    return figure
