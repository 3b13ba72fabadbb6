"""What a model answers: confusion matrix, classes of pixels, places that speak for or against an output; patches.

Shapes: B rows or images, C channels, K classes, places (L,) or (H, W); U units, N patches, window (k,) or (k, k).
"""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np

from ._style import PALETTE, SIGNED, Axes, Figure, bare, canvas, drawn, mosaic, picture, short, tiles

_COUNTED, _WRITTEN, _NAMED = 10, 30, 30  # classes up to which counts, shares and every name are written
MAX_ROWS = 6  # of saliency


@drawn
def confusion(counts: np.ndarray, names: Sequence[str]) -> Figure:
    """Errors in colors of their own scale, what is right in gray; recall at the right, precision below.

    Counts with shares of the true class for up to ten classes, shares in % for up to thirty, colors alone beyond.

    Args:
        counts: Rows of data by true class and by answer: (K, K).
        names: Names of the K classes.
    """
    from matplotlib.colors import ListedColormap

    k, rows, right = len(names), counts.sum(1, keepdims=True), np.eye(len(names), dtype=bool)
    share = np.divide(counts, rows, out=np.full(counts.shape, np.nan), where=rows > 0)  # an absent class stays white
    wrong = np.where(right, np.nan, share)
    most = np.nanmax(wrong, initial=0.0) or 1.0
    cell = max(0.62, 4.2 / (k + 2)) if k <= _COUNTED else 0.27
    side = min(9.0, cell * (k + (k <= _WRITTEN)) + 1.7)
    figure, axes = canvas(width=max(4.6, side + 1.0), height=max(3.6, side))
    axes.set(title="Confusion matrix", xlabel="predicted class", ylabel="true class")
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    axes.imshow(np.where(right & (rows > 0), 0.0, np.nan), cmap=ListedColormap(["#e3e3e3"]))
    errors = axes.imshow(wrong, cmap="Oranges", vmin=0, vmax=most)
    if k > _COUNTED:
        label = "errors, share of the true class" + " (numbers: in %)" * (k <= _WRITTEN)
        figure.colorbar(errors, ax=axes, label=label, shrink=0.8)
    shown = range(0, k, -(-k // _NAMED))  # every name, or every m-th where there are too many
    labels, size = [short(names[i], 16) for i in shown], 9 if k <= _COUNTED else 7
    upright = max(map(len, labels)) > (cell * 11 if k <= _COUNTED else 2)  # letters that fit
    written = k <= _WRITTEN
    beside = [k - 0.2] * written
    axes.set_xticks([*shown, *beside], [*labels, "recall"][: len(labels) + written], rotation=90 * upright, size=size)
    axes.set_yticks([*shown, *beside], [*labels, "precision"][: len(labels) + written], size=size)
    axes.set(xlim=(-0.5, k - 0.5 + 0.7 * written), ylim=(k - 0.5 + 0.7 * written, -0.5))
    axes.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    axes.xaxis.set_label_position("top")
    if written:
        _write(axes, counts, share, most, labels)
    return figure


def _write(axes: Axes, counts: np.ndarray, share: np.ndarray, most: float, names: Sequence[str]) -> None:
    """Numbers in the cells, and beside them recall and precision."""
    k = len(counts)
    look: dict[str, Any] = {"ha": "center", "va": "center", "size": 9.0 if k <= _COUNTED else 6.0}
    for (i, j), count in np.ndenumerate(counts):
        if count:
            percent = f"{100 * share[i, j]:.0f}" if share[i, j] >= 0.005 else "<1"
            color = "white" if i != j and share[i, j] > 0.6 * most else "black"
            words = "" if k > 2 else " right" if i == j else f" taken for\n{names[j]}"
            axes.text(j, i, f"{count:,}{words}\n{percent} %" if k <= _COUNTED else percent, color=color, **look)
    # beside the colors: black by its number follows the page, and is light on a dark one
    unit = " %" if k <= _COUNTED else ""
    for i, column in enumerate(counts.sum(0)):
        if counts[i].sum():
            axes.text(k - 0.2, i, f"{100 * share[i, i]:.0f}{unit}", weight="bold", color="#000000", **look)
        if column:
            axes.text(i, k - 0.2, f"{100 * counts[i, i] / column:.0f}{unit}", weight="bold", color="#000000", **look)


@drawn
def examples(groups: Mapping[str, np.ndarray], *, title: str = "") -> Figure:
    """A line of pictures (n, C, H, W) for each name, in gray or color, each in its own range of colors."""
    columns = max(map(len, groups.values()))
    figure, grid = canvas(len(groups), across=1, width=max(4.6, 0.85 * columns + 2.2), height=0.95)
    for axes, (name, pictures) in zip(grid, groups.items(), strict=True):
        shown = tiles(np.asarray(pictures, dtype=float))
        empty = np.full((columns - len(shown), *shown.shape[1:]), np.nan)
        mosaic(axes, np.concatenate([shown, empty]), columns, names=[short(name, 28)], each=True)
        axes.set(facecolor="none", xticks=[], anchor="W")  # else the layout cuts the names
        axes.tick_params(labelsize=9)
    figure.suptitle(title, size=11)
    return figure


@drawn
def segmented(
    images: np.ndarray,
    truth: np.ndarray | None,
    predicted: np.ndarray,
    names: Sequence[str],
    *,
    title: str = "Segmentation",
    numbers: Sequence[Any] | None = None,
) -> Figure:
    """One column per image: its pixels, their true classes, their predicted ones; the share that is right below.

    Args:
        images: Grey or color: (n, H, W), (n, 1, H, W) or (n, 3, H, W).
        truth: Positions in `names`: (n, H, W); -1 is not counted, and white. None: not known, and not shown.
        predicted: The same of the predictions.
        names: Of the K classes.
        title: Title of the figure.
        numbers: Of the images; None: 0, 1, ...
    """
    from matplotlib.patches import Patch

    images = images[:, None] if images.ndim == 3 else images
    maps = {"truth": truth, "prediction": predicted} if truth is not None else {"prediction": predicted}
    n, rows, (height, width) = len(images), 1 + len(maps), predicted.shape[1:]
    tall = max(0.95, 1.55 * min(2.0, height / width))  # inches, for the labels of the rows too
    size = {"width": max(5.2, 1.6 * n + 1.0) / n, "height": tall + 1.3 / rows}
    figure, grid = canvas(rows * n, across=n, **size, sharex=True, sharey=True)
    grid = grid.reshape(rows, n)
    for column, axes in zip(range(n), grid.T, strict=True):
        axes[0].imshow(picture(images[column]), cmap="gray")
        axes[0].set_title(f"image {column if numbers is None else numbers[column]}", size=9)
        for place, labels in zip(axes[1:], maps.values(), strict=True):
            place.imshow(_colors(len(names))[labels[column]])
        right = ""
        if truth is not None:
            hits = (truth[column] == predicted[column])[truth[column] >= 0]  # of the counted pixels
            right = f"{100 * hits.mean() if hits.size else np.nan:.1f} % right"
        for place in axes:
            bare(place)
        axes[-1].set_xlabel(right, size=9)
    for row, name in zip(grid, ("image", *maps), strict=True):
        row[0].set_ylabel(name, size=9)
    figure.suptitle(title, size=11)
    ignored = truth is not None and bool((truth < 0).any())
    labels = [short(name, 20) for name in (*names, *["not counted"] * ignored)]
    pairs = zip(labels, _colors(len(names)), strict=False)
    patches = [Patch(facecolor=color, edgecolor="0.4", label=name) for name, color in pairs]
    columns = max(1, int(12 * figure.get_figwidth() / (max(map(len, labels)) + 6)))
    figure.legend(handles=patches, loc="outside lower center", ncols=min(columns, len(labels)))
    return figure


def _colors(k: int) -> np.ndarray:
    """(K + 1, 3): light gray for the first class, then the palette, or a rainbow for many; white for -1, the last."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    rest = PALETTE if k <= len(PALETTE) + 1 else colormaps["turbo"](np.linspace(0, 1, k - 1))
    return np.array([to_rgb("0.85"), *(to_rgb(c) for c in rest[: k - 1]), to_rgb("white")])


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
        shown = np.stack([picture(p) for p in found.reshape(-1, *found.shape[2:])])
        own = signed and shown.ndim == 3
        mosaic(axes, shown, found.shape[1], names=[short(str(n), 14) for n in names], signed=own, each=own)
        axes.set(title=title, xlabel=x, ylabel=y)
    return figure


@drawn
def saliency(x: Any, maps: Any, titles: Sequence[str], *, label: str = "saliency") -> Figure:
    """Rows from left to right, six at most: the picture, its map below; every map has its own range.

    Several maps of one picture are drawn over it alone.

    Args:
        x: Pictures or signals (B, C, *places).
        maps: Their maps (B, *places).
        titles: Words above each picture.
        label: What the maps show.
    """
    x, maps = np.asarray(x)[:MAX_ROWS], np.asarray(maps, dtype=float)[:MAX_ROWS]
    x = x if x.ndim == 4 else np.broadcast_to(x, (len(maps), *x.shape[1:]))
    most = np.abs(maps.reshape(len(maps), -1)).max(1)
    scaled = maps / np.where(most > 0, most, 1.0).reshape(-1, *[1] * (maps.ndim - 1))
    return (_pictures if x.ndim == 4 else _signals)(x, scaled, titles, f"{label}, share of its largest value")


def _pictures(x: np.ndarray, maps: np.ndarray, titles: Sequence[str], label: str) -> Figure:
    width, lines = max(4.6, 1.4 + 1.5 * len(maps)) / len(maps), 2 if len(x) == len(maps) else 1
    figure, grid = canvas(lines * len(maps), across=len(maps), width=width, height=2.1)
    grid = grid.reshape(lines, -1)
    for i, (map_, title) in enumerate(zip(maps, titles, strict=False)):
        below, row = grid[-1, i], picture(x[i % len(x)])
        grid[0, i].imshow(row, cmap="gray")
        grid[0, i].set_title("\n".join(short(line, 18) for line in title.split("\n")), size=9)
        below.imshow(row, cmap="gray", alpha=0.3)
        strength = np.clip(0.15 + 2 * np.abs(map_), 0, 1)
        smooth = "bilinear" if min(map_.shape) > 15 else "nearest"
        below.imshow(map_, cmap=SIGNED, vmin=-1, vmax=1, alpha=strength, interpolation=smooth)
    for axes in grid.flat:
        bare(axes)
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    bar = ScalarMappable(Normalize(-1, 1), SIGNED)
    figure.colorbar(bar, ax=grid, label="\n".join(label.split(", ")), shrink=0.6)
    return figure


def _signals(x: np.ndarray, maps: np.ndarray, titles: Sequence[str], label: str) -> Figure:
    figure, grid = canvas(len(x), across=1, width=7.0, height=1.5 + 1.0 / len(x), sharex=True)
    for axes, row, map_, title in zip(grid, x, maps, titles, strict=False):
        axes.set(title="\n".join(short(line, 40) for line in title.split("\n")), ylabel="signal")
        low, high = float(row.min()), float(row.max())
        pad = 0.05 * (high - low) or 0.5
        span = (-0.5, len(map_) - 0.5, low - pad, high + pad)
        axes.imshow(map_[None], cmap=SIGNED, vmin=-1, vmax=1, extent=span, aspect="auto", alpha=0.8)
        for channel, line in enumerate(row):
            axes.plot(line, color=PALETTE[-1 - channel % len(PALETTE)], lw=1.4)
        axes.grid(visible=False)
    grid[-1].set_xlabel("place")
    grid[0].set_xlabel("place" if len(grid) == 1 else " ")
    figure.colorbar(grid[0].images[0], ax=grid, label=label)
    return figure
