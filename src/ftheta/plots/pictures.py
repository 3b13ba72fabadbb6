"""Images: maps of a net, filters, patches, samples.

Shapes: C channels, places (L,) or (H, W), window (k,) or (k, k); O filters, I input channels, K classical kernels or
outputs; N samples of D columns; U units.
"""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np

from ._style import GREY, PALETTE, Axes, Figure, canvas, drawn, short
from ._tiles import bare, flat, mosaic, tiles
from ._tiles import picture as as_picture

COLUMNS, MAX_TILES, MAX_OUTPUTS, MAX_LAYERS = 8, 64, 12, 10


@drawn
def maps(x: Any, layers: Mapping[str, Any], bars: Any, names: Sequence[str], *, label: str = "probability") -> Figure:
    """The picture on top, the eight strongest maps of each layer (of ten at most) below it, the outputs at the bottom.

    Args:
        x: The picture (C, *places).
        layers: Name of a layer to its maps (C_l, *places of l), first layer first.
        bars: Outputs (K,), or None.
        names: Their names.
        label: What the outputs are.
    """
    some = np.unique(np.linspace(0, len(layers) - 1, MAX_LAYERS).round().astype(int))
    layers = {name: made for i, (name, made) in enumerate(layers.items()) if i in some}
    heights = [1.9, *[1.0] * len(layers), *[1.5] * (bars is not None)]
    height = (0.8 + 0.92 * sum(heights)) / len(heights)
    figure, grid = canvas(len(heights), across=1, width=7.2, height=height, height_ratios=heights)
    x = np.asarray(x)
    if x.ndim == 2:
        grid[0].plot(x.T, ls="-", lw=1.4)
        grid[0].set(title="Input", xlabel="place", ylabel="signal")
    else:
        grid[0].imshow(as_picture(x), cmap="gray")
        grid[0].set(title="Input", xlabel="column (pixels)", ylabel="row (pixels)")
        grid[0].grid(visible=False)
    for axes, (name, made) in zip(grid[1:], layers.items(), strict=False):
        _layer(axes, name, np.asarray(made, dtype=float))
    note = f"number of the map; {COLUMNS} strongest at most, each layer in its own range of colors"
    grid[len(layers)].set_xlabel(note)
    if bars is not None:
        _bars(grid[-1], np.asarray(bars, dtype=float), names, label)
    return figure


def _layer(axes: Axes, name: str, made: np.ndarray) -> None:
    """The strongest maps in the order of their numbers."""
    peaks = np.abs(made.reshape(len(made), -1)).max(1)
    chosen = np.sort(np.argsort(-peaks, kind="stable")[:COLUMNS])
    shown = np.full((COLUMNS, *flat(made).shape[1:]), np.nan)
    shown[: len(chosen)] = flat(made)[chosen]
    mosaic(axes, shown, COLUMNS, names=[""], signed=bool((made < 0).any()))
    ticks = axes.get_xticks()
    axes.set_xticks(ticks[: len(chosen)], [str(k) for k in chosen])
    if len(chosen) < COLUMNS:  # where there are no maps there is no color
        axes.axvspan(ticks[len(chosen) - 1] + ticks[0] - 0.5, axes.get_xlim()[1], color="white", lw=0)
    size = " × ".join(map(str, made.shape))
    axes.set_ylabel(f"{short(name, 18)}\n{size}", rotation=0, ha="right", va="center", size=9)


def _bars(axes: Axes, bars: np.ndarray, names: Sequence[str], label: str) -> None:
    """All outputs, or the largest twelve."""
    few = len(bars) <= MAX_OUTPUTS
    chosen = np.arange(len(bars)) if few else np.sort(np.argsort(-bars, kind="stable")[:MAX_OUTPUTS])
    axes.set(xlabel="output" if few else f"the largest {MAX_OUTPUTS} outputs", ylabel=label)
    colors = [PALETTE[1] if k == bars.argmax() else PALETTE[0] for k in chosen]
    axes.bar(range(len(chosen)), bars[chosen], color=colors, width=0.7)
    labels = [short(names[int(k)], 18) for k in chosen]
    turned = max(map(len, labels)) * len(labels) > 70  # they would overlap side by side
    axes.set_xticks(range(len(chosen)), labels, rotation=30 * turned, ha="right" if turned else "center")
    if label == "probability":
        axes.set_ylim(0, 1.15)
    top = int(np.flatnonzero(chosen == bars.argmax())[0])
    axes.annotate(f"{bars.max():.3g}", (top, bars.max()), ha="center", va="bottom", size=9)


