"""What does a model of the classes know that a model of the boundary does not?

The same rows by logistic regression, which models p(y | x) alone, and by Gaussian class models, which model p(x | y):
how far is each from the Bayes error, and are rows that the class model draws like fresh ones? Two scenarios of twenty
features with known p(y | x): round Gaussians two deviations apart (Bayes error Φ(-1)), and log-normal features with
linear log-odds, where only logistic regression is right. Logistic regression has its default penalty, the linear
discriminant its automatic shrinkage to a diagonal, which is the truth of the first scenario.

    excess = E[wrong] - E[min(p, 1 - p)],      wrong has probability p or 1 - p at every test row: no noise of labels
    distance of drawn rows from fresh ones = max |F_drawn - F_fresh| of a feature (Kolmogorov), mean over features

Reference: Ng and Jordan, On Discriminative vs. Generative Classifiers, NIPS 14 (2001).
"""

import warnings
from typing import Any

import numpy as np
from scipy.stats import ks_2samp

from ...models import GaussianNaiveBayes, LinearDiscriminant, LogisticRegression
from .. import Checks, Measured, Study, holds, less, more

SCENARIOS = ("Gaussian classes", "log-normal features")
FEATURES, DISTANCE, SLOPE = 20, 2.0, 0.5


def draw(scenario: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows (n, D), classes and P(1 | x) (n,)."""
    if scenario == SCENARIOS[0]:
        y = rng.permutation(np.arange(n) % 2)
        towards = np.full(FEATURES, FEATURES**-0.5)
        x = rng.standard_normal((n, FEATURES)) + DISTANCE * (y - 0.5)[:, None] * towards
        return x, y, 1 / (1 + np.exp(-DISTANCE * x @ towards))
    x = np.exp(rng.standard_normal((n, FEATURES)))
    p = 1 / (1 + np.exp(-SLOPE * (x[:, ::2] - x[:, 1::2]).sum(1)))
    return x, (rng.random(n) < p).astype(int), p


def measure(seed: int, scenario: str, rows: int, *, test: int = 10_000) -> dict[str, Any]:
    """Excess errors of three models, the cosine of the two planes, and the distance of drawn rows."""
    rng = np.random.default_rng([SCENARIOS.index(scenario), rows, seed])
    (x, y, _), (fresh, _, p) = draw(scenario, rows, rng), draw(scenario, test, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes that few rows separate
        plane, linear = LogisticRegression().fit(x, y), LinearDiscriminant(shrinkage="auto").fit(x, y)
        naive = GaussianNaiveBayes().fit(x, y)
    wrong = [np.where(model.predict(fresh) == 1, 1 - p, p).mean() for model in (plane, linear, naive)]
    bayes = np.minimum(p, 1 - p).mean()
    a, b = plane.coef_[0], linear.coef_[0]
    drawn = linear.sample(test, random_state=seed)[0]
    apart: list[Any] = [ks_2samp(*columns, method="asymp") for columns in zip(drawn.T, fresh.T, strict=True)]
    return {
        **dict(zip(("logistic regression", "linear discriminant", "naive Bayes"), wrong - bayes, strict=True)),
        "Bayes error": bayes,
        "cosine of the planes": a @ b / np.linalg.norm(a) / np.linalg.norm(b),
        "distance of drawn rows": np.mean([each.statistic for each in apart]),
    }


TINY = {"seeds": 3, "rows": (40, 300), "test": 2000}
study = Study(measure, {"scenario": SCENARIOS, "rows": (40, 80, 200, 600, 2000)}, seeds=20, tiny=TINY)


@study.claim(
    "B320", says="discriminative models learn the boundary, generative ones the probability distribution of each class"
)
def known(m: Measured) -> Checks:
    boundary, drawn = m["logistic regression"][:, -1], m["distance of drawn rows"][:, -1]  # (scenario, seed)
    yield less("with most rows the boundary is within 0.01 of the Bayes error, in both scenarios", boundary, 0.01)
    yield less("the class model draws rows like fresh ones where it is right (distance)", drawn[0], 0.05)
    yield more("and rows unlike them where it is wrong", drawn[1], 0.05)
    yield holds("a model of the boundary draws none", not hasattr(LogisticRegression, "sample"))
