"""What a model answers for rows: classes with probabilities, or numbers with intervals; and how good that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..measure import Scores, classification, half_width, labels, regression
from ._pixels import score_pixels

__all__ = ["LEVEL", "Answers", "answer", "assessed", "class_names", "scores", "spread_of"]

LEVEL = 0.95  # of the intervals of predicted numbers


class Answers(NamedTuple):
    """The answers for n rows; what a model cannot say is None. A class for every pixel is a map: (n, H, W)."""

    predicted: np.ndarray
    p: np.ndarray | None = None
    classes: list[Any] | None = None
    low: np.ndarray | None = None
    high: np.ndarray | None = None


def answer(estimator: Any, X: Any, spread: dict[str, Any] | None = None) -> Answers:
    """Predictions; for numbers with the interval of the model's likelihood, else with that of its errors in validation,
    else with that of its theory.
    """
    predicted = estimator.predict(X)
    if np.ndim(predicted) == 3:
        return Answers(predicted, classes=estimator.classes_.tolist())
    if hasattr(estimator, "predict_proba"):
        p = np.asarray(estimator.predict_proba(X), dtype=np.float64)
        return Answers(predicted, p / p.sum(1, keepdims=True), estimator.classes_.tolist())
    if hasattr(estimator, "classes_"):
        return Answers(predicted, classes=estimator.classes_.tolist())
    own = _own_interval(estimator, X) if spread is None or hasattr(estimator, "likelihood_") else None
    if own is not None:
        return Answers(predicted, low=own[:, 0], high=own[:, 1])
    if spread is None:
        return Answers(predicted)
    middle = predicted.astype(np.float64)  # in float32 the width of the interval would vary with rounding
    return Answers(predicted, low=middle - spread["half_width"], high=middle + spread["half_width"])


def assessed(estimator: Any, X: Any) -> dict[str, Any]:
    """What a model that predicts nothing says of rows: measures, with intervals of two standard errors."""
    found = estimator.assess(X).columns
    values = dict(zip(found["measure"], map(float, found["value"]), strict=True))
    errors = dict(zip(found["measure"], found["error"], strict=True))
    ends = {
        name: None if errors[name] in (None, "none") else [value - 1.96 * errors[name], value + 1.96 * errors[name]]
        for name, value in values.items()
    }
    method = {name: "none" if end is None else "standard error" for name, end in ends.items()}
    return {"scores": values, "level": LEVEL, "intervals": ends, "method": method}


def _own_interval(estimator: Any, X: Any) -> np.ndarray | None:
    try:
        return estimator.predict_interval(X, LEVEL) if hasattr(estimator, "predict_interval") else None
    except InputError:  # a likelihood of fixed scale
        return None


def class_names(classes: Sequence[Any], names: Sequence[str]) -> list[str]:
    """The names of the classes, if there is one for each."""
    return [str(c) for c in (names if len(names) == len(classes) else classes)]


def spread_of(estimator: Any, X: Any, y: np.ndarray) -> dict[str, Any] | None:
    """Half the width of an interval that holds 95 of 100 new numbers, from rows that were not fitted."""
    width = half_width(y - estimator.predict(X), LEVEL)
    return {"level": LEVEL, "half_width": width, "rows": len(y)} if np.isfinite(width) else None


def scores(task: str, y: np.ndarray, given: Answers, seed: int, names: Sequence[str] = ()) -> Scores:
    """Every metric that these answers allow; names are of the classes."""
    if task == "segment":
        classes = given.classes or []
        return score_pixels(y, given.predicted, classes, class_names(classes, names), seed=seed)
    if task == "classify" and given.p is None:
        return labels(y, given.predicted, given.classes, seed=seed)
    if task == "classify":
        return classification(y, given.p, given.classes, seed=seed)
    return regression(y, given.predicted, low=given.low, high=given.high, nominal=LEVEL, seed=seed)
