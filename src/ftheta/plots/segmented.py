"""Images above the true and the predicted class of every pixel, with a color for each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ._style import PALETTE, Figure, canvas, drawn, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["segmented"]


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
    if any(images.shape[:1] + images.shape[2:] != labels.shape for labels in maps.values()) or not len(images):
        shapes = " and ".join(f"{name} {labels.shape}" for name, labels in maps.items())
        raise InputError(
            f"segmented got images of shape {images.shape}, {shapes}; "
            "(n, C, H, W) and twice (n, H, W) are needed, n at least 1."
        )
    n, rows, (height, width) = len(images), 1 + len(maps), predicted.shape[1:]
    tall = max(0.95, 1.55 * min(2.0, height / width))  # inches, for the labels of the rows too
    size = {"width": max(5.2, 1.6 * n + 1.0) / n, "height": tall + 1.3 / rows}
    figure, grid = canvas(rows * n, across=n, **size, sharex=True, sharey=True)
    grid = grid.reshape(rows, n)
    for column, axes in zip(range(n), grid.T, strict=True):
        _image(axes[0], images[column])
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


def _image(axes: Axes, image: np.ndarray) -> None:
    """(C, H, W): grey for one channel, colors for three, the mean of others in gray; from its least to its largest."""
    low, high = float(image.min()), float(image.max())
    shown = (image - low) / (high - low or 1.0)
    if len(shown) == 3:
        axes.imshow(np.moveaxis(shown, 0, -1))
    else:
        axes.imshow(shown.mean(0), cmap="gray", vmin=0, vmax=1)


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
