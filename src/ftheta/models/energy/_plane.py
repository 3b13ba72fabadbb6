"""States as explanations show them: where they end, and a plane through three stored patterns.

    x(u, v) = a + √N (u e₁ + v e₂),      e₁ along b - a, e₂ the part of c - a across it, both of length 1

Distances in the plane are root mean squares per unit, whatever N is.
Shapes: P patterns, N units, n states, G positions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...errors import InputError, InputTypeError
from ...explain import require
from ...plots.contours import ground
from ._memory import AssociativeMemory

NEAR, WIDTH, STILL = 0.01, 0.05, 1e-4  # of the largest |stored value|: the same, apart, at rest
KINDS = ("stored", "near stored", "mirror", "other", "moving")
MARGIN = 0.05  # around a picture
MAX_NAMED = 6  # other states that have names of their own
MAX_STEPS = 40  # different energies that are drawn as flat steps
Grid = tuple[np.ndarray, np.ndarray, np.ndarray]  # positions (G,), (G,) and energies (G, G) on the plane


class Ends(NamedTuple):
    """The different states in which others ended, stored ones first, and within a kind the most frequent first.

    Kinds: stored; near stored: another state that the memory takes for it; mirror: minus a stored one; other: at rest
    elsewhere; moving: not at rest.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
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


def has_plane(net: Any) -> bool:
    """Whether there are two units or more."""
    return np.ndim(net.patterns_) == 2 and np.shape(net.patterns_)[1] > 1


def stored_in(net: AssociativeMemory, caller: str) -> np.ndarray:
    """The stored patterns (P, N), of two units or more."""
    require(net, AssociativeMemory, caller)
    check_is_fitted(net)
    if not has_plane(net):
        raise InputTypeError(f"{type(net).__name__} has 1 unit; {caller} needs two or more.")
    return np.asarray(net.patterns_, dtype=float)


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
    labels = getattr(net, "labels_", None)
    words = [] if labels is None else list(map(str, labels))
    return words if len(set(words)) == len(stored) else [f"pattern {i}" for i in range(len(stored))]


def ends_of(net: AssociativeMemory, at: np.ndarray) -> Ends:
    """Which stored pattern, mirror image or other state each of these is: (n, N)."""
    stored = np.asarray(net.patterns_, dtype=float)
    names, p, scale = names_of(net, stored), len(stored), np.abs(stored).max()
    known = np.concatenate([stored, -stored])
    close = ((known**2).sum(1) - 2 * at @ known.T).argmin(1)  # of equal ones the stored
    rest = np.abs(np.asarray(net.recall(at, steps=1)) - at).max(1) <= STILL * scale
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
    if not len(at):
        return []
    _, first, code, count = np.unique(
        np.round(at / width) + 0.0, axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    rank = np.argsort(np.argsort(-count, kind="stable"))
    flat = at.shape[1] <= 3
    names = [place_name(at[i]) if flat else f"other state {r + 1}" for i, r in zip(first, rank, strict=True)]
    return [names[k] if rank[k] < MAX_NAMED else f"{len(count) - MAX_NAMED} rarer states" for k in code.ravel()]


def plane_of(net: AssociativeMemory, stored: np.ndarray, patterns: Sequence[int] | None) -> Plane:
    """The square itself for two units, else the plane through three patterns.

    Args:
        net: For the names.
        stored: Its patterns (P, N).
        patterns: Which three; None: the first that are not on a line, completed by the origin and by single units.
    """
    n_units = stored.shape[1]
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
    plane = Plane(
        a, basis, (f"from {first} to {second} (RMS per unit)", f"towards {third} (RMS per unit)"), np.zeros((3, 2))
    )
    return plane._replace(corners=plane.of(points[chosen]))


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
