"""How many random patterns can Hebb's rule store, and which logarithm is in N / (4 log N)?

Question: p random patterns of N units are stored with a zero diagonal. How often are all of them stable, at the natural
and at the decimal reading of the formula, at N / (2 ln N) and at 0.138 N? And for patterns that overlap?

    all stable:  ξ_i Σ_j≠i W_ij ξ_j >= 0 for all p N units,      W = Σ ξ ξᵀ
    P(one unit is stable) ≈ Φ(√((N - 1)/(p - 1))),      P(all are) ≈ that to the power p N

N / (4 ln N) is the bound for all patterns being exactly stable, N / (2 ln N) that for nearly all of them, and up to
0.138 N there is a stable state near each, with some units wrong. All three are for patterns without overlap.
Shapes: T trials, p patterns, N units.

References: McEliece et al., IEEE Trans. Information Theory 33 (1987); Amit, Gutfreund and Sompolinsky, Phys. Rev. Lett.
55 (1985). Cost: about 20 CPU-seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import plots
from ...draw import Draw
from ...formulas import capacity
from ...measure import wilson
from ...results import Table
from .._study import Evidence, Finding, Verdict, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "likely", "loads", "measure", "stable_units", "tables"]

CLAIMS = {"B274": "corrected"}
READINGS = ("N / (4 ln N)", "N / (2 ln N)", "N / (4 log10 N)", "0.138 N")
BETWEEN = (0.5, 0.75, 1.25, 1.5, 1.75, 2.5, 3.0)  # further loads, in units of N / (4 ln N)
OVERLAPPING = 10  # patterns that overlap
CHUNK = 50  # trials at once


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        units: Sizes N of the networks.
        trials: Draws of the patterns for each number of them.
        overlap: Mean overlap of patterns that are not independent, that of handwritten digits.
        seed: Of all draws.
    """

    units: tuple[int, ...] = (240, 784, 1000)
    trials: int = 1000
    overlap: float = 0.65
    seed: int = 0


TINY = Config(units=(40, 60), trials=20)


def loads(n: int) -> list[int]:
    """What the four readings of the formula allow, rounded down.

    Example:
        >>> loads(240)
        [10, 21, 25, 33]
    """
    return [int(v) for v in (capacity(n), capacity(n, "most"), n / (4 * math.log10(n)), capacity(n, "errors"))]


def stable_units(patterns: np.ndarray) -> np.ndarray:
    """Which units stay as they are under Hebb's rule with a zero diagonal: (..., p, N) of ±1 -> bool.

    W is not made: Σ_j W_ij ξ_j = Σ_q (ξ_q · ξ) ξ_qi - p ξ_i.
    """
    p = patterns.shape[-2]
    overlaps = patterns @ patterns.swapaxes(-1, -2)  # (..., p, p)
    return patterns * (overlaps @ patterns) - p >= 0


