"""How many patterns does a sharper energy store?

Of P random patterns of N = 32 signs, how many come back exactly after 3 flipped signs, with F(z) = z², z³, z⁴ and exp z
in E = - Σ F(ξ·x)? How does the number that is stored grow with N?

    P½: the number of random patterns of which half are stable         α_n = P½ ln N / N^(n-1),    rate = log₂(P½) / N

z³ is odd, so a pattern's opposite pushes as much as a pattern pulls; max(z, 0)³ is measured beside it.
References: Krotov and Hopfield, arXiv:1606.01164 (2016); Demircigil et al., arXiv:1702.01929 (2017).
"""

from typing import Any

import numpy as np

from ...draw import Draw
from ...models.energy.modern_hopfield import dense_update
from .. import Checks, Measured, Study, more, same

KINDS: dict[str, tuple[str, int]] = {
    "z²": ("polynomial", 2),
    "z³": ("polynomial", 3),
    "max(z, 0)³": ("rectified", 3),
    "z⁴": ("polynomial", 4),
    "exp z": ("exponential", 3),
}
UNITS, FLIPPED = 32, 3


def signs(seed: int, p: int, n: int) -> np.ndarray:
    """Random patterns: (p, n), the same for every interaction."""
    return np.random.default_rng(Draw(seed).at("patterns", p, n).key()).choice([-1.0, 1.0], (p, n))


def stable(patterns: np.ndarray, kind: str, most: int) -> float:
    """Share of the first patterns that one update leaves as they are."""
    some = patterns[:most]
    return float((dense_update(some, patterns, None, *KINDS[kind]) == some).all(1).mean())


def recall(seed: int, kind: str, patterns: int, *, cues: int = 100) -> dict[str, Any]:
    """Share of cues with 3 signs flipped that end exactly in their pattern, and of patterns that are stable."""
    known, rng = signs(seed, patterns, UNITS), np.random.default_rng(Draw(seed).at("cues", patterns).key())
    right = known[rng.integers(patterns, size=cues)]
    x = np.where(rng.random(right.shape).argsort(1) < FLIPPED, -right, right)
    for _ in range(50):  # sweeps
        before, x = x, dense_update(x, known, rng.permutation(UNITS), *KINDS[kind])
        if np.array_equal(before, x):
            break
    return {"recalled": (x == right).all(1).mean(), "stable": stable(known, kind, cues)}


def capacity(seed: int, kind: str, units: int, *, cues: int = 100) -> dict[str, Any]:
    """P½: P is doubled until less than half of some patterns are stable, then interpolated in log P."""
    last, p = 1.0, 2
    while (share := stable(signs(seed, p, units), kind, cues)) >= 0.5:
        last, p = share, 2 * p
    half = p / 2 * 2 ** ((last - 0.5) / (last - share))
    return {"half are stable at": half, "rate": np.log2(half) / units}


TINY, POWERS = {"seeds": 2, "cues": 4}, tuple(KINDS)[:4]
recalls = Study(recall, {"kind": tuple(KINDS), "patterns": (4, 16, 64, 256, 1024)}, seeds=20, tiny=TINY)
full = Study(recall, {"kind": ("exp z",), "patterns": (65536,)}, seeds=20, tiny=TINY | {"patterns": (64,)})
powers = Study(capacity, {"kind": POWERS, "units": (16, 32, 64, 128)}, seeds=20, tiny=TINY | {"units": (8, 12)})
exponential = Study(capacity, {"kind": ("exp z",), "units": (8, 12, 16, 20)}, seeds=20, tiny=TINY | {"units": (6, 8)})
SAYS = "capacity α_a d^(a-1) for a polynomial of degree a, 2^(d/2) for the exponential"


@powers.claim("B276", says=SAYS, reference="n = 2: 1, .02, 0, 0, 0; n = 4: 1, 1, .98, .62, 0; exp: 1, 1, 1, 1, 1")
def as_a_power(m: Measured) -> Checks:
    n, degree = np.array(m.axes["units"])[:, None], np.array([2, 3, 3, 4])[:, None, None]
    alpha = np.log(m["half are stable at"] * np.log(n) / n ** (degree - 1.0))  # (kind, units, seed)
    middle = alpha.mean(1, keepdims=True)
    yield same("α does not depend on d, up to ln d (log ratio)", alpha, middle, within=np.log(2) / 2)


@exponential.claim("B276", says=SAYS)
def as_an_exponential(m: Measured) -> Checks:
    yield more("the exponential stores 2^(d/2) patterns: log₂(P½) / d is above ½", m["rate"], 0.5)


@full.claim("B276", says=SAYS)
def in_32_units(m: Measured) -> Checks:
    yield more("of 2^16 patterns in 32 units more than 95 % are stable", m["stable"], 0.95)
