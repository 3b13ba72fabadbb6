"""One style for all figures, set while a figure is drawn and nowhere else: no pyplot, no global state.

Colors that color-blind readers can tell apart; matplotlib's own cycle repeats them with other dashes. Pictures stand
side by side in one axes, a mosaic of tiles with gaps, units counted along both axes.

Shapes: N tiles, C channels, places (L,) or (H, W); a signal is a strip, half as high as it is long.
Reference: Okabe and Ito, Color Universal Design (2008).
"""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from os.path import commonprefix
from threading import RLock
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes
    from matplotlib.figure import Figure as Figure
else:
    Axes = Figure = Any  # for annotations; matplotlib is imported when something is drawn

P = ParamSpec("P")
R = TypeVar("R")

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
GREY = "#767676"
DASHES = ("-", "--", ":", "-.")
SIGNED = "RdBu_r"  # red above 0, blue below
GAP = "#c9dcea"  # between tiles in gray, and where one has no value
STYLE: dict[Any, Any] = {
    "figure.dpi": 120,
    "figure.constrained_layout.use": True,
    "axes.grid": True,
    "grid.color": "0.9",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "legend.frameon": False,
    "legend.fontsize": "small",
    "lines.linewidth": 1.6,
    "image.interpolation": "nearest",
}
_ONE_AT_A_TIME = RLock()  # matplotlib's settings belong to the process


def drawn(draw: Callable[P, R]) -> Callable[P, R]:
    """Decorator of a method or function that draws: our style is set while it runs."""

    @wraps(draw)
    def styled(*args: P.args, **options: P.kwargs) -> R:
        import matplotlib as mpl
        from cycler import cycler

        repeated = [DASHES[i % 4] for i in range(4 * len(PALETTE))]
        cycle = cycler(color=PALETTE * 4) + cycler(linestyle=repeated)
        with _ONE_AT_A_TIME, mpl.rc_context({**STYLE, "axes.prop_cycle": cycle}):
            return draw(*args, **options)

    return styled


