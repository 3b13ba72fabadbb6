"""The energy of a memory, and the trajectories of states down to fixed points.

    two units      E over the square of states, with the trajectories on it
    three units    the trajectories in the cube of states
    more           E over the plane through three stored patterns; trajectories projected on it
                   x(u, v) = a + √N (u e₁ + v e₂),   e₁ along b - a, e₂ the part of c - a across it, both of length 1

Distances in the plane are root mean squares per unit, whatever N is. A memory of -1 and +1 only has the energy of the
nearest corner at each place.
Shapes: T steps, n states, N units, P patterns, G positions.
Reference: Hopfield, Neural networks and physical systems with emergent collective computational abilities, PNAS (1982).
"""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Ge

from ... import check
from ...check import Count
from ...draw import Draw
from ...errors import InputError
from ...explain import explanation
from ...plots import GREY, PALETTE, Figure, drawn, short
from ...plots.contours import ground
from ...results import Result
from ._memory import AssociativeMemory
from .rules import corrupt

NEAR, WIDTH, STILL = 0.01, 0.05, 1e-4  # of the largest |stored value|: the same, apart, at rest
KINDS = ("stored", "near stored", "mirror", "other", "moving")
MARGIN = 0.05  # around a picture
MAX_NAMED = 6  # other states that have names of their own
MAX_STEPS = 40  # different energies that are drawn as flat steps
FLIPPED = 0.3  # share of the units of a start
ONE_UNIT = "has 1 unit; {} needs two or more"
Grid = tuple[np.ndarray, np.ndarray, np.ndarray]  # positions (G,), (G,) and energies (G, G) on the plane


