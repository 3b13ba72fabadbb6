"""How many iterations does a three-dimensional Hopfield network need, and where do its states end?

Question: (-1, -1, 1), (1, -1, -1) and (1, 1, 1) are stored by the design of Li, Michel and Porod. After how many
iterations do 5,000 uniform starts rest, in which pattern, and how long do those stay that start beside one of the four
unstable equilibria?

    x <- satlins(W x + b),     λ(W) = e^0.15 twice, e^-1.5;     E(x) = x·x/2 - x·W x/2 - b·x never rises
    beside an unstable point a distance ε grows by e^0.15 a step:   t ≈ ln(1/ε) / 0.15

Shapes: S draws of n starts; paths (T + 1,) of energies. Cost: 2 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import plots
from ...explain import energy_surface
from ...results import Table
from .._study import Evidence, Finding, Verdict, pieces
from ._saturated import TARGETS, Memory, followed, mark, memory, moving, quantiles, starts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B061": "confirmed"}
DESIGN = Memory("design", "saturated")
MOSTLY, AT_MOST = 20, 40  # iterations that the report names
HOLDS = 0.98  # share of the starts for which "up to" must be true
NEAR = 0.01  # distance from an unstable point at which a path starts
SHOWN = 50  # iterations in the picture


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        starts: Of each draw.
        draws: Their number, seeds 0, 1, ...
    """

    starts: int = 5000
    draws: int = 5


TINY = Config(starts=40, draws=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Iterations and ends of all starts (S, n); energies of four paths, and of one beside each unstable point."""
    found = pieces(_one, [(config, seed) for seed in range(config.draws)], run)
    return {key: np.stack([one[key] for one in found]) for key in found[0]} | _paths()


def _one(config: Config, seed: int) -> Evidence:
    found = followed(memory(DESIGN, 3), starts(config.starts, 3, seed))
    return {key: getattr(found, key) for key in ("stopped", "needed", "end")}


def _paths() -> Evidence:
    """Energies along random paths, and along those that start beside an unstable point: (4, 51) both."""
    net = memory(DESIGN, 3)
    points = np.stack([e.point for e in net.equilibria() if e.kind != "stable"])  # (4, 3)
    away = net.patterns_[(points @ net.patterns_.T).argmax(1)] - points  # towards the nearest pattern
    away *= NEAR / np.linalg.norm(away, axis=1, keepdims=True)
    cues = {"random": starts(4, 3, 0), "beside": points + away}
    found = {f"{key}_energy": _padded(net.trace(x, steps=SHOWN).energies) for key, x in cues.items()}
    return {**found, "points": points, "left": net.matched(net.recall(cues["beside"]))}


def _padded(energies: np.ndarray) -> np.ndarray:
    """What rests early stays where it is: (T + 1, n) -> (n, 51)."""
    return np.pad(energies, ((0, SHOWN + 1 - len(energies)), (0, 0)), mode="edge").T


def judge(evidence: Evidence) -> list[Finding]:
    """B061: less than 20 iterations for most starts, not more than 40 for 98 % of them, and all end in a pattern."""
    stopped = evidence["stopped"]  # (S, n)
    q = quantiles(stopped)
    few, most = (stopped < MOSTLY).mean(), (stopped <= AT_MOST).mean()
    stored = (evidence["end"] >= 0).mean()
    verdict: Verdict = "confirmed" if few > 0.5 and most >= HOLDS and stored == 1 else "corrected"
    if few <= 0.5:
        verdict = "refuted"
    counts = " / ".join(str(int((evidence["end"][0] == k).sum())) for k in range(3))
    why = (
        f"{stopped.shape[1]} starts: median {q[0, 0]:g}, 90 % {q[0, 1]:g}, 95 % {q[0, 2]:g}, 99 % {q[0, 3]:g}, most "
        f"{q[0, 4]:g} in the first of {len(stopped)} draws, which ended {counts} in the three patterns. "
        f"{100 * few:.1f} % of all starts took less than {MOSTLY}, {100 * most:.1f} % not more than {AT_MOST}; "
        f"{100 * stored:g} % ended in a stored pattern. The longest way to an end had {int(evidence['needed'].max())}."
    )
    sd = q.std(0, ddof=1).tolist()
    return [Finding("B061", "mostly under 20, up to 30 to 40", q[0].tolist(), sd, verdict, why)]


def tables(evidence: Evidence) -> dict[str, Table]:
    """Iterations by share of the starts, and the patterns in which they end."""
    at = ("50 %", "90 %", "95 %", "99 %", "100 %")
    first, ends = quantiles(evidence["stopped"]), quantiles(evidence["needed"])
    columns: dict[str, list[Any]] = {
        "starts": list(at),
        "first draw": first[0].tolist(),
        "mean of draws": first.mean(0).round(1).tolist(),
        "until the end is there": ends.mean(0).round(1).tolist(),
    }
    said = "Iterations that are enough for a share of the starts; stopped at the first step below 1e-4."
    return {"iterations": Table(columns, said), "ends": _ends(evidence)}


def _ends(evidence: Evidence) -> Table:
    end = evidence["end"]
    names = [*(str(target) for target in TARGETS[3]), "none of them"]
    kinds = (*range(3), -1)
    columns: dict[str, list[Any]] = {
        "pattern": names,
        "starts of the first draw": [int((end[0] == k).sum()) for k in kinds],
        "share of all (%)": [round(100 * (end == k).mean(), 2) for k in kinds],
        "unstable points left for it": [int((evidence["left"] == k).sum()) for k in kinds],
    }
    return Table(columns, f"Unstable points are left from {NEAR:g} beside them, towards the nearest pattern.")


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Share of the starts that still move, by iteration; energies along random paths and beside unstable points."""
    t = np.arange(81)
    lines = {
        "until a step is below 1e-4": (t, moving(evidence["stopped"], t)),
        "until the end is there": (t, moving(evidence["needed"], t)),
    }
    drawn = plots.panels({"Uniform starts in the cube": lines}, x="iterations", label="still moving (%)", log=True)
    mark(drawn, (MOSTLY, AT_MOST))
    paths = energy_surface(memory(DESIGN, 3)).figure()
    return {"iterations": drawn, "energy": _energies(evidence), "paths": paths}


def _energies(evidence: Evidence) -> Figure:
    t = np.arange(SHOWN + 1)
    points = [", ".join(f"{v:.3g}" for v in point) for point in evidence["points"]]
    groups = {
        "random starts": {f"start {i}": (t, e) for i, e in enumerate(evidence["random_energy"])},
        f"{NEAR:g} beside an unstable point": {
            f"({name})": (t, e) for name, e in zip(points, evidence["beside_energy"], strict=True)
        },
    }
    return plots.panels(groups, x="iteration", label="energy", log=False)
