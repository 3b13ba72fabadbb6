"""Can a network that only lowers an energy find a short round trip through ten cities?

Question: n cities lie in a unit square. A unit is on (v_xi = 1) where city x is the i-th of the trip, n x n units in
all. How often does the network settle in a tour, how long is that beside the shortest, and what if the energy is the
length alone?

    E(v) = A/2 Σ_x (Σ_i v_xi - 1)² + B/2 Σ_i (Σ_x v_xi - 1)² + C/2 (Σ_xi v_xi - m)² + G/2 Σ_xi v_xi (1 - v_xi)
           + D/2 Σ_xyi d_xy v_xi (v_y,i+1 + v_y,i-1)
    penalised:   du/dt = -κ u - ∂E/∂v,   v = 1 / (1 + exp(-u / T)),   T constant or falling
    normalised:  v ∝ exp(-∂E/∂v / T), rows and columns then divided by their sums in turn, T falling; A = B = C = 0

A tour is read where v > 1/2 has one city at each place and one place for each city; anything else is no tour. Hopfield
and Tank wrote A/2 Σ_x Σ_i≠j v_xi v_xj (500, likewise B) and m = 15: the same with G = A + B and m = 15 - (A + B) / 2C.
The shortest of all (n - 1)! / 2 tours is found by looking at each. Other cities: `--set places=[[0, 0], [3, 1], ...]`.
Shapes: K networks, I maps of n cities, S starts; v (R, n, n), distances (R, n, n), tours (..., n).

References: Hopfield and Tank, Biological Cybernetics 52 (1985); Wilson and Pawley, Biological Cybernetics 58 (1988);
Brandt et al., ICNN (1988); Kosowsky and Yuille, Neural Networks 7 (1994). Cost: about 20 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ... import plots
from ...draw import Draw
from ...errors import InputError
from ...measure import wilson
from ...results import Table
from .._study import Evidence, Finding, Verdict, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = [
    "CLAIMS",
    "NETS",
    "TINY",
    "Config",
    "Net",
    "all_tours",
    "assign",
    "distances",
    "energy",
    "figures",
    "judge",
    "lengths",
    "measure",
    "read",
    "settle",
    "slope",
    "tables",
]

CLAIMS = {"B275": "corrected"}
MOST = 10  # cities whose tours can all be looked at


class Net(NamedTuple):
    """Weights of the energy's terms, and how it is lowered.

    Args:
        rows: A, against a city at several places.
        columns: B, against several cities at a place.
        total: C, against other than m units that are on.
        surplus: m - n.
        binary: G, against values between 0 and 1.
        length: D, of the length.
        temperature: T at the start.
        cool: T is multiplied by this at each step.
        leak: κ.
        rate: Length of a step.
        steps: Their number.
        normalised: Rows and columns are divided by their sums, not penalised.
    """

    rows: float = 0.0
    columns: float = 0.0
    total: float = 0.0
    surplus: float = 0.0
    binary: float = 0.0
    length: float = 1.0
    temperature: float = 1.0
    cool: float = 1.0
    leak: float = 0.0
    rate: float = 0.01
    steps: int = 2000
    normalised: bool = False


_TANK = Net(length=500, temperature=0.01, leak=1, rate=1e-5, steps=3000)
NETS = {
    "length alone": _TANK,
    "Hopfield and Tank": _TANK._replace(rows=500, columns=500, total=200, surplus=2.5, binary=1000),
    "other penalties, T falls": Net(rows=2, columns=2, binary=1, cool=0.999),
    "normalised, T falls": Net(binary=0.7, cool=0.98, steps=200, normalised=True),
}


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        cities: Their number, 4 to 10.
        maps: Draws of the cities.
        starts: Of each network on each map.
        places: Own cities in place of drawn ones, as pairs of numbers.
        seed: Of maps and starts.
    """

    cities: int = 10
    maps: int = 20
    starts: int = 20
    places: tuple[tuple[float, float], ...] = ()
    seed: int = 0


