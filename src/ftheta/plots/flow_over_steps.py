"""Gradients of a run: a line a layer, from dark (input) to light (output), on a log scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ._style import PALETTE, distinct, panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["flow_over_steps"]

_NAMED = 12  # layers that all stand in the legend
_STYLES = ("-", "--", "-.", ":")


def flow_over_steps(
    layers: Sequence[str], steps: Any, norm: Any, *, title: str = "Gradient by layer and step"
) -> Figure:
    """Norm of the gradient against the step; layers are told apart by colour, which goes with depth, and by dashes.
    Steps at which it is not finite are marked with a cross at the top.

    Args:
        layers: One name a layer, from input to output.
        steps: Number of each step: (T,).
        norm: ‖g‖: (T, L).
        title: Title of the figure.
    """
    v, at = np.asarray(norm, dtype=float), np.asarray(steps)
    if v.ndim != 2 or v.shape != (len(at), len(layers)) or not v.size:
        raise InputError(f"flow_over_steps got {len(layers)} layers, {len(at)} steps and norms of shape {v.shape}.")
    figure, axes = panel(7.6, 4.4, title=title, x="step", y="norm of the gradient ‖g‖ (log scale)")
    marks, pattern = distinct(list(layers), 22)
    some = set(np.linspace(0, len(layers) - 1, min(len(layers), _NAMED)).round().astype(int).tolist())
    for k, name in enumerate(marks):
        shown = np.where(np.isfinite(v[:, k]) & (v[:, k] > 0), v[:, k], np.nan)
        label = name if k in some else "_"
        marker = "o" if len(at) <= 12 else ""
        axes.plot(at, shown, _STYLES[k % 4], color=_shade(k, len(layers)), marker=marker, ms=4, lw=1.8, label=label)
    axes.set_yscale("log")
    _broken(axes, at, v)
    said = f"layer, input first\n* in {pattern}" if pattern else "layer, input first"
    figure.legend(loc="outside right upper", title=said, frameon=False, fontsize="small")
    return figure


def _shade(k: int, n: int) -> Any:
    from matplotlib import colormaps

    return colormaps["viridis"](0.88 * k / max(n - 1, 1))


def _broken(axes: Axes, at: np.ndarray, v: np.ndarray) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    lost = at[~np.isfinite(v).all(1)]
    if lost.size:
        top = axes.get_xaxis_transform()
        axes.plot(lost, [0.97] * len(lost), "X", color=PALETTE[1], transform=top, label="not finite", ms=8)
