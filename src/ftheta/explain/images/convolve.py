"""Convolution and pooling by hand: the window slides over the input, and every product and sum is shown.

    y[i] = Σ_m w[m] x[i s + m d - p]              cross-correlation, what networks call convolution
    y[i] = Σ_m w[m] x[i s - m d + ...]            with the kernel turned around: convolution proper
    y[i] = max, min or mean of x[i s + m]         pooling

Letters: w kernel, s stride, d dilation, p padding on each side; m runs over the kernel, on each axis of an image alike.
Shapes: x (n,) or (H, W), w (k,) or (K_h, K_w), N steps of the window.
"""

from collections.abc import Sequence
from textwrap import fill
from typing import Any, Literal

import numpy as np

from ...catalog import nearest
from ...check import Count
from ...errors import InputError
from ...formulas.convolution import MODES, output_size, side
from ...plots import GREY, Figure, canvas, drawn
from ...results import Result
from .._probe import finite
from .._registry import checked

_KINDS = {"max": np.max, "min": np.min, "mean": np.mean}
MAX_STEPS = 9  # of the window that are drawn
COLORS = ("white", "#F6C9A5", "#DDDDDD", "#BFDCEE")  # plain, a window, padding, another window
MAX_CELLS = 16  # places on an axis whose numbers are written


class Convolved(Result):
    """Every step of a convolution."""

    x: np.ndarray  # the input with its padding: (n,) or (H, W)
    kernel: np.ndarray  # as it lies on the input, flipped on request
    output: np.ndarray  # (n',) or (H', W')
    starts: np.ndarray  # place of the first tap in x at each step: (N, d)
    windows: np.ndarray  # what lies under the kernel: (N, ...) as the kernel
    padding: tuple[int, ...]  # places on each side of x that are padding, on each axis
    dilation: int  # distance of the taps

    @property
    def products(self) -> np.ndarray:
        """Kernel times window: (N, ...)."""
        return self.windows * self.kernel

    def columns(self) -> dict[str, Any]:
        """One row per step: the products and their sum."""
        return {
            **_steps(self.output.shape, self.windows),
            "products": [self._sum(window) for window in self.windows],
            "sum": _cells(self.output),
        }

    @property
    def caption(self) -> str:
        return f"Kernel {_rows(self.kernel)}, {len(self.windows)} steps."

    def _sum(self, window: np.ndarray) -> str:
        pairs = zip(self.kernel.ravel(), window.ravel(), strict=True)
        return " + ".join(f"{_signed(w)}·{_signed(v)}" for w, v in pairs)

    def figure(self) -> Figure:
        """Input, kernel and output, then the first steps: the window and the sum that it gives."""
        values, titles = [self.x, self.kernel, self.output], ["input", "kernel", "output"]
        notes, lit = ["", "", ""], [self._lit(None), None, None]
        for i, place in list(enumerate(np.ndindex(self.output.shape)))[:MAX_STEPS]:
            values.append(self.x)
            titles.append(f"step {i + 1}: output {', '.join(map(str, place))}")
            lit.append(self._lit(i))
            total = fill(self._sum(self.windows[i]), 34, break_long_words=False)
            notes.append(f"{total}\n= {self.output[place]:.4g}")
        return _grids(values, titles=titles, notes=notes, lit=lit)

    def _lit(self, i: int | None) -> np.ndarray:
        """2 in the padding, 1 under the kernel at step i."""
        marks = np.full(self.x.shape, 2)
        marks[tuple(slice(p, n - p) for p, n in zip(self.padding, self.x.shape, strict=True))] = 0
        if i is not None:
            ends = zip(self.starts[i], self.kernel.shape, strict=True)
            marks[np.ix_(*(start + self.dilation * np.arange(k) for start, k in ends))] = 1
        return marks


