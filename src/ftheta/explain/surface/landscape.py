"""Loss landscapes: the loss on a plane through the weights.

    L(a, b) = L(θ + a d₁ + b d₂),        d₁, d₂: random, of the path of a training, or the axes of two parameters
    random: each filter of d is Gaussian noise scaled to the length of the same filter of θ,   d_f <- d_f ‖θ_f‖ / ‖d_f‖
    path:   the two leading right singular vectors of  θ_t - θ,  t over a recorded training

A filter is what makes one output: a row of a weight matrix, a kernel of a convolution. So the picture does not change
when a ReLU layer is scaled up and the next one down. Biases and the scales of normalizations (tensors of one axis) do
not move. A loss is a function of the parameters, for a model and for data: another batch of rows has another surface
with another minimum. Two directions of thousands show little of it; the share of a path in the plane tells how little.

Shapes: G grid points per axis, B mini-batches, T points of a path, P parameters.
Reference: Li, Xu, Taylor, Studer and Goldstein, Visualizing the loss landscape of neural nets, arXiv:1712.09913 (2018).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from annotated_types import Ge
from torch import Tensor

from ...catalog import nearest
from ...check import Count, Positive
from ...draw import Draw
from ...errors import InputError
from ...plots import Figure, drawn
from ...results import Result
from .._point import NO_SURFACE, LossLike, Point, has_surface
from .._probe import DRAW, module_of
from .._registry import checked, explanation
from ._directions import filter_normalized, leading, positions, stacked
from ._drawing import draw_landscape
from ._sweep import losses_along

__all__ = ["Landscape", "landscape", "plane"]

Directions = Literal["random", "path", "axes"] | Sequence[Any]


@dataclass(frozen=True, eq=False)
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
        ends = {
            f"{name}: {end}": path[i] for name, path in self.paths.items() for end, i in (("start", 0), ("end", -1))
        }
        batches = {f"lowest of batch {i + 1}": place for i, place in enumerate(self.batch_lowest)}
        places = {"weights": self.at, "lowest": self.lowest, **batches, **ends}
        return {
            "place": list(places),
            self.names[0]: [place[0] for place in places.values()],
            self.names[1]: [place[1] for place in places.values()],
            "loss": [self.value, self.least, *self.batch_least, *[np.nan] * len(ends)],
        }

    @property
    def caption(self) -> str:
        paths = [
            f"{name}: {len(path) - 1} steps, {self.shares[name].sum():.0%} of it in this plane, "
            f"length / displacement {self.jaggedness[name]:.3g}."
            for name, path in self.paths.items()
        ]
        return " ".join([f"Loss at {len(self.y)} x {len(self.x)} points, {self.n} rows.", *paths])

    @drawn
    def figure(self) -> Figure:
        """Contours of the loss with the weights, the lowest place, the paths and the contours of mini-batches."""
        return draw_landscape(self)


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
    point, paths = Point(obj, X, y, loss, max_rows=max_rows).moves(), paths_of(path)
    here = point.flat().double().cpu().numpy()
    d, at, names = _plane(point, directions, paths, here, random_state)
    placed = {name: positions(points_of(p, here, name), here, d) for name, p in paths.items()}
    inside = {name: at + place for name, (place, _) in placed.items()}
    xs, ys = _grid(box, at, span, list(inside.values()), points)
    places = np.stack(np.meshgrid(xs, ys), -1).reshape(-1, 2)  # (G², 2), x fastest
    more = point.batches(batches, batch_size, Draw(random_state).at("landscape")) if batches else []
    places = np.concatenate([places - at, np.zeros((1, 2))])  # the last one is the weights themselves
    found = losses_along(point, d, places, more)
    grids = found[:-1].T.reshape(-1, points, points)  # (B + 1, G, G)
    lowest = np.stack([_lowest(xs, ys, grid) for grid in grids])
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
        jaggedness={name: _jaggedness(p) for name, p in paths.items()},
        batches=grids[1:],
        batch_lowest=lowest[1:, :2],
        batch_least=lowest[1:, 2],
        names=names,
        n=point.batch.n,
    )


@checked("module_", when=has_surface, otherwise=NO_SURFACE, lifted_by="loss")
def plane(
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
    d, at, _ = _plane(point, directions, paths_of(path), start.cpu().numpy(), random_state)
    both, center = torch.from_numpy(d).to(start), torch.from_numpy(at).to(start)
    point.objective.eval().requires_grad_(False)
    for value in point.inputs.values():
        value.requires_grad_(False)

    def f(place: Tensor) -> Tensor:
        with DRAW.scope(only_torch=True):
            return point.at(start + (place.to(start) - center) @ both)

    return f


def _jaggedness(path: Any) -> float:
    """Length of a path over its net displacement: 1 for a straight line, inf for one that comes back."""
    p = np.asarray(path, dtype=float)
    length, net = np.linalg.norm(np.diff(p, axis=0), axis=1).sum(), np.linalg.norm(p[-1] - p[0])
    return float(length / net) if net > 0 else np.inf


def paths_of(path: Any) -> dict[str, np.ndarray]:
    """Recorders and arrays by name; one alone is called "path"."""
    named = {} if path is None else path if isinstance(path, Mapping) else {"path": path}
    return {name: np.asarray(getattr(p, "path", p), dtype=float) for name, p in named.items()}


def points_of(path: np.ndarray, here: np.ndarray, name: str) -> np.ndarray:
    """The path, if it is one of these weights."""
    if path.ndim != 2 or path.shape[1] != len(here) or not len(path):
        raise InputError(
            f"{name!r} has shape {path.shape}, but the module has {len(here)} parameters that move; pass points "
            f"(T, {len(here)}) as a train.Recorder keeps them."
        )
    if not np.isfinite(path).all():
        raise InputError(f"{name!r} holds numbers that are not finite; leave out the points where training diverged.")
    return path


def _plane(
    point: Point, directions: Directions | None, paths: Mapping[str, np.ndarray], here: np.ndarray, random_state: int
) -> tuple[np.ndarray, np.ndarray, tuple[str, str]]:
    """Two directions (2, P), the coordinates of the weights (2,), and what the coordinates are called."""
    at, names = np.zeros(2), ("direction 1", "direction 2")
    kind = ("axes" if len(here) == 2 else "random") if directions is None else directions
    if not isinstance(kind, str):
        d = stacked([v.detach().cpu() if isinstance(v, Tensor) else v for v in kind], len(here))
    elif kind == "random":
        d = _random(point, Draw(random_state).at("landscape"))
        names = ("random direction 1 (filter-normalized)", "random direction 2 (filter-normalized)")
    elif kind == "path":
        if not paths:
            raise InputError("directions='path' needs path=, e.g. a train.Recorder of the training.")
        every = np.concatenate([points_of(p, here, name) for name, p in paths.items()])
        d = leading(every, here)
        share = positions(every, here, d)[1]
        names = f"principal direction 1 ({share[0]:.0%})", f"principal direction 2 ({share[1]:.0%})"
    elif kind == "axes":
        d, at, names = np.eye(2), here, _parameters(point)
    else:
        raise InputError(nearest("directions", kind, ["random", "path", "axes"]))
    if not _spans(d):
        raise InputError(
            "The two directions span no plane: one is zero or not finite, or both are parallel. Choose others, and see "
            "that the weights are finite."
        )
    return d, at, names


def _random(point: Point, draw: Draw) -> np.ndarray:
    """Two filter-normalized directions, (2, P); biases move too where the weights alone span no plane."""

    def pair(biases: bool) -> np.ndarray:
        both = [filter_normalized(point.parameters, draw.generator(which), biases=biases) for which in ("d1", "d2")]
        return torch.stack(both).double().cpu().numpy()

    return d if _spans(d := pair(False)) else pair(True)


def _spans(d: np.ndarray) -> bool:
    return bool(np.isfinite(d).all()) and np.linalg.matrix_rank(d) == 2


def _parameters(point: Point) -> tuple[str, str]:
    if point.size != 2:
        raise InputError(
            f"directions='axes' is for modules of two parameters; {type(point.module).__name__} has {point.size}. Use "
            "'random', or 'path' with the path of its training."
        )
    names = [n for n, p in point.parameters.items() for _ in range(p.numel())]
    return (names[0], names[1]) if len(set(names)) == 2 else (f"{names[0]}[0]", f"{names[0]}[1]")


def _grid(box: Any, at: np.ndarray, span: float, paths: list[np.ndarray], points: int) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates along both directions: the box given, one around the paths, or one around the weights."""
    if box is None:
        every = np.concatenate([at[None], *paths])  # (T, 2)
        low, high = every.min(0), every.max(0)
        half = np.where(high > low, 0.7 * (high - low), np.maximum(1, np.abs(at))) * span  # wider than the path
        middle = (low + high) / 2
        box = np.stack([middle - half, middle + half], 1)
    edges = np.asarray(box, dtype=float)
    if edges.shape != (2, 2) or not (edges[:, 0] < edges[:, 1]).all():
        raise InputError(
            f"The grid would go from {edges.tolist()}; give span > 0, or box=((left, right), (bottom, top)) that grow."
        )
    (left, right), (bottom, top) = edges
    return np.linspace(left, right, points), np.linspace(bottom, top, points)


