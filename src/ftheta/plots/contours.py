"""Ways across a surface: contour lines from above, one path per rule.

Levels are quantiles of the values shown, so that valleys and walls both have lines.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ._style import DASHES, PALETTE, Axes, Figure, canvas, drawn, legend, wide_range

Grid = tuple[np.ndarray, np.ndarray, np.ndarray]
MAX_OUTSIDE = 30.0  # box widths: points further out are drawn there, beyond the edge of the picture


@drawn
def contours(
    grid: Grid,
    paths: Mapping[str, Any],
    *,
    minima: Sequence[Sequence[float]] = (),
    title: str = "",
    labels: tuple[str, str] = ("x", "y"),
    value: str = "f(x, y)",
) -> Figure:
    """Contour lines of a surface with paths on it: a square at the start, a dot where a path ends, a cross where one
    leaves the picture for good, stars at the minima.

    Args:
        grid: Positions (G,), positions (H,) and values (H, G).
        paths: Name to points (T + 1, 2); all have one start.
        minima: Points to mark.
        title: Title of the figure.
        labels: Labels of both axes, with units.
        value: Label of the values, with their unit.
    """
    figure, axes = canvas(width=7.2, height=6.2)
    _surface(figure, axes, grid, value, paths, minima, title, labels)
    legend(figure)
    return figure


@drawn
def race(
    lines: Mapping[str, Mapping[str, tuple[Any, Any]]],
    *,
    label: str,
    title: str = "",
    grid: Grid | None = None,
    paths: Mapping[str, Any] | None = None,
    minima: Sequence[Sequence[float]] = (),
    labels: tuple[str, str] = ("x", "y"),
) -> Figure:
    """Values of several rules against several clocks, a panel each, and beside them the paths on the surface.

    Args:
        lines: Label of a clock, with its unit, to name of a rule to positions (T + 1,) and values (T + 1,).
        label: Label of the values, with their unit.
        title: Title of the figure.
        grid: The surface, as for `contours`; None: no picture of it.
        paths: Name to points (T + 1, 2), as for `contours`.
        minima: Points to mark.
        labels: Labels of both axes of the surface.
    """
    if grid is None:
        figure, places = canvas(len(lines), across=len(lines), width=3.9, height=4.2)
        figure.suptitle(title)
    else:
        size = {"width": 5.8, "height": 7.6 / len(lines), "width_ratios": [1.75, 1]}
        figure, cells = canvas(2 * len(lines), across=2, **size)
        cells[0].set_subplotspec(cells[0].get_gridspec()[:, 0])
        places = cells[1::2]
        for axes in cells[2::2]:
            axes.remove()
        _surface(figure, cells[0], grid, "f", paths or {}, minima, title, labels)
    for axes, (clock, values) in zip(places, lines.items(), strict=True):
        pairs = {name: (np.asarray(at), np.asarray(v, dtype=float)) for name, (at, v) in values.items()}
        first = np.array([v[0] for _, v in pairs.values()])
        top = np.concatenate([v[np.isfinite(v)] for _, v in pairs.values()])
        spread, log = max(abs(first).max(), 1e-300), wide_range(top) and first.min() > 0
        for i, (name, (at, v)) in enumerate(pairs.items()):
            axes.plot(at, np.where(v > 0, v, np.nan) if log else v, lw=1.5, label=name, **_style(i))
        if log:
            positive = top[top > 0]
            axes.set_yscale("log")
            axes.set_ylim(max(positive.min() / 3, 1e-17 * spread), min(3 * positive.max(), 100 * spread))
        else:
            low, high = max(top.min(), -10 * spread), min(top.max(), 10 * spread)
            axes.set_ylim(low - 0.05 * spread, high + 0.05 * spread)
        axes.set(xlabel=clock, ylabel=label)
    legend(figure, axes=figure.axes[:1])
    return figure


def _style(i: int) -> dict[str, Any]:
    """Color and dashes of the path of a rule."""
    return {"color": PALETTE[i % len(PALETTE)], "ls": DASHES[i // len(PALETTE) % 4]}


def _surface(
    figure: Figure, axes: Axes, grid: Grid, value: str, paths: Mapping[str, Any], minima: Any, title: str, labels: Any
) -> None:
    ground(figure, axes, grid, value)
    _walk(axes, grid, paths, minima)
    axes.set(xlabel=labels[0], ylabel=labels[1])
    axes.set_title(title, pad=12)  # above a cross at the edge
    axes.grid(visible=False)


def ground(figure: Figure, axes: Axes, grid: Grid, value: str) -> None:
    """Gray levels and lines of the surface, with their bar below."""
    from matplotlib.colors import BoundaryNorm

    x, y, z = (np.asarray(part, dtype=float) for part in grid)
    finite = z[np.isfinite(z)]
    levels = np.unique(np.quantile(finite, np.linspace(0, 1, 19) ** 2)) if finite.size else np.zeros(0)
    if len(levels) > 1:
        shades = axes.contourf(x, y, z, levels=levels, cmap="Greys", alpha=0.55, norm=BoundaryNorm(levels, 256))
        axes.contour(x, y, z, levels=levels[1:-1], colors="0.45", linewidths=0.6, linestyles="solid")
        bar = figure.colorbar(shades, ax=axes, location="bottom", shrink=0.8, aspect=45, pad=0.01, label=value)
        ticks = levels[::3]
        bar.set_ticks(ticks.tolist(), labels=[f"{t:.3g}" for t in ticks])
        bar.ax.minorticks_off()
    axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]))


def _walk(axes: Axes, grid: Grid, paths: Mapping[str, Any], minima: Sequence[Sequence[float]]) -> None:
    low, high = (np.array([edge[i] for edge in grid[:2]], dtype=float) for i in (0, -1))
    for i, (name, points) in enumerate(paths.items()):
        points = np.asarray(points, dtype=float)
        points = points[np.isfinite(points).all(1)]
        inside = np.flatnonzero(((low <= points) & (points <= high)).all(1))
        gone = not inside.size or inside[-1] < len(points) - 1
        if inside.size and gone:  # the path is cut where it crosses the edge for the last time
            kept, step = points[: inside[-1] + 1], points[inside[-1] + 1] - points[inside[-1]]
            with np.errstate(divide="ignore", invalid="ignore"):
                reach = np.where(step > 0, high - kept[-1], low - kept[-1]) / step  # share of the step until each edge
            points = np.vstack([kept, kept[-1] + reach[step != 0].min() * step])
        shown = np.clip(points, low - MAX_OUTSIDE * (high - low), high + MAX_OUTSIDE * (high - low))
        marker: dict[str, Any] = {"marker": "o", "ms": 2.6} if len(points) <= 80 else {}
        axes.plot(*shown.T, lw=1.5, label=f"{name} (leaves)" if gone else name, **_style(i), **marker, zorder=3)
        sign = "X" if gone else "o"
        end = np.clip(shown[-1], low, high)  # on the edge, for one that is never inside too
        axes.plot(*end, ls="", marker=sign, ms=9, color=_style(i)["color"], mec="white", zorder=6, clip_on=not gone)
    for k, point in enumerate(minima):
        known: dict[str, Any] = {"label": "minimum"} if k == 0 else {}
        axes.plot(*point, ls="", marker="*", ms=15, color="white", mec="black", zorder=7, **known)
    for points in list(paths.values())[:1]:
        axes.plot(*np.asarray(points)[0], ls="", marker="s", ms=8, color="black", mec="white", zorder=5, label="start")
