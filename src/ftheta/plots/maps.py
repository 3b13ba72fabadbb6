"""A picture on its way through a net: the picture, maps layer by layer, and the outputs as bars.

Shapes: C channels, places (L,) or (H, W), K outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import PALETTE, dress, short
from ._tiles import flat, mosaic, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["maps"]

COLUMNS, OUTPUTS, LAYERS = 8, 12, 10


def maps(x: Any, layers: Mapping[str, Any], bars: Any, names: Sequence[str], *, label: str = "probability") -> Figure:
    """The picture on top, the eight strongest maps of each layer (of ten at most) below it, the outputs at the bottom.

    Args:
        x: The picture (C, *places).
        layers: Name of a layer to its maps (C_l, *places of l), first layer first.
        bars: Outputs (K,), or None.
        names: Their names.
        label: What the outputs are.
    """
    from matplotlib.figure import Figure

    ends = bars is not None
    some = np.unique(np.linspace(0, len(layers) - 1, LAYERS).round().astype(int))
    layers = {name: made for i, (name, made) in enumerate(layers.items()) if i in some}
    heights = [1.9, *[1.0] * len(layers), *[1.5] * ends]
    figure = Figure(figsize=(7.2, 0.8 + 0.92 * sum(heights)), dpi=120, layout="constrained")
    grid = figure.subplots(len(heights), 1, squeeze=False, height_ratios=heights)[:, 0]
    x = np.asarray(x)
    _input(grid[0], x)
    for axes, (name, made) in zip(grid[1:], layers.items(), strict=False):
        _layer(axes, name, np.asarray(made, dtype=float))
    grid[len(layers)].set_xlabel(
        f"number of the map; {COLUMNS} strongest at most, each layer in its own range of colors"
    )
    if ends:
        _bars(grid[-1], np.asarray(bars, dtype=float), names, label)
    return figure


def _input(axes: Axes, x: np.ndarray) -> None:
    """A picture, or the lines of a signal."""
    if x.ndim == 2:
        dress(axes, title="Input", x="place", y="signal")
        for k, line in enumerate(x):
            axes.plot(line, color=PALETTE[k % len(PALETTE)], lw=1.4)
        return
    dress(axes, title="Input", x="column (pixels)", y="row (pixels)")
    axes.imshow(picture(x), cmap="gray", interpolation="nearest")
    axes.grid(visible=False)


def _layer(axes: Axes, name: str, made: np.ndarray) -> None:
    """The strongest maps in the order of their numbers."""
    peaks = np.abs(made.reshape(len(made), -1)).max(1)
    chosen = np.sort(np.argsort(-peaks, kind="stable")[:COLUMNS])
    tiles = np.full((COLUMNS, *flat(made).shape[1:]), np.nan)
    tiles[: len(chosen)] = flat(made)[chosen]
    mosaic(axes, tiles, COLUMNS, names=[""], signed=bool((made < 0).any()))
    ticks = axes.get_xticks()
    axes.set_xticks(ticks[: len(chosen)], [str(k) for k in chosen])
    if len(chosen) < COLUMNS:  # where there are no maps there is no color
        axes.axvspan(ticks[len(chosen) - 1] + ticks[0] - 0.5, axes.get_xlim()[1], color="white", lw=0)
    size = " × ".join(map(str, made.shape))
    axes.set_ylabel(f"{short(name, 18)}\n{size}", rotation=0, ha="right", va="center", size=9)


def _bars(axes: Axes, bars: np.ndarray, names: Sequence[str], label: str) -> None:
    """All outputs, or the largest twelve."""
    chosen = np.arange(len(bars)) if len(bars) <= OUTPUTS else np.sort(np.argsort(-bars, kind="stable")[:OUTPUTS])
    dress(axes, title="", x="output" if len(chosen) == len(bars) else f"the largest {OUTPUTS} outputs", y=label)
    colors = [PALETTE[1] if k == bars.argmax() else PALETTE[0] for k in chosen]
    axes.bar(range(len(chosen)), bars[chosen], color=colors, width=0.7)
    said = [short(names[int(k)], 18) for k in chosen]
    turned = max(map(len, said)) * len(said) > 70  # they would overlap side by side
    axes.set_xticks(range(len(chosen)), said, rotation=30 * turned, ha="right" if turned else "center")
    if label == "probability":
        axes.set_ylim(0, 1.15)
    top = int(np.flatnonzero(chosen == bars.argmax())[0])
    axes.annotate(f"{bars.max():.3g}", (top, bars.max()), ha="center", va="bottom", size=9)
