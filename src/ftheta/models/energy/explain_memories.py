"""Associative memories looked at: patterns recalled from noise, basins of attraction, all equilibria.

    recall        overlap(x, ξ) = x·ξ / (|x| |ξ|): 1 for the pattern itself, -1 for its mirror image
    basins        B(x*) = {x : x_t -> x*},  share of B = P(start in B), measured with random starts
    equilibria    x* = f(x*),  attractor if all |λ| < 1 of ∂f/∂x at x* in the units that are not saturated

An attractor that was not stored is spurious. Basins are drawn for two units, of more for the plane through three stored
patterns; a memory of -1 and +1 only is started at the nearest corners.

Shapes: n patterns or starts, N units, S settings, G positions along each axis, A ends, E equilibria.
Reference: Li, Michel and Porod, IEEE Trans. Circuits and Systems 36 (1989).
"""

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge

from ...check import Count
from ...draw import Draw
from ...errors import InputError
from ...explain import explanation, image_shape
from ...plots import GREY, PALETTE, Figure, canvas, drawn, patches, short
from ...results import Result
from ._memory import AssociativeMemory
from .energy_surface import NEAR, ONE_UNIT, Grid, as_states, ends_of, grid_of, place_name, plane_of, state_axes
from .explain_machines import some_rows
from .hopfield import HopfieldNetwork
from .rules import MAX_FACE_UNITS, Noise, corrupt

NOISES = {"gaussian": "Gaussian noise", "flip": "flipped units", "replace": "units replaced at random"}
MAX_PATTERNS = 10  # recalled
MAX_COLORS, MAX_BARS = 6, 12  # ends with a color of their own; ends that are shown
ROLES = ("stored", "spurious attractor", "not an attractor", "stored, not an attractor")
POINTS = 61  # along each axis of the energy of two units
MAX_EIGENVALUES = 30  # equilibria whose eigenvalues are drawn
TOO_LARGE = f"has too many units; {{}} needs at most {MAX_FACE_UNITS}: measure basins instead"


class Recalled(Result):
    """Patterns before and after, setting by setting."""

    x: np.ndarray  # the patterns (n, N)
    noise: tuple[float, ...]  # of each setting (S,)
    steps: tuple[int, ...]  # of each setting (S,)
    noisy: np.ndarray  # with noise (S, n, N)
    after: np.ndarray  # after the steps (S, n, N)
    exact: np.ndarray  # whether the pattern came back in every unit (S, n)
    ended: np.ndarray  # the kind of each state after the steps: stored, near stored, mirror, other or moving (S, n)
    shape: tuple[int, ...]  # of a picture
    kind: Noise  # of the noise

    @property
    def overlap(self) -> np.ndarray:
        """With the pattern, before and after the steps (2, S, n)."""
        return np.stack([_overlap(self.noisy, self.x), _overlap(self.after, self.x)])

    def columns(self) -> dict[str, Any]:
        before, after = self.overlap.mean(-1)
        return {
            "noise": [self._text(v) for v in self.noise],
            "steps": self.steps,
            "overlap before": before,
            "overlap after": after,
            "came back": self.exact.mean(-1),
            **{f"in a {kind} state": (self.ended == kind).mean(-1) for kind in ("stored", "mirror")},
        }

    def figure(self) -> Figure:
        """The patterns on top; below them, setting by setting, with noise and after the steps."""
        lines, names = [self.x], ["pattern"]
        for k, (noise, steps) in enumerate(zip(self.noise, self.steps, strict=True)):
            lines += [self.noisy[k], self.after[k]]
            names += [f"noise {self._text(noise)}", f"{steps} step{'s' * (steps != 1)}"]
        tiles = np.stack(lines).reshape(len(lines), -1, *(self.shape if len(self.shape) == 3 else (1, *self.shape)))
        tiles = np.clip(tiles, -np.abs(self.x).max(), np.abs(self.x).max())
        return patches({"Patterns, with noise, and recalled": tiles}, [names], x="number of the pattern", y="")

    def _text(self, noise: float) -> str:
        return f"{noise:.3g}" if self.kind == "gaussian" else f"{100 * noise:.3g} %"

    @property
    def caption(self) -> str:
        counts = ", ".join(
            f"{int(e.sum())} after {s} step{'s' * (s != 1)} at {self._text(v)}"
            for e, s, v in zip(self.exact, self.steps, self.noise, strict=True)
        )
        return f"{len(self.x)} patterns with {NOISES[self.kind]}; came back in every unit: {counts}."


