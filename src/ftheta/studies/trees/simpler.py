"""When is logistic regression preferred over support vector machines and random forests?

The same rows by all three, where the log-odds are linear and where they are not. Logistic regression alone tests its
coefficients: a column that does not matter should get p < 0.05 in 5 of 100 fits, one that matters in nearly all. The
calibration error is that of probabilities, which support vector machines do not give.

    linear: log-odds 1.5 x_1 - x_2 + 0.7 x_3;      bent: log-odds 4 x_1 x_2;      5 columns N(0, 1)
"""

from typing import Any

import numpy as np

from ...draw import Draw
from ...measure import classification
from ...models import ForestClassifier, LogisticRegression, SVMClassifier
from .. import Checks, Measured, Study, holds, less, more, same

COLUMNS, IDLE = 5, 4  # the last column matters in neither problem


def draw(problem: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, D) and classes (n,)."""
    x = rng.standard_normal((n, COLUMNS))
    odds = 1.5 * x[:, 0] - x[:, 1] + 0.7 * x[:, 2] if problem == "linear" else 4 * x[:, 0] * x[:, 1]
    return x, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)


def measure(seed: int, problem: str, rows: int, *, test: int = 2000) -> dict[str, Any]:
    """Accuracy of each, calibration error where there are probabilities, and p-values of two columns."""
    rng = np.random.default_rng(Draw(seed).at("simpler").key())
    (x, y), (fresh, truth) = draw(problem, rows, rng), draw(problem, test, rng)
    plane, machine = LogisticRegression(l2=0.0).fit(x, y), SVMClassifier().fit(x, y)
    forest = ForestClassifier(n_estimators=100, random_state=seed).fit(x, y)
    p = np.asarray(plane.summary_.table().columns["p"][-COLUMNS:], dtype=float)
    found: dict[str, Any] = {"first column p < 0.05": float(p[0] < 0.05), "idle column p < 0.05": float(p[IDLE] < 0.05)}
    for name, model in {"logistic": plane, "forest": forest}.items():
        scores = {s.name: s.value for s in classification(truth, model.predict_proba(fresh)[:, 1]).scores}
        found[f"calibration error, {name}"] = scores["ECE"]
    for name, model in {"logistic": plane, "support vectors": machine, "forest": forest}.items():
        found[f"accuracy, {name}"] = float(np.mean(model.predict(fresh) == truth))
    return found


TINY = {"seeds": 2, "rows": (60,), "test": 200}
study = Study(measure, {"problem": ("linear", "bent"), "rows": (100, 400)}, seeds=40, tiny=TINY)


@study.claim("A052", says="a significant benefit of logistic regression is that it allows for significance tests")
def preferred(m: Measured) -> Checks:
    linear, bent = ({k: m[k][i] for k in m} for i in (0, 1))  # (rows, seed)
    yield more("a column that matters is found in more than 9 of 10 fits", linear["first column p < 0.05"], 0.9)
    yield same("one that does not in 1 of 20 fits", linear["idle column p < 0.05"].mean(0), 0.05, within=0.08)
    tests = [hasattr(rival, "summary_") for rival in (SVMClassifier, ForestClassifier)]
    yield holds("neither of the others tests anything", not any(tests))
    for other in ("support vectors", "forest"):
        rival = linear[f"accuracy, {other}"]
        yield more(f"linear log-odds: more accurate than {other}", linear["accuracy, logistic"], rival)
    accuracy = (bent[f"accuracy, {name}"] for name in ("logistic", "forest"))
    yield less("bent log-odds: less accurate than a forest by at least 0.1", *accuracy, least=0.1)
