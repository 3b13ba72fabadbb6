"""Directions in weight space, and the loss at many points along them.

    random: each filter of d is Gaussian noise scaled to the length of the same filter of θ,   d_f <- d_f ‖θ_f‖ / ‖d_f‖
    path:   the two leading right singular vectors of  θ_t - θ,  t over a recorded training
    losses: L_n = L(θ + Σ_k c_nk d_k)

A filter is what makes one output: a row of a weight matrix, a kernel of a convolution. So the picture does not change
when a ReLU layer is scaled up and the next one down. Biases and the scales of normalizations do not move.
Shapes: P parameters, T points of a path, N places, K directions, B + 1 sets of rows: all, and B mini-batches.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import Generator, Tensor

from ...catalog import nearest
from ...data import Batch
from ...draw import Draw
from ...errors import InputError
from ...results import percent
from ...train import threads, threads_for
from .._point import Point

Directions = Literal["random", "path", "axes"] | Sequence[Any]


def filter_normalized(parts: Mapping[str, Tensor], generator: Generator, *, biases: bool = False) -> Tensor:
    """One random direction for these tensors: (P,)."""
    found = []
    for p in parts.values():
        rows = p.detach().flatten(1) if p.ndim > 1 else p.detach().reshape(1, -1)  # (filters, weights)
        d = torch.randn(p.shape, generator=generator, dtype=torch.float64).to(rows).view_as(rows)
        scale = rows.norm(dim=1, keepdim=True) / d.norm(dim=1, keepdim=True).clamp_min(torch.finfo(p.dtype).tiny)
        found.append((d * scale * (biases or p.ndim > 1)).flatten())
    return torch.cat(found)


def leading(path: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Orthonormal directions of the plane through `center` that is nearest to a path: (T, P), (P,) -> (2, P)."""
    _, sizes, rows = np.linalg.svd(path - center, full_matrices=False)
    if len(sizes) < 2 or sizes[1] <= 1e-12 * max(sizes[0], np.finfo(float).tiny):
        rest = "record at least two points apart from them that do not lie on one line, or use directions='random'."
        raise InputError(f"A path of {len(path)} points spans no plane through the weights; {rest}")
    return rows[:2]


def positions(path: np.ndarray, origin: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A path in the plane: coordinates of the nearest points (T, 2), and the share of the path's squared distance from
    the origin along the first direction, and along what the second adds to it: (2,)."""
    away = path - origin
    q, r = np.linalg.qr(directions.T)  # (P, 2), (2, 2)
    inside = away @ q  # (T, 2)
    total = (away**2).sum()
    share = (inside**2).sum(0) / total if total > 0 else np.ones(2)
    return np.linalg.solve(r, inside.T).T, share


def losses_along(point: Point, directions: np.ndarray, places: np.ndarray, batches: Sequence[Batch] = ()) -> np.ndarray:
    """Losses at all places c around θ, for all rows and for each mini-batch: (N, B + 1)."""
    origin = point.flat()
    d, c = (torch.from_numpy(v).to(origin) for v in (directions, places))  # (K, P), (N, K)
    found = origin.new_empty(len(c), 1 + len(batches), dtype=torch.float64)
    with torch.no_grad(), threads(threads_for(len(origin) * point.batch.n)), point.open():
        for losses, place in zip(found, c, strict=True):
            theta = torch.addmv(origin, d.T, place)
            for k, batch in enumerate((point.batch, *batches)):
                losses[k] = point.at(theta, batch)
    return found.cpu().numpy()


def jaggedness_of(p: np.ndarray) -> float:
    """Length of a path over its net displacement: 1 for a straight line, inf for one that comes back."""
    length, net = np.linalg.norm(np.diff(p, axis=0), axis=1).sum(), np.linalg.norm(p[-1] - p[0])
    return float(length / net) if net > 0 else np.inf


def paths_of(path: Any, size: int) -> dict[str, np.ndarray]:
    """Recorders and arrays by name, each (T, P); one alone is called "path"."""
    named = {} if path is None else path if isinstance(path, Mapping) else {"path": path}
    found = {name: np.asarray(getattr(p, "path", p), dtype=float) for name, p in named.items()}
    for name, p in found.items():
        if p.ndim != 2 or p.shape[1] != size or not len(p):
            rest = f"pass points (T, {size}) as a train.Recorder keeps them."
            raise InputError(f"{name!r} has shape {p.shape}, but the module has {size} parameters that move; {rest}")
        if not np.isfinite(p).all():
            raise InputError(f"{name!r} holds numbers that are not finite; leave out where training diverged.")
    return found


def plane_of(
    point: Point, directions: Directions | None, paths: Mapping[str, np.ndarray], here: np.ndarray, random_state: int
) -> tuple[np.ndarray, np.ndarray, tuple[str, str]]:
    """Two directions (2, P), the coordinates of the weights (2,), and what the coordinates are called."""
    at, names = np.zeros(2), ("direction 1", "direction 2")
    kind = ("axes" if len(here) == 2 else "random") if directions is None else directions
    if not isinstance(kind, str):
        rows = [np.asarray(v.detach().cpu() if isinstance(v, Tensor) else v, dtype=float).ravel() for v in kind]
        if [len(row) for row in rows] != [len(here)] * 2:
            rest = f"two of {len(here)} numbers each are needed, one for each parameter."
            raise InputError(f"directions has {len(rows)} entries of {[len(row) for row in rows]} numbers; {rest}")
        d = np.stack(rows)
    elif kind == "random":
        d = _random(point, Draw(random_state).at("landscape"))
        names = ("random direction 1 (filter-normalized)", "random direction 2 (filter-normalized)")
    elif kind == "path":
        if not paths:
            raise InputError("directions='path' needs path=, e.g. a train.Recorder of the training.")
        every = np.concatenate(list(paths.values()))
        d = leading(every, here)
        share = positions(every, here, d)[1]
        names = f"principal direction 1 ({percent(share[0])})", f"principal direction 2 ({percent(share[1])})"
    elif kind == "axes":
        if point.size != 2:
            raise InputError(
                f"directions='axes' is for modules of two parameters; {type(point.module).__name__} has {point.size}. "
                "Use 'random', or 'path' with the path of its training."
            )
        own = [n for n, p in point.parameters.items() for _ in range(p.numel())]
        d, at, names = np.eye(2), here, (own[0], own[1]) if own[0] != own[1] else (f"{own[0]}[0]", f"{own[0]}[1]")
    else:
        raise InputError(nearest("directions", kind, ["random", "path", "axes"]))
    if not _spans(d):
        rest = "one is zero or not finite, or both are parallel. Choose others, and see that the weights are finite."
        raise InputError(f"The two directions span no plane: {rest}")
    return d, at, names


def _random(point: Point, draw: Draw, *, biases: bool = False) -> np.ndarray:
    """Two filter-normalized directions, (2, P); biases move too where the weights alone span no plane."""
    both = [filter_normalized(point.parameters, draw.generator(which), biases=biases) for which in ("d1", "d2")]
    d = torch.stack(both).double().cpu().numpy()
    return d if biases or _spans(d) else _random(point, draw, biases=True)


def _spans(d: np.ndarray) -> bool:
    return bool(np.isfinite(d).all()) and np.linalg.matrix_rank(d) == 2


def grid_of(box: Any, at: np.ndarray, span: float, paths: list[np.ndarray], points: int) -> list[np.ndarray]:
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
    return [np.linspace(low, high, points) for low, high in edges]


def lowest_of(x: np.ndarray, y: np.ndarray, loss: np.ndarray) -> np.ndarray:
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
