"""Images and what an augmentation makes of them: a row an image, a column a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ._style import short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["augmented"]


def augmented(
    images: Any, copies: Mapping[str, Any], *, labels: Sequence[str] | None = None, title: str = "Augmented copies"
) -> Figure:
    """A grid: the original in the first column, then its changed copies under their names; one grey scale for all.

    Args:
        images: Originals, (R, H, W) or (R, C, H, W) with 1 or 3 channels.
        copies: Name of a change to the changed images, of the same shape.
        labels: Written left of each row, e.g. its class.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    columns = {"original": _last(images, "images")} | {name: _last(x, name) for name, x in copies.items()}
    shapes = {name: x.shape for name, x in columns.items()}
    if len(set(shapes.values())) > 1:
        raise InputError(f"augmented shows copies of the same shape as their originals, got {shapes}. Pass all alike.")
    first = columns["original"]
    low, high = (
        (0.0, 1.0) if first.shape[-1] == 3 else (float(first.min()), max(float(first.max()), first.min() + 1e-9))
    )
    n, ratio = len(first), first.shape[1] / first.shape[2]
    size = (0.5 + 1.1 * len(columns), 0.8 + 1.1 * ratio * n)
    figure = Figure(figsize=size, dpi=120, layout="constrained")
    grid = figure.subplots(n, len(columns), squeeze=False)
    for j, (name, x) in enumerate(columns.items()):
        grid[0, j].set_title(short(name, 14), fontsize=9)
        for i in range(n):
            grid[i, j].imshow(x[i].clip(low, high), cmap="gray", vmin=low, vmax=high)
            grid[i, j].set(xticks=[], yticks=[])
    for i, label in enumerate(labels or ()):
        grid[i, 0].set_ylabel(short(str(label), 14), fontsize=9, rotation=0, ha="right", va="center")
    figure.suptitle(title, fontsize=11)
    figure.supxlabel("each row an image and its copies", fontsize=9)
    return figure


def _last(x: Any, name: str) -> np.ndarray:
    """(R, H, W, 3) of colours, or (R, H, W, 1)."""
    x = np.asarray(x, dtype=float)
    x = x[:, None] if x.ndim == 3 else x
    if x.ndim != 4 or x.shape[1] not in (1, 3) or not x.size:
        raise InputError(
            f"{name} must be images (rows, height, width) or (rows, 1 or 3 channels, height, width), got {x.shape}."
        )
    return np.moveaxis(x, 1, -1)
