"""When is a model of the classes better than a model of the boundary?

Question: the same rows by logistic regression, which models p(y | x) alone, and by Gaussian class models, which model
p(x | y): do their boundaries agree, who needs fewer rows, who suffers where the Gaussians are wrong, and who can draw
new rows? Two worlds of twenty features with known p(y | x): in one the classes are round Gaussians two deviations apart
(Bayes error Φ(-1)); in the other the features are log-normal and the log-odds linear, so that only logistic regression
is right. Logistic regression has its default penalty, the linear discriminant its automatic shrinkage to a diagonal,
which is the truth of the first world.

    excess = E[wrong] - E[min(p, 1 - p)],      wrong has probability p or 1 - p at every test row: no noise of labels
    distance of drawn rows from fresh ones = max |F_drawn - F_fresh| of a feature (Kolmogorov), mean over features

Cost: about 40 CPU-seconds.
Reference: Ng and Jordan, On Discriminative vs. Generative Classifiers, NIPS 14 (2001).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import plots
from ...results import Table
from .._study import Evidence, Finding, Verdict, give, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B320": "confirmed"}
WORLDS = ("Gaussian classes", "log-normal features")
MODELS = ("logistic regression", "linear discriminant", "naive Bayes")
FEATURES, DISTANCE, SLOPE = 20, 2.0, 0.5


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        rows: Training rows, from few to many.
        seeds: Draws of them.
        test: Test rows, of which p(y | x) is known.
    """

    rows: tuple[int, ...] = (40, 80, 200, 600, 2000)
    seeds: int = 20
    test: int = 10_000


TINY = Config(rows=(40, 300), seeds=3, test=2000)


def _gaussian(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows (n, D), classes and P(1 | x) (n,) of two round Gaussians."""
    y = rng.permutation(np.arange(n) % 2)
    towards = np.full(FEATURES, FEATURES**-0.5)
    x = rng.standard_normal((n, FEATURES)) + DISTANCE * (y - 0.5)[:, None] * towards
    return x, y, 1 / (1 + np.exp(-DISTANCE * x @ towards))


def _skewed(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log-normal rows, whose log-odds are linear."""
    x = np.exp(rng.standard_normal((n, FEATURES)))
    p = 1 / (1 + np.exp(-SLOPE * (x[:, ::2] - x[:, 1::2]).sum(1)))
    return x, (rng.random(n) < p).astype(int), p


_MAKERS: tuple[Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]], ...] = (_gaussian, _skewed)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Excess errors (2, N, S, 3), and with most rows: cosine of the two planes, distance of drawn rows (2, S)."""
    keys = [(w, n, seed, config.test) for w in range(2) for n in config.rows for seed in range(config.seeds)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that few rows separate
        found = pieces(_piece, keys, run)
    shape = (2, len(config.rows), config.seeds)
    cosine, away = (np.array([f[key] for f in found]).reshape(shape)[:, -1] for key in ("cosine", "away"))
    excess = np.array([f["excess"] for f in found]).reshape(*shape, len(MODELS))
    bayes = np.array([f["bayes"] for f in found]).reshape(shape).mean((1, 2))
    return {"rows": list(config.rows), "excess": excess, "bayes": bayes, "cosine": cosine, "away": away}


def _piece(world: int, n: int, seed: int, test: int) -> dict[str, Any]:
    from ...models import GaussianNaiveBayes, LinearDiscriminant, LogisticRegression

    rng = np.random.default_rng([world, n, seed])
    x, y, _ = _MAKERS[world](n, rng)
    fresh, _, p = _MAKERS[world](test, rng)
    bayes = float(np.minimum(p, 1 - p).mean())
    plane, linear = LogisticRegression().fit(x, y), LinearDiscriminant(shrinkage="auto").fit(x, y)
    naive = GaussianNaiveBayes().fit(x, y)
    wrong = [float(np.where(m.predict(fresh) == 1, 1 - p, p).mean()) for m in (plane, linear, naive)]
    a, b = plane.coef_[0], linear.coef_[0]
    return {
        "excess": [w - bayes for w in wrong],
        "bayes": bayes,
        "cosine": float(a @ b / np.linalg.norm(a) / np.linalg.norm(b)),
        "away": _distance(linear.sample(test, random_state=seed)[0], fresh),
    }


def _distance(drawn: np.ndarray, fresh: np.ndarray) -> float:
    """Kolmogorov's distance, mean over features."""
    from scipy.stats import ks_2samp

    found: list[Any] = [ks_2samp(a, b, method="asymp") for a, b in zip(drawn.T, fresh.T, strict=True)]
    return float(np.mean([each.statistic for each in found]))