def _overlap(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    return (a * b).sum(-1) / np.where(lengths > 0, lengths, 1.0)


@explanation("recall", when=lambda net: net.n_features_in_ > 1, otherwise=ONE_UNIT)
def recall(
    net: AssociativeMemory,
    patterns: Any = None,
    *,
    noise: Sequence[float] = (0.1, 0.2, 0.4),
    steps: Sequence[int] = (25, 25, 25),
    noise_kind: Noise = "flip",
    shape: Sequence[int] | None = None,
    random_state: int = 0,
) -> Recalled:
    """Patterns, the same with noise, and the states some steps later.

    Args:
        net: A fitted memory.
        patterns: (n, N) or (n, H, W); None: the stored ones. Ten at most, evenly spaced.
        noise: Of each setting: share of the units, or a standard deviation.
        steps: Of each setting.
        noise_kind: "flip": units change sign; "replace": units are drawn anew; "gaussian": numbers are added.
        shape: Of a picture; None: that of X, a square, else a line.
        random_state: Seed of the noise, which is the same in settings with equal noise.
    """
    stored = net.patterns_
    x, row = some_rows(stored if patterns is None else patterns, MAX_PATTERNS)
    if x.shape[1] != stored.shape[1]:
        raise InputError(f"patterns has rows of {x.shape[1]} numbers; recall needs the {stored.shape[1]} of the units.")
    if not noise or len(noise) != len(steps):
        raise InputError(f"noise={noise} and steps={steps}; one number of steps for each noise is needed.")
    seed, picture = Draw(random_state).at("noise").key(), image_shape(x.shape[1], shape or row)
    noisy = np.stack([corrupt(x, v, kind=noise_kind, rng=seed) for v in noise])
    after = np.stack([net.recall(as_states(net, v), steps=t) for v, t in zip(noisy, steps, strict=True)])
    exact = np.abs(after - x).max(-1) <= NEAR * np.abs(stored).max()
    ended = np.stack([np.array(end.kinds)[end.code] for end in (ends_of(net, v) for v in after)])
    settings = tuple(map(float, noise)), tuple(map(int, steps))
    return Recalled(x, *settings, noisy, after, exact, ended, picture, noise_kind)


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
        return {
            "end": self.names,
            "kind": self.kinds,
            "share of starts": self.shares,
            "standard error": np.sqrt(self.shares * (1 - self.shares) / self.n),
            "share of the picture": np.bincount(self.code.ravel(), minlength=len(self.names)) / self.code.size,
        }

    @property
    def caption(self) -> str:
        total = {k: self.shares[[kind == k for kind in self.kinds]].sum() for k in dict.fromkeys(self.kinds)}
        ends = ", ".join(f"{100 * share:.1f} % {kind}" for kind, share in total.items())
        return f"{self.n} random starts end: {ends}. {self.missed} stored patterns were never reached."

    @drawn
    def figure(self) -> Figure:
        """The plane in the colors of the ends, stars at stored patterns; beside it a bar for each end."""
        from matplotlib.colors import ListedColormap

        area = np.bincount(self.code.ravel(), minlength=len(self.names))
        rank = np.minimum(np.argsort(np.lexsort((-self.shares, -area))), MAX_COLORS)  # of each end
        colors = [*PALETTE[:MAX_COLORS], GREY]
        figure, (left, right) = canvas(2, width=5.5, height=5.4, width_ratios=[1.35, 1])
        left.set(title="Basins of attraction", xlabel=short(self.labels[0], 60), ylabel=short(self.labels[1], 60))
        left.grid(visible=False)
        look: dict[str, Any] = {"cmap": ListedColormap(colors), "vmin": 0, "vmax": MAX_COLORS, "alpha": 0.45}
        left.pcolormesh(self.x, self.y, rank[self.code], **look)
        left.set(xlim=(self.x[0], self.x[-1]), ylim=(self.y[0], self.y[-1]), aspect="equal")
        left.locator_params(nbins=5)
        left.plot(*self.stored.T, ls="", marker="*", ms=16, color="white", mec="black", label="stored", clip_on=False)
        first = np.lexsort((-self.shares, rank >= MAX_COLORS))[:MAX_BARS]  # those with a color, and the largest others
        shown = first[np.argsort(-self.shares[first], kind="stable")]
        right.set_title(f"Where states end: {len(shown)} of {len(self.shares)} ends")
        right.set_xlabel(f"share of {self.n} random starts")
        bars = right.barh(range(len(shown)), self.shares[shown], color=[colors[rank[k]] for k in shown], alpha=0.45)
        right.bar_label(bars, [f" {100 * self.shares[k]:.1f} %" for k in shown], fontsize=9)
        right.set_yticks(range(len(shown)), [short(self.names[int(k)], 26) for k in shown])
        right.set(xlim=(0, 1.15 * self.shares.max()), ylim=(max(len(shown), 4) - 0.4, -0.6))
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4)
        return figure


