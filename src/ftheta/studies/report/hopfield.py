"""How many iterations does a small Hopfield network need, and how good is its memory?

Three patterns in two and in three dimensions are stored by the design of Li, Michel and Porod. From 5,000 uniform
starts, after how many iterations does the state rest? Which equilibria are there, stored, spurious and unstable, by
this design and by other rules?

    x <- satlins(W x + b),    start: uniform in [-1, 1]^N,    stopped at the first step in which no unit moves by 1e-4
    2-D: W = e^δ I, b = 0, δ = 0.15: each unit grows by e^δ per step until it is 1:  t = ln(1 / min_i |x_i|) / δ
    P(t iterations are enough) = (1 - e^(-δ t))²: 0.903 for t = 20; there is no bound
"""

import warnings
from typing import Any

import numpy as np

from ...models import HopfieldNetwork
from .. import Checks, Measured, Study, holds, more
from ._hopfield import followed

TARGETS = {2: ((1, 1), (-1, -1), (1, -1)), 3: ((-1, -1, 1), (1, -1, -1), (1, 1, 1))}
MEMORIES: dict[str, tuple[str, str, Any]] = {  # rule, unit, zero_diagonal
    "design, saturated": ("design", "saturated", "auto"),
    "Hebb with diagonal, saturated": ("hebb", "saturated", False),
    "Hebb with diagonal, sign": ("hebb", "sign", False),
    "Hebb without, sign": ("hebb", "sign", True),
    "pseudo-inverse, sign": ("pseudo-inverse", "sign", "auto"),
    "Storkey, sign": ("storkey", "sign", "auto"),
}
STEPS = 400  # after which every start rests


def network(memory: str, dims: int) -> HopfieldNetwork:
    """The patterns, stored; those that do not hold are counted, not warned of."""
    rule, unit, diagonal = MEMORIES[memory]
    update = "synchronous" if unit == "saturated" else "asynchronous"
    net = HopfieldNetwork(rule=rule, unit=unit, update=update, zero_diagonal=diagonal, steps=STEPS, random_state=0)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return net.fit(np.array(TARGETS[dims]))


def rest(seed: int, dims: int, *, starts: int = 5000) -> dict[str, Any]:
    """Iterations of many starts: quantiles and shares, and where they end."""
    cues = np.random.default_rng(seed).uniform(-1, 1, (starts, dims))
    found = followed(network("design, saturated", dims), cues, STEPS)
    t, levels = found.stopped, {"median": 0.5, "90 %": 0.9, "95 %": 0.95, "99 %": 0.99, "most": 1.0}
    return {
        **{name: np.quantile(t, level) for name, level in levels.items()},
        "most, until the end is reached": found.needed.max(),
        "under 20": (t < 20).mean(),
        "at most 20": (t <= 20).mean(),
        "at most 40": (t <= 40).mean(),
        "end in a stored pattern": (found.end >= 0).mean(),
        "share of each pattern": np.array([(found.end == k).mean() for k in range(3)]),
    }


def hold(seed: int, dims: int, memory: str, *, starts: int = 5000) -> dict[str, Any]:
    """Equilibria by kind, and the share of starts that end in a stored pattern."""
    net = network(memory, dims)
    kinds = net.equilibria()
    ends = net.matched(net.recall(np.random.default_rng(seed).uniform(-1, 1, (starts, dims))))
    return {
        "stored and stable": net.stable().sum(),
        "spurious": sum(e.spurious for e in kinds),
        "unstable": sum(e.kind in ("saddle", "maximum", "marginal") for e in kinds),
        "continua": sum(e.kind == "continuum" for e in kinds),
        "end in a stored pattern": (ends >= 0).mean(),
    }


iterations = Study(rest, {"dims": (2, 3)}, seeds=5, tiny={"seeds": 2, "starts": 40})
memories = Study(hold, {"dims": (2, 3), "memory": tuple(MEMORIES)}, seeds=2, tiny={"seeds": 2, "starts": 40})


@iterations.claim(
    "B055", says="it may take up to about 20 iterations (2.1.1), in most cases (2.1.2)", reference=[9, 20, 24, 33, 57]
)
def in_the_plane(m: Measured) -> Checks:
    yield more("20 iterations are enough for most starts", m.at("at most 20", dims=2), 0.5)


@iterations.claim("B061", says="mostly below 20, up to 30 or 40 iterations", reference=[11, 23, 28, 39, 63])
def in_space(m: Measured) -> Checks:
    yield more("most starts need fewer than 20 iterations", m.at("under 20", dims=3), 0.5)
    yield more("40 are enough for 98 % of them", m.at("at most 40", dims=3), 0.98)


@memories.claim(
    "B058",
    says="ideally no spurious, nor unstable, attractors; in 2-D a symmetric minimum, a maximum, saddles, in 3-D four",
)
def equilibria(m: Measured) -> Checks:
    for dims, counts in {2: [3, 1, 5, 0], 3: [3, 0, 4, 0]}.items():
        names = ("stored and stable", "spurious", "unstable", "continua")
        found = [m.at(name, dims=dims, memory="design, saturated")[0].item() for name in names]
        text = f"{dims}-D: {counts[0]} stored, {counts[1]} spurious stable, {counts[2]} unstable equilibria"
        yield holds(text, found == counts, found)
