"""The energy of a memory, and the ways of states down to where they rest.

    two units      E over the square of states, with the ways on it
    three units    the ways in the cube of states
    more           E over the plane through three stored patterns; ways are seen from above, at their nearest places

A memory of -1 and +1 only has the energy of the nearest corner at each place.
Beside it is the energy step by step.
Shapes: T steps, n starts, N units, P patterns, G positions.
Reference: Hopfield, Neural networks and physical systems with emergent collective computational abilities, PNAS (1982).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import plots
from ..draw import Draw
from ..errors import InputError
from ..formulas import corrupt
from ..results import Result, Table
from ._memories import (
    STILL,
    Ends,
    HasMemories,
    Plane,
    as_states,
    ends_of,
    grid_of,
    has_plane,
    only_signs,
    place_name,
    plane_of,
    starts_of,
    stored_in,
)
from ._registry import explanation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EnergySurface", "energy_surface"]

FLIPPED = 0.3


@dataclass(frozen=True, eq=False)
class EnergySurface(Result):
    """Ways of states, and the energy along them.

    Args:
        states: Step by step (T + 1, n, N).
        energies: Their energies (T + 1, n).
        ends: Where they ended: names, kinds, and the place of each start among them.
        patterns: The stored ones (P, N).
        plane: The two coordinates that are drawn; None: the three units themselves.
        grid: Positions (G,), positions (G,) and energies (G, G) on the plane; None for three units.
        cut: Whether these are the energies of the nearest corners.
    """

    states: np.ndarray
    energies: np.ndarray
    ends: Ends
    patterns: np.ndarray
    plane: Plane | None
    grid: tuple[np.ndarray, np.ndarray, np.ndarray] | None
    cut: bool

    @property
    def needed(self) -> np.ndarray:
        """The last step in which something moved (n,)."""
        moved = np.abs(np.diff(self.states, axis=0)).max(-1) > STILL * np.abs(self.patterns).max()  # (T, n)
        return (moved * np.arange(1, len(moved) + 1)[:, None]).max(0, initial=0)

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

    def table(self) -> Table:
        """One line a start."""
        n_units = self.states.shape[-1]
        columns: dict[str, Sequence[Any]] = {
            "start": [place_name(x) if n_units <= 3 else i for i, x in enumerate(self.states[0])],
            "end": [self.ends.names[k] for k in self.ends.code],
            "kind": [self.ends.kinds[k] for k in self.ends.code],
            "steps": self.needed.tolist(),
            "energy at the start": self.energies[0].tolist(),
            "energy at the end": self.energies[-1].tolist(),
            "largest rise": self.rise.tolist(),
        }
        if self.plane is not None and n_units > 2:
            columns["off the plane"] = self.apart.tolist()
        return Table(columns, self.alt)

    def figure(self) -> Figure:
        """The energy from above with the ways on it, or the ways in the cube; the energy step by step."""
        flat = self.plane.of if self.plane is not None else np.asarray
        other = [k != "stored" for k in self.ends.kinds]
        rest = self.states[-1][np.array(other)[self.ends.code]]
        marks = {"stored": flat(self._near(self.patterns)), "end elsewhere": flat(rest)}
        labels = self.plane.names if self.plane is not None else ("x1", "x2", "x3")
        said: Any = {"marks": marks, "labels": labels, "grid": self.grid, "title": self._title}
        return plots.energy_paths(flat(self.states), self.energies, self.ends.code, self.ends.names, **said)

    def _near(self, x: np.ndarray) -> np.ndarray:
        """Those that lie in the plane."""
        if self.plane is None:
            return x
        return x[np.abs(x - self.plane.at(self.plane.of(x))).max(-1) < 1e-6]

    @property
    def _title(self) -> str:
        if self.plane is None:
            return "Ways in the cube of states"
        of = "the nearest corners" if self.cut else "states"
        return f"Energy of {of}" + ("" if self.states.shape[-1] == 2 else " on a plane through stored patterns")

    @property
    def alt(self) -> str:
        """What the picture shows."""
        kinds = [self.ends.kinds[k] for k in self.ends.code]
        ended = ", ".join(f"{kinds.count(k)} {k}" for k in dict.fromkeys(self.ends.kinds))
        rise = f"Largest rise of the energy in a step: {self.rise.max():.3g}."
        return f"{len(kinds)} starts, {len(self.states) - 1} steps; ends: {ended}. {rise}"


@explanation("energy-surface", needs=HasMemories, when=has_plane)
def energy_surface(
    net: HasMemories,
    starts: Any = None,
    *,
    steps: int = 50,
    n: int = 20,
    patterns: Sequence[int] | None = None,
    points: int = 61,
    random_state: int = 0,
) -> EnergySurface:
    """The energy of a memory, and the ways of states down to where they rest.

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
    found = net.trace(begin, steps=steps)
    states, energies = (np.asarray(v, dtype=float) for v in (found.states, found.energies))
    grid = None
    if plane is not None:
        x, y, places = grid_of(np.concatenate([plane.corners, plane.of(states).reshape(-1, 2)]), points)
        grid = x, y, np.asarray(net.energy(as_states(net, plane.at(places))), dtype=float).reshape(points, points)
    return EnergySurface(states, energies, ends_of(net, states[-1]), stored, plane, grid, only_signs(net, n_units))


def _drawn(net: HasMemories, stored: np.ndarray, plane: Plane | None, n: int, seed: int) -> np.ndarray:
    """Starts (n, N)."""
    if n < 1:
        raise InputError(f"n={n}; at least one start is needed.")
    rng = np.random.default_rng(Draw(seed).at("starts").key())
    if plane is None or stored.shape[1] == 2:
        strata = np.stack([rng.permutation(n) for _ in stored.T], 1)  # a Latin square: no part is left out
        return as_states(net, np.abs(stored).max() * (2 * (strata + rng.random(strata.shape)) / n - 1))
    if only_signs(net, stored.shape[1]):
        return corrupt(as_states(net, plane.at(plane.corners))[rng.integers(3, size=n)], FLIPPED, rng=rng)
    return plane.at(rng.dirichlet(np.ones(3), n) @ plane.corners)
