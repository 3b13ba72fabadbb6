"""Forecast: the steps of a series that follow.

The targets are in X itself: a source of windows gives them. Answers are in the units of the series.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import likelihoods
from ..data.specs import TargetSpec
from ..errors import InputError
from ..likelihoods import Likelihood
from .base import Held, Names, Predictions, Task


@dataclass(frozen=True)
class Forecast(Task):
    """The next steps of every column of a series."""

    horizon: int = 1  # steps
    n_columns: int = 1  # of the series

    name: ClassVar[str] = "forecast"
    title: ClassVar[str] = "forecast"
    answers: ClassVar[str] = "the next steps"

    def learn(self, owner: str, y: Any, n: int, weight: np.ndarray | None = None, classes: Any = None) -> TargetSpec:
        if y is not None or weight is not None:
            raise InputError(f"{owner} learns from the series X itself; leave y and sample_weight out.")
        return TargetSpec("forecast", self.n_columns)

    def likelihood(self, spec: TargetSpec) -> Likelihood:
        return likelihoods.Gaussian()

    def predict(self, model: Any, X: Any, names: Names = (), held: Held = None) -> Predictions:
        """The steps after the end of X: (h, D)."""
        return {"predicted": model.predict(X)}

    def columns(self, predictions: Predictions) -> dict[str, Any]:
        """step, and a column for each of the series."""
        steps = np.asarray(predictions["predicted"]).reshape(len(predictions["predicted"]), -1)
        names = ["prediction"] if steps.shape[1] == 1 else [f"prediction {k + 1}" for k in range(steps.shape[1])]
        return {"step": np.arange(1, len(steps) + 1), **dict(zip(names, steps.T, strict=True))}