@checked()
def convolve(
    x: Any,
    kernel: Any,
    *,
    stride: Count = 1,
    padding: int | str = 0,
    mode: Literal["zeros", "reflect", "circular"] = "zeros",
    dilation: Count = 1,
    flip: bool = False,
) -> Convolved:
    """A kernel slid over a signal or an image, step by step.

    Args:
        x: Signal (n,) or image (H, W).
        kernel: As many axes as x.
        stride: Places from a step to the next.
        padding: Places added on each side, or "same" or "valid".
        mode: What they hold: zeros, reflect or circular.
        dilation: Distance of the taps.
        flip: Turn the kernel around first: convolution proper.

    Example:
        >>> x = [[2, 5, 4, 1], [3, 1, 2, 0], [4, 5, 7, 1], [1, 2, 3, 4]]
        >>> convolve(x, [[1, 0], [0, 1]], stride=2).output.tolist()
        [[3.0, 4.0], [6.0, 11.0]]
    """
    x, w = _array(x, "x"), _array(kernel, "kernel")
    if w.ndim != x.ndim:
        raise InputError(f"x has shape {x.shape} and the kernel {w.shape}; give both as many axes.")
    w = np.flip(w) if flip else w
    around = tuple(side(padding, k, dilation) for k in w.shape)
    settings: Any = {"stride": stride, "dilation": dilation}
    shape = [output_size(n, k, padding=p, **settings) for n, k, p in zip(x.shape, w.shape, around, strict=True)]
    fill: Any = MODES[mode]
    padded = np.pad(x, [(p, p) for p in around], mode=fill)
    windows, starts = _windows(padded, w.shape, stride, dilation)
    output = (windows * w).reshape(len(windows), -1).sum(1).reshape(shape)
    return Convolved(padded, w, output, starts, windows, around, dilation)


class Pooled(Result):
    """A map and what pooling makes of it."""

    x: np.ndarray  # the map: (n,) or (H, W)
    outputs: dict[str, np.ndarray]  # by kind of pooling
    starts: np.ndarray  # first place of each window: (N, d)
    windows: np.ndarray  # (N, ...)

    def columns(self) -> dict[str, Any]:
        shape = next(iter(self.outputs.values())).shape
        return {**_steps(shape, self.windows), **{kind: _cells(output) for kind, output in self.outputs.items()}}

    @property
    def caption(self) -> str:
        size = " × ".join(map(str, self.windows.shape[1:]))
        return f"Pooling of {len(self.windows)} windows of {size}."

    def figure(self) -> Figure:
        """The map with its windows, and each pooled map beside it."""
        marks = np.zeros(self.x.shape, dtype=int)
        shape = next(iter(self.outputs.values())).shape
        for start, place in zip(self.starts, np.ndindex(shape), strict=True):
            spans = tuple(slice(a, a + k) for a, k in zip(start, self.windows.shape[1:], strict=True))
            marks[spans] = 1 if sum(place) % 2 else 3
        checks = np.indices(shape).sum(0) % 2
        lit = [marks, *(np.where(checks, 1, 3) for _ in self.outputs)]
        return _grids([self.x, *self.outputs.values()], titles=["input", *self.outputs], lit=lit)


@checked()
def pool(
    x: Any, size: Count = 2, kind: str | Sequence[str] = ("max", "min", "mean"), *, stride: Count | None = None
) -> Pooled:
    """The windows of a signal or an image, and the largest, smallest or mean number of each.

    Args:
        x: Signal (n,) or image (H, W).
        size: Size of the window.
        kind: max, min or mean, or several of them.
        stride: Places from a window to the next; None: as many as its size.

    Example:
        >>> pool([[1, 3, 2, 0], [5, 4, 6, 8]], 2, "mean").outputs["mean"].tolist()
        [[3.25, 4.0]]
    """
    x, kinds = _array(x, "x"), [kind] if isinstance(kind, str) else list(kind)
    if unknown := [name for name in kinds or [""] if name not in _KINDS]:
        raise InputError(nearest("pooling", unknown[0], _KINDS))
    step = size if stride is None else stride
    shape = tuple(output_size(n, size, stride=step) for n in x.shape)
    windows, starts = _windows(x, (size,) * x.ndim, step, 1)
    within = tuple(range(1, windows.ndim))
    return Pooled(x, {name: _KINDS[name](windows, axis=within).reshape(shape) for name in kinds}, starts, windows)


