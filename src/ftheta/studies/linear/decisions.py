"""Is the answer of the larger posterior the best one, and how near do models come to it?

Question: for N(0, 1) against N(2, 1), where along a movable threshold is the integrated error, or the cost, least; what
do thresholds chosen on validation rows cost; and how far above the Bayes error of made data do a linear model and a
small network stay?

    posterior crossing: π₀ l₀ N(x; 0, 1) = π₁ l₁ N(x; 2, 1)        excess error of a row: max P(k | x) - P(answer | x)

Cost: about 40 CPU-seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit

from ... import measure as measuring
from ... import plots
from ...data import makers
from ...draw import Draw
from ...formulas import Rule, gaussian_rule, risk
from ...models import LogisticRegression, MLPClassifier
from ...results import Table
from .._study import Evidence, Finding, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B209": "confirmed", "B210": "confirmed"}
EQUAL, RARE = (0.5, 0.5), (0.75, 0.25)
DEAR = ((0.0, 1.0), (100.0, 0.0))
PROBLEMS = {"equal priors": (EQUAL, None), "priors .75, .25": (RARE, None), "a miss costs 100": (RARE, DEAR)}
CUTS = np.linspace(-2.0, 4.0, 61)
SETS = ("two-gaussians", "xor", "blobs", "checkerboard")
MODELS = ("logistic regression", "network")


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        rows: Validation rows along the line on which a threshold is chosen.
        n: Rows of each made set to learn from, and as many to measure on.
        epochs: Passes of the network over them.
        seeds: Repetitions.
    """

    rows: int = 5000
    n: int = 4000
    epochs: int = 60
    seeds: int = 5


TINY = Config(rows=300, n=100, epochs=2, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Risks along the line, thresholds chosen on rows, and models against the truth of made sets."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    line: Evidence = {
        key: np.array([one[key] for one in map(_line, PROBLEMS)]) for key in ("risk", "least", "crossing")
    }
    line["plain"] = _paid(line["crossing"][1, 0], *PROBLEMS["a miss costs 100"])
    return line | {key: np.array([one[key] for one in found]) for key in found[0]}


def _line(problem: str) -> dict[str, Any]:
    """The integrated risk over the cuts, its least (cut, risk), and the posterior crossing with its risk."""
    given = PROBLEMS[problem]
    found: Any = minimize_scalar(_paid, args=given, bounds=(-4, 6), method="bounded", options={"xatol": 1e-9})
    (cut,) = gaussian_rule((0, 2), (1, 1), *given).cuts
    return {
        "risk": [_paid(c, *given) for c in CUTS],
        "least": [found.x, found.fun],
        "crossing": [cut, _paid(cut, *given)],
    }


def _paid(cut: float, priors: tuple[float, float], loss: Any) -> float:
    """What the answer 1 above a cut costs, by quadrature."""
    densities = [lambda x, m=m: math.exp(-((x - m) ** 2) / 2) / math.sqrt(2 * math.pi) for m in (0, 2)]
    return risk(densities, priors, Rule(np.array([cut]), np.array([0, 1])), loss)


def _seed(config: Config, seed: int) -> Evidence:
    """For each problem the cut that rows choose, and its true risk: (3, 2); error and excess of models: (4, 2, 4)."""
    chosen = [_chosen(config.rows, seed, *PROBLEMS[name]) for name in PROBLEMS]
    made = [[_against(config, seed, name, model) for model in MODELS] for name in SETS]
    return {"chosen": np.array(chosen), "models": np.array(made)}


def _chosen(n: int, seed: int, priors: tuple[float, float], loss: Any) -> tuple[float, float]:
    rng = np.random.default_rng(Draw(seed).at("line").key())
    y = (rng.random(n) < priors[1]).astype(int)
    x = 2 * y + rng.standard_normal(n)
    odds = np.log(priors[1] / priors[0]) + 2 * x - 2  # the true log-odds
    found = measuring.threshold(y, expit(odds), "cost", loss=loss).threshold
    cut = (float(logit(np.clip(found, 1e-300, 1 - 1e-16))) - np.log(priors[1] / priors[0]) + 2) / 2
    return cut, _paid(cut, priors, loss)


def _against(config: Config, seed: int, name: str, model: str) -> list[float]:
    """Error seen, Bayes error, excess error and excess log loss (NaN for more than two classes)."""
    train, fresh = (makers.make(name, n=config.n, seed=2 * seed + part) for part in (0, 1))
    fitted: Any = (
        LogisticRegression()
        if model == MODELS[0]
        else MLPClassifier(hidden=(32, 32), epochs=config.epochs, random_state=seed)
    )
    found = measuring.against_truth(fresh, fitted.fit(train.x, train.y).predict_proba(fresh.x))
    return [*(row[1] for row in found.error), found.loss[-1][1] if found.loss else np.nan]


