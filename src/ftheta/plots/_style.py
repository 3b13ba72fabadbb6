"""One look for all figures: colours that colour-blind readers can tell apart, no global state.

Reference: Okabe and Ito, Color Universal Design (2008).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os.path import commonprefix
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["GREY", "PALETTE", "distinct", "dress", "legend", "panel", "short", "wide_range"]

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#767676"


def panel(width: float, height: float, *, title: str, x: str, y: str) -> tuple[Figure, Axes]:
    """A figure in inches with one labelled axes and a light grid; no pyplot."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    axes = figure.add_subplot()
    dress(axes, title=title, x=x, y=y)
    return figure, axes


def dress(axes: Axes, *, title: str, x: str, y: str) -> None:
    """Labels and a light grid."""
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.title.set_wrap(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)


def wide_range(values: Iterable[float], factor: float = 100.0) -> bool:
    """Whether a log scale is needed: no finite value is below 0, and the positive ones span more than `factor`."""
    v = np.asarray(list(values), dtype=float)
    v = v[np.isfinite(v)]
    positive = v[v > 0]
    return bool((v >= 0).all() and positive.size and positive.max() > factor * positive.min())


def short(name: str, most: int = 36) -> str:
    """A name cut in its middle, both ends kept."""
    half = (most - 1) // 2
    return name if len(name) <= most else f"{name[:half]}…{name[-half:]}"


def distinct(names: Sequence[str], most: int = 36) -> tuple[list[str], str]:
    """Names that fit: where one is too long, what dotted names share at both ends goes into a pattern with a star."""
    if len(names) < 2 or max(map(len, names)) <= most:
        return [short(name, most) for name in names], ""
    shared = commonprefix(list(names))
    head = shared[: shared.rfind(".") + 1]
    rest = [name[len(head) :] for name in names]
    shared = commonprefix([name[::-1] for name in rest])[::-1]
    tail = shared[shared.find(".") :] if "." in shared else ""
    pattern = f"{head}*{tail}" if head or tail else ""
    return [short(name.removesuffix(tail), most) for name in rest], pattern


def legend(figure: Figure, width: int = 78) -> None:
    """A legend above the axes, in as few lines as its labels allow (`width` letters a line)."""
    labels = [str(label) for label in figure.axes[0].get_legend_handles_labels()[1]]
    fits = sum(len(label) + 7 for label in labels) <= width
    columns = len(labels) if fits else max(1, width // (max(map(len, labels)) + 7))
    figure.legend(loc="outside upper center", ncols=columns, frameon=False)
