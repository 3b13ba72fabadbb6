"""What does a regression line say of the sons of tall fathers, and of the year 2156?

Question 1: is centring enough for E[Y | X] = ρX? Pairs Y = 1.5 X + 0.5 ε, X standard normal; ρ = 1.5 / √2.5.

    slope of y on x = ρ sd(Y) / sd(X):      centred 1.5,      standardised ρ = 0.9487

Question 2: fathers 6 above their mean: where are their sons, if the slope is 2/3?
Question 3: straight lines through the winning times over 100 m, 1900 to 2004: when do women win, and when is it 0 s?
Beside the lines: what the data allow to say there, a 95 % prediction interval, and the leverage of that year against
the largest of the years that were seen; above 1 it is extrapolation.

Cost: about 5 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import plots
from ...data import load
from ...draw import Draw
from ...models import LinearRegression
from .._study import Evidence, Finding, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"A037": "corrected", "A038": "corrected", "A039": "confirmed"}
SLOPE, NOISE = 1.5, 0.5
RHO = SLOPE / np.hypot(SLOPE, NOISE)
GALTON, TALL = 2 / 3, 6.0
YEARS = {
    "men in 2156 (s)": 8.098,
    "women in 2156 (s)": 8.079,
    "crossing": 2152.6,
    "women at 0 s": 2636,
    "men at 0 s": 2892,
}


@dataclass(frozen=True)
class Config:
    """Settings; slopes are the sources'.

    Args:
        n: Pairs of a sample.
        seeds: Samples.
        heights: Standard deviation of fathers and of sons, in the unit of the deviation of 6.
    """

    n: int = 2000
    seeds: int = 50
    heights: float = 7.0


TINY = Config(n=200, seeds=3)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Lines through many samples of pairs, and two through the winning times."""
    found = pieces(_sample, [(config, seed) for seed in range(config.seeds)], run)
    return {key: np.array([one[key] for one in found]) for key in found[0]} | _sprint()


def _sample(config: Config, seed: int) -> Evidence:
    rng = np.random.default_rng(Draw(seed).at("means").key())
    x = rng.standard_normal(config.n)
    y = SLOPE * x + NOISE * rng.standard_normal(config.n)
    father = rng.standard_normal(config.n)
    son = config.heights * (GALTON * father + np.sqrt(1 - GALTON**2) * rng.standard_normal(config.n))
    father *= config.heights
    line = LinearRegression().fit(father[:, None], son)
    at = father.mean() + np.array([[TALL], [-TALL]])
    return {
        "centred": _slope(x - x.mean(), y - y.mean()),
        "standardised": _slope((x - x.mean()) / x.std(), (y - y.mean()) / y.std()),
        "correlation": float(np.corrcoef(x, y)[0, 1]),
        "sons": line.predict(at) - son.mean(),  # of fathers 6 above and 6 below
    }


def _slope(x: np.ndarray, y: np.ndarray) -> float:
    return float(LinearRegression().fit(x[:, None], y).coef_[0])


def _sprint() -> Evidence:
    data = load("sprint")
    year, women, seconds = data.x["year"].to_numpy(), data.x["women"].to_numpy() == 1, np.asarray(data.y)
    men, hers = (LinearRegression().fit(year[of][:, None], seconds[of]) for of in (~women, women))
    lines = np.array([[m.intercept_, m.coef_[0]] for m in (men, hers)])
    (a, b), (c, d) = lines
    then = np.array([[2156.0]])
    return {
        "lines": lines,
        "years": year,
        "women": women,
        "seconds": seconds,
        "said": np.array([a + 2156 * b, c + 2156 * d, (c - a) / (b - d), -c / d, -a / b]),
        "interval": np.stack([m.predict_interval(then)[0] for m in (men, hers)]),
        "leverage": np.array([_leverage(year[of], 2156.0) for of in (~women, women)]),
    }


def _leverage(x: np.ndarray, at: float) -> float:
    """Leverage of a place over the largest of the rows: 1/n + (x - mean)² / Σ(x - mean)²."""
    h = lambda v: 1 / len(x) + (v - x.mean()) ** 2 / np.sum((x - x.mean()) ** 2)  # noqa: E731
    return float(h(at) / h(x).max())


def judge(evidence: Evidence) -> list[Finding]:
    """A037 to A039."""
    return [_regression(evidence), _galton(evidence), _sprinters(evidence)]


def _regression(evidence: Evidence) -> Finding:
    centred, standard, rho = (evidence[key] for key in ("centred", "standardised", "correlation"))
    same = np.abs(standard - rho).max() < 1e-8
    away = abs(centred.mean() - RHO) > 4 * centred.std(ddof=1) and same
    why = (
        f"After centring alone the slope is {centred.mean():.3f}, away from the mean; after scaling both to unit "
        f"variance it is {standard.mean():.4f}, the correlation of every sample to {np.abs(standard - rho).max():.0e}. "
        "The exception is |ρ| = 1, not ρ = 1 alone."
    )
    verdict = "corrected" if away else "confirmed" if same else "not reproduced"
    return Finding("A037", float(RHO), float(centred.mean()), float(centred.std(ddof=1)), verdict, why)


def _galton(evidence: Evidence) -> Finding:
    tall, short = evidence["sons"].T
    same_side, closer = (tall > 0).all() and (short < 0).all(), (np.abs(evidence["sons"]) < TALL).all()
    why = (
        f"Sons of fathers {TALL:g} above the mean are {tall.mean():+.2f} from theirs, of fathers {TALL:g} below "
        f"{short.mean():+.2f}: on the father's side, and closer to the mean. One source says the opposite side."
    )
    right = abs(tall.mean() - GALTON * TALL) < 4 * tall.std(ddof=1) / np.sqrt(len(tall))
    verdict = "corrected" if same_side and closer and right else "not reproduced"
    return Finding("A038", -GALTON * TALL, float(tall.mean()), float(tall.std(ddof=1)), verdict, why)


def _sprinters(evidence: Evidence) -> Finding:
    off = np.abs(evidence["said"] - np.array(list(YEARS.values())))
    verdict = "confirmed" if (off < [5e-4, 5e-4, 0.05, 0.5, 0.5]).all() else "not reproduced"
    said = ", ".join(f"{name} {value:.5g}" for name, value in zip(YEARS, evidence["said"], strict=True))
    low, high = evidence["interval"].T
    why = (
        f"{said}. Extrapolation: the leverage of 2156 is {evidence['leverage'][0]:.0f} (men) and "
        f"{evidence['leverage'][1]:.0f} (women) times the largest of the data; even if the lines went on, the 95 % "
        f"intervals {low[0]:.2f} to {high[0]:.2f} s and {low[1]:.2f} to {high[1]:.2f} s overlap, and both lines end at "
        "0 s."
    )
    return Finding("A039", 2152.6, float(evidence["said"][2]), 0.0, verdict, why)


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Winning times and both lines as far as the year in which one of them reaches 0 s."""
    groups = {"men": ~evidence["women"], "women": evidence["women"]}
    rows = {name: (evidence["years"][of], evidence["seconds"][of]) for name, of in groups.items()}
    at = np.array([1900.0, 2700.0])
    lines = {name: (at, b + w * at) for name, (b, w) in zip(groups, evidence["lines"], strict=True)}
    marks = {"2156": 2156.0, "last Games used": 2004.0}
    return {"sprint": plots.extended(rows, lines, marks, x="year", y="winning time over 100 m (s)")}