class Ends(NamedTuple):
    """The different states in which others ended, stored ones first, and within a kind the most frequent first."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]  # stored; near stored: taken for one; mirror: minus one; other: at rest elsewhere; moving
    code: np.ndarray  # (n,)


class Plane(NamedTuple):
    """Two coordinates of states."""

    origin: np.ndarray  # (N,)
    basis: np.ndarray  # (2, N)
    names: tuple[str, str]
    corners: np.ndarray  # (3, 2): the three patterns; of a square (4, 2)

    def at(self, place: np.ndarray) -> np.ndarray:
        """(..., 2) -> states (..., N)."""
        return self.origin + place @ self.basis

    def of(self, x: np.ndarray) -> np.ndarray:
        """States (..., N) -> the nearest places (..., 2)."""
        return (x - self.origin) @ self.basis.T / (self.basis**2).sum(1)

    def inside(self, x: np.ndarray) -> np.ndarray:
        """Those states that lie in the plane."""
        return x[np.abs(x - self.at(self.of(x))).max(-1) < 1e-6]


def as_states(net: AssociativeMemory, x: np.ndarray) -> np.ndarray:
    """States as the energy takes them: as they are, or their nearest corners where only those have one: (n, N)."""
    return np.where(x < 0, -1.0, 1.0) if net.only_corners else x


def place_name(x: np.ndarray) -> str:
    """A point as text."""
    return f"({', '.join(f'{v:.3g}' for v in np.round(x, 12) + 0.0)})"


def names_of(net: AssociativeMemory, stored: np.ndarray) -> list[str]:
    """Of the stored patterns: their places in two or three units, their labels where no two are equal, or numbers."""
    if stored.shape[1] <= 3:
        return [place_name(x) for x in stored]
    words = [] if net.labels_ is None else list(map(str, net.labels_))
    return words if len(set(words)) == len(stored) else [f"pattern {i}" for i in range(len(stored))]


def ends_of(net: AssociativeMemory, at: np.ndarray) -> Ends:
    """Which stored pattern, mirror image or other state each of these is: (n, N)."""
    stored = net.patterns_
    names, p, scale = names_of(net, stored), len(stored), np.abs(stored).max()
    known = np.concatenate([stored, -stored])
    close = ((known**2).sum(1) - 2 * at @ known.T).argmin(1)  # of equal ones the stored
    rest = np.abs(net.recall(at, steps=1) - at).max(1) <= STILL * scale
    same = rest & (np.abs(at - known[close]).max(1) <= NEAR * scale)
    meant = net.matched(at)
    kinds = np.select([same & (close < p), same, rest & (meant >= 0), rest], [0, 2, 1, 3], 4)
    mirrors = [place_name(-x) for x in stored] if stored.shape[1] <= 3 else [f"minus {name}" for name in names]
    words = np.full(len(at), "still moving", dtype=object)
    words[same] = np.array(names + mirrors, dtype=object)[close[same]]
    words[kinds == 1] = [f"near {names[i]}" for i in meant[kinds == 1]]
    words[kinds == 3] = _others(at[kinds == 3], WIDTH * scale)
    pairs = list(zip(kinds.tolist(), words.tolist(), strict=True))
    count = Counter(pairs)
    order = sorted(count, key=lambda pair: (pair[0], -count[pair], pair[1]))
    code = [order.index(pair) for pair in pairs]
    return Ends(tuple(name for _, name in order), tuple(KINDS[k] for k, _ in order), np.array(code, dtype=int))


def _others(at: np.ndarray, width: float) -> list[str]:
    """Names of states by where they are; those beyond the most frequent share one."""
    cells = np.round(at / width) + 0.0
    _, first, code, count = np.unique(cells, axis=0, return_index=True, return_inverse=True, return_counts=True)
    rank = np.argsort(np.argsort(-count, kind="stable"))
    flat = at.shape[1] <= 3
    names = [place_name(at[i]) if flat else f"other state {r + 1}" for i, r in zip(first, rank, strict=True)]
    return [names[k] if rank[k] < MAX_NAMED else f"{len(count) - MAX_NAMED} rarer states" for k in code.ravel()]


def plane_of(net: AssociativeMemory, patterns: Sequence[int] | None) -> Plane:
    """The square of two units, else the plane of three patterns; None: the first ones that are not on a line."""
    stored, n_units = net.patterns_, net.patterns_.shape[1]
    if patterns is None and n_units == 2:
        corners = np.abs(stored).max() * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
        return Plane(np.zeros(2), np.eye(2), ("x1", "x2"), corners)
    points = np.concatenate([stored, np.zeros((1, n_units)), np.eye(2, n_units)])
    names = [*names_of(net, stored), "the origin", "unit 1", "unit 2"]
    chosen = _spanning(points) if patterns is None else _three(patterns, len(stored))
    a, b, c = points[chosen]
    if np.linalg.matrix_rank([b - a, c - a]) < 2:
        raise InputError(f"Patterns {chosen} lie on a line, so there is no one plane through them; choose others.")
    across = c - a - (c - a) @ (b - a) / ((b - a) @ (b - a)) * (b - a)
    basis = np.stack([v / np.linalg.norm(v) for v in (b - a, across)]) * np.sqrt(n_units)
    first, second, third = (names[i] for i in chosen)
    labels = f"from {first} to {second} (RMS per unit)", f"towards {third} (RMS per unit)"
    return Plane(a, basis, labels, (points[chosen] - a) @ basis.T / (basis**2).sum(1))


def _spanning(points: np.ndarray) -> list[int]:
    """The first three that are not on a line."""
    chosen = [0]
    for i in range(1, len(points)):
        if len(chosen) < 3 and np.linalg.matrix_rank(points[[*chosen[1:], i]] - points[0]) == len(chosen):
            chosen.append(i)
    return chosen


def _three(patterns: Any, n: int) -> list[int]:
    given = list(patterns) if isinstance(patterns, Sequence | np.ndarray) else []
    if len(set(given)) != 3 or not all(isinstance(i, int | np.integer) and 0 <= i < n for i in given):
        raise InputError(f"patterns={patterns}; three different numbers from 0 to {n - 1} are needed.")
    return [int(i) for i in given]


def grid_of(places: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions along both axes of a plane around places (m, 2): (G,) and (G,); and all pairs of them (G², 2)."""
    low, high = places.min(0), places.max(0)
    more = MARGIN * np.maximum(high - low, (high - low).max() / 2)
    x, y = np.linspace(low - more, high + more, points).T
    return x, y, np.stack(np.meshgrid(x, y), -1).reshape(-1, 2)


