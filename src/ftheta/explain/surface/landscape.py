"""Loss landscapes: the loss on a plane through the weights, and on the line between two solutions.

    L(a, b) = L(θ + a d₁ + b d₂),        d₁, d₂: random, of the path of a training, or the axes of two parameters
    L(t) = L((1 - t) θ_a + t θ_b),       barrier = max_{0 <= t <= 1} [L(t) - (1 - t) L(0) - t L(1)]

Another batch of rows has another surface with another minimum. Two directions of thousands show little of it; the share
of a path in the plane tells how little. Two minima without a barrier lie in one basin.

Shapes: G grid points per axis, B mini-batches, T points of a path, P parameters, N points of a line.
References: Li et al., Visualizing the loss landscape of neural nets, arXiv:1712.09913 (2018); Goodfellow, Vinyals and
Saxe, Qualitatively characterizing neural network optimization problems, arXiv:1412.6544 (2015).
"""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import torch
from annotated_types import Ge
from torch import Tensor

from ...check import Count, Positive
from ...draw import Draw
from ...errors import InputError
from ...plots import GREY, PALETTE, Axes, Figure, canvas, drawn, legend, short, wide_range
from ...results import Result, percent
from .._point import NO_SURFACE, LossLike, Point, has_surface
from .._probe import DRAW, module_of
from .._registry import checked, explanation
from ._directions import Directions, grid_of, jaggedness_of, losses_along, lowest_of, paths_of, plane_of, positions

DASHES = ("-", "--", ":", "-.")
ENDS = {"start": 0, "end": -1}


class Landscape(Result):
    """Losses on a grid of a plane through the weights."""

    x: np.ndarray  # coordinates along the first direction, (G,); with "axes" the first parameter itself
    y: np.ndarray  # coordinates along the second, (G,)
    loss: np.ndarray  # (G, G); the first axis is y
    at: np.ndarray  # where the weights are: (2,)
    value: float  # the loss there
    lowest: np.ndarray  # vertex of the parabola through the lowest grid point and its neighbors: (2,)
    least: float  # the loss there, by the same parabola
    paths: dict[str, np.ndarray]  # recorded trainings in the plane, by name: (T, 2) each
    shares: dict[str, np.ndarray]  # of a path's squared distance from the weights along each direction: (2,) each
    jaggedness: dict[str, float]  # length of each path over its net displacement, in all P parameters
    batches: np.ndarray  # losses of mini-batches: (B, G, G)
    batch_lowest: np.ndarray  # the lowest place of each: (B, 2)
    batch_least: np.ndarray  # the loss there: (B,)
    names: tuple[str, str]  # what the two coordinates are
    n: int  # number of rows

    def columns(self) -> dict[str, Any]:
        """The weights, the lowest place, that of each mini-batch, and where the paths begin and end."""
        ends = {f"{name}: {end}": path[i] for name, path in self.paths.items() for end, i in ENDS.items()}
        batches = {f"lowest of batch {i + 1}": place for i, place in enumerate(self.batch_lowest)}
        places = {"weights": self.at, "lowest": self.lowest, **batches, **ends}
        return {
            "place": list(places),
            **{name: [place[k] for place in places.values()] for k, name in enumerate(self.names)},
            "loss": [self.value, self.least, *self.batch_least, *[np.nan] * len(ends)],
        }

    @property
    def caption(self) -> str:
        paths = [
            f"{name}: {len(path) - 1} steps, {percent(self.shares[name].sum())} of it in this plane, "
            f"length / displacement {self.jaggedness[name]:.3g}."
            for name, path in self.paths.items()
        ]
        return " ".join([f"Loss at {len(self.y)} x {len(self.x)} points, {self.n} rows.", *paths])

    @drawn
    def figure(self) -> Figure:
        """Filled contours with marked places, paths, and the lowest 3 and 15 % of each mini-batch's surface."""
        figure, axes = canvas(width=6.6, height=5.2)
        x, y, batches = self.x, self.y, len(self.batches) > 0
        axes.grid(visible=False)
        _fill(figure, axes, x, y, self.loss, gray=batches)
        if batches:
            _rings(axes, x, y, self.loss, "black", "-", "all rows")
        for i, (surface, place) in enumerate(zip(self.batches, self.batch_lowest, strict=True)):
            _rings(axes, x, y, surface, PALETTE[i % 6], DASHES[i % 4], f"batch {i + 1}")
            _mark(axes, place, PALETTE[i % 6], None)
        for i, (name, points) in enumerate(self.paths.items()):
            color = (PALETTE[1], PALETTE[5], PALETTE[3], PALETTE[4], PALETTE[2], PALETTE[0])[i % 6]
            marker = "." if len(points) <= 60 else ""
            axes.plot(*points.T, "-", color="white", lw=3.2, zorder=4)  # a rim, to stand out from any color below
            axes.plot(*points.T, "-", color=color, marker=marker, ms=6, lw=1.6, zorder=5, label=short(name, 24))
            axes.plot(*points[0], ls="", marker="s", ms=7, color=color, mec="black", zorder=6)
            if i == 0:
                axes.plot([], [], ls="", marker="s", ms=7, color="white", mec="black", label="start")
        _mark(axes, self.lowest, "black", "lowest")
        axes.plot(*self.at, ls="", marker="o", ms=6, color="white", mec="black", mew=1.5, zorder=8, label="weights")
        axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), title=f"Loss at {self.n} rows")
        axes.set(xlabel=short(self.names[0], 60), ylabel=short(self.names[1], 60))
        legend(figure)
        return figure


