"""Curves of two rates over all thresholds (ROC, precision-recall), with what chance gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ._style import GREY, PALETTE, legend, panel, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["tradeoff"]

_POINTS = 400  # a line, as many as can be seen


def tradeoff(
    lines: Mapping[str, tuple[np.ndarray, np.ndarray]],
    *,
    chance: tuple[Sequence[float], Sequence[float]],
    x: str,
    y: str,
    title: str,
    steps: bool = False,
) -> Figure:
    """One line a class in the unit square, and the line of chance.

    Args:
        lines: Name to (x, y).
        chance: Ends of the line of chance, as (xs, ys).
        x: Label of the rate across.
        y: Label of the rate upwards.
        title: Title of the figure.
        steps: Each y holds up to its x from the point before, as in average precision.
    """
    if not lines or len(lines) > len(PALETTE):
        raise InputError(f"tradeoff got {len(lines)} lines; it draws 1 to {len(PALETTE)}, so pass a mean of more.")
    figure, axes = panel(5.4, 5.2, title=title, x=x, y=y)
    for i, (name, (across, up)) in enumerate(lines.items()):
        keep = np.unique(np.linspace(0, len(across) - 1, min(len(across), _POINTS)).round().astype(int))
        style = {"color": PALETTE[i], "ls": ("-", "--", ":", "-.")[i % 4], "lw": 1.8, "label": short(name)}
        axes.plot(across[keep], up[keep], drawstyle="steps-pre" if steps else "default", clip_on=False, **style)
    axes.plot(*chance, color=GREY, lw=1, ls=(0, (4, 3)), label="chance", zorder=1)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    legend(figure, width=60)
    return figure
