"""The energy of a memory, and the paths of states down to where they rest.

    two units      E over the square of states, with the paths on it
    three units    the paths in the cube of states
    more           E over the plane through three stored patterns; paths from above, at their nearest places

A memory of -1 and +1 only has the energy of the nearest corner at each place.
Beside it is the energy step by step.
Shapes: T steps, n starts, N units, P patterns, G positions.
Reference: Hopfield, Neural networks and physical systems with emergent collective computational abilities, PNAS (1982).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from ...draw import Draw
from ...errors import InputError
from ...explain import explanation
from ...plots import GREY, PALETTE, Figure, drawn, short
from ...plots.contours import ground
from ...results import Result
from ._memory import AssociativeMemory
from ._plane import Ends, Plane, as_states, ends_of, grid_of, has_plane, place_name, plane_of, starts_of, stored_in
from .rules import corrupt

__all__ = ["EnergySurface", "draw_cube", "draw_energy", "energy_surface"]

FLIPPED = 0.3
MAX_STEPS = 40  # different energies that are drawn as flat steps
DASHES = ("-", "--", ":", "-.")
Grid = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class EnergySurface(Result):
    """Paths of states, and the energy along them."""

    states: np.ndarray  # step by step (T + 1, n, N)
    energies: np.ndarray  # their energies (T + 1, n)
    needed: np.ndarray  # the last step in which something moved (n,)
    ends: Ends  # where they ended: names, kinds, and the place of each start among them
    patterns: np.ndarray  # the stored ones (P, N)
    plane: Plane | None  # the two coordinates that are drawn; None: the three units themselves
    grid: Grid | None  # positions (G,), (G,) and energies (G, G) on the plane; None for three units
    corners: bool  # whether these are the energies of the nearest corners

    @property
    def rise(self) -> np.ndarray:
        """The largest rise of the energy in one step (n,)."""
        found = np.diff(self.energies, axis=0).max(0, initial=0.0)
        return np.where(found > 1e-12 * np.abs(self.energies).max(), found, 0.0)  # else it is rounding

    @property
    def apart(self) -> np.ndarray:
        """Root mean square per unit from the plane to each end (n,); 0 where the plane is all there is."""
        if self.plane is None:
            return np.zeros(self.states.shape[1])
        gap = self.states[-1] - self.plane.at(self.plane.of(self.states[-1]))
        return np.sqrt(np.mean(gap**2, -1)).round(9)

    def columns(self) -> dict[str, Any]:
        """One row per start."""
        n_units = self.states.shape[-1]
        return {
            "start": [place_name(x) if n_units <= 3 else i for i, x in enumerate(self.states[0])],
            "end": [self.ends.names[k] for k in self.ends.code],
            "kind": [self.ends.kinds[k] for k in self.ends.code],
            "steps": self.needed,
            "energy at the start": self.energies[0],
            "energy at the end": self.energies[-1],
            "largest rise": self.rise,
            "off the plane": self.apart if self.plane is not None and n_units > 2 else None,
        }

    @property
    def caption(self) -> str:
        """Where the starts ended, and whether the energy ever rose."""
        kinds = [self.ends.kinds[k] for k in self.ends.code]
        ended = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(self.ends.kinds))
        rise = f"Largest rise of the energy in a step: {self.rise.max():.3g}."
        return f"{len(kinds)} starts, {len(self.states) - 1} steps; ends: {ended}. {rise}"

    @drawn
    def figure(self) -> Figure:
        """The energy from above with the paths on it, or the paths in the cube; the energy step by step."""
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        flat = self.plane.of if self.plane is not None else np.asarray
        paths = flat(self.states)  # (T + 1, n, d)
        figure = Figure(figsize=(11.6, 6.2))
        cells = figure.add_gridspec(1, 2, width_ratios=[1.35, 1])
        axes: Any = figure.add_subplot(cells[0, 0], projection="3d" if paths.shape[-1] == 3 else None)
        if self.grid is not None:
            draw_energy(figure, axes, self.grid)
        else:
            draw_cube(axes, float(max(np.abs(paths).max(), 1.0)))
        labels = self.plane.names if self.plane is not None else ("x1", "x2", "x3")
        axes.set(title=self._title, **{f"{a}label": name for a, name in zip("xyz", labels, strict=False)})
        beside = figure.add_subplot(cells[0, 1])
        beside.set(title="Energy along the paths", xlabel="step", ylabel="energy")
        beside.xaxis.set_major_locator(MaxNLocator(integer=True))
        seen = set()
        for i, k in enumerate(self.ends.code.tolist()):
            look: dict[str, Any] = {"color": PALETTE[k] if k < 6 else GREY, "ls": DASHES[k % 4], "lw": 1.4}
            axes.plot(
                *paths[:, i].T, label=None if k in seen else short(f"to {self.ends.names[k]}", 26), zorder=3, **look
            )
            axes.plot(*paths[:1, i].T, ls="", marker="s", ms=5, color=look["color"], mec="white", mew=0.6, zorder=4)
            beside.plot(self.energies[:, i], alpha=0.85, **look)
            seen.add(k)
        elsewhere = np.array([kind != "stored" for kind in self.ends.kinds])[self.ends.code]
        for sign, kind, at in (
            ("*", "stored", self._in_plane(self.patterns)),
            ("X", "end elsewhere", self.states[-1][elsewhere]),
        ):
            if len(at):
                size = {"ls": "", "color": "white", "mec": "black", "ms": 15 if sign == "*" else 10}
                axes.plot(*flat(at).T, marker=sign, label=kind, zorder=6, **size)
        axes.plot([], [], ls="", marker="s", ms=5, color=GREY, label="start")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5)
        return figure

    def _in_plane(self, x: np.ndarray) -> np.ndarray:
        """Those states that lie in the plane."""
        if self.plane is None:
            return x
        return x[np.abs(x - self.plane.at(self.plane.of(x))).max(-1) < 1e-6]

    @property
    def _title(self) -> str:
        if self.plane is None:
            return "Paths in the cube of states"
        of = "the nearest corners" if self.corners else "states"
        return f"Energy of {of}" + ("" if self.states.shape[-1] == 2 else " on a plane through stored patterns")


def draw_energy(figure: Any, axes: Any, grid: Grid) -> None:
    """An energy from above: contours, or flat steps where it has few values, with a bar below; equal units."""
    x, y, z = grid
    if len(np.unique(z)) > MAX_STEPS:
        ground(figure, axes, grid, "energy")
    else:
        extent = (x[0], x[-1], y[0], y[-1])
        image = axes.imshow(z, cmap="Greys", alpha=0.55, origin="lower", extent=extent)
        figure.colorbar(image, ax=axes, location="bottom", shrink=0.8, aspect=45, pad=0.01, label="energy")
    axes.set_aspect("equal")
    axes.locator_params(nbins=5)


def draw_cube(axes: Any, size: float = 1.0) -> None:
    """Edges of a cube around 0, seen so that no corner hides another."""
    for a, b in combinations(np.array(list(product((-size, size), repeat=3))), 2):
        if np.count_nonzero(a != b) == 1:
            axes.plot(*np.stack([a, b]).T, color="0.4", ls="-", lw=0.9, zorder=1)
    axes.view_init(22, -62)
    axes.locator_params(nbins=5)
    axes.set_box_aspect((1, 1, 1), zoom=0.95)


@explanation("energy-surface", needs=AssociativeMemory, when=has_plane)
def energy_surface(
    net: AssociativeMemory,
    starts: Any = None,
    *,
    steps: int = 50,
    n: int = 20,
    patterns: Sequence[int] | None = None,
    points: int = 61,
    random_state: int = 0,
) -> EnergySurface:
    """The energy of a memory, and the paths of states down to where they rest.

    Args:
        net: A fitted memory.
        starts: States to begin with (n, N); None: drawn evenly from the square or cube that is shown, or from the
            triangle of the three patterns; where only -1 and +1 are states, these patterns with 30 % of them flipped.
        steps: So many.
        n: Starts that are drawn.
        patterns: Three stored patterns whose plane is shown; None: the square or cube of two or three units, of more
            the first three that lie on no line.
        points: Positions along each axis of the plane.
        random_state: Seed of the starts.
    """
    stored = stored_in(net, "energy_surface")
    n_units = stored.shape[1]
    if steps < 1 or points < 3:
        raise InputError(f"steps={steps} and points={points}; at least 1 step and 3 points are needed.")
    plane = None if n_units == 3 and patterns is None else plane_of(net, stored, patterns)
    begin = _drawn(net, stored, plane, n, random_state) if starts is None else starts_of(starts, n_units)
    states, energies, needed, _ = net.trace(begin, steps=steps)
    grid = None
    if plane is not None:
        x, y, places = grid_of(np.concatenate([plane.corners, plane.of(states).reshape(-1, 2)]), points)
        grid = x, y, net.energy(as_states(net, plane.at(places))).reshape(points, points)
    return EnergySurface(states, energies, needed, ends_of(net, states[-1]), stored, plane, grid, net.only_corners)


def _drawn(net: AssociativeMemory, stored: np.ndarray, plane: Plane | None, n: int, seed: int) -> np.ndarray:
    """Starts (n, N)."""
    if n < 1:
        raise InputError(f"n={n}; at least one start is needed.")
    rng = np.random.default_rng(Draw(seed).at("starts").key())
    if plane is None or stored.shape[1] == 2:
        return as_states(net, np.abs(stored).max() * rng.uniform(-1, 1, (n, stored.shape[1])))
    if net.only_corners:
        return corrupt(as_states(net, plane.at(plane.corners))[rng.integers(3, size=n)], FLIPPED, rng=rng)
    return plane.at(rng.dirichlet(np.ones(3), n) @ plane.corners)
