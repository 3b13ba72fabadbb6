"""Can a network that only lowers an energy find a short round trip through ten cities?

n cities lie in a unit square. A unit is on (v_xi = 1) where city x is the i-th of the trip, n x n units in all. How
often does the network end in a tour, how long is that beside the shortest, and what if the energy is the length alone?

    E(v) = A/2 Σ_x (Σ_i v_xi - 1)² + B/2 Σ_i (Σ_x v_xi - 1)² + C/2 (Σ_xi v_xi - m)² + G/2 Σ_xi v_xi (1 - v_xi)
           + D/2 Σ_xyi d_xy v_xi (v_y,i+1 + v_y,i-1)
    du/dt = -κ u - ∂E/∂v,   v = 1 / (1 + exp(-u / T)),   T constant or falling

A tour is read where v > 1/2 has one city at each place and one place for each city. Hopfield and Tank wrote
A/2 Σ_x Σ_i≠j v_xi v_xj (500, likewise B) and m = 15: the same with G = A + B and m = 15 - (A + B) / 2C. The shortest of
all (n - 1)! / 2 tours is found by looking at each. A seed is a map; each network has 20 starts on it.

References: Hopfield and Tank, Biological Cybernetics 52 (1985); Wilson and Pawley, Biological Cybernetics 58 (1988);
Brandt et al., ICNN (1988).
"""

from functools import cache
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np

from ...draw import Draw
from .. import Checks, Measured, Study, less, missing, more


class Net(NamedTuple):
    """Weights of the energy's terms, and how it is lowered."""

    rows: float = 0.0  # A, against a city at several places
    columns: float = 0.0  # B, against several cities at a place
    total: float = 0.0  # C, against other than m units that are on
    surplus: float = 0.0  # m - n
    binary: float = 0.0  # G, against values between 0 and 1
    length: float = 1.0  # D
    temperature: float = 1.0  # T at the start
    cool: float = 1.0  # factor of T at each step
    leak: float = 0.0  # κ
    rate: float = 0.01
    steps: int = 2000


TANK = Net(length=500, temperature=0.01, leak=1, rate=1e-5, steps=3000)
NETS = {
    "length alone": TANK,
    "Hopfield and Tank": TANK._replace(rows=500, columns=500, total=200, surplus=2.5, binary=1000),
    "other penalties, T falls": Net(rows=2, columns=2, binary=1, cool=0.999),
}


@cache
def all_tours(n: int) -> np.ndarray:
    """Each round trip once, whatever its start and direction: ((n - 1)! / 2, n)."""
    return np.array([(0, *rest) for rest in permutations(range(1, n)) if rest[0] < rest[-1]], dtype=np.int64)


def lengths(tours: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Of tours (M, n) between cities with distances (n, n): (M,)."""
    return d[tours, np.roll(tours, -1, 1)].sum(1)


def slope(v: np.ndarray, d: np.ndarray, net: Net) -> np.ndarray:
    """∂E/∂v: (R, n, n)."""
    rows, columns = (v.sum(axis, keepdims=True) - 1 for axis in (2, 1))
    count = v.sum((1, 2), keepdims=True) - v.shape[-1] - net.surplus
    forced = net.rows * rows + net.columns * columns + net.total * count + net.binary * (0.5 - v)
    return forced + net.length * (d @ (np.roll(v, 1, -1) + np.roll(v, -1, -1)))


def end(d: np.ndarray, net: Net, starts: int, rng: np.random.Generator) -> np.ndarray:
    """States (R, n, n) in which the network ends, from starts near v = 1/n."""
    n, t = len(d), net.temperature
    u = t * (-np.log(n - 1) + rng.uniform(-0.2, 0.2, (starts, n, n)))
    v = 0.5 * (1 + np.tanh(u / t / 2))
    for _ in range(net.steps):
        u = u - net.rate * (net.leak * u + slope(v, d, net))
        t *= net.cool
        v = 0.5 * (1 + np.tanh(u / t / 2))
    return v


def measure(seed: int, network: str, *, cities: int = 10, starts: int = 20) -> dict[str, Any]:
    """Shares of starts that end in a tour and with no unit on; length of the tours beside the shortest."""
    places = np.random.default_rng(Draw(seed).at("places").key()).random((cities, 2))
    d = np.linalg.norm(places[:, None] - places[None], axis=-1)
    v = end(d, NETS[network], starts, np.random.default_rng(Draw(seed).at("starts", network).key()))
    on = v > 0.5  # (R, cities, places)
    valid = (on.sum(1) == 1).all(1) & (on.sum(2) == 1).all(1)
    each = lengths(all_tours(cities), d)
    found = lengths(v.argmax(1)[valid], d) / each.min()
    return {
        "tours": valid.mean(),
        "no unit on": (~on).all((1, 2)).mean(),
        "length": found.mean() if valid.any() else np.nan,
        "best length": found.min() if valid.any() else np.nan,
        "length of a random tour": each.mean() / each.min(),
    }


study = Study(measure, {"network": tuple(NETS)}, seeds=20, tiny={"seeds": 2, "cities": 5, "starts": 3})


@study.claim(
    "B275",
    says="the energy is the sum of the distances along the route, which must visit every city once",
    right="a unit for each city at each place; length and penalties",
)
def tours(m: Measured) -> Checks:
    share = m["tours"]
    yield less("with the length alone as energy fewer than half of the starts end in a tour", share[0], 0.5)
    yield more("with penalties for other than one city at each place more than half do", share[2], 0.5)
    yield missing("how units represent cities and a tour, and what makes the network visit every city once")