def _has_plane(obj: Any) -> bool:
    return has_surface(obj) and sum(p.numel() for p in module_of(obj).parameters() if p.requires_grad) > 1


@explanation("landscape", needs="module_", when=_has_plane, otherwise=NO_SURFACE, lifted_by="loss")
def landscape(
    obj: Any,
    X: Any,
    y: Any = None,
    *,
    directions: Directions | None = None,
    loss: LossLike = None,
    points: Annotated[int, Ge(3)] = 25,
    span: Positive = 1.0,
    box: tuple[tuple[float, float], tuple[float, float]] | None = None,
    path: Any = None,
    batches: Annotated[int, Ge(0)] = 0,
    batch_size: Count | None = None,
    max_rows: Count | None = 1000,
    random_state: int = 0,
) -> Landscape:
    """The loss around the weights along two directions, in evaluation mode, without the penalties of `Training`.

    Args:
        directions: "random": filter-normalized, biases and scales of normalizations do not move; "path": the plane
            nearest to `path`; "axes": the two parameters of a module that has no more; or two arrays of P numbers.
            None: "axes" for two parameters, else "random".
        points: Grid points along each direction.
        span: From the weights to the edge, in lengths of the directions; where there is a path, times a box around it.
        box: The edges themselves: ((left, right), (bottom, top)).
        path: A `train.Recorder`, points (T, P), or several of them by name: drawn over it.
        batches: Mini-batches whose surfaces are wanted too.
        batch_size: Their rows; None: so many that each row is in one of them.

    Example:
        >>> x = np.linspace(-1, 1, 20)[:, None]
        >>> net = torch.nn.Linear(1, 1)
        >>> half_square = lambda raw, y: (raw[:, 0] - y) ** 2 / 2
        >>> found = landscape(net, x, 2 * x[:, 0] + 1, loss=half_square, directions="axes", box=((0, 3), (0, 3)))
        >>> [round(float(v), 3) for v in found.lowest]
        [2.0, 1.0]
    """
    point = Point(obj, X, y, loss, max_rows=max_rows).moves()
    here, paths = point.flat().double().cpu().numpy(), paths_of(path, point.size)
    d, at, names = plane_of(point, directions, paths, here, random_state)
    placed = {name: positions(p, here, d) for name, p in paths.items()}
    inside = {name: at + place for name, (place, _) in placed.items()}
    xs, ys = grid_of(box, at, span, list(inside.values()), points)
    places = np.stack(np.meshgrid(xs, ys), -1).reshape(-1, 2)  # (G², 2), x fastest
    more = point.batches(batches, batch_size, Draw(random_state).at("landscape")) if batches else []
    places = np.concatenate([places - at, np.zeros((1, 2))])  # the last one is the weights themselves
    found = losses_along(point, d, places, more)
    grids = found[:-1].T.reshape(-1, points, points)  # (B + 1, G, G)
    lowest = np.stack([lowest_of(xs, ys, grid) for grid in grids])
    return Landscape(
        x=xs,
        y=ys,
        loss=grids[0],
        at=at,
        value=float(found[-1, 0]),
        lowest=lowest[0, :2],
        least=float(lowest[0, 2]),
        paths=inside,
        shares={name: share for name, (_, share) in placed.items()},
        jaggedness={name: jaggedness_of(p) for name, p in paths.items()},
        batches=grids[1:],
        batch_lowest=lowest[1:, :2],
        batch_least=lowest[1:, 2],
        names=names,
        n=point.batch.n,
    )


