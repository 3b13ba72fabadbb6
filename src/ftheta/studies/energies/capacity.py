"""How many random patterns can Hebb's rule store, and which logarithm is in N / (4 log N)?

Random patterns of N units are stored with a zero diagonal. How often are all p stable, at the natural and at the
decimal reading of the formula, at N / (2 ln N) and at 0.138 N? And ten patterns that overlap as digits do?

    all stable:  ξ_i Σ_j≠i W_ij ξ_j >= 0 for all p N units,      W = Σ ξ ξᵀ

N / (4 ln N) is the bound for all patterns being exactly stable, N / (2 ln N) that for nearly all of them, and up to
0.138 N there is a stable state near each, with some units wrong. All three are for patterns without overlap. A seed is
50 draws of the patterns.

References: McEliece et al., IEEE Trans. Information Theory 33 (1987); Amit, Gutfreund and Sompolinsky, Phys. Rev. Lett.
55 (1985).
"""

import math
from typing import Any

import numpy as np

from ...draw import Draw
from ...models.energy.rules import capacity
from .. import Checks, Measured, Study, less, more

READINGS = ("N / (4 ln N)", "N / (2 ln N)", "N / (4 log10 N)", "0.138 N", "10 that overlap")


def load(reading: str, n: int) -> int:
    """The number of patterns that a reading of the formula allows, rounded down.

    Example:
        >>> [load(reading, 240) for reading in READINGS]
        [10, 21, 25, 33, 10]
    """
    values = capacity(n), capacity(n, "most"), n / (4 * math.log10(n)), capacity(n, "errors"), 10
    return int(values[READINGS.index(reading)])


def stable_units(patterns: np.ndarray) -> np.ndarray:
    """Which units stay as they are under Hebb's rule with a zero diagonal: (..., p, N) of ±1 -> bool.

    W is not made: Σ_j W_ij ξ_j = Σ_q (ξ_q · ξ) ξ_qi - p ξ_i.
    """
    overlaps = patterns @ patterns.swapaxes(-1, -2)  # (..., p, p)
    return patterns * (overlaps @ patterns) - patterns.shape[-2] >= 0


def measure(seed: int, units: int, reading: str, *, trials: int = 50, overlap: float = 0.65) -> dict[str, Any]:
    """Shares of the trials in which all is stable, and of patterns and units that are."""
    p, shared = load(reading, units), overlap if "overlap" in reading else 0.0
    rng = np.random.default_rng(Draw(seed).at("patterns", units, p, str(shared)).key())
    on = (1 - math.sqrt(shared)) / 2  # P(+1): the overlap is (1 - 2 P)²
    signs = np.where(rng.random((trials, p, units), dtype=np.float32) < on, 1, -1).astype(np.float32)
    held = stable_units(signs)
    return {
        "patterns": p,
        "all stable": held.all((1, 2)).mean(),
        "patterns stable": held.all(2).mean(),
        "units stable": held.mean(),
    }


TINY = {"seeds": 2, "units": (40, 60), "trials": 10}
study = Study(measure, {"units": (240, 784, 1000), "reading": READINGS}, seeds=20, tiny=TINY)


@study.claim("B274", says="p_max = N / (4 log N)", reference=[10.95, 29.41, 36.19])
def natural(m: Measured) -> Checks:
    stable = m["all stable"]  # (units, reading, seed)
    yield more("with the natural logarithm all patterns are stable in 9 of 10 draws", stable[:, 0], 0.9)
    yield less("with the decimal one they are not, in half of the draws", stable[:, 2], 0.5)
    yield less("ten patterns of 784 units that overlap as digits do are not, in half of the draws", stable[1, 4], 0.5)
