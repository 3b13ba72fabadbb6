"""Ways of states over an energy, or in a cube, and the energy along them.

Shapes: T steps, n ways, d = 2 or 3 coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import GREY, PALETTE, dress, short
from .contours import Grid, ground

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["energy_paths"]

_STYLES = ("-", "--", ":", "-.")
SIGNS = ("*", "X", "^", "D")
STEPS = 40  # different energies that are drawn flat


def energy_paths(
    paths: Any,
    energies: Any,
    code: Any,
    names: Sequence[str],
    *,
    marks: Mapping[str, Any],
    labels: Sequence[str],
    grid: Grid | None = None,
    title: str = "",
) -> Figure:
    """Ways in the colour of their ends, from small squares on: over the contours of an energy, or in a cube; beside
    them the energy step by step.

    Args:
        paths: (T + 1, n, d).
        energies: (T + 1, n).
        code: Place of the end of each way in `names` (n,).
        names: Names of the ends; the first six have a colour, the others are grey.
        marks: Kind to points (m, d), drawn as star, cross, triangle and diamond.
        labels: Labels of the coordinates, with units.
        grid: Positions (G,), positions (H,) and energies (H, G), where there are two coordinates.
        title: Title of the picture.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    paths, energies = np.asarray(paths, dtype=float), np.asarray(energies, dtype=float)
    figure = Figure(figsize=(11.6, 6.2), dpi=120, layout="constrained")
    cells = figure.add_gridspec(1, 2, width_ratios=[1.35, 1])
    axes: Any = figure.add_subplot(cells[0, 0], projection="3d" if paths.shape[-1] == 3 else None)
    if grid is not None:
        surface(figure, axes, grid)
    else:
        cube(axes, float(max(np.abs(paths).max(), 1.0)))
    _set(axes, title, labels)
    beside = figure.add_subplot(cells[0, 1])
    dress(beside, title="Energy along the ways", x="step", y="energy")
    beside.xaxis.set_major_locator(MaxNLocator(integer=True))
    seen = set()
    for i, k in enumerate(np.asarray(code)):
        look = _look(int(k))
        label = None if k in seen else short(f"to {names[k]}", 26)
        seen.add(k)
        axes.plot(*paths[:, i].T, lw=1.4, label=label, zorder=3, **look)
        axes.plot(*paths[:1, i].T, ls="", marker="s", ms=5, color=look["color"], mec="white", mew=0.6, zorder=4)
        beside.plot(energies[:, i], lw=1.4, alpha=0.85, **look)
    for sign, (kind, at) in zip(SIGNS, marks.items(), strict=False):
        if len(at):
            look: dict[str, Any] = {"marker": sign, "ms": 15 if sign == "*" else 10, "mec": "black", "zorder": 6}
            axes.plot(*np.asarray(at, dtype=float).T, ls="", color="white", label=kind, **look)
    axes.plot([], [], ls="", marker="s", ms=5, color=GREY, label="start")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return figure


def surface(figure: Figure, axes: Axes, grid: Grid) -> None:
    """An energy from above: contours, or flat steps where it has few values, with a bar below; equal units."""
    x, y, z = (np.asarray(part, dtype=float) for part in grid)
    if len(np.unique(z)) > STEPS:
        ground(figure, axes, (x, y, z), "energy")
    else:
        extent = (x[0], x[-1], y[0], y[-1])
        image = axes.imshow(z, cmap="Greys", alpha=0.55, origin="lower", extent=extent, interpolation="nearest")
        figure.colorbar(image, ax=axes, location="bottom", shrink=0.8, aspect=45, pad=0.01, label="energy")
    axes.set_aspect("equal")
    axes.locator_params(nbins=5)


def _look(k: int) -> dict[str, Any]:
    """Colour and dashes of the k-th end."""
    return {"color": PALETTE[k] if k < 6 else GREY, "ls": _STYLES[k % 4]}


def _set(axes: Any, title: str, labels: Sequence[str]) -> None:
    axes.set(title=title, **{f"{a}label": name for a, name in zip("xyz", labels, strict=False)})


def cube(axes: Any, size: float = 1.0) -> None:
    """Edges of a cube around 0, seen so that no corner hides another."""
    for a, b in combinations(np.array(list(product((-size, size), repeat=3))), 2):
        if np.count_nonzero(a != b) == 1:
            axes.plot(*np.stack([a, b]).T, color="0.4", lw=0.9, zorder=1)
    axes.view_init(22, -62)
    axes.locator_params(nbins=5)
    axes.set_box_aspect((1, 1, 1), zoom=0.95)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis._axinfo["grid"].update(color="0.92")
