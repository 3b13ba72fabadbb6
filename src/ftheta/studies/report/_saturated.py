"""Small networks of saturated units: how many iterations random starts need, and how good the memory is.

    x <- satlins(W x + b),    start: uniform in [-1, 1]^N,    stopped at the first step in which no unit moves by 1e-4

Shapes: S draws of n starts, N units.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...models import HopfieldNetwork

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "SMALL",
    "TARGETS",
    "Followed",
    "Memory",
    "followed",
    "mark",
    "memory",
    "moving",
    "quality",
    "quantiles",
    "starts",
]

TARGETS = {2: ((1, 1), (-1, -1), (1, -1)), 3: ((-1, -1, 1), (1, -1, -1), (1, 1, 1))}
SMALL = 1e-4  # a step that is taken for rest
LEVELS = (0.5, 0.9, 0.95, 0.99, 1.0)
STEPS = 400  # after which every start of a draw rests


class Memory(NamedTuple):
    """How patterns are stored.

    Args:
        rule: Of the weights.
        unit: Saturated units move together, sign units one after the other.
        diagonal: Whether units have connections to themselves, where the rule leaves it open.
    """

    rule: str
    unit: str
    diagonal: bool = False


class Followed(NamedTuple):
    """What became of cues.

    Args:
        state: Where they are at last: (n, N).
        end: Index of the stored pattern there, -1 for none: (n,).
        stopped: Iterations before the first step in which no unit moves by 1e-4: (n,).
        needed: Iterations up to the last step in which one does: (n,).
    """

    state: np.ndarray
    end: np.ndarray
    stopped: np.ndarray
    needed: np.ndarray


def memory(kind: Memory, dims: int) -> HopfieldNetwork:
    """The targets of the report in 2 or 3 dimensions, stored; patterns that do not hold are counted, not warned of."""
    net = HopfieldNetwork(
        rule=kind.rule,  # type: ignore[arg-type]
        unit=kind.unit,  # type: ignore[arg-type]
        update="synchronous" if kind.unit == "saturated" else "asynchronous",
        zero_diagonal="auto" if kind.rule != "hebb" else not kind.diagonal,
        steps=STEPS,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return net.fit(np.array(TARGETS[dims]))


def starts(n: int, dims: int, seed: int) -> np.ndarray:
    """Uniform in the square or cube: (n, N)."""
    return np.random.default_rng(seed).uniform(-1, 1, (n, dims))


def followed(net: HopfieldNetwork, cues: np.ndarray, steps: int = STEPS) -> Followed:
    """All cues (n, N) until they rest, or for so many iterations."""
    x, moving = cues.copy(), np.arange(len(cues))
    stopped, needed = np.full(len(cues), steps), np.zeros(len(cues), dtype=int)
    for t in range(steps):
        after = net.recall(x[moving], steps=1)
        moved = np.abs(after - x[moving]).max(1)
        x[moving] = after
        short = moving[moved < SMALL]
        stopped[short] = np.minimum(stopped[short], t)
        needed[moving[moved >= SMALL]] = t + 1
        moving = moving[moved > 0]
        if not len(moving):
            break
    return Followed(x, net.matched(x), stopped, needed)


def quantiles(iterations: np.ndarray) -> np.ndarray:
    """Median, 90, 95 and 99 %, and the most: (S, n) -> (S, 5)."""
    return np.quantile(iterations, LEVELS, axis=1, method="linear").T


def quality(kind: Memory, dims: int, x: np.ndarray) -> list[float]:
    """Stored patterns that are stable, spurious attractors, unstable equilibria, continua; share of the starts that end
    in a stored pattern."""
    net = memory(kind, dims)
    found = net.equilibria()
    unstable = sum(e.kind in ("saddle", "maximum", "marginal") for e in found)
    continua = sum(e.kind == "continuum" for e in found)
    recalled = float((net.matched(net.recall(x)) >= 0).mean())
    return [int(net.stable().sum()), sum(e.spurious for e in found), unstable, continua, recalled]


def moving(iterations: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Share of the starts (%) that need more than t iterations: (S, n), (T,) -> (T,); none is NaN, for a log scale."""
    share = 100 * (iterations[..., None] > t).mean((0, 1))
    return np.where(share > 0, share, np.nan)


def mark(figure: Figure, iterations: tuple[int, ...]) -> None:
    """Lines at the iterations that the report names."""
    axes = figure.axes[0]
    for t in iterations:
        axes.axvline(t, color="0.4", lw=1, ls=(0, (4, 3)), zorder=1)
        axes.annotate(f"{t}: printed", (t + 0.6, axes.get_ylim()[1]), size="small", va="top")