@drawn
def filters(
    kernels: Any,
    classical: Any,
    names: Sequence[str],
    *,
    picture: Any = None,
    responses: Any = None,
    classical_responses: Any = None,
    title: str = "",
) -> Figure:
    """Learned kernels, classical ones below them; with a picture, its filtered versions on the right of both.

    Args:
        kernels: Learned ones (O, I, *window); shown is the mean over input channels.
        classical: (K, *window).
        names: Their names.
        picture: (C, *places), or None.
        responses: What the learned kernels make of it (O, *places).
        classical_responses: What the classical ones make of it (K, *places).
        title: Title of the figure.
    """
    learned, fixed = (np.asarray(v, dtype=float) for v in (kernels[:MAX_TILES], classical))
    lines, sides = -(-len(learned) // COLUMNS), 1 if picture is None else 3
    heights = [lines, 1] if len(fixed) else [lines]
    width, height = (0.9 + 4.2 * (1 if sides == 1 else 2.2)) / sides, 0.5 * sum(heights) / len(heights) + 0.9
    ratios = {"height_ratios": heights, "width_ratios": [1.0, 1.0, 0.3][:sides]}
    figure, grid = canvas(len(heights) * sides, across=sides, width=width, height=height, **ratios)
    grid = grid.reshape(len(heights), sides)
    columns = min(COLUMNS, len(learned))
    signs = mosaic(grid[0, 0], flat(learned.mean(1)), columns, signed=True)
    cut = f", the first {MAX_TILES} of {len(kernels)}" if len(kernels) > MAX_TILES else ""
    grid[0, 0].set(title=f"{title}{cut}")
    figure.colorbar(signs, ax=grid[0, 0], label="weight", shrink=0.9, aspect=12)
    if len(fixed):
        mosaic(grid[1, 0], flat(fixed), len(fixed), signed=True, each=True, names=[""])
        grid[1, 0].set(title="Classical kernels of this size")
        grid[1, 0].set_xticks(grid[1, 0].get_xticks(), names, rotation=30, ha="right")
    if picture is not None:
        if len(responses):
            mosaic(grid[0, 1], flat(np.asarray(responses)[:MAX_TILES]), columns, signed=True, each=True)
        grid[0, 1].set(title="What they make of the picture")
        if len(classical_responses):
            mosaic(grid[1, 1], flat(np.asarray(classical_responses)), len(fixed), signed=True, each=True, names=[""])
            grid[1, 1].set(title="What these make of it")
            grid[1, 1].set_xticks(grid[1, 1].get_xticks(), names, rotation=30, ha="right")
        grid[0, 2].imshow(as_picture(np.asarray(picture)), cmap="gray")
        grid[0, 2].set_title("The picture")
        for axes in grid[:, 2]:
            bare(axes)
    return figure


@drawn
def layer_filters(layers: Mapping[str, Any]) -> Figure:
    """Layers from left to right, at most 64 filters of each, (O, I, H, W) seen from the pixels, as means over channels.

    Red is above 0, blue below; each layer has its own range of colors.
    """
    made = [np.asarray(v, dtype=float)[:MAX_TILES].mean(1) for v in layers.values()]
    lines = max(-(-len(some) // COLUMNS) for some in made)
    height = max(2.2, 1.0 + 0.47 * lines * min(1.0, made[0].shape[1] / made[0].shape[2]))
    figure, grid = canvas(len(made), across=len(made), width=4.9, height=height)
    for axes, (name, given), some in zip(grid, layers.items(), made, strict=True):
        colors = mosaic(axes, some, min(COLUMNS, len(some)), signed=True)
        cut = f", the first {MAX_TILES} of {len(given)}" if len(given) > MAX_TILES else ""
        axes.set(title=f"Filters of {name}{cut}")
        figure.colorbar(colors, ax=axes, label="weight, seen from the pixels", shrink=0.75, aspect=20)
    return figure


@drawn
def patches(
    layers: Mapping[str, Any], units: Sequence[Any], *, x: str = "patch", y: str = "unit", signed: bool = False
) -> Figure:
    """One panel per layer, from left to right; units from top to bottom, patches of a unit side by side.

    Args:
        layers: Title of a panel to its patches (U, N, C, *window); NaN, beyond the edge of a picture, have the
            color of the gaps.
        units: Names of the units of each panel.
        x: What the patches of a line are.
        y: What the lines are.
        signed: Every patch has its own range, red above 0 and blue below; else all share one, in gray.
    """
    made = {title: np.asarray(v, dtype=float) for title, v in layers.items()}
    lines, columns = (max(v.shape[axis] for v in made.values()) for axis in (0, 1))
    width = max(4.4 / min(3, len(made)), 0.9 + 0.48 * columns)
    titles = [fill(title, int(10 * width)) for title in made]
    height = 1.0 + 0.5 * lines + 0.17 * max(title.count("\n") for title in titles)
    figure, grid = canvas(len(made), across=3 if width < 3.2 else 2, width=width, height=height)
    for axes, title, found, names in zip(grid, titles, made.values(), units, strict=True):
        shown = np.stack([as_picture(p) for p in found.reshape(-1, *found.shape[2:])])
        own = signed and shown.ndim == 3
        mosaic(axes, shown, found.shape[1], names=[short(str(n), 14) for n in names], signed=own, each=own)
        axes.set(title=title, xlabel=x, ylabel=y)
    return figure


@drawn
def sampled(pictures: Any, neighbors: Any = None, distance: Any = None, usual: Any = None) -> Figure:
    """At most 64 samples line by line; with neighbors, these at the same places, and how far samples are from them.

    Args:
        pictures: Samples (N, H, W) or (N, C, H, W).
        neighbors: The training rows that are nearest to them (N, ...), or None.
        distance: Their distances (N,).
        usual: Distances of training rows from their nearest other ones.
    """
    some = np.asarray(pictures, dtype=float)[:MAX_TILES]
    columns = min(8, len(some))
    height = max(3.0, 1.0 + 0.42 * -(-len(some) // columns) * min(1.0, some.shape[-2] / some.shape[-1]))
    near = {} if neighbors is None else {"Nearest training rows": np.asarray(neighbors, dtype=float)[:MAX_TILES]}
    wide = 0.8 + 0.42 * columns
    widths = [wide, wide, 3.2] if near else [max(3.2, wide)]
    how = {"across": 3, "width": sum(widths) / len(widths), "height": height, "width_ratios": widths}
    figure, grid = canvas(len(widths), **how)
    cut = f", the first {MAX_TILES} of {len(pictures)}" if len(pictures) > MAX_TILES else ""
    both = np.concatenate([some, *near.values()])
    for axes, (title, shown) in zip(grid, {f"Samples{cut}": some, **near}.items(), strict=False):
        mosaic(axes, tiles(shown), columns, limits=(float(both.min()), float(both.max()) or 1.0))
        axes.set(title=title)
    if near:
        _distances(grid[2], np.asarray(distance), np.asarray(usual))
    return figure


@drawn
def sampled_points(
    rows: Any, neighbors: Any = None, distance: Any = None, usual: Any = None, *, names: Sequence[str] = ()
) -> Figure:
    """The first two columns of samples (N, D), and the training rows nearest to them; of one column, its order.

    `names` are those of the columns; other arguments as in `sampled`.
    """
    rows, known = np.asarray(rows), neighbors is not None
    figure, grid = canvas(1 + known, width=4.4, height=4.0)
    few = rows.shape[1] > 1 and len(np.unique(rows)) <= 3  # values: points that lie on one another are spread
    for k, (label, x) in enumerate({"sample": rows, "nearest training row": neighbors}.items()):
        if x is not None:
            x = (
                np.column_stack([np.arange(len(x), dtype=float), x])
                if np.shape(x)[1] == 1
                else np.array(x, dtype=float)[:, :2]
            )
            x += 0.4 * few * (np.random.default_rng(k).random(x.shape) - 0.5)
            grid[0].scatter(x[:, 0], x[:, 1], s=18, marker="ox"[k], color=PALETTE[k], label=label)
    called = [short(name) for name in names] or ["column 1", "column 2"]
    x, y = ("sample", called[0]) if rows.shape[1] == 1 else called[:2]
    grid[0].set(title="Samples" + ", points spread to be seen" * few, xlabel=x, ylabel=y)
    if known:
        grid[0].legend(loc="upper center", bbox_to_anchor=(0.5, -0.14))
        _distances(grid[1], np.asarray(distance), np.asarray(usual))
    return figure


def _distances(axes: Axes, distance: np.ndarray, usual: np.ndarray) -> None:
    """Shares of samples and of training rows that lie nearer than this to a training row."""
    looks = {"samples": (distance, PALETTE[0], "-"), "training rows, to the others": (usual, GREY, "--")}
    for label, (values, color, style) in looks.items():
        if len(values):
            x = np.sort(values)
            axes.step([0.0, *x], np.arange(len(x) + 1) / len(x), where="post", color=color, ls=style, label=label)
    axes.set(title="Copies?", xlabel="distance to the nearest training row", ylabel="share that is nearer than this")
    axes.set(ylim=(0, 1.02), xlim=(0, None))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14))
