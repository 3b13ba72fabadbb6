"""All equilibria of a small memory: where they are, and whether states come back to them.

    x* = f(x*),      attractor if all |λ| < 1,      λ: eigenvalues of ∂f/∂x at x* in the units that are not saturated

An attractor that nobody stored is spurious. An equilibrium with an |λ| > 1 is none: states stay on it and leave its
neighbourhood.
Shapes: E equilibria, N units.
Reference: Li, Michel and Porod, IEEE Trans. Circuits and Systems 36 (1989).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from .. import plots
from ..errors import InputTypeError
from ..results import Result, Table
from ._memories import HasMemories, grid_of, place_name
from ._registry import explanation, require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Equilibria", "HasEquilibria", "equilibria"]

ROLES = ("stored", "spurious attractor", "no attractor", "stored, no attractor")
GRID, NEAR, MOST = 61, 1e-6, 10


@runtime_checkable
class HasEquilibria(HasMemories, Protocol):
    """a fitted memory with patterns_, recall, trace, energy and equilibria"""

    def equilibria(self) -> Sequence[Any]:
        """Points, eigenvalues and kinds."""
        ...


@dataclass(frozen=True, eq=False)
class Equilibria(Result):
    """Every state that stays where it is.

    Args:
        points: (E, N); of a continuum one point of it.
        kinds: stable, saddle, maximum, marginal or continuum (E,).
        eigenvalues: Of each, in the units that are not saturated, largest first.
        stored: Whether it is a stored pattern (E,).
        energies: (E,).
        patterns: Number of stored patterns.
        grid: Positions (G,), positions (G,) and energies (G, G) of two units; None for more.
    """

    points: np.ndarray
    kinds: tuple[str, ...]
    eigenvalues: tuple[np.ndarray, ...]
    stored: np.ndarray
    energies: np.ndarray
    patterns: int
    grid: tuple[np.ndarray, np.ndarray, np.ndarray] | None

    @property
    def roles(self) -> list[str]:
        """What each is, one of `ROLES`."""
        stable = np.array(self.kinds) == "stable"
        return [ROLES[k] for k in np.where(stable, np.where(self.stored, 0, 1), np.where(self.stored, 3, 2))]

    def table(self) -> Table:
        """One line an equilibrium."""
        columns = {
            "equilibrium": [place_name(x) for x in self.points],
            "what": self.roles,
            "kind": list(self.kinds),
            "eigenvalues": [", ".join(f"{v:.4f}" for v in found) or "none" for found in self.eigenvalues],
            "energy": self.energies.tolist(),
        }
        return Table(columns, self.alt)

    def figure(self) -> Figure:
        """Where they are, in two or three units, and their eigenvalues."""
        names = [place_name(x) for x in self.points]
        code = [ROLES.index(role) for role in self.roles]
        return plots.equilibria(self.points, code, ROLES, self.eigenvalues, names, grid=self.grid)

    @property
    def alt(self) -> str:
        """What the picture shows."""
        kept, spurious, *others = (self.roles.count(role) for role in ROLES)
        return (
            f"{len(self.points)} equilibria: {kept} of {self.patterns} stored patterns are attractors; {spurious} "
            f"attractors are spurious; {sum(others)} are no attractors."
        )


def _is_small(net: HasMemories) -> bool:
    return np.shape(net.patterns_)[-1] <= MOST


@explanation("equilibria", needs=HasEquilibria, when=_is_small)
def equilibria(net: HasEquilibria) -> Equilibria:
    """All equilibria of a small memory, with eigenvalues: stored, spurious, or not attracting at all.

    Args:
        net: A fitted memory of ten units at most.
    """
    require(net, HasEquilibria, "equilibria")
    if not _is_small(net):
        n_units = np.shape(net.patterns_)[-1]
        raise InputTypeError(
            f"{type(net).__name__} is no plain memory of {MOST} units at most but of {n_units}; equilibria needs one: "
            "measure basins instead."
        )
    found = list(net.equilibria())
    stored = np.asarray(net.patterns_, dtype=float)
    points = np.array([e.point for e in found], dtype=float).reshape(-1, stored.shape[1])
    grid = None
    if points.shape[1] == 2:
        x, y, places = grid_of(np.array([[-1.0, -1.0], [1.0, 1.0]]), GRID)
        grid = x, y, np.asarray(net.energy(places), dtype=float).reshape(GRID, GRID)
    return Equilibria(
        points=points,
        kinds=tuple(e.kind for e in found),
        eigenvalues=tuple(np.asarray(e.eigenvalues) for e in found),
        stored=(np.abs(points[:, None] - stored).max(-1) <= NEAR).any(1),
        energies=np.asarray(net.energy(points), dtype=float),
        patterns=len(stored),
        grid=grid,
    )
