"""Can a third coordinate separate what no line can?

Question: how many points of a disc in a ring are on the wrong side of the plane z = 0 once they are lifted, and what
does the best line do in the plane?

    φ(x) = max(0, 1 - x₁² - x₂²),  inside iff φ > 0         D(r²) = ceil(floor(r²) / r²),  D(0) = 0,  inside iff D = 0

Cost: about 2 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from ... import plots
from ...draw import Draw
from ...models import LogisticRegression
from ...nn import activation
from .._study import Evidence, Finding, Verdict, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"A276": "confirmed", "A277": "confirmed", "A278": "confirmed"}
RADII = np.array([0.0, 0.0001, 0.25, 0.999, 1, 1.5, 2, 3.99, 100.3])  # r²
OUTSIDE = RADII >= 1
SETS = ("disc in a ring", "XOR")
Points = tuple[np.ndarray, np.ndarray, np.ndarray]  # (n, 2), (n,), (n,): places, third coordinate, class


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        n: Points of each set.
        seeds: Samples of each.
    """

    n: int = 600
    seeds: int = 20


TINY = Config(n=100, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Samples of both sets and their lifts, and both formulas at given radii."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    at = np.column_stack([np.sqrt(RADII), np.zeros_like(RADII)])
    return {
        "sets": found[0]["sets"],
        **{key: np.array([one[key] for one in found]) for key in ("errors", "flat", "decided")},
        "decision": _decision(RADII),
        "lift": _lift(at),
    }


def _seed(config: Config, seed: int) -> Evidence:
    disc, crossed = sets = _disc(config.n, seed), _crossed(config.n, seed)
    return {
        "sets": [list(parts) for parts in sets],
        "errors": np.array([int(((z > 0) != y).sum()) for _, z, y in sets]),  # of the plane z = 0
        "flat": np.array([LogisticRegression().fit(at, y).score(at, y) for at, _, y in sets]),
        "decided": bool((_decision((disc[0] ** 2).sum(1)) == 1 - disc[2]).all()),
    }


def _lift(at: np.ndarray) -> np.ndarray:
    """φ: above zero inside the unit disc only."""
    return activation("relu")(1 - torch.tensor(at).square().sum(1)).numpy()


def _decision(r2: np.ndarray) -> np.ndarray:
    return np.ceil(np.floor(r2) / np.where(r2 == 0, 1, r2)).astype(int)


def _disc(n: int, seed: int) -> Points:
    """Points evenly in the disc of radius 2, φ, and whether they are inside the unit disc."""
    rng = np.random.default_rng(Draw(seed).at("disc").key())
    r, angle = 2 * np.sqrt(rng.random(n)), rng.uniform(0, 2 * np.pi, n)
    at = r[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return at, _lift(at), (r < 1).astype(int)


def _crossed(n: int, seed: int) -> Points:
    """Points evenly in the square, -x₁x₂, and whether the signs differ."""
    at = np.random.default_rng(Draw(seed).at("xor").key()).uniform(-1, 1, (n, 2))
    return at, -at.prod(1), (at[:, 0] * at[:, 1] < 0).astype(int)


def judge(evidence: Evidence) -> list[Finding]:
    """A276: no errors. A277: D is 0 inside and 1 elsewhere. A278: flat sets that a line cannot divide, lifted ones."""
    errors, flat = evidence["errors"], evidence["flat"]  # (S, 2)
    lines = bool((flat < 0.9).all())
    agree = bool((evidence["decision"] == OUTSIDE).all() and evidence["decided"].all())
    same = bool(((evidence["lift"] > 0) == ~OUTSIDE).all())
    shares = flat.mean(0)
    line = f"a line gets {shares[0]:.1%} of disc and ring right (all outside: 75 %) and {shares[1]:.1%} of XOR"
    said = (
        f"r² = {', '.join(f'{r:g}' for r in RADII)} and all points; the lift is above zero exactly where D = 0: {same}."
    )
    most = errors.max(0).tolist()
    return [
        Finding("A276", 0, most[0], 0.0, _holds(most[0] == 0 and lines), f"Errors of the plane z = 0; {line}."),
        Finding("A277", "0 for r² < 1, else 1", evidence["decision"].tolist(), None, _holds(agree and same), said),
        Finding("A278", "only lifted", most, None, _holds(max(most) == 0 and lines), f"Both sets are drawn; {line}."),
    ]


def _holds(good: bool) -> Verdict:
    return "confirmed" if good else "refuted"


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Both sets, flat and lifted."""
    sets = {name: tuple(parts) for name, parts in zip(SETS, evidence["sets"], strict=True)}
    names = ["outside, or equal signs", "inside, or different signs"]
    return {"lifted": plots.lifted(sets, names, label="z", title="No line separates them, the plane z = 0 does")}
