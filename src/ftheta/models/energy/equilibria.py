"""All equilibria of a small memory: where they are, and whether states come back to them.

    x* = f(x*),      attractor if all |λ| < 1,      λ: eigenvalues of ∂f/∂x at x* in the units that are not saturated

An attractor that nobody stored is spurious. An equilibrium with an |λ| > 1 is none: states stay on it and leave its
neighbourhood.
Shapes: E equilibria, N units.
Reference: Li, Michel and Porod, IEEE Trans. Circuits and Systems 36 (1989).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...errors import InputTypeError
from ...explain import explanation, require
from ...plots import GREY, PALETTE, Figure, drawn, short
from ...results import Result
from ._plane import grid_of, place_name
from .dynamics import MAX_FACE_UNITS
from .energy_surface import draw_cube, draw_energy
from .hopfield import HopfieldNetwork

__all__ = ["Equilibria", "equilibria"]

ROLES = ("stored", "spurious attractor", "not an attractor", "stored, not an attractor")
GRID, NEAR = 61, 1e-6
SHOWN = 30  # equilibria whose eigenvalues are drawn


@dataclass(frozen=True, eq=False)
class Equilibria(Result):
    """Every state that stays where it is."""

    points: np.ndarray  # (E, N); of a continuum one point of it
    kinds: tuple[str, ...]  # stable, saddle, maximum, marginal or continuum (E,)
    eigenvalues: tuple[np.ndarray, ...]  # of each, in the units that are not saturated, largest first
    stored: np.ndarray  # whether it is a stored pattern (E,)
    energies: np.ndarray  # (E,)
    patterns: int  # number of stored patterns
    grid: tuple[np.ndarray, np.ndarray, np.ndarray] | None  # positions (G,), (G,), energies (G, G) of two units

    @property
    def roles(self) -> list[str]:
        """What each is, one of `ROLES`."""
        stable = np.array(self.kinds) == "stable"
        return [ROLES[k] for k in np.where(stable, np.where(self.stored, 0, 1), np.where(self.stored, 3, 2))]

    def columns(self) -> dict[str, Any]:
        """One row per equilibrium."""
        return {
            "equilibrium": [place_name(x) for x in self.points],
            "what": self.roles,
            "kind": self.kinds,
            "eigenvalues": [", ".join(f"{v:.4f}" for v in found) or "none" for found in self.eigenvalues],
            "energy": self.energies,
        }

    @property
    def caption(self) -> str:
        """How many attract."""
        kept, spurious, *others = (self.roles.count(role) for role in ROLES)
        return (
            f"{len(self.points)} equilibria: {kept} of {self.patterns} stored patterns are attractors; {spurious} "
            f"attractors are spurious; {sum(others)} are not attractors."
        )

    @drawn
    def figure(self) -> Figure:
        """Where they are, in two or three units; beside it |λ| of each: beyond 1 pushes grow."""
        from matplotlib.figure import Figure

        n_units, code = self.points.shape[1], [ROLES.index(role) for role in self.roles]
        seen, tall = n_units <= 3, 1.6 + 0.3 * min(len(self.points), SHOWN)
        figure = Figure(figsize=(11.6 if seen else 6.8, max(5.6 if seen else 3.2, tall)))
        cells = figure.add_gridspec(1, 2 if seen else 1, width_ratios=[1.2, 1] if seen else None)
        if seen:
            axes: Any = figure.add_subplot(cells[0, 0], projection="3d" if n_units == 3 else None)
            if self.grid is not None:
                draw_energy(figure, axes, self.grid)
            elif n_units == 3:
                draw_cube(axes)
            labels = {f"{axis}label": f"x{i + 1}" for i, axis in enumerate("xyz"[:n_units])}
            axes.set(title="Equilibria among the states", **labels)
            for k in np.unique(code):
                axes.plot(*self.points[np.array(code) == k].T, label=ROLES[k], **_look(k))
        self._values(figure.add_subplot(cells[0, -1]), code)
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        return figure

    def _values(self, axes: Any, code: list[int]) -> None:
        """One line per equilibrium; where all units are saturated, 0."""
        count = min(len(code), SHOWN)
        axes.set_title("Eigenvalues" if count == len(code) else f"Eigenvalues of the first {count} of {len(code)}")
        axes.set_xlabel("|λ|: below 1 a small push dies out")
        axes.axvline(1.0, color=GREY, lw=1.2, ls=(0, (4, 3)), zorder=1)
        for i in range(count):
            sizes = np.abs(self.eigenvalues[i]) if len(self.eigenvalues[i]) else np.zeros(1)
            label = ROLES[code[i]] if code[i] not in code[:i] else None
            axes.plot(sizes, np.full(len(sizes), i), label=label, **_look(code[i]))
        axes.set_yticks(range(count), [short(place_name(x), 26) for x in self.points[:count]])
        axes.set_ylim(count - 0.4, -0.6)
        axes.set_xlim(left=-0.08)


def _look(k: int) -> dict[str, Any]:
    return {"ls": "", "marker": "*Xo^"[k], "ms": 9 if k else 14, "color": PALETTE[k], "mec": "black", "zorder": 6}


def _is_small(net: Any) -> bool:
    return np.shape(net.patterns_)[-1] <= MAX_FACE_UNITS


@explanation("equilibria", needs=HopfieldNetwork, when=_is_small)
def equilibria(net: HopfieldNetwork) -> Equilibria:
    """All equilibria of a small Hopfield network, with eigenvalues: stored, spurious, or not attracting at all.

    Args:
        net: A fitted network of ten units at most.
    """
    require(net, HopfieldNetwork, "equilibria")
    check_is_fitted(net)
    if not _is_small(net):
        raise InputTypeError(
            f"{type(net).__name__} has {np.shape(net.patterns_)[-1]} units; equilibria needs at most {MAX_FACE_UNITS}: "
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
