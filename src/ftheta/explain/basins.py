"""Basins of attraction: which state each start leads to.

    B(x*) = {x : x_t -> x*},      share of B = P(start in B), measured with random starts

Two units have a picture of all starts; more have one of the plane through three stored patterns.
A memory of -1 and +1 only is started at the nearest corners.
Shapes: G positions along each axis, A ends, n starts, P patterns, N units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .. import plots
from ..draw import Draw
from ..errors import InputError
from ..results import Result, Table
from ._memories import HasMemories, as_states, ends_of, grid_of, has_plane, plane_of, stored_in
from ._registry import explanation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Basins", "basins"]


@dataclass(frozen=True, eq=False)
class Basins(Result):
    """Where random starts end, and the places of a plane.

    Args:
        names: Names of the ends: stored patterns first, within a kind the most frequent first.
        kinds: Of each: stored; near stored: another state that the memory takes for it; mirror: minus a stored one;
            other: at rest elsewhere; moving: not at rest.
        shares: Share of the random starts that ended there (A,).
        n: Number of random starts.
        missed: Stored patterns that no random start ended in.
        x: Positions along the first axis of the plane (G,).
        y: Positions along the second (G,).
        code: Place in `names` of the end of each position (G, G); the first axis is y.
        stored: Places of the stored patterns that lie in the plane.
        labels: Of both axes.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    shares: np.ndarray
    n: int
    missed: int
    x: np.ndarray
    y: np.ndarray
    code: np.ndarray
    stored: np.ndarray
    labels: tuple[str, str]

    def table(self) -> Table:
        """One line an end, with the standard error of its share."""
        area = np.bincount(self.code.ravel(), minlength=len(self.names)) / self.code.size
        columns = {
            "end": list(self.names),
            "kind": list(self.kinds),
            "share of starts": self.shares.tolist(),
            "standard error": np.sqrt(self.shares * (1 - self.shares) / self.n).tolist(),
            "share of the picture": area.tolist(),
        }
        return Table(columns, self.alt)

    def figure(self) -> Figure:
        """The plane in the colours of the ends, and a bar for the share of each."""
        settings = {"stored": self.stored, "labels": self.labels, "title": "Basins of attraction"}
        counted = f"share of {self.n} random starts"
        return plots.attraction(self.x, self.y, self.code, self.names, self.shares, **settings, counted=counted)

    @property
    def alt(self) -> str:
        """What the picture shows."""
        total = {k: self.shares[[kind == k for kind in self.kinds]].sum() for k in dict.fromkeys(self.kinds)}
        said = ", ".join(f"{share:.1%} {kind}" for kind, share in total.items())
        return f"{self.n} random starts end: {said}. {self.missed} stored patterns were never reached."


@explanation("basins", needs=HasMemories, when=has_plane)
def basins(
    net: HasMemories,
    *,
    n: int = 1000,
    steps: int | None = None,
    patterns: Sequence[int] | None = None,
    points: int | None = None,
    random_state: int = 0,
) -> Basins:
    """Which state each start leads to: shares of random starts, and a picture of a plane.

    Args:
        net: A fitted memory.
        n: Random starts, drawn evenly from the cube of states.
        steps: At most so many; None: as many as the memory takes.
        patterns: Three stored patterns whose plane is shown; None: the square of two units, of more the first three
            that lie on no line.
        points: Positions along each axis of the plane; None: 100, of more than three units 40.
        random_state: Seed of the random starts.
    """
    stored = stored_in(net, "basins")
    n_units = stored.shape[1]
    points = (100 if n_units <= 3 else 40) if points is None else points
    if n < 1 or points < 3:
        raise InputError(f"n={n} and points={points}; at least 1 start and 3 points are needed.")
    plane = plane_of(net, stored, patterns)
    x, y, places = grid_of(plane.corners, points)
    rng = np.random.default_rng(Draw(random_state).at("starts").key())
    random = np.abs(stored).max() * rng.uniform(-1, 1, (n, n_units))
    begin = as_states(net, np.concatenate([random, plane.at(places)]))
    ends = ends_of(net, np.asarray(net.recall(begin, steps=steps), dtype=float))
    shares = np.bincount(ends.code[:n], minlength=len(ends.names)) / n
    reached = sum("stored" in kind and share > 0 for kind, share in zip(ends.kinds, shares, strict=True))
    inside = stored[np.abs(stored - plane.at(plane.of(stored))).max(1) < 1e-6]
    return Basins(
        names=ends.names,
        kinds=ends.kinds,
        shares=shares,
        n=n,
        missed=len(stored) - reached,
        x=x,
        y=y,
        code=ends.code[n:].reshape(points, points),
        stored=plane.of(inside),
        labels=plane.names,
    )
