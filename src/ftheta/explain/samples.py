"""Samples: what a model makes when it is asked for new rows, beside the training rows that are nearest to them.

    d(x) = min_i |x - x_i|,     x_i the training rows; of a training row: its nearest other one

Samples that lie much closer to training rows than these lie to one another are copies: the model has memorised.

Shapes: N samples, n training rows, D columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from .. import plots
from ..draw import Draw
from ..errors import InputError
from ..results import Result, Table
from ._machines import HasSample, aside, ask, fitted, shape_of, some_rows, whole_numbers
from ._registry import explanation, require
from ._rows import finite, numbers
from .images._images import array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Samples", "samples"]

PART = 2**23  # numbers of a table of distances


@dataclass(frozen=True, eq=False)
class Samples(Result):
    """New rows, and the rows that they are nearest to.

    Args:
        rows: The samples (N, D).
        shape: Of a row as a picture; (1, D) where rows are no pictures.
        labels: Their classes (N,), where the model draws those too.
        nearest: Position of the nearest training row (N,), where those were given.
        neighbours: These rows (N, D).
        distance: How far they are, |difference| (N,).
        usual: How far a training row is from its nearest other one, for as many of them.
    """

    rows: np.ndarray
    shape: tuple[int, ...]
    labels: np.ndarray | None = None
    nearest: np.ndarray | None = None
    neighbours: np.ndarray | None = None
    distance: np.ndarray | None = None
    usual: np.ndarray | None = None

    def table(self) -> Table:
        """One line a sample."""
        columns: dict[str, Any] = {"sample": range(len(self.rows)), "mean": self.rows.mean(1).tolist()}
        if self.labels is not None:
            columns["class"] = self.labels.tolist()
        if self.nearest is not None and self.distance is not None:
            columns |= {"nearest row": self.nearest.tolist(), "distance": self.distance.tolist()}
        return Table(columns, self.caption)

    def figure(self) -> Figure:
        """Samples, their nearest rows in the same order, and the distances; points where rows are no pictures."""
        if self.shape[-2] == 1:
            return plots.sampled_points(self.rows, self.neighbours, self.distance, self.usual)
        near = None if self.neighbours is None else self.neighbours.reshape(-1, *self.shape)
        return plots.sampled(self.rows.reshape(-1, *self.shape), near, self.distance, self.usual)

    @property
    def caption(self) -> str:
        """What the picture shows."""
        said = f"{len(self.rows)} sample(s)"
        if self.distance is None or self.usual is None:
            return f"{said}."
        said = f"{said}; median distance to the nearest training row {np.median(self.distance):.4g}"
        usual = f", of training rows to one another {np.median(self.usual):.4g}" if len(self.usual) else ""
        return f"{said}{usual}; {int((self.distance == 0).sum())} copies."


@explanation("samples", needs=HasSample, when=fitted)
def samples(
    obj: Any, X: Any = None, n: int = 64, *, shape: Sequence[int] | None = None, random_state: int = 0
) -> Samples:
    """New rows of a model, beside the training rows that are nearest to them.

    Args:
        obj: A model with `sample(n)`, which gives rows, or rows and their classes.
        X: Training rows, of the columns of the samples; None: samples alone.
        n: How many samples.
        shape: (height, width) of a row; None: as the samples have it, or a square from 4 x 4 on.
        random_state: Seed, where `sample` takes one.

    Example:
        >>> from ftheta import QuadraticDiscriminant
        >>> x = np.random.default_rng(0).normal(size=(20, 2))
        >>> samples(QuadraticDiscriminant().fit(x, x[:, 0] > 0), x, n=5).distance.shape
        (5,)
    """
    require(obj, HasSample, "samples")
    (n,) = whole_numbers("n", [n], 1)
    with aside(obj) as model:
        made = ask(model.sample, n, draw=Draw(random_state).at("samples"))
    made, labels = made if isinstance(made, tuple) else (made, None)
    rows = finite("The samples", numbers("The samples", array(made) if isinstance(made, Tensor) else made))
    row = rows.shape[1:]
    rows = rows.reshape(len(rows), -1)
    found = shape_of(obj, shape, row)
    if shape is None and found[-1] < 4:
        found = (1, rows.shape[1])
    said = None if labels is None else np.asarray(labels)
    return Samples(rows, found, said, *(() if X is None else _nearest(rows, X)))


def _nearest(rows: np.ndarray, X: Any) -> tuple[np.ndarray, ...]:
    """Nearest training rows, they themselves, their distances, and the usual distances among training rows."""
    x = some_rows(X)[0]
    if x.shape[1] != rows.shape[1]:
        raise InputError(f"X has {x.shape[1]} numbers a row, the samples {rows.shape[1]}; pass the training rows.")
    near = _closest(rows, x)
    some = np.arange(0, len(x), -(-len(x) // len(rows))) if len(x) > 1 else np.arange(0)
    usual = np.linalg.norm(x[some] - x[_closest(x[some], x, some)], axis=1)
    return near, x[near], np.linalg.norm(rows - x[near], axis=1), usual


def _closest(rows: np.ndarray, x: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
    """Position in x of the row nearest to each, other than its own: (N,)."""
    part, found = max(1, PART // len(x)), []
    for start in range(0, len(rows), part):
        some = rows[start : start + part]
        squares = (x**2).sum(1) - 2 * some @ x.T  # + |row|², the same for all
        if own is not None:
            squares[np.arange(len(some)), own[start : start + part]] = np.inf
        found.append(squares.argmin(1))
    return np.concatenate(found) if found else np.zeros(0, dtype=int)
