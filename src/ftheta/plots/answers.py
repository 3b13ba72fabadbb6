"""What a model answers: confusion matrix, classes of pixels, places that speak for or against an output.

Shapes: B rows or images, C channels, K classes, places (L,) or (H, W).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import PALETTE, Figure, canvas, drawn, short
from ._tiles import SIGNED, picture

if TYPE_CHECKING:
    pass

_COUNTED, _WRITTEN, _NAMED = 10, 30, 30  # classes up to which counts, shares and every name are written
MAX_ROWS = 6  # of saliency


@drawn
def confusion(counts: np.ndarray, names: Sequence[str], *, title: str = "Confusion matrix") -> Figure:
    """Counts with shares of the row for up to ten classes, shares in % for up to thirty, colors alone beyond.

    Args:
        counts: Rows of data by true class and by answer: (K, K).
        names: Names of the K classes.
        title: Title of the figure.
    """
    k, rows = len(names), counts.sum(1, keepdims=True)
    share = np.divide(counts, rows, out=np.full(counts.shape, np.nan), where=rows > 0)  # an absent class stays white
    side = min(9.0, 0.62 * k + 1.6 if k <= _COUNTED else 0.27 * k + 1.9)
    figure, axes = canvas(width=max(4.2, side + 0.9), height=max(3.4, side))
    axes.set(title=title, xlabel="predicted class", ylabel="true class")
    axes.grid(visible=False)
    label = "share of the true class" + (" (numbers: in %)" if _COUNTED < k <= _WRITTEN else "")
    figure.colorbar(axes.imshow(share, cmap="Blues", vmin=0, vmax=1), ax=axes, label=label, shrink=0.8)
    shown = range(0, k, -(-k // _NAMED))  # every name, or every m-th where there are too many
    labels = [short(names[i], 16) for i in shown]
    upright, size = max(map(len, labels)) > (6 if k <= _COUNTED else 2), 9 if k <= _COUNTED else 7
    axes.set_xticks(shown, labels, rotation=90 if upright else 0, size=size)
    axes.set_yticks(shown, labels, size=size)
    if k <= _WRITTEN:
        for (i, j), count in np.ndenumerate(counts):
            if count:
                percent = f"{100 * share[i, j]:.0f}" if share[i, j] >= 0.005 else "<1"
                text, size = (f"{count:,}\n{percent} %", 7.5) if k <= _COUNTED else (percent, 6.0)
                color = "white" if share[i, j] > 0.68 else "black"
                axes.text(j, i, text, ha="center", va="center", size=size, color=color)
    return figure


@drawn
def segmented(
    images: np.ndarray,
    truth: np.ndarray | None,
    predicted: np.ndarray,
    names: Sequence[str],
    *,
    title: str = "Segmentation",
) -> Figure:
    """One column per image: its pixels, their true classes, their predicted ones; the share that is right below.

    Args:
        images: Grey or color: (n, H, W), (n, 1, H, W) or (n, 3, H, W).
        truth: Positions in `names`: (n, H, W); -1 is not counted, and white. None: not known, and not shown.
        predicted: The same of the predictions.
        names: Of the K classes.
        title: Title of the figure.
    """
    images = images[:, None] if images.ndim == 3 else images
    maps = {"truth": truth, "prediction": predicted} if truth is not None else {"prediction": predicted}
    n, rows, (height, width) = len(images), 1 + len(maps), predicted.shape[1:]
    tall = max(0.95, 1.55 * min(2.0, height / width))  # inches, for the labels of the rows too
    size = {"width": max(5.2, 1.6 * n + 1.0) / n, "height": tall + 1.3 / rows}
    figure, grid = canvas(rows * n, across=n, **size, sharex=True, sharey=True)
    grid = grid.reshape(rows, n)
    for column, axes in zip(range(n), grid.T, strict=True):
        axes[0].imshow(picture(images[column]), cmap="gray")
        axes[0].set_title(f"image {column}", size=9)
        for place, labels in zip(axes[1:], maps.values(), strict=True):
            place.imshow(_colors(len(names))[labels[column]])
        right = ""
        if truth is not None:
            hits = (truth[column] == predicted[column])[truth[column] >= 0]  # of the counted pixels
            right = f"\n{100 * hits.mean() if hits.size else np.nan:.1f} % right"
        axes[-1].set_xlabel(f"column (pixels){right}", size=8)
        for place in axes:
            place.tick_params(labelsize=7)
            place.grid(visible=False)
    for row, name in zip(grid, ("image", *maps), strict=True):
        row[0].set_ylabel(f"{name}\nrow (pixels)", size=9)
    grid[0, 0].set_xlabel("column (pixels)", size=8)
    figure.suptitle(title, size=11)
    _legend(figure, names, truth is not None and bool((truth < 0).any()))
    return figure


def _colors(k: int) -> np.ndarray:
    """(K + 1, 3): light gray for the first class, then the palette, or a rainbow for many; white for -1, the last."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    rest = PALETTE if k <= len(PALETTE) + 1 else colormaps["turbo"](np.linspace(0, 1, k - 1))
    return np.array([to_rgb("0.85"), *(to_rgb(c) for c in rest[: k - 1]), to_rgb("white")])


def _legend(figure: Figure, names: Sequence[str], ignored: bool) -> None:
    from matplotlib.patches import Patch

    labels = [short(name, 20) for name in (*names, *["not counted"] * ignored)]
    colors = _colors(len(names))[: len(labels)]
    patches = [Patch(facecolor=c, edgecolor="0.4", label=name) for name, c in zip(labels, colors, strict=True)]
    columns = max(1, int(12 * figure.get_figwidth() / (max(map(len, labels)) + 6)))
    figure.legend(handles=patches, loc="outside lower center", ncols=min(columns, len(labels)))


@drawn
def saliency(x: Any, maps: Any, titles: Sequence[str], *, label: str = "saliency") -> Figure:
    """Rows from left to right, six at most: the picture, its map below; every map has its own range.

    Args:
        x: Pictures or signals (B, C, *places).
        maps: Their maps (B, *places).
        titles: Words above each picture.
        label: What the maps show.
    """
    x, maps = np.asarray(x)[:MAX_ROWS], np.asarray(maps, dtype=float)[:MAX_ROWS]
    most = np.abs(maps.reshape(len(maps), -1)).max(1)
    scaled = maps / np.where(most > 0, most, 1.0).reshape(-1, *[1] * (maps.ndim - 1))
    return (_pictures if x.ndim == 4 else _signals)(x, scaled, titles, f"{label}, share of its largest value")


def _pictures(x: np.ndarray, maps: np.ndarray, titles: Sequence[str], label: str) -> Figure:
    width = max(4.6, 1.4 + 1.5 * len(x)) / len(x)
    figure, grid = canvas(2 * len(x), across=len(x), width=width, height=2.1, sharex=True, sharey=True)
    grid = grid.reshape(2, -1)
    for (top, below), row, map_, title in zip(grid.T, x, maps, titles, strict=False):
        top.imshow(picture(row), cmap="gray")
        top.set_title("\n".join(short(line, 18) for line in title.split("\n")), size=9)
        below.imshow(picture(row), cmap="gray", alpha=0.3)
        strength = np.clip(0.15 + 2 * np.abs(map_), 0, 1)
        smooth = "bilinear" if min(map_.shape) > 15 else "nearest"
        below.imshow(map_, cmap=SIGNED, vmin=-1, vmax=1, alpha=strength, interpolation=smooth)
    for axes in grid.flat:
        axes.grid(visible=False)
    for axes in grid[:, 0]:
        axes.set(xlabel="column (pixels)", ylabel="row (pixels)")
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