@checked("module_", when=has_surface, otherwise=NO_SURFACE, lifted_by="loss")
def loss_on_plane(
    obj: Any,
    X: Any,
    y: Any = None,
    directions: Directions | None = None,
    *,
    loss: LossLike = None,
    path: Any = None,
    max_rows: Count | None = 1000,
    random_state: int = 0,
) -> Callable[[Tensor], Tensor]:
    """The loss as a differentiable function (2,) -> 0-d of two coordinates, in float64, on a copy of the module.

    Args:
        directions: As in `landscape`; "axes": the coordinates are the parameters, else (0, 0) is where the weights are.
        path: What "path" is the plane of.
    """
    point = Point(obj, X, y, loss, max_rows=max_rows, double=True).moves()
    start = point.flat()
    d, at, _ = plane_of(point, directions, paths_of(path, point.size), start.cpu().numpy(), random_state)
    both, center = torch.from_numpy(d).to(start), torch.from_numpy(at).to(start)
    point.objective.eval().requires_grad_(False)
    for value in point.inputs.values():
        value.requires_grad_(False)

    def f(place: Tensor) -> Tensor:
        with DRAW.scope(only_torch=True):
            return point.at(start + (place.to(start) - center) @ both)

    return f


def _fill(figure: Figure, axes: Axes, x: np.ndarray, y: np.ndarray, loss: np.ndarray, *, gray: bool) -> None:
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import LogLocator, MaxNLocator

    finite = loss[np.isfinite(loss)]
    if not finite.size:
        raise InputError("No loss on this grid is finite, so there is nothing to draw; choose a smaller span.")
    low, high = float(finite.min()), float(finite.max())
    log = low > 0 and wide_range(finite, 30.0)
    high = high if high > low else low + max(abs(low), 1.0) * 1e-6  # a flat surface
    levels = np.geomspace(low, high, 25) if log else np.linspace(low, high, 25)
    look: Any = {"cmap": "Greys", "alpha": 0.6} if gray else {"cmap": "viridis"}
    norm = LogNorm(low, high) if log else None
    drawn = axes.contourf(x, y, np.ma.masked_invalid(loss), levels=levels, norm=norm, **look)
    if not gray:
        axes.contour(x, y, np.ma.masked_invalid(loss), levels=levels[::2], colors="white", linewidths=0.5, alpha=0.7)
    ticks = LogLocator(subs=(1.0, 2.0, 5.0)) if log else MaxNLocator(6)
    bar = figure.colorbar(drawn, ax=axes, label=f"mean loss per row{' (log scale)' if log else ''}", ticks=ticks)
    if log:
        bar.ax.yaxis.set_major_formatter("{x:g}")
        bar.ax.minorticks_off()


def _rings(axes: Axes, x: Any, y: Any, loss: np.ndarray, color: str, style: str, name: str) -> None:
    """The contours that hold the lowest 3 and 15 % of a grid."""
    levels = np.unique(np.quantile(loss[np.isfinite(loss)], [0.03, 0.15]))
    axes.contour(x, y, np.ma.masked_invalid(loss), levels=levels, colors=color, linestyles=style, linewidths=1.6)
    axes.plot([], [], style, color=color, lw=1.6, label=name)


def _mark(axes: Axes, place: Any, color: str, name: str | None) -> None:
    """A star, not cut at an edge."""
    axes.plot(*place, ls="", marker="*", ms=15, color=color, mec="white", zorder=7, label=name, clip_on=False)


