"""How many iterations does a two-dimensional Hopfield network need, and how good is its memory?

Question: (1, 1), (-1, -1) and (1, -1) are stored by the design of Li, Michel and Porod. From 5,000 uniform starts,
after how many iterations does the state rest? Which equilibria are there, stored, spurious and unstable, by this design
and by other rules, here and for the three patterns in three dimensions?

    W = e^δ I, b = 0, δ = 0.15:  each unit grows by e^δ a step until it is 1:  t = ln(1 / min_i |x_i|) / δ,  rounded up
    P(t iterations are enough) = (1 - e^(-δ t))²

That has no bound. A start that is stopped at its first step below 1e-4 is taken for settled also where it has not yet
left an axis; iterations until a state has its end are given beside it.
Shapes: S draws of n starts; K memories, 2 and 3 dimensions. Cost: 2 CPU-seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import plots
from ...explain import energy_surface
from ...results import Table
from .._study import Evidence, Finding, Verdict, pieces
from ._saturated import Memory, followed, mark, memory, moving, quality, quantiles, starts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "MEMORIES", "TINY", "Config", "enough", "figures", "judge", "measure", "tables"]

CLAIMS = {"B055": "corrected", "B058": "confirmed"}
DESIGN = Memory("design", "saturated")
MEMORIES = {
    "design, saturated": DESIGN,
    "Hebb with diagonal, saturated": Memory("hebb", "saturated", diagonal=True),
    "Hebb with diagonal, sign": Memory("hebb", "sign", diagonal=True),
    "Hebb without, sign": Memory("hebb", "sign"),
    "pseudo-inverse, sign": Memory("pseudo-inverse", "sign"),
    "Storkey, sign": Memory("storkey", "sign"),
}
STATED = 20  # iterations that the report names
HOLDS = 0.98  # share of the starts for which "up to" must be true
EXPECTED = [[3, 1, 5, 0], [3, 0, 4, 0]]  # stored, spurious, unstable equilibria and continua, in 2-D and 3-D


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


def enough(t: np.ndarray, dims: int = 2, step: float = 0.15) -> np.ndarray:
    """Share of uniform starts for which t iterations of W = e^step I are enough."""
    return (1 - np.exp(-step * np.asarray(t, dtype=float))) ** dims


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Iterations and ends of all starts (S, n); what each memory holds (K, 2, 5)."""
    keys: list[tuple[Any, ...]] = [(config, seed) for seed in range(config.draws)]
    found = pieces(_one, [*keys, (config, None)], run)
    kept = {key: np.stack([one[key] for one in found[:-1]]) for key in found[0]}
    return {**kept, "quality": np.array(found[-1])}


def _one(config: Config, seed: int | None) -> Any:
    if seed is not None:
        found = followed(memory(DESIGN, 2), starts(config.starts, 2, seed))
        return {key: getattr(found, key) for key in ("stopped", "needed", "end")}
    where = {dims: starts(config.starts, dims, 0) for dims in (2, 3)}
    return [[quality(kind, dims, x) for dims, x in where.items()] for kind in MEMORIES.values()]


def judge(evidence: Evidence) -> list[Finding]:
    """B055: whether 20 iterations are enough for 98 % of the starts. B058: the counts of the design's equilibria."""
    return [_iterations(evidence), _memory(evidence)]


def _iterations(evidence: Evidence) -> Finding:
    stopped = evidence["stopped"]  # (S, n)
    q, longest = quantiles(stopped), int(evidence["needed"].max())
    within = (stopped <= STATED).mean(1)
    verdict: Verdict = "confirmed" if within.mean() >= HOLDS else "corrected"
    if within.mean() < 0.5:
        verdict = "refuted"
    why = (
        f"{stopped.shape[1]} starts: median {q[0, 0]:g}, 90 % {q[0, 1]:g}, 95 % {q[0, 2]:g}, 99 % {q[0, 3]:g}, most "
        f"{q[0, 4]:g} in the first of {len(stopped)} draws. {STATED} are enough for {100 * within.mean():.1f} % of the "
        f"starts; the law says {100 * enough(np.array(STATED)):.1f} %. There is no bound: at 0.06 from an axis it "
        f"takes ln(1/0.06)/0.15 = {math.log(1 / 0.06) / 0.15:.1f}, and the longest way to an end had {longest}."
    )
    sd = q.std(0, ddof=1).tolist()
    return Finding("B055", f"up to about {STATED} iterations", q[0].tolist(), sd, verdict, why)


def _memory(evidence: Evidence) -> Finding:
    held = evidence["quality"][0]  # (2, 5)
    counts = held[:, :4].astype(int).tolist()
    verdict: Verdict = "confirmed" if counts == EXPECTED else "refuted"
    said = "; ".join(
        f"{dims}-D: {stable} of 3 stored stable, {spurious} spurious stable, {unstable} unstable"
        for dims, (stable, spurious, unstable, _) in zip((2, 3), counts, strict=True)
    )
    why = (
        f"Design, {said}; {100 * held[0, 4]:.0f} % and {100 * held[1, 4]:.0f} % of uniform starts end in a stored "
        "pattern. Other rules are in the table."
    )
    flat = [v for row in counts for v in row[:3]]
    printed = "3 of 3, 1 spurious, 5 unstable; in 3-D 3 of 3, 0, 4"
    return Finding("B058", printed, flat, None, verdict, why)


def tables(evidence: Evidence) -> dict[str, Table]:
    """Iterations by share of the starts, and what each memory holds."""
    at = ("50 %", "90 %", "95 %", "99 %", "100 %")
    first, ends = quantiles(evidence["stopped"]), quantiles(evidence["needed"])
    columns: dict[str, list[Any]] = {
        "starts": list(at),
        "first draw": first[0].tolist(),
        "mean of draws": first.mean(0).round(1).tolist(),
        "until the end is there": ends.mean(0).round(1).tolist(),
        "by the law": [*np.ceil(-np.log(1 - np.sqrt([0.5, 0.9, 0.95, 0.99])) / 0.15).tolist(), np.inf],
    }
    said = "Iterations that are enough for a share of the starts; stopped at the first step below 1e-4."
    return {"iterations": Table(columns, said), "memories": _memories(evidence)}


def _memories(evidence: Evidence) -> Table:
    rows = [(dims, k, name) for d, dims in enumerate((2, 3)) for k, name in enumerate(MEMORIES)]
    cells = [evidence["quality"][k, dims - 2] for dims, k, _ in rows]
    columns: dict[str, list[Any]] = {"dimensions": [r[0] for r in rows], "memory": [r[2] for r in rows]}
    names = ("stored and stable, of 3", "spurious stable", "unstable", "continua")
    columns |= {name: [int(c[i]) for c in cells] for i, name in enumerate(names)}
    columns["starts that end in a stored pattern (%)"] = [round(100 * c[4], 1) for c in cells]
    return Table(columns, "All equilibria; those of sign units are corners, and stable.")


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Share of the starts that still move, by iteration, beside the law; some of their paths."""
    t = np.arange(81)
    lines = {
        "until a step is below 1e-4": (t, moving(evidence["stopped"], t)),
        "until the end is there": (t, moving(evidence["needed"], t)),
        "1 - (1 - exp(-0.15 t))²": (t, 100 * (1 - enough(t))),
    }
    drawn = plots.panels({"Uniform starts in the square": lines}, x="iterations t", label="still moving (%)", log=True)
    mark(drawn, (STATED,))
    return {"iterations": drawn, "paths": energy_surface(memory(DESIGN, 2)).figure()}
