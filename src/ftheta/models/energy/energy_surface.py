"""The energy of a memory, and the trajectories of states down to fixed points.

    two units      E over the square of states, with the trajectories on it
    three units    the trajectories in the cube of states
    more           E over the plane through three stored patterns; trajectories projected on it

A memory of -1 and +1 only has the energy of the nearest corner at each place.
Shapes: T steps, n starts, N units, P patterns, G positions.
Reference: Hopfield, Neural networks and physical systems with emergent collective computational abilities, PNAS (1982).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ... import check
from ...draw import Draw
from ...errors import InputError
from ...explain import explanation
from ...plots import GREY, PALETTE, Figure, drawn, short
from ...results import Result
from ._memory import AssociativeMemory
from ._plane import (
    Ends,
    Grid,
    Plane,
    as_states,
    ends_of,
    grid_of,
    has_plane,
    place_name,
    plane_of,
    state_axes,
    stored_in,
)
from .rules import corrupt

__all__ = ["EnergySurface", "energy_surface"]

FLIPPED = 0.3
DASHES = ("-", "--", ":", "-.")


@dataclass(frozen=True, eq=False)
class EnergySurface(Result):
    """Trajectories of states, and the energy along them."""

    states: np.ndarray  # step by step (T + 1, n, N)
    energies: np.ndarray  # their energies (T + 1, n)
    needed: np.ndarray  # the last step in which something moved (n,)
    ends: Ends  # where they ended: names, kinds, and the place of each start among them
    patterns: np.ndarray  # the stored ones (P, N)
    plane: Plane | None  # the two coordinates that are drawn; None: the three units themselves
    grid: Grid | None  # energies on the plane; None for three units
    corners: bool  # whether these are the energies of the nearest corners

    @property
    def rise(self) -> np.ndarray:
        """The largest rise of the energy in one step (n,)."""
        rise = np.diff(self.energies, axis=0).max(0, initial=0.0)
        return np.where(rise > 1e-12 * np.abs(self.energies).max(), rise, 0.0)  # else it is rounding

    @property
    def apart(self) -> np.ndarray:
        """Root mean square per unit from the plane to each end (n,)."""
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
        """The energy from above with the trajectories on it, or these in the cube; the energy step by step."""
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        flat = self.plane.of if self.plane is not None else np.asarray
        paths = flat(self.states)  # (T + 1, n, d)
        figure = Figure(figsize=(11.6, 6.2))
        cells = figure.add_gridspec(1, 2, width_ratios=[1.35, 1])
        names = self.plane.names if self.plane is not None else ("x1", "x2", "x3")
        axes = state_axes(figure, cells[0, 0], self.grid, names, float(max(np.abs(paths).max(), 1.0)))
        axes.set_title(self._title)
        beside = figure.add_subplot(cells[0, 1])
        beside.set(title="Energy along the trajectories", xlabel="step", ylabel="energy")
        beside.xaxis.set_major_locator(MaxNLocator(integer=True))
        code = self.ends.code.tolist()
        for i, k in enumerate(code):
            style: dict[str, Any] = {"color": PALETTE[k] if k < 6 else GREY, "ls": DASHES[k % 4], "lw": 1.4}
            label = None if k in code[:i] else short(f"to {self.ends.names[k]}", 26)
            axes.plot(*paths[:, i].T, label=label, zorder=3, **style)
            axes.plot(*paths[:1, i].T, ls="", marker="s", ms=5, color=style["color"], mec="white", mew=0.6, zorder=4)
            beside.plot(self.energies[:, i], alpha=0.85, **style)
        elsewhere = self.states[-1][[self.ends.kinds[k] != "stored" for k in code]]
        stored = self.patterns if self.plane is None else self.plane.inside(self.patterns)
        for marker, kind, at, size in (("*", "stored", stored, 15), ("X", "end elsewhere", elsewhere, 10)):
            if len(at):
                axes.plot(*flat(at).T, ls="", marker=marker, ms=size, label=kind, color="white", mec="black", zorder=6)
        axes.plot([], [], ls="", marker="s", ms=5, color=GREY, label="start")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5)
        return figure

    @property
    def _title(self) -> str:
        if self.plane is None:
            return "Trajectories in the cube of states"
        of = "the nearest corners" if self.corners else "states"
        return f"Energy of {of}" + ("" if self.states.shape[-1] == 2 else " on a plane through stored patterns")


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
    """The energy of a memory, and the trajectories of states down to fixed points.

    Args:
        net: A fitted memory.
        starts: Initial states (n, N); None: drawn evenly from the square or cube that is shown, or from the triangle
            of the three patterns; where only -1 and +1 are states, these patterns with 30 % of them flipped.
        steps: At most so many.
        n: Starts that are drawn.
        patterns: Three stored patterns whose plane is shown; None: the square or cube of two or three units, of more
            the first three that are not on a line.
        points: Positions along each axis of the plane.
        random_state: Seed of the starts.
    """
    stored = stored_in(net, "energy_surface")
    n_units = stored.shape[1]
    if steps < 1 or points < 3:
        raise InputError(f"steps={steps} and points={points}; at least 1 step and 3 points are needed.")
    plane = None if n_units == 3 and patterns is None else plane_of(net, stored, patterns)
    begin = (
        _drawn(net, stored, plane, n, random_state) if starts is None else np.array(check.plain(starts), dtype=float)
    )
    if begin.ndim != 2 or begin.shape[1] != n_units or not len(begin) or not np.isfinite(begin).all():
        raise InputError(f"starts has shape {begin.shape}; rows of {n_units} finite numbers are needed.")
    states, energies, needed, _ = net.trace(begin, steps=steps)
    grid = None
    if plane is not None:
        x, y, places = grid_of(np.concatenate([plane.corners, plane.of(states).reshape(-1, 2)]), points)
        grid = x, y, net.energy(as_states(net, plane.at(places))).reshape(points, points)
    return EnergySurface(states, energies, needed, ends_of(net, states[-1]), stored, plane, grid, net.only_corners)


def _drawn(net: AssociativeMemory, stored: np.ndarray, plane: Plane | None, n: int, seed: int) -> np.ndarray:
    """Starts (n, N)."""
    rng = np.random.default_rng(Draw(seed).at("starts").key())
    check.at_least("n", n, 1, integer=True)
    if plane is None or stored.shape[1] == 2:
        return as_states(net, np.abs(stored).max() * rng.uniform(-1, 1, (n, stored.shape[1])))
    if net.only_corners:
        return corrupt(as_states(net, plane.at(plane.corners))[rng.integers(3, size=n)], FLIPPED, rng=rng)
    return plane.at(rng.dirichlet(np.ones(3), n) @ plane.corners)