class LinearInterpolation(Result):
    """Losses along the line."""

    t: np.ndarray  # places: 0 is the first model, 1 the second, (N,)
    loss: np.ndarray  # (N,)
    distance: float  # ‖θ_b - θ_a‖ over the parameters
    n: int  # number of rows

    @property
    def ends(self) -> tuple[float, float]:
        """L(0) and L(1)."""
        return float(self.loss[self.t == 0][0]), float(self.loss[self.t == 1][0])

    @property
    def excess(self) -> np.ndarray:
        """The loss above the chord between both ends: (N,)."""
        return self.loss - ((1 - self.t) * self.ends[0] + self.t * self.ends[1])

    @property
    def barrier(self) -> float:
        """The largest excess between both ends: 0 where there is none, NaN where a loss is NaN."""
        return float(self.excess[(self.t >= 0) & (self.t <= 1)].max())

    def columns(self) -> dict[str, Any]:
        return {"t": self.t, "loss": self.loss, "above the chord": self.excess}

    @property
    def caption(self) -> str:
        return f"Barrier {self.barrier:#.4g} over a distance of {self.distance:#.4g}, {self.n} rows."

    @drawn
    def figure(self) -> Figure:
        """The loss along the line, the chord, and the barrier."""
        figure, axes = canvas()
        log = wide_range(self.loss)
        axes.plot(self.t, self.loss, "-o", ms=3.5, label="loss")
        at, (left, right) = np.linspace(0, 1, 50), self.ends
        axes.plot(at, (1 - at) * left + at * right, "--", color=GREY, lw=1.4, label="chord")
        mark = {"ls": "", "marker": "s", "ms": 8, "color": PALETTE[1], "mec": "white", "zorder": 5}
        axes.plot([0, 1], self.ends, label="solutions", **mark)
        inside = np.flatnonzero((self.t >= 0) & (self.t <= 1))
        if np.isfinite(self.excess[inside]).all() and self.barrier > 0:
            k = inside[self.excess[inside].argmax()]
            look = {"color": PALETTE[1], "lw": 2.2, "label": f"barrier {self.barrier:#.3g}"}
            axes.plot([self.t[k]] * 2, [self.loss[k] - self.excess[k], self.loss[k]], ":", **look)
        axes.set(title=f"Straight line, {self.n} rows", xlabel="t: from the first solution (0) to the second (1)")
        axes.set(ylabel=f"mean loss per row{' (log scale)' if log else ''}", yscale="log" if log else "linear")
        legend(figure)
        return figure


@checked("module_", when=has_surface, otherwise=NO_SURFACE, lifted_by="loss")
def linear_interpolation(
    a: Any, b: Any, X: Any, y: Any = None, *, points: Count = 41, loss: LossLike = None, max_rows: Count | None = 1000
) -> LinearInterpolation:
    """The loss on the straight line from one solution to another, a quarter beyond both ends.

    Args:
        a: A fitted neural estimator, or a module: t = 0.
        b: Another with parameters of the same shapes: t = 1.
        X: Rows, as `a` sees them.
        points: Places from t = -0.25 to 1.25; t = 0 and t = 1 are added.
    """
    first, second = (Point(obj, X, y, loss, max_rows=max_rows).moves() for obj in (a, b))
    shapes = [{name: p.shape for name, p in end.parameters.items()} for end in (first, second)]
    if shapes[0] != shapes[1]:
        raise InputError(f"The modules have {first.size} and {second.size} parameters; both need the same names.")
    distance = float((second.flat().double() - first.flat().double()).norm())
    for end in (first, second):  # running means and variances move too: both ends are the models themselves
        end.parameters |= {name: b for name, b in end.objective.named_buffers() if b.is_floating_point()}
    way = (second.flat().double() - first.flat().double()).cpu().numpy()[None]  # (1, P)
    t = np.unique(np.concatenate([np.linspace(-0.25, 1.25, points).round(12), [0.0, 1.0]]))
    return LinearInterpolation(t, losses_along(first, way, t[:, None])[:, 0], distance, first.batch.n)
