"""A step along the gradient: what it changes and what was predicted, against its length."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._style import PALETTE, legend, panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["step_lengths"]


def step_lengths(
    lengths: Any, change: Any, linear: Any, quadratic: Any, *, holds: float, overshoots: float | None
) -> Figure:
    """Actual change of f with the linear and the quadratic prediction; the range where the linear one holds is shaded,
    and a line stands where steps begin to change f the wrong way.

    Args:
        lengths: Lengths of the step: (L,).
        change: Change of f: (L,).
        linear: Prediction of the gradient: (L,).
        quadratic: Prediction of gradient and curvature: (L,).
        holds: Longest step for which the linear prediction holds.
        overshoots: Shortest step that changes f the wrong way; None: none does.
    """
    figure, axes = panel(6.8, 4.4, title="", x="length of the step along the gradient", y="change of f")
    axes.axvspan(0, holds, color="0.85", lw=0, label=f"linear within 10 %, up to {holds:.3g}")
    axes.plot(lengths, quadratic, "-", lw=5, color=PALETTE[4], alpha=0.6, label="gradient and curvature")
    axes.plot(lengths, linear, "--", color=PALETTE[1], label="gradient alone")
    axes.plot(lengths, change, "-", color=PALETTE[0], label="actual")
    axes.axhline(0, color="0.5", lw=0.8)
    if overshoots is not None:
        axes.axvline(overshoots, color="black", ls=":", label=f"wrong way from {overshoots:.3g} on")
    legend(figure, 90)
    return figure
