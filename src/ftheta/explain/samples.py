"""Samples: new rows of a model, beside the training rows that are nearest to them.

    d(x) = min_i |x - x_i|,     x_i the training rows; of a training row: its nearest other one

Samples that lie much closer to training rows than these lie to one another are copies: the model has memorized them.

Shapes: N samples, n training rows, D columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from inspect import signature
from math import isqrt, prod
from typing import Any

import numpy as np
import torch
from sklearn.neighbors import NearestNeighbors

from .. import plots
from ..check import Count
from ..draw import Draw
from ..errors import InputError
from ..plots import Figure
from ..results import Result
from ._probe import untouched
from ._registry import explanation
from ._rows import finite

__all__ = ["Samples", "samples"]


@dataclass(frozen=True, eq=False)
class Samples(Result):
    """New rows, and the rows that they are nearest to; the last four fields only where training rows were given."""

    rows: np.ndarray  # the samples (N, D)
    shape: tuple[int, ...]  # of a row as an image; (1, D) where rows are not images
    labels: np.ndarray | None = None  # their classes (N,), where the model draws those too
    nearest: np.ndarray | None = None  # position of the nearest training row (N,)
    neighbors: np.ndarray | None = None  # these rows (N, D)
    distance: np.ndarray | None = None  # how far they are, |difference| (N,)
    usual: np.ndarray | None = None  # how far a training row is from its nearest other one, for as many of them

    def columns(self) -> dict[str, Any]:
        """One row per sample."""
        columns = {"sample": range(len(self.rows)), "mean": self.rows.mean(1), "class": self.labels}
        return columns | {"nearest row": self.nearest, "distance": self.distance}

    def figure(self) -> Figure:
        """Samples, their nearest rows in the same order, and the distances; points where rows are not images."""
        if self.shape[-2] == 1:
            return plots.sampled_points(self.rows, self.neighbors, self.distance, self.usual)
        near = None if self.neighbors is None else self.neighbors.reshape(-1, *self.shape)
        return plots.sampled(self.rows.reshape(-1, *self.shape), near, self.distance, self.usual)

    @property
    def caption(self) -> str:
        count = f"{len(self.rows)} sample(s)"
        if self.distance is None or self.usual is None:
            return f"{count}."
        near = f"{count}; median distance to the nearest training row {np.median(self.distance):.4g}"
        usual = f", of training rows to one another {np.median(self.usual):.4g}" if len(self.usual) else ""
        return f"{near}{usual}; {int((self.distance == 0).sum())} copies."


def is_fitted(obj: Any) -> bool:
    """True if an estimator has learned something; other objects always have."""
    return not hasattr(obj, "fit") or any(name.endswith("_") and not name.startswith("_") for name in vars(obj))


@explanation("samples", when=is_fitted, otherwise="is not fitted; {} needs a fitted model")
def samples(
    obj: Any, X: Any = None, n: Count = 64, *, shape: Sequence[int] | None = None, random_state: int = 0
) -> Samples:
    """New rows of a model, beside the training rows that are nearest to them.

    Args:
        obj: A model with `sample(n)`, which gives rows, or rows and their classes.
        X: Training rows, of the columns of the samples; None: samples alone.
        n: How many samples.
        shape: (height, width) of a row; None: as the samples have it, or a square from 4 x 4 on.

    Example:
        >>> from ftheta import QuadraticDiscriminant
        >>> x = np.random.default_rng(0).normal(size=(20, 2))
        >>> samples(QuadraticDiscriminant().fit(x, x[:, 0] > 0), x, n=5).distance.shape
        (5,)
    """
    draw = Draw(random_state).at("samples")
    module = getattr(obj, "module_", obj)
    seed = {"random_state": draw.key() % 2**31} if "random_state" in signature(obj.sample).parameters else {}
    restored = untouched(module) if isinstance(module, torch.nn.Module) else nullcontext()
    with restored, draw.scope(), torch.no_grad():
        made = obj.sample(n, **seed)
    made, labels = made if isinstance(made, tuple) else (made, None)
    rows = finite("The samples", made)
    shown = _shape(rows.shape[1:], shape or getattr(obj, "image_shape", None))
    rows = rows.reshape(len(rows), -1)
    near = () if X is None else _nearest(rows, X)
    return Samples(rows, shown, None if labels is None else np.asarray(labels), *near)


def _shape(row: tuple[int, ...], given: Sequence[int] | None) -> tuple[int, ...]:
    """Shape of a row as an image: the given one, its own, a square from 4 x 4 on, else a line (1, D)."""
    size = prod(row)
    side = isqrt(size)
    square = (side, side) if side**2 == size and side > 3 else (1, size)
    shape = tuple(given or (row if len(row) > 1 else square))
    if len(shape) not in (2, 3) or prod(shape) != size:
        raise InputError(f"shape={shape} does not hold rows of {size} numbers; pass (height, width) of that size.")
    return shape


def _nearest(rows: np.ndarray, X: Any) -> tuple[np.ndarray, ...]:
    """Nearest training rows, they themselves, their distances, and the usual distances among training rows."""
    x = finite("X", X)
    x = x.reshape(len(x), -1)
    if x.shape[1:] != rows.shape[1:] or not len(x):
        raise InputError(f"X has rows of {x.shape[1]} numbers, the samples of {rows.shape[1]}; pass the training rows.")
    known = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(x)
    near = known.kneighbors(rows, return_distance=False)[:, 0]
    some = x[:: -(-len(x) // len(rows))] if len(x) > 1 else x[:0]
    other = known.kneighbors(some, 2, return_distance=False)[:, 1] if len(some) else np.zeros(0, int)
    return near, x[near], np.linalg.norm(rows - x[near], axis=1), np.linalg.norm(some - x[other], axis=1)