TINY = Config(cities=5, maps=2, starts=3)


# ---- tours


def distances(places: np.ndarray) -> np.ndarray:
    """Between all cities: (..., n, 2) -> (..., n, n)."""
    return np.linalg.norm(places[..., :, None, :] - places[..., None, :, :], axis=-1)


def all_tours(n: int) -> np.ndarray:
    """Each round trip once, whatever its start and direction: ((n - 1)! / 2, n).

    Example:
        >>> len(all_tours(6))
        60
    """
    return np.array([(0, *rest) for rest in permutations(range(1, n)) if rest[0] < rest[-1]], dtype=np.int64)


def lengths(tours: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Of tours (M, n) between cities with distances (n, n): (M,)."""
    return d[tours, np.roll(tours, -1, 1)].sum(1)


def read(v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """City at each place (R, n), and whether that is a tour (R,)."""
    on = v > 0.5  # (R, cities, places)
    return v.argmax(1), (on.sum(1) == 1).all(1) & (on.sum(2) == 1).all(1)


# ---- the network


def energy(v: np.ndarray, d: np.ndarray, net: Net) -> np.ndarray:
    """E of each state: (R,)."""
    n = v.shape[-1]
    rows, columns = ((v.sum(axis) - 1) ** 2 for axis in (2, 1))
    count = (v.sum((1, 2)) - n - net.surplus) ** 2
    each = net.binary * v * (1 - v) + net.length * v * (d @ _beside(v))  # (R, n, n)
    return (net.rows * rows.sum(1) + net.columns * columns.sum(1) + net.total * count + each.sum((1, 2))) / 2


def slope(v: np.ndarray, d: np.ndarray, net: Net) -> np.ndarray:
    """∂E/∂v: (R, n, n)."""
    n = v.shape[-1]
    rows, columns = (v.sum(axis, keepdims=True) - 1 for axis in (2, 1))
    count = v.sum((1, 2), keepdims=True) - n - net.surplus
    forced = net.rows * rows + net.columns * columns + net.total * count + net.binary * (0.5 - v)
    return forced + net.length * (d @ _beside(v))


def _beside(v: np.ndarray) -> np.ndarray:
    """Of every city, its value at the place before plus that at the place after."""
    return np.roll(v, 1, -1) + np.roll(v, -1, -1)


def settle(d: np.ndarray, net: Net, rng: np.random.Generator) -> np.ndarray:
    """States (R, n, n) in which penalised networks end, each from a start of its own near v = 1/n."""
    n, t = d.shape[-1], net.temperature
    u = t * (-np.log(n - 1) + rng.uniform(-0.2, 0.2, d.shape))
    v = _on(u / t)
    for _ in range(net.steps):
        u = u - net.rate * (net.leak * u + slope(v, d, net))
        t *= net.cool
        v = _on(u / t)
    return v


def _on(z: np.ndarray) -> np.ndarray:
    return 0.5 * (1 + np.tanh(z / 2))


def assign(d: np.ndarray, net: Net, rng: np.random.Generator, *, inner: int = 3, rounds: int = 10) -> np.ndarray:
    """States (R, n, n) in which normalised networks end.

    While T is high all places of a city are alike; 1 % of noise at each T lets them part when it has fallen.
    """
    v, t = np.full(d.shape, 1 / d.shape[-1]), net.temperature
    for _ in range(net.steps):
        v = v * (1 + rng.uniform(-0.01, 0.01, d.shape))
        for _ in range(inner):
            z = -slope(v, d, net) / t
            v = np.exp(z - z.max(2, keepdims=True)) + 1e-200  # no column may be empty
            for _ in range(rounds):
                v /= v.sum(2, keepdims=True)
                v /= v.sum(1, keepdims=True)
        t *= net.cool
    return v


# ---- measuring


def _places(config: Config) -> np.ndarray:
    """Cities of all maps: (I, n, 2); own ones are scaled to a square of side 1."""
    n = len(config.places) or config.cities
    if not 4 <= n <= MOST:
        raise InputError(f"{n} cities were given; 4 to {MOST} are expected, as all tours are looked at. Change them.")
    if not config.places:
        return np.random.default_rng(Draw(config.seed).at("places").key()).random((config.maps, n, 2))
    own = np.array([config.places], dtype=float)
    own -= own.min(1, keepdims=True)
    if not own.max():
        raise InputError(f"All {n} cities lie at {config.places[0]}; a map has two places at least. Move one.")
    return own / own.max()


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Tours (K, I, S, n), which are valid, their lengths over the shortest, units that are on: (K, I, S)."""
    places = _places(config)
    d = distances(places)  # (I, n, n)
    found = pieces(_one, [(d, name, config) for name in NETS], run)
    known = all_tours(d.shape[-1])
    each = np.stack([lengths(known, one) for one in d])  # (I, M)
    kept = {key: np.stack([one[key] for one in found]) for key in found[0]}
    return {
        **kept,
        "length": kept["length"] / each.min(1)[:, None],
        "places": places,
        "shortest": known[each.argmin(1)],
        "shortest_length": each.min(1),
        "random": each.mean(1) / each.min(1),
        "tours": len(known),
    }


def _one(d: np.ndarray, name: str, config: Config) -> Evidence:
    """One network from all starts on all maps; a state that is no tour has no length."""
    net, (maps, n, _) = NETS[name], d.shape
    rng = np.random.default_rng(Draw(config.seed).at("starts", name).key())
    every = d.repeat(config.starts, 0)  # (R, n, n)
    v = (assign if net.normalised else settle)(every, net, rng)
    tours, valid = read(v)
    long = np.array(
        [lengths(t[None], one)[0] if ok else np.nan for t, one, ok in zip(tours, every, valid, strict=True)]
    )
    shape = (maps, config.starts)
    return {
        "tour": tours.reshape(*shape, n),
        "valid": valid.reshape(shape),
        "length": long.reshape(shape),
        "on": (v > 0.5).sum((1, 2)).reshape(shape),
    }


# ---- judging


def judge(evidence: Evidence) -> list[Finding]:
    """B275: penalties are needed (the least length is that of no tour), and with them tours are found."""
    valid, names = evidence["valid"].mean((1, 2)), list(NETS)  # (K,)
    empty = float((evidence["on"][0] == 0).mean())
    n, known = evidence["places"].shape[1], evidence["tours"]
    verdict: Verdict = "not reproduced"
    if valid[0] > 0.5:
        verdict = "confirmed"  # the length alone is enough
    elif empty == 1 and valid[1:-1].max() > 0.5:  # the last one has no penalties
        verdict = "corrected"
    each = "; ".join(f"{name}: {_said(evidence, k)}" for k, name in enumerate(names))
    why = (
        f"{n} cities, {n * n} units, {known:,} tours. {each}. With the length alone {100 * empty:.0f} % of the starts "
        f"end with no unit on: the energy needs its penalties. A random tour is {evidence['random'].mean():.2f} times "
        "as long as the shortest."
    )
    measured = [*valid.tolist(), _ratio(evidence, len(names) - 1)]
    return [Finding("B275", "the energy is the length of the tour", measured, None, verdict, why)]


def _ratio(evidence: Evidence, k: int) -> float:
    """Mean length over the shortest of what network k found; NaN where that is nothing."""
    long = evidence["length"][k]
    return float(long[evidence["valid"][k]].mean()) if evidence["valid"][k].any() else float("nan")


def _best(evidence: Evidence, k: int) -> np.ndarray:
    """Length over the shortest of the best of all starts, by map: (I,), infinite where there is no tour."""
    return np.where(evidence["valid"][k], evidence["length"][k], np.inf).min(1)


def _said(evidence: Evidence, k: int) -> str:
    share = 100 * evidence["valid"][k].mean()
    return f"{share:.0f} % tours" + (f", {_ratio(evidence, k):.2f} times the shortest" if share else "")


def tables(evidence: Evidence) -> dict[str, Table]:
    """How often each network finds a tour and how long it is; on the first map its best tour, or that there is none."""
    kinds = range(len(NETS))
    best = np.stack([_best(evidence, k) for k in kinds])  # (K, I)
    columns: dict[str, list[Any]] = {
        "network": list(NETS),
        "valid (%)": [round(100 * evidence["valid"][k].mean(), 1) for k in kinds],
        "length / shortest": [round(_ratio(evidence, k), 3) for k in kinds],
        "shortest found (%)": [round(100 * (evidence["length"][k] < 1 + 1e-9).mean(), 1) for k in kinds],
        "maps with a tour (%)": [round(100 * np.isfinite(b).mean(), 1) for b in best],
        "best start / shortest": [round(b[np.isfinite(b)].mean(), 3) if np.isfinite(b).any() else np.nan for b in best],
        "no unit on (%)": [round(100 * (evidence["on"][k] == 0).mean(), 1) for k in kinds],
    }
    said = (
        f"{evidence['tours']:,} tours; a random one is {evidence['random'].mean():.3f} times as long as the shortest."
    )
    return {"networks": Table(columns, said), "tours": _tours(evidence)}


def _tours(evidence: Evidence) -> Table:
    rows = [("shortest", evidence["shortest"][0], 1.0)]
    rows += [(name, _tour(evidence, k), _best(evidence, k)[0]) for k, name in enumerate(NETS)]
    columns = {
        "network": [name for name, _, _ in rows],
        "tour": ["no valid tour" if tour is None else "-".join(map(str, tour)) for _, tour, _ in rows],
        "length": [float("nan") if t is None else round(r * evidence["shortest_length"][0], 4) for _, t, r in rows],
        "length / shortest": [float("nan") if t is None else round(r, 4) for _, t, r in rows],
    }
    return Table(columns, f"The first map: the best of {evidence['valid'].shape[2]} starts.")


def _tour(evidence: Evidence, k: int, at: int = 0) -> np.ndarray | None:
    """The best tour of network k on one map, or None."""
    valid, long = evidence["valid"][k, at], evidence["length"][k, at]
    return evidence["tour"][k, at][np.where(valid, long, np.inf).argmin()] if valid.any() else None


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Shares of valid tours with their lengths, and the best tour of each network on the first map."""
    kinds, runs = range(len(NETS)), evidence["valid"][0].size
    shares = [(name, 100 * evidence["valid"][k].mean(), *_interval(evidence, k, runs)) for k, name in enumerate(NETS)]
    long = [evidence["length"][k][evidence["valid"][k]] for k in kinds]
    ratios = [(name, r.mean(), r.min(), r.max()) for name, r in zip(NETS, long, strict=True) if r.size]
    panels: dict[str, Any] = {"valid tours (%), with 95 % interval": shares}
    if ratios:
        panels["length / shortest: mean and range"] = ratios
    title = f"{evidence['places'].shape[1]} cities, {runs} starts"
    return {"networks": plots.whiskers(panels, title=title), "tours": _drawn(evidence)}


def _interval(evidence: Evidence, k: int, runs: int) -> tuple[float, float]:
    low, high = wilson(int(evidence["valid"][k].sum()), runs)
    return 100 * low, 100 * high


def _drawn(evidence: Evidence) -> Figure:
    places = evidence["places"][0]
    closed = lambda tour: tuple(places[[*tour, tour[0]]].T)  # noqa: E731
    lines: dict[str, dict[str, Any]] = {}
    for k, name in enumerate(NETS):
        tour = _tour(evidence, k)
        ratio = "no valid tour" if tour is None else f"{_best(evidence, k)[0]:.3f} x the shortest"
        found = {} if tour is None else {"best of the starts": closed(tour)}
        lines[f"{name}\n{ratio}"] = {"shortest tour": closed(evidence["shortest"][0])} | found
    drawn = plots.panels(lines, x="x", label="y", log=False)
    for axes in drawn.axes:
        axes.set_aspect("equal")
    return drawn
