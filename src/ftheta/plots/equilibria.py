"""Equilibria: where they are among the states, and their eigenvalues.

Shapes: E equilibria, N units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import GREY, PALETTE, dress, short
from .contours import Grid
from .energy_paths import cube, surface

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["equilibria"]

SHOWN = 30
_MARKERS = ("*", "X", "o", "^", "D", "s")


def equilibria(
    points: Any,
    code: Sequence[int],
    roles: Sequence[str],
    eigenvalues: Sequence[Any],
    names: Sequence[str],
    *,
    grid: Grid | None = None,
) -> Figure:
    """States of two or three units with a sign at each equilibrium; beside them |λ| of each, beyond 1 pushes grow.

    Args:
        points: (E, N); of more than three units only the eigenvalues are drawn.
        code: Place in `roles` of what each is (E,).
        roles: Six at most, a colour and a sign each.
        eigenvalues: Of each; none where all units are saturated.
        names: Of each.
        grid: Positions (G,), positions (H,) and energies (H, G) of two units.
    """
    from matplotlib.figure import Figure

    points, n_units = np.asarray(points, dtype=float), np.shape(points)[1]
    seen, tall = n_units <= 3, 1.6 + 0.3 * min(len(points), SHOWN)
    figure = Figure(figsize=(11.6 if seen else 6.8, max(5.6 if seen else 3.2, tall)), dpi=120, layout="constrained")
    cells = figure.add_gridspec(1, 2 if seen else 1, width_ratios=[1.2, 1] if seen else None)
    if seen:
        axes: Any = figure.add_subplot(cells[0, 0], projection="3d" if n_units == 3 else None)
        _states(figure, axes, points, grid)
        for k in np.unique(np.asarray(code)):
            axes.plot(*points[np.asarray(code) == k].T, label=roles[k], **_look(k))
    beside = figure.add_subplot(cells[0, -1])
    _values(beside, eigenvalues, code, roles, names)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def _look(k: int) -> dict[str, Any]:
    return {"ls": "", "marker": _MARKERS[k], "ms": 9 if k else 14, "color": PALETTE[k], "mec": "black", "zorder": 6}


def _states(figure: Figure, axes: Any, points: np.ndarray, grid: Grid | None) -> None:
    if grid is not None:
        surface(figure, axes, grid)
    elif points.shape[1] == 3:
        cube(axes)
    labels = {f"{axis}label": f"x{i + 1}" for i, axis in enumerate("xyz"[: points.shape[1]])}
    axes.set(title="Equilibria among the states", **labels)


def _values(
    axes: Axes, eigenvalues: Sequence[Any], code: Sequence[int], roles: Sequence[str], names: Sequence[str]
) -> None:
    """A line an equilibrium; where all units are saturated, 0."""
    count = min(len(names), SHOWN)
    said = "Eigenvalues" if count == len(names) else f"Eigenvalues of the first {count} of {len(names)}"
    dress(axes, title=said, x="|λ|: below 1 a small push dies out", y="")
    axes.axvline(1.0, color=GREY, lw=1.2, ls=(0, (4, 3)), zorder=1)
    for i in range(count):
        sizes = np.abs(np.asarray(eigenvalues[i])) if len(eigenvalues[i]) else np.zeros(1)
        label = roles[code[i]] if code[i] not in code[:i] else None
        axes.plot(sizes, np.full(len(sizes), i), label=label, **_look(code[i]))
    axes.set_yticks(range(count), [short(name, 26) for name in names[:count]])
    axes.set_ylim(count - 0.4, -0.6)
    axes.set_xlim(left=-0.08)
