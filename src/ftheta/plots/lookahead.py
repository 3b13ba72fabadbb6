"""The vector diagram of Nesterov momentum: jump, correction, result, and classical momentum beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import PALETTE, dress
from .contours import Grid, ground

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["lookahead"]


def lookahead(theta: Any, jump: Any, correction: Any, plain: Any, *, grid: Grid, title: str = "") -> Figure:
    """Arrows from θ: the momentum jump, the gradient step at the look-ahead point and the step that results; dashed,
    what classical momentum does with the gradient at θ.

    Args:
        theta: Where the update begins: (2,).
        jump: Momentum jump: (2,).
        correction: Gradient step at the look-ahead point: (2,).
        plain: Gradient step at θ: (2,).
        grid: The surface around: positions (G,), positions (H,) and values (H, G).
        title: Title of the figure.
    """
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import FancyArrowPatch

    theta, jump, correction, plain = (np.asarray(v, dtype=float) for v in (theta, jump, correction, plain))
    ahead = theta + jump
    arrows = (
        ("momentum jump μv", theta, ahead, PALETTE[0], "-"),
        ("gradient step at the look-ahead point, -η∇f(θ + μv)", ahead, ahead + correction, PALETTE[1], "-"),
        ("Nesterov's update v'", theta, ahead + correction, PALETTE[2], "-"),
        ("gradient step at θ, -η∇f(θ)", theta, theta + plain, PALETTE[3], "--"),
        ("update of classical momentum", theta, ahead + plain, PALETTE[6], "--"),
    )
    figure = Figure(figsize=(7.2, 7.4), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    ground(figure, axes, grid, "f")
    for _, tail, head, color, ls in arrows:
        look = {"arrowstyle": "-|>", "mutation_scale": 16, "shrinkA": 0, "shrinkB": 0, "lw": 2}
        axes.add_patch(FancyArrowPatch(tuple(tail), tuple(head), color=color, ls=ls, zorder=4, **look))
    axes.plot(*theta, "s", ms=8, color="black", mec="white", zorder=6)
    axes.plot(*ahead, "o", ms=8, color="black", mec="white", zorder=6)
    dress(axes, title=title, x="x", y="y")
    axes.grid(visible=False)
    axes.set_aspect("equal")
    keys = [Line2D([], [], color=color, ls=ls, lw=2) for *_, color, ls in arrows]
    dots = [Line2D([], [], ls="", marker=m, ms=8, color="black") for m in "so"]
    names = [*(name for name, *_ in arrows), "θ", "look-ahead point θ + μv"]
    figure.legend([*keys, *dots], names, loc="outside lower center", ncols=2, frameon=False)
    return figure