def canvas(
    n: int | None = None, *, across: int = 3, width: float = 0.0, height: float = 0.0, **grid: Any
) -> tuple[Figure, Any]:
    """A figure and its axes: one (n is None), or an array of n of them, at most `across` side by side.

    Width and height are of one axes, in inches; 0 is 6.4 x 4 for one, 3.6 x 3.2 for several. `grid` is as in
    `Figure.subplots`.
    """
    from matplotlib.figure import Figure

    count = n or 1
    columns = min(count, across)
    lines = -(-count // columns)
    wide, high = (width or 6.4, height or 4.0) if n is None else (width or 3.6, height or 3.2)
    figure = Figure(figsize=(wide * columns, high * lines))
    axes = figure.subplots(lines, columns, squeeze=False, **grid).ravel()
    for spare in axes[count:]:
        spare.remove()
    return figure, axes[0] if n is None else axes[:count]


def legend(figure: Figure, width: int = 0, axes: Sequence[Axes] | None = None) -> None:
    """Each label once, above the axes (below, if there is a title of the figure), in as few lines as fit.

    `width` is in letters, 0: as wide as the figure; `axes` are those whose labels are taken, None: all.
    """
    labels = {k: h for a in axes or figure.axes for h, k in zip(*a.get_legend_handles_labels(), strict=True)}
    width = width or int(12 * figure.get_figwidth())
    fits = sum(len(label) + 7 for label in labels) <= width
    columns = len(labels) if fits else max(1, width // (max(map(len, labels)) + 7))
    place = "outside lower center" if figure.get_suptitle() else "outside upper center"
    if labels:
        figure.legend(labels.values(), labels, loc=place, ncols=columns, frameon=False)


def panel(width: float, height: float, *, title: str, x: str, y: str) -> tuple[Figure, Axes]:
    """A figure in inches with one labeled axes."""
    figure, axes = drawn(canvas)(width=width, height=height)
    axes.set(title=title, xlabel=x, ylabel=y)
    return figure, axes


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


def picture(x: np.ndarray) -> np.ndarray:
    """(C, *places) as (H, W), or (H, W, 3) in color, scaled to [0, 1] where it is outside."""
    x = flat(x)
    if len(x) != 3:
        return x.mean(0)
    low, high = min(0.0, np.nanmin(x)), max(1.0, np.nanmax(x))
    return np.moveaxis((x - low) / (high - low), 0, -1)


def tiles(pictures: np.ndarray) -> np.ndarray:
    """(N, H, W), or (N, C, H, W) as `picture` shows each."""
    return pictures if pictures.ndim == 3 else np.stack([picture(x) for x in pictures])


def flat(maps: np.ndarray) -> np.ndarray:
    """(N, *places) as (N, H, W)."""
    return maps[:, None].repeat(-(-maps.shape[1] // 2), 1) if maps.ndim == 2 else maps


def bare(axes: Axes) -> None:
    """No frame, no ticks, no grid."""
    axes.grid(visible=False)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_visible(False)


def mosaic(
    axes: Axes,
    tiles: np.ndarray,
    columns: int,
    *,
    names: Sequence[Any] | None = None,
    limits: tuple[float, float] | None = None,
    signed: bool = False,
    each: bool = False,
) -> Any:
    """Tiles (N, H, W) or (N, H, W, 3) line by line; the axes count columns, and name the lines.

    Args:
        axes: Where.
        tiles: NaN are left in the color of the gaps.
        columns: Tiles of a line.
        names: Name of each line; None: the number of its first tile.
        limits: Values of the darkest and the lightest color; None: those of the tiles.
        signed: Red above 0 and blue below, white at 0.
        each: Every tile has its own range of colors.
    """
    if each:
        axis = tuple(range(1, tiles.ndim))
        low, high = (f(tiles, axis, keepdims=True, initial=-s * np.inf) for f, s in ((np.nanmin, -1), (np.nanmax, 1)))
        base, top = (0.0, np.maximum(-low, high)) if signed else (low, high)
        with np.errstate(invalid="ignore"):
            tiles = (tiles - base) / np.where(top > base, top - base, 1.0)  # of one value: dark, or white
    n, h, w = tiles.shape[:3]
    scale = max(1, -(-24 // max(min(h, w), 2)))
    tiles = tiles.repeat(scale, 1).repeat(scale, 2)
    gap, lines = max(2, scale * max(h, w) // 8), -(-n // columns)
    down, across = scale * h + gap, scale * w + gap
    canvas = np.full((lines * down - gap, columns * across - gap, *tiles.shape[3:]), np.nan)
    for i, tile in enumerate(tiles):
        y, x = i // columns * down, i % columns * across
        canvas[y : y + scale * h, x : x + scale * w] = tile
    finite = tiles[np.isfinite(tiles)]
    low, high = limits or ((float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0))
    if signed and limits is None:
        low, high = -(max(-low, high) or 1.0), max(-low, high) or 1.0
    high = high if high > low else low + 1.0
    if canvas.ndim == 2:
        canvas = np.ma.masked_invalid(canvas)
    else:  # a fourth channel is 0 where there are no colors
        seen = ~np.isnan(canvas).any(-1, keepdims=True)
        canvas = np.concatenate([np.where(seen, canvas, 0.0), seen], -1)
    image = axes.imshow(canvas, cmap=SIGNED if signed else "gray", vmin=low, vmax=high, interpolation="nearest")
    bare(axes)
    axes.set_facecolor("white" if signed else GAP)
    axes.set_xticks(np.arange(columns) * across + scale * w / 2, map(str, range(columns)))
    marks = [str(i * columns) for i in range(lines)] if names is None else list(map(str, names))
    axes.set_yticks(np.arange(lines) * down + scale * h / 2, marks)
    axes.tick_params(length=0, labelsize=8)
    return image