def likely(n: int, p: np.ndarray) -> np.ndarray:
    """P(all p patterns are stable) with independent Gaussian crosstalk."""
    from scipy.special import log_ndtr

    p = np.asarray(p, dtype=float)
    return np.exp(n * p * log_ndtr(np.sqrt((n - 1) / (p - 1))))


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Of each size: numbers of patterns (P,), how often all are stable, shares of patterns and units that are."""
    grid = {n: sorted({*loads(n), *(round(c * capacity(n)) for c in BETWEEN)} - {0, 1}) for n in config.units}
    keys = [(config, n, p, 0.0) for n in config.units for p in grid[n]]
    lifted = [(config, n, OVERLAPPING, config.overlap) for n in config.units]
    found = np.array(pieces(_one, [*keys, *lifted], run))
    cut = np.cumsum([len(grid[n]) for n in config.units])
    parts = np.split(found, cut)
    sizes = {str(n): {"p": grid[n], "stable": part} for n, part in zip(config.units, parts[:-1], strict=True)}
    return {"sizes": sizes, "overlapping": parts[-1], "overlap": config.overlap, "trials": config.trials}


def _one(config: Config, n: int, p: int, overlap: float) -> list[float]:
    """Shares of the trials, patterns and units that are stable."""
    rng = np.random.default_rng(Draw(config.seed).at("patterns", n, p, str(overlap)).key())
    on = (1 - math.sqrt(overlap)) / 2  # P(+1): the overlap is (1 - 2 P)²
    found = []
    for begin in range(0, config.trials, CHUNK):
        shape = (min(CHUNK, config.trials - begin), p, n)
        held = stable_units(np.where(rng.random(shape, dtype=np.float32) < on, 1, -1).astype(np.float32))
        found.append(np.stack([held.all((1, 2)), held.all(2).mean(1), held.mean((1, 2))], 1))
    return np.concatenate(found).mean(0).tolist()


def _at(evidence: Evidence, n: str, p: int) -> np.ndarray:
    size = evidence["sizes"][n]
    return size["stable"][list(size["p"]).index(p)]


def judge(evidence: Evidence) -> list[Finding]:
    """B274: all patterns are stable at N / (4 ln N), and not at N / (4 log10 N)."""
    sizes = list(evidence["sizes"])
    read = {n: dict(zip(READINGS, loads(int(n)), strict=True)) for n in sizes}
    natural, decimal = (
        np.array([_at(evidence, n, read[n][key])[0] for n in sizes]) for key in (READINGS[0], READINGS[2])
    )
    verdict: Verdict = "refuted" if natural.min() < 0.9 else "confirmed" if decimal.max() > 0.5 else "corrected"
    said = "; ".join(
        f"N = {n}: " + ", ".join(f"p = {p} {_at(evidence, n, p)[0]:.3g}" for p in read[n].values()) for n in sizes
    )
    lost = _at(evidence, sizes[0], read[sizes[0]][READINGS[2]])[1]
    why = (
        f"How often all patterns are stable at {', '.join(READINGS)}, {said}. The logarithm is the natural one: with "
        f"the decimal one {100 * lost:.0f} % of the patterns are stable for N = {sizes[0]}. Of {OVERLAPPING} patterns "
        f"with an overlap of {evidence['overlap']} all are stable in {100 * evidence['overlapping'][:, 0].max():.0f} % "
        "of the trials at most."
    )
    measured = [*(capacity(int(n)) for n in sizes), *natural.tolist(), *decimal.tolist()]
    return [Finding("B274", "N / (4 log N)", measured, None, verdict, why)]


def tables(evidence: Evidence) -> dict[str, Table]:
    """The readings of the formula, what happens there, and patterns that overlap."""
    rows = [(n, name, p) for n in evidence["sizes"] for name, p in zip(READINGS, loads(int(n)), strict=True)]
    cells = [_at(evidence, n, p) for n, _, p in rows]
    rows += [(n, f"overlap {evidence['overlap']}", OVERLAPPING) for n in evidence["sizes"]]
    cells += list(evidence["overlapping"])
    columns: dict[str, list[Any]] = {
        "units N": [int(n) for n, _, _ in rows],
        "reading": [name for _, name, _ in rows],
        "patterns p": [p for _, _, p in rows],
        "all stable (%)": [round(100 * c[0], 1) for c in cells],
        "patterns stable (%)": [round(100 * c[1], 1) for c in cells],
        "units wrong (%)": [round(100 * (1 - c[2]), 2) for c in cells],
    }
    said = f"{evidence['trials']} draws of the patterns each; " + ", ".join(
        f"N = {n}: N / (4 ln N) = {capacity(int(n)):.2f}" for n in evidence["sizes"]
    )
    return {"readings": Table(columns, said)}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """How often all patterns are stable, by their number, with intervals of 95 %; the readings of the formula."""
    lines: dict[str, dict[str, Any]] = {}
    for n, size in evidence["sizes"].items():
        p, fine = np.array(size["p"]), np.linspace(2, max(size["p"]), 200)
        lines[f"N = {n}"] = {
            "all stable, measured": (p, 100 * size["stable"][:, 0]),
            "all stable, Gaussian crosstalk": (fine, 100 * likely(int(n), fine)),
            "share of the patterns": (p, 100 * size["stable"][:, 1]),
        }
    drawn = plots.panels(lines, x="patterns p", label="stable (%)", log=False)
    for axes, (n, size) in zip(drawn.axes, evidence["sizes"].items(), strict=True):
        _intervals(axes, size, evidence["trials"])
        for name, p, height in zip(READINGS, loads(int(n)), (58, 72, 58, 80), strict=True):
            axes.axvline(p, color="0.5", lw=1, ls=(0, (4, 3)), zorder=1)
            behind = {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}
            axes.annotate(name, (p, height), rotation=90, size=7, ha="right", va="center", bbox=behind)
    return {"capacity": drawn}


def _intervals(axes: Any, size: Evidence, trials: int) -> None:
    ends = 100 * np.array([wilson(round(share * trials), trials) for share in size["stable"][:, 0]])
    axes.vlines(size["p"], ends[:, 0], ends[:, 1], color="#0072B2", lw=1.2)
