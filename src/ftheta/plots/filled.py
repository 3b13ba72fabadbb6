"""Pictures with rows removed and filled in, a panel for each number of rows, and the error by rows and steps.

Shapes: R numbers of removed rows, S numbers of steps, n pictures (H, W) or (C, H, W).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import GREY, PALETTE, dress
from ._tiles import mosaic, tiles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["filled"]

MARKS = "os^DvP"


def filled(
    truth: Any, missing: Any, made: Any, rows: Any, steps: Any, error: Any, mean_error: Any, *, where: str = "bottom"
) -> Figure:
    """Lines of a panel: whole pictures, what was left of them, and after each number of steps; errors at the bottom.

    Args:
        truth: Whole pictures (n, ...).
        missing: Pixels that were removed (R, ...).
        made: Completed pictures (R, S, n, ...).
        rows: How many rows were removed (R,).
        steps: How many steps were made (S,).
        error: Mean |difference| of a missing pixel (R, S).
        mean_error: Of the mean image (R,); NaN is not drawn.
        where: From which end rows were removed.
    """
    from matplotlib.figure import Figure

    truth, missing, made = (np.asarray(v) for v in (truth, missing, made))
    across, n, lines = min(2, len(rows)), len(truth), 2 + len(steps)
    down = -(-len(rows) // across)
    flat = min(1.0, 0.3 + 0.7 * truth.shape[-2] / truth.shape[-1])
    heights = [*[0.6 + 0.44 * lines * flat] * down, 2.6]
    width = max(5.6, across * (1.0 + 0.44 * n))
    figure = Figure(figsize=(width, sum(heights)), dpi=120, layout="constrained")
    grid = figure.add_gridspec(down + 1, across, height_ratios=heights)
    names = ["whole", "what is left", *(_count(s, "step") for s in steps)]
    for k, count in enumerate(rows):
        axes = figure.add_subplot(grid[k // across, k % across])
        shown = np.concatenate([truth, np.where(missing[k], np.nan, truth), *made[k]])
        mosaic(axes, tiles(shown), n, names=names)
        axes.set_title(f"{_count(count, 'row')} removed", size=10)
        axes.set_xlabel("picture")
    _errors(figure.add_subplot(grid[down, :]), rows, steps, np.asarray(error), np.asarray(mean_error), where)
    return figure


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def _errors(axes: Axes, rows: Any, steps: Any, error: np.ndarray, mean_error: np.ndarray, where: str) -> None:
    if np.isfinite(mean_error).all():
        axes.plot(rows, mean_error, color=GREY, ls="--", marker="x", lw=2, label="mean image")
    for s, (count, line) in enumerate(zip(steps, error.T, strict=True)):
        colour, mark = PALETTE[s % len(PALETTE)], MARKS[s % len(MARKS)]
        axes.plot(rows, line, color=colour, marker=mark, ms=5, label=_count(count, "step"))
    dress(axes, title="", x=f"rows removed at the {where}", y="mean |difference|\nof a missing pixel")
    axes.set_xticks(rows)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