def state_axes(figure: Any, cell: Any, grid: Grid | None, names: Sequence[str], size: float = 1.0) -> Any:
    """Axes for states: the energy on a plane, or the edges of a cube of this size where there are three names."""
    axes: Any = figure.add_subplot(cell, projection="3d" if len(names) == 3 else None)
    axes.set(**{f"{axis}label": name for axis, name in zip("xyz", names, strict=False)})
    if len(names) == 3:
        for a, b in combinations(np.array(list(product((-size, size), repeat=3))), 2):
            if np.count_nonzero(a != b) == 1:
                axes.plot(*np.stack([a, b]).T, color="0.4", ls="-", lw=0.9, zorder=1)
        axes.view_init(22, -62)  # no corner hides another
        axes.set_box_aspect((1, 1, 1), zoom=0.95)
    elif grid is not None:
        x, y, z = grid
        if len(np.unique(z)) > MAX_STEPS:
            ground(figure, axes, grid, "energy")
        else:  # flat steps
            image = axes.imshow(z, cmap="Greys", alpha=0.55, origin="lower", extent=(x[0], x[-1], y[0], y[-1]))
            figure.colorbar(image, ax=axes, location="bottom", shrink=0.8, aspect=45, pad=0.01, label="energy")
        axes.set_aspect("equal")
    axes.locator_params(nbins=5)
    return axes


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
        of = "the nearest corners" if self.corners else "states"
        plane = "" if self.states.shape[-1] == 2 else " on a plane through stored patterns"
        axes.set_title("Trajectories in the cube of states" if self.plane is None else f"Energy of {of}{plane}")
        beside = figure.add_subplot(cells[0, 1])
        beside.set(title="Energy along the trajectories", xlabel="step", ylabel="energy")
        beside.xaxis.set_major_locator(MaxNLocator(integer=True))
        code = self.ends.code.tolist()
        for i, k in enumerate(code):
            color = PALETTE[k] if k < 6 else GREY
            style: dict[str, Any] = {"color": color, "ls": ("-", "--", ":", "-.")[k % 4], "lw": 1.4}
            label = None if k in code[:i] else short(f"to {self.ends.names[k]}", 26)
            axes.plot(*paths[:, i].T, label=label, zorder=3, **style)
            axes.plot(*paths[:1, i].T, ls="", marker="s", ms=5, color=color, mec="white", mew=0.6, zorder=4)
            beside.plot(self.energies[:, i], alpha=0.85, **style)
        elsewhere = self.states[-1][[self.ends.kinds[k] != "stored" for k in code]]
        stored = self.patterns if self.plane is None else self.plane.inside(self.patterns)
        for marker, kind, at, size in (("*", "stored", stored, 15), ("X", "end elsewhere", elsewhere, 10)):
            if len(at):
                axes.plot(*flat(at).T, ls="", marker=marker, ms=size, label=kind, color="white", mec="black", zorder=6)
        axes.plot([], [], ls="", marker="s", ms=5, color=GREY, label="start")
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5)
        return figure


@explanation("energy-surface", when=lambda net: net.n_features_in_ > 1, otherwise=ONE_UNIT)
def energy_surface(
    net: AssociativeMemory,
    starts: Any = None,
    *,
    steps: Count = 50,
    n: Count = 20,
    patterns: Sequence[int] | None = None,
    points: Annotated[int, Ge(3)] = 61,
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
    """
    stored, n_units = net.patterns_, net.n_features_in_
    plane = None if n_units == 3 and patterns is None else plane_of(net, patterns)
    begin = _drawn(net, plane, n, random_state) if starts is None else np.array(check.plain(starts), dtype=float)
    if begin.ndim != 2 or begin.shape[1] != n_units or not len(begin) or not np.isfinite(begin).all():
        raise InputError(f"starts has shape {begin.shape}; rows of {n_units} finite numbers are needed.")
    states, energies, needed, _ = net.trace(begin, steps=steps)
    grid = None
    if plane is not None:
        x, y, places = grid_of(np.concatenate([plane.corners, plane.of(states).reshape(-1, 2)]), points)
        grid = x, y, net.energy(as_states(net, plane.at(places))).reshape(points, points)
    return EnergySurface(states, energies, needed, ends_of(net, states[-1]), stored, plane, grid, net.only_corners)


def _drawn(net: AssociativeMemory, plane: Plane | None, n: int, seed: int) -> np.ndarray:
    """Starts (n, N)."""
    rng = np.random.default_rng(Draw(seed).at("starts").key())
    if plane is None or net.n_features_in_ == 2:
        return as_states(net, np.abs(net.patterns_).max() * rng.uniform(-1, 1, (n, net.n_features_in_)))
    if net.only_corners:
        return corrupt(as_states(net, plane.at(plane.corners))[rng.integers(3, size=n)], FLIPPED, rng=rng)
    return plane.at(rng.dirichlet(np.ones(3), n) @ plane.corners)
