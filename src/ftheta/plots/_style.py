"""One style for all figures, set while a figure is drawn and nowhere else: no pyplot, no global state.

Colors that color-blind readers can tell apart; matplotlib's own cycle repeats them with other dashes.
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
