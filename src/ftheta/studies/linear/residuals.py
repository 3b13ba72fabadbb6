"""Why may the errors of a line be called normal?

Question: when the error of a row is a sum of k small uniform errors, how fast do the residuals of a fit become normal,
and when do they not?

    ε = Σ_{j=1}^{k} u_j,   u_j uniform, var ε = 1:      excess kurtosis of ε  =  -1.2 / k

Counter-cases: one heavy-tailed error (Student's t of 3 degrees), and 30 uniform errors with one of Cauchy among them,
which has no variance: the central limit theorem needs many terms, none of which decides alone.
Test of normality: Jarque and Bera, at the 5 % level.
Shapes: C cases (one a k, then the counter-cases), S samples, Q quantiles, B bins.

Cost: about 10 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from ... import plots
from ...draw import Draw
from ...formulas import jarque_bera
from ...models import LinearRegression
from .._study import Evidence, Finding, Verdict, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"A026": "confirmed"}
HEAVY = ("one error of t₃", "30 uniform, one Cauchy")  # counter-cases
EDGES = np.linspace(-4, 4, 33)  # of the histogram, in standard deviations
LEVEL = 0.05


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        terms: Numbers k of uniform errors that are added up, ascending.
        n: Rows of a sample.
        seeds: Samples.
    """

    terms: tuple[int, ...] = (1, 2, 3, 5, 10, 30)
    n: int = 2000
    seeds: int = 200


TINY = Config(terms=(1, 30), n=500, seeds=4)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Excess kurtosis and p of the test (S, C), and quantiles and histogram of the first sample's residuals."""
    found = pieces(_sample, [(config, seed) for seed in range(config.seeds)], run)
    many = {key: np.array([one[key] for one in found]) for key in ("kurtosis", "p")}
    shapes = {key: found[0][key] for key in ("quantiles", "density")}  # (C, Q), (C, B)
    return {"terms": np.array(config.terms), "n": config.n, **many, **shapes}


def _sample(config: Config, seed: int) -> Evidence:
    """Residuals of a line through rows with each kind of error."""
    rng = np.random.default_rng(Draw(seed).at("residuals").key())
    x = rng.standard_normal((config.n, 1))
    errors = [_uniform(rng, k, config.n) for k in config.terms]
    errors += [rng.standard_t(3, config.n), _uniform(rng, 30, config.n) + rng.standard_cauchy(config.n) / np.sqrt(30)]
    left = np.array([2 + 3 * x[:, 0] + e for e in errors])  # y: (C, n)
    left -= np.array([LinearRegression().fit(x, y).predict(x) for y in left])
    tests = [jarque_bera(e) for e in left]
    left /= left.std(1, keepdims=True)
    return {
        "kurtosis": np.array([t[3] - 3 for t in tests]),
        "p": np.array([t[1] for t in tests]),
        "quantiles": np.quantile(left, _shares(), axis=1).T,
        "density": np.array([np.histogram(e, EDGES)[0] / len(e) / (EDGES[1] - EDGES[0]) for e in left]),
    }


def _uniform(rng: np.random.Generator, k: int, n: int) -> np.ndarray:
    """A sum of k uniform numbers with mean 0 and variance 1: (n,)."""
    return rng.uniform(-1, 1, (k, n)).sum(0) * np.sqrt(3 / k)


def _shares() -> np.ndarray:
    return (np.arange(100) + 0.5) / 100


def judge(evidence: Evidence) -> list[Finding]:
    """A026: kurtosis is -1.2/k, the test finds fewer faults as k grows, and heavy tails stay."""
    k, kurtosis = evidence["terms"], evidence["kurtosis"]  # (S, C)
    mean, error = kurtosis.mean(0), kurtosis.std(0, ddof=1) / np.sqrt(len(kurtosis))
    rejected = (evidence["p"] < LEVEL).mean(0)
    of_k, heavy = rejected[: len(k)], rejected[len(k) :]
    right = (abs(mean[: len(k)] + 1.2 / k) < 4 * error[: len(k)] + 6 / evidence["n"]).all()  # normal rows: -6/(n + 1)
    falls = of_k[0] > 0.95 and of_k[-1] < 0.15 and (np.diff(of_k) <= 0.05).all()
    verdict: Verdict = "confirmed" if right and falls and (heavy > 0.95).all() else "not reproduced"
    said = ", ".join(f"{a}: {m:.3f} ({100 * r:.0f} %)" for a, m, r in zip(k, mean, of_k, strict=False))
    tails = ", ".join(f"{name} {100 * r:.0f} %" for name, r in zip(HEAVY, heavy, strict=True))
    why = (
        f"Excess kurtosis of the residuals, and in how many samples of {evidence['n']} rows normality is rejected, by "
        f"the number of uniform errors: {said}. Rejected with heavy tails: {tails}: many terms are not enough where "
        "one of them decides."
    )
    measured = [float(m) for m in mean[: len(k)]]
    spread = [float(s) for s in kurtosis.std(0, ddof=1)[: len(k)]]
    return [Finding("A026", [-1.2 / int(a) for a in k], measured, spread, verdict, why)]


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Kurtosis against the number of errors, histograms, and quantiles against those of the normal distribution."""
    k = evidence["terms"]
    kurtosis = {"residuals, mean of samples": evidence["kurtosis"].mean(0)[: len(k)], "-1.2 / k": -1.2 / k}
    shown = [0, len(k) - 1, len(k)]
    titles = [f"{k[0]} uniform error", f"{k[-1]} uniform errors", HEAVY[0]]
    middle, normal = (EDGES[1:] + EDGES[:-1]) / 2, ndtri(_shares())
    bell = np.exp(-(middle**2) / 2) / np.sqrt(2 * np.pi)
    of = lambda key, at, line: {  # noqa: E731
        title: {"residuals": (at, evidence[key][i]), "normal": (at, line)}
        for title, i in zip(titles, shown, strict=True)
    }
    return {
        "kurtosis": plots.panels(
            {"": {name: (k, v) for name, v in kurtosis.items()}},
            x="uniform errors k that are added up",
            label="excess kurtosis",
            log_x=True,
        ),
        "histogram": plots.panels(
            of("density", middle, bell), x="residual (standard deviations)", label="density", log=False
        ),
        "quantiles": plots.panels(
            of("quantiles", normal, normal), x="normal quantile", label="quantile of the residuals (sd)", log=False
        ),
    }