def _lowest(x: np.ndarray, y: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """Place and value at the vertex of the least-squares parabola through the 3 x 3 points around the lowest, or that
    point itself, at an edge and where the parabola has no minimum there: (3,)."""
    safe = np.where(np.isfinite(loss), loss, np.inf)
    j, i = np.unravel_index(int(safe.argmin()), loss.shape)
    itself = np.array([x[i], y[j], safe[j, i]])
    if not (0 < j < len(y) - 1 and 0 < i < len(x) - 1 and np.isfinite(loss[j - 1 : j + 2, i - 1 : i + 2]).all()):
        return itself
    rise = loss[j - 1 : j + 2, i - 1 : i + 2].ravel() - loss[j, i]
    v, u = (part.ravel() for part in np.mgrid[-1:2, -1:2])  # in steps of the grid
    terms = np.stack([np.ones(9), u, v, u * u / 2, u * v, v * v / 2], 1)
    c, gu, gv, huu, huv, hvv = np.linalg.lstsq(terms, rise, rcond=None)[0]
    if huu <= 0 or huu * hvv <= huv**2:
        return itself
    step = -np.linalg.solve([[huu, huv], [huv, hvv]], [gu, gv])
    vertex = itself + [step[0] * (x[1] - x[0]), step[1] * (y[1] - y[0]), c + (step @ [gu, gv]) / 2]
    return vertex if np.abs(step).max() <= 1 else itself