def _array(value: Any, name: str) -> np.ndarray:
    array = finite(name, value)
    if array.ndim not in (1, 2) or not array.size:
        raise InputError(f"{name} has shape {array.shape}; expected a signal (n,) or an image (H, W).")
    return array


def _windows(x: np.ndarray, shape: Sequence[int], stride: int, dilation: int) -> tuple[np.ndarray, np.ndarray]:
    """All windows of x, (N, ...), and where they start, (N, d)."""
    reach = [dilation * (k - 1) + 1 for k in shape]
    every = np.lib.stride_tricks.sliding_window_view(x, reach)[(slice(None, None, stride),) * x.ndim]
    taken = every[(..., *(slice(None, None, dilation),) * x.ndim)]
    starts = np.array(list(np.ndindex(every.shape[: x.ndim]))) * stride
    return taken.reshape(-1, *shape).copy(), starts


def _steps(shape: tuple[int, ...], windows: np.ndarray) -> dict[str, list[str]]:
    """Columns of a table: the place of each output, and its window."""
    places = [", ".join(map(str, place)) for place in np.ndindex(shape)]
    return {"output": places, "window": [_rows(window) for window in windows]}


def _rows(values: np.ndarray) -> str:
    return " / ".join(" ".join(f"{v:.4g}" for v in row) for row in np.atleast_2d(values))


def _cells(values: np.ndarray) -> list[float]:
    """Numbers for a table, integers as such."""
    return [int(v) if float(v).is_integer() else float(v) for v in values.ravel()]


def _signed(value: float) -> str:
    return f"({value:.4g})" if value < 0 else f"{value:.4g}"


@drawn
def _grids(
    values: Sequence[np.ndarray], *, titles: Sequence[str], lit: Sequence[np.ndarray | None], notes: Sequence[str] = ()
) -> Figure:
    """Each map as a grid with its numbers and notes below, three or four beside one another; cells of `lit` are marked:
    0 plain, 1 and 3 in windows, 2 padding; None: all plain. Of a large map the numbers are shades of gray."""
    from matplotlib.colors import ListedColormap

    maps = [np.atleast_2d(v) for v in values]
    high, wide = (max(v.shape[axis] for v in maps) for axis in (0, 1))
    large, across = max(high, wide) > MAX_CELLS, len(maps) if len(maps) <= 4 else 3
    longest = max(len(f"{value:.3g}") for v in maps for value in v.ravel())
    cell = 3.2 / max(high, wide) if large else 0.36 + 0.05 * max(0, longest - 4)  # inches
    below = max((note.count("\n") + 1 for note in notes if note), default=0)
    width = max(cell * wide + 0.3, 2.6 if below else 1.2)
    figure, grid = canvas(len(maps), across=across, width=width, height=cell * high + 0.8 + 0.18 * below)
    for k, (axes, v, mark) in enumerate(zip(grid, maps, lit, strict=True)):
        marks = np.zeros(v.shape) if mark is None else np.atleast_2d(mark)
        look: dict[str, Any] = {"cmap": ListedColormap(COLORS), "vmin": 0, "vmax": len(COLORS) - 1}
        if max(v.shape) > MAX_CELLS:
            axes.imshow(v, cmap="gray")
            axes.imshow(np.ma.masked_equal(marks, 0), alpha=0.6, **look)
        else:
            down, right = (np.arange(n + 1) - 0.5 for n in v.shape)
            axes.pcolormesh(right, down, marks, edgecolors=GREY, linewidth=0.8, clip_on=False, **look)
            for (i, j), value in np.ndenumerate(v):
                axes.text(j, i, f"{value:.3g}", ha="center", va="center", fontsize=9)
        middle, reach = (v.shape[1] - 1) / 2, wide / 2 + 0.15 / cell
        axes.set(aspect="equal", xlim=(middle - reach, middle + reach), ylim=(high - 0.5, -0.5))
        axes.set_title(titles[k], fontsize=10)
        axes.text(middle, len(v) - 0.4, notes[k] if notes else "", ha="center", va="top", fontsize=8)
        axes.set_axis_off()
    return figure