@explanation("basins", when=lambda net: net.n_features_in_ > 1, otherwise=ONE_UNIT)
def basins(
    net: AssociativeMemory,
    *,
    n: Count = 1000,
    steps: int | None = None,
    patterns: Sequence[int] | None = None,
    points: Annotated[int, Ge(3)] | None = None,
    random_state: int = 0,
) -> Basins:
    """Which state each start leads to: shares of random starts, and a picture of a plane.

    Args:
        net: A fitted memory.
        n: Random starts, drawn evenly from the cube of states.
        steps: At most so many; None: those of the memory.
        patterns: Three stored patterns whose plane is shown; None: the square of two units, of more the first three
            that are not on a line.
        points: Positions along each axis of the plane; None: 100, of more than three units 40.
    """
    stored, n_units = net.patterns_, net.n_features_in_
    points = (100 if n_units <= 3 else 40) if points is None else points
    plane = plane_of(net, patterns)
    x, y, places = grid_of(plane.corners, points)
    rng = np.random.default_rng(Draw(random_state).at("starts").key())
    random = np.abs(stored).max() * rng.uniform(-1, 1, (n, n_units))
    begin = as_states(net, np.concatenate([random, plane.at(places)]))
    names, kinds, code = ends_of(net, net.recall(begin, steps=steps))
    shares = np.bincount(code[:n], minlength=len(names)) / n
    ended = zip(names, kinds, shares, strict=True)
    reached = {name.removeprefix("near ") for name, kind, share in ended if "stored" in kind and share > 0}
    missed, pixels = len(stored) - len(reached), code[n:].reshape(points, points)
    return Basins(names, kinds, shares, n, missed, x, y, pixels, plane.of(plane.inside(stored)), plane.names)


class Equilibria(Result):
    """Every state that stays where it is."""

    points: np.ndarray  # (E, N); of a continuum one point of it
    kinds: tuple[str, ...]  # stable, saddle, maximum, marginal or continuum (E,)
    eigenvalues: tuple[np.ndarray, ...]  # of each, in the units that are not saturated, largest first
    stored: np.ndarray  # whether it is a stored pattern (E,)
    energies: np.ndarray  # (E,)
    patterns: int  # number of stored patterns
    grid: Grid | None  # energies of two units

    @property
    def roles(self) -> list[str]:
        """What each is, one of `ROLES`."""
        stable = np.array(self.kinds) == "stable"
        return [ROLES[k] for k in np.where(stable, np.where(self.stored, 0, 1), np.where(self.stored, 3, 2))]

    def columns(self) -> dict[str, Any]:
        return {
            "equilibrium": [place_name(x) for x in self.points],
            "what": self.roles,
            "kind": self.kinds,
            "eigenvalues": [", ".join(f"{v:.4f}" for v in values) or "none" for values in self.eigenvalues],
            "energy": self.energies,
        }

    @property
    def caption(self) -> str:
        kept, spurious, *others = (self.roles.count(role) for role in ROLES)
        rest = f"{spurious} attractors are spurious; {sum(others)} are not attractors."
        return f"{len(self.points)} equilibria: {kept} of {self.patterns} stored patterns are attractors; {rest}"

    @drawn
    def figure(self) -> Figure:
        """Where they are, in two or three units; beside it |λ| of each."""
        from matplotlib.figure import Figure

        n_units, code = self.points.shape[1], [ROLES.index(role) for role in self.roles]
        seen, tall = n_units <= 3, 1.6 + 0.3 * min(len(self.points), MAX_EIGENVALUES)
        figure = Figure(figsize=(11.6 if seen else 6.8, max(5.6 if seen else 3.2, tall)))
        cells = figure.add_gridspec(1, 2 if seen else 1, width_ratios=[1.2, 1] if seen else None)
        if seen:
            axes = state_axes(figure, cells[0, 0], self.grid, [f"x{i + 1}" for i in range(n_units)])
            axes.set_title("Equilibria among the states")
            for k in np.unique(code):
                axes.plot(*self.points[np.array(code) == k].T, label=ROLES[k], **_look(k))
        self._values(figure.add_subplot(cells[0, -1]), code)
        figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
        return figure

    def _values(self, axes: Any, code: list[int]) -> None:
        """One line per equilibrium; where all units are saturated, 0."""
        count = min(len(code), MAX_EIGENVALUES)
        axes.set_title("Eigenvalues" if count == len(code) else f"Eigenvalues of the first {count} of {len(code)}")
        axes.set_xlabel("|λ|: below 1 a small perturbation dies out")
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


@explanation("equilibria", when=lambda net: net.n_features_in_ <= MAX_FACE_UNITS, otherwise=TOO_LARGE)
def equilibria(net: HopfieldNetwork) -> Equilibria:
    """All equilibria of a small Hopfield network, with eigenvalues: stored, spurious, or not attracting at all.

    Args:
        net: A fitted network of ten units at most.
    """
    rest = net.equilibria()
    points, grid = np.array([e.point for e in rest]).reshape(-1, net.n_features_in_), None
    if points.shape[1] == 2:
        x, y, places = grid_of(np.array([[-1.0, -1.0], [1.0, 1.0]]), POINTS)
        grid = x, y, net.energy(places).reshape(POINTS, POINTS)
    kinds, values = tuple(e.kind for e in rest), tuple(e.eigenvalues for e in rest)
    stored = np.array([e.stored for e in rest], dtype=bool)
    return Equilibria(points, kinds, values, stored, net.energy(points), len(net.patterns_), grid)
