"""Basins of attraction: which state each start leads to.

    B(x*) = {x : x_t -> x*},      share of B = P(start in B), measured with random starts

Two units have a picture of all starts; more have one of the plane through three stored patterns.
A memory of -1 and +1 only is started at the nearest corners.
Shapes: G positions along each axis, A ends, n starts, P patterns, N units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...draw import Draw
from ...errors import InputError
from ...explain import explanation
from ...plots import GREY, PALETTE, Figure, drawn, short
from ...results import Result
from ._memory import AssociativeMemory
from ._plane import as_states, ends_of, grid_of, has_plane, plane_of, stored_in

__all__ = ["Basins", "basins"]

COLORED = 6  # ends with a color of their own
BARS = 12  # ends that are shown
HATCHES = ("", "///", "...", "\\\\\\", "xxx", "++", "")


@dataclass(frozen=True, eq=False)
class Basins(Result):
    """Where random starts end, and the places of a plane."""

    names: tuple[str, ...]  # of the ends: stored patterns first, within a kind the most frequent first
    kinds: tuple[str, ...]  # stored; near stored: taken for a pattern; mirror: minus one; other: at rest; moving
    shares: np.ndarray  # share of the random starts that ended there (A,)
    n: int  # number of random starts
    missed: int  # stored patterns that no random start ended in
    x: np.ndarray  # positions along the first axis of the plane (G,)
    y: np.ndarray  # positions along the second (G,)
    code: np.ndarray  # place in `names` of the end of each position (G, G); the first axis is y
    stored: np.ndarray  # places of the stored patterns that lie in the plane
    labels: tuple[str, str]  # of both axes

    def columns(self) -> dict[str, Any]:
        """One row per end, with the standard error of its share."""
        return {
            "end": self.names,
            "kind": self.kinds,
            "share of starts": self.shares,
            "standard error": np.sqrt(self.shares * (1 - self.shares) / self.n),
            "share of the picture": np.bincount(self.code.ravel(), minlength=len(self.names)) / self.code.size,
        }

    @property
    def caption(self) -> str:
        """Shares of the kinds of ends."""
        total = {k: self.shares[[kind == k for kind in self.kinds]].sum() for k in dict.fromkeys(self.kinds)}
        ends = ", ".join(f"{share:.1%} {kind}" for kind, share in total.items())
        return f"{self.n} random starts end: {ends}. {self.missed} stored patterns were never reached."

    @drawn
    def figure(self) -> Figure:
        """The plane in the colors of the ends, stars at stored patterns; beside it a bar for each end."""
        from matplotlib.figure import Figure

        area = np.bincount(self.code.ravel(), minlength=len(self.names))
        rank = np.argsort(np.lexsort((-self.shares, -area)))  # of each end
        figure = Figure(figsize=(11.0, 5.4))
        left, right = figure.subplots(1, 2, width_ratios=[1.35, 1])
        left.set(title="Basins of attraction", xlabel=short(self.labels[0], 60), ylabel=short(self.labels[1], 60))
        left.grid(visible=False)
        _map(left, self.x, self.y, np.minimum(rank[self.code], COLORED))
        left.plot(*self.stored.T, ls="", marker="*", ms=16, color="white", mec="black", label="stored", clip_on=False)
        self._bars(right, rank)
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
        return figure

    def _bars(self, axes: Any, rank: np.ndarray) -> None:
        """The ends that have a color, and others with the largest shares."""
        first = np.lexsort((-self.shares, rank >= COLORED))[:BARS]
        shown = first[np.argsort(-self.shares[first], kind="stable")]
        axes.set_title(f"Where states end: {len(shown)} of {len(self.shares)} ends")
        axes.set_xlabel(f"share of {self.n} random starts")
        for i, k in enumerate(shown):
            color = PALETTE[rank[k]] if rank[k] < COLORED else GREY
            axes.barh(i, self.shares[k], color=color, alpha=0.45, height=0.7)
            hatch = HATCHES[min(rank[k], COLORED)]
            axes.barh(i, self.shares[k], color="none", edgecolor=color, hatch=hatch, height=0.7)
            axes.annotate(f" {self.shares[k]:.1%}", (self.shares[k], i), va="center", fontsize=9)
        axes.set_yticks(range(len(shown)), [short(self.names[int(k)], 26) for k in shown])
        axes.set_ylim(max(len(shown), 4) - 0.4, -0.6)
        axes.set_xlim(0, 1.15 * max(float(self.shares.max()), 1e-9))


def _map(axes: Any, x: np.ndarray, y: np.ndarray, rank: np.ndarray) -> None:
    """One color and hatch per rank, 45 % over white, and a line around each."""
    from matplotlib.colors import to_rgb

    colors = np.array([to_rgb(color) for color in (*PALETTE[:COLORED], GREY)])
    half = (x[1] - x[0]) / 2, (y[1] - y[0]) / 2  # a position is the middle of its pixel
    extent = (x[0] - half[0], x[-1] + half[0], y[0] - half[1], y[-1] + half[1])
    axes.imshow(1 - 0.45 * (1 - colors[rank]), origin="lower", extent=extent)
    for k in np.unique(rank):
        mine = (rank == k).astype(float)
        filled = axes.contourf(x, y, mine, levels=[0.5, 1.5], colors="none", hatches=[HATCHES[k]])
        filled.set(edgecolor=colors[k], linewidth=0)
        if mine.min() < 0.5:
            axes.contour(x, y, mine, levels=[0.5], colors="black", linewidths=0.7)
    axes.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), aspect="equal")
    axes.locator_params(nbins=5)


@explanation("basins", needs=AssociativeMemory, when=has_plane)
def basins(
    net: AssociativeMemory,
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
    found = zip(ends.names, ends.kinds, shares, strict=True)
    reached = {name.removeprefix("near ") for name, kind, share in found if "stored" in kind and share > 0}
    inside = stored[np.abs(stored - plane.at(plane.of(stored))).max(1) < 1e-6]
    return Basins(
        names=ends.names,
        kinds=ends.kinds,
        shares=shares,
        n=n,
        missed=len(stored) - len(reached),
        x=x,
        y=y,
        code=ends.code[n:].reshape(points, points),
        stored=plane.of(inside),
        labels=plane.names,
    )