def judge(evidence: Evidence) -> list[Finding]:
    """B320: five parts, each computed over the seeds."""
    excess, cosine, away = (evidence[key] for key in ("excess", "cosine", "away"))
    few, many = excess[0, 0], excess[:, -1]  # (S, 3), (2, S, 3)
    parts = {
        "where the Gaussians are right the boundaries agree": np.median(cosine[0]) > 0.98,
        "and both come close to the Bayes error": np.median(many[0, :, :2]) < 0.01,
        "few rows favour the class model": _clear(few[:, 0] - few[:, 1]),
        "where the Gaussians are wrong logistic regression wins": _clear(many[1, :, 1:].min(1) - many[1, :, 0]),
        "the class model draws rows, good ones only where it is right": np.median(away[0]) < 0.05 < np.median(away[1]),
    }
    verdict, words = _graded(parts)
    rows = evidence["rows"]
    why = (
        f"Gaussian classes (Bayes error {evidence['bayes'][0]:.3f}): excess errors with {rows[0]} rows "
        f"{_by_model(few)}; with {rows[-1]} rows {_by_model(many[0])}, and the cosine of the two planes is "
        f"{give(cosine[0], '.4f')}. Log-normal features (Bayes error {evidence['bayes'][1]:.3f}): with {rows[-1]} rows "
        f"{_by_model(many[1])}. Rows drawn from the linear discriminant are {give(away[0], '.3f')} from fresh ones "
        f"where it is right, {give(away[1], '.3f')} where it is wrong; logistic regression draws none. {words}."
    )
    kept = np.concatenate([few, many[0], many[1]], axis=1)  # (S, 9)
    return [Finding("B320", "none stated", kept.mean(0).tolist(), kept.std(0, ddof=1).tolist(), verdict, why)]


def _clear(lead: np.ndarray) -> bool:
    """Whether a lead over seeds is above 0 by two standard errors."""
    return bool(lead.mean() > 2 * lead.std(ddof=1) / np.sqrt(len(lead)))


def _graded(parts: dict[str, Any]) -> tuple[Verdict, str]:
    held = sum(map(bool, parts.values()))
    words = "; ".join(f"{part}: {'yes' if holds else 'no'}" for part, holds in parts.items())
    if held == len(parts):
        return "confirmed", words
    return ("refuted" if held == 0 else "corrected" if 2 * held > len(parts) else "not reproduced"), words


def _by_model(excess: np.ndarray) -> str:
    """Of each model, from (S, 3)."""
    return ", ".join(f"{name} {give(column, '.3f')}" for name, column in zip(MODELS, excess.T, strict=True))


def tables(evidence: Evidence) -> dict[str, Table]:
    """Excess errors by world and number of rows, means over seeds."""
    cells = [(w, i) for w in range(2) for i in range(len(evidence["rows"]))]
    columns = {
        "world": [WORLDS[w] for w, _ in cells],
        "rows": [evidence["rows"][i] for _, i in cells],
        "Bayes error": [float(evidence["bayes"][w]) for w, _ in cells],
    }
    mean = evidence["excess"].mean(2)
    of_model = {name: [float(mean[w, i, k]) for w, i in cells] for k, name in enumerate(MODELS)}
    return {"excess": Table(columns | of_model, "Error above the Bayes error, means over seeds")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Excess error against training rows, a panel a world: means over seeds."""
    mean = evidence["excess"].mean(2)  # (2, N, 3)
    lines = {
        world: {name: (evidence["rows"], mean[w, :, k]) for k, name in enumerate(MODELS)}
        for w, world in enumerate(WORLDS)
    }
    return {"excess": plots.panels(lines, x="training rows", label="error above the Bayes error", log_x=True, log=True)}