def judge(evidence: Evidence) -> list[Finding]:
    """B209: least error at the posterior crossing. B210: least cost where the weighted posteriors cross."""
    return [_errors(evidence), _costs(evidence)]


def _flattered(evidence: Evidence, which: list[int]) -> float:
    """By how much the best threshold that rows chose beats the posterior crossing; above 0 would refute it."""
    return float((evidence["crossing"][which, 1] - evidence["chosen"][:, which, 1]).max())


def _errors(evidence: Evidence) -> Finding:
    least, crossing, beaten = evidence["least"][:2], evidence["crossing"][:2], _flattered(evidence, [0, 1])
    printed = np.array([[1, 0.158655], [1.54931, 0.127017]])
    here = bool(np.allclose(least, crossing, atol=1e-4) and np.allclose(crossing, printed, atol=1e-5, rtol=0))
    kept = evidence["chosen"][:, :2, 1].mean(0)
    why = (
        f"The integrated error is least within {abs(least - crossing)[:, 0].max():.0e} of the posterior crossing; "
        f"thresholds chosen on rows cost {kept[0]:.4f} and {kept[1]:.4f} on average and never less than the crossing."
    )
    verdict = "confirmed" if here and beaten < 1e-9 else "refuted"
    return Finding("B209", printed.ravel().tolist(), least.ravel().tolist(), None, verdict, why)


def _costs(evidence: Evidence) -> Finding:
    (cut, paid), crossing, beaten = evidence["least"][2], evidence["crossing"][2], _flattered(evidence, [2])
    plain, printed = float(evidence["plain"]), [-0.75328, 0.65452, 8.19812]
    measured = [float(cut), float(paid), plain]
    near = np.allclose(measured, printed, rtol=1e-5, atol=0) and abs(cut - crossing[0]) < 1e-4
    kept = evidence["chosen"][:, 2, 1]
    why = (
        f"The integrated cost is least where the weighted posteriors cross; at the threshold of least error it is "
        f"{plain / paid:.1f} times as much. Thresholds chosen on rows cost {kept.mean():.3f} on average."
    )
    verdict = "confirmed" if near and beaten < 1e-9 else "refuted"
    return Finding("B210", printed, measured, None, verdict, why)


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Error over a movable threshold, cost over it, and models above the Bayes error."""
    names, x = list(PROBLEMS), "threshold on x"
    error: Any = {x: CUTS, **{name: evidence["risk"][i] for i, name in enumerate(names[:2])}}
    label, title = "integrated error (share of rows)", "N(0, 1) against N(2, 1)"
    near, (best, paid) = CUTS <= 2, evidence["least"][2]
    at, cost = np.append(CUTS[near], round(float(best), 4)), np.append(evidence["risk"][2][near], paid)
    order = at.argsort()
    excess = 100 * evidence["models"][..., 2]  # (S, sets, models)
    rows: Any = {
        f"excess error on {name} (% of rows)": [
            (model, *map(float, (v.mean(), v.min(), v.max()))) for model, v in zip(MODELS, excess[:, i].T, strict=True)
        ]
        for i, name in enumerate(SETS)
    }
    return {
        "error": plots.curves(error, x=x, label=label, title=title),
        "cost": plots.curves(
            {x: at[order].tolist(), f"priors .75, .25; {names[2]}": cost[order].tolist()},
            best=round(float(best), 4),  # pyright: ignore[reportArgumentType]
            x=x,
            label="expected cost per row",
            title=title,
        ),
        "models": plots.whiskers(rows, title="Above the Bayes error: mean and range over seeds", at=0.0),
    }


def tables(evidence: Evidence) -> dict[str, Table]:
    """Error, Bayes error and what lies between them, for each made set and model."""
    mean = evidence["models"].mean(0)  # (sets, models, 4)
    pairs = [(i, j) for i in range(len(SETS)) for j in range(len(MODELS))]
    nats = [float(mean[i, j, 3]) for i, j in pairs]
    columns = {
        "data": [SETS[i] for i, _ in pairs],
        "model": [MODELS[j] for _, j in pairs],
        **{
            name: [float(mean[i, j, k]) for i, j in pairs]
            for k, name in enumerate(("error", "Bayes error", "excess error"))
        },
        "excess log loss (nats)": [None if np.isnan(v) else v for v in nats],
    }
    return {"models": Table(columns, "Means over seeds, on fresh rows.")}
