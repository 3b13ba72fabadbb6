"""Forecast: the next steps of a series, by free run from origins that roll through the steps to be predicted.

score of a test part: a forecast of `horizon` steps from its first step, the next one from where that ends, and so on;
each sees all values before its origin, and none after it
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .. import likelihoods, measure
from ..data import Dataset
from ..data.specs import TargetSpec
from ..errors import InputError
from ..likelihoods import Likelihood
from ..results import Result
from .base import LEVEL, Headline, Held, Names, Predictions, Task, Values, as_json, in_words, of_intervals


@dataclass(frozen=True)
class Forecast(Task):
    """The next steps of every column of a series, in its units; a source of windows of X gives the targets."""

    horizon: int = 1  # steps
    n_columns: int = 1  # of the series, those forecast along included
    n_targets: int = 1

    name: ClassVar[str] = "forecast"
    needs_y: ClassVar[bool] = True
    title: ClassVar[str] = "forecast"
    answers: ClassVar[str] = "the next steps"
    judged: ClassVar[str] = "MASE"
    asked_by: ClassVar[tuple[str, ...]] = ("horizon", "known_ahead")

    def learn(self, owner: str, y: Any, n: int, weight: np.ndarray | None = None, classes: Any = None) -> TargetSpec:
        if y is not None or weight is not None:
            raise InputError(f"{owner} learns from the series X itself; leave y and sample_weight out.")
        return TargetSpec("forecast", self.n_columns)

    def likelihood(self, spec: TargetSpec) -> Likelihood:
        return likelihoods.Gaussian()

    def check(self, data: Dataset) -> None:
        """A series of numbers."""

    def predict(self, model: Any, X: Any, names: Names = (), held: Held = None) -> Predictions:
        """Forecasts for the rows of X from rolling origins; `kept` are the rows that have one."""
        return model.rolled(X, level=LEVEL)

    def truth(self, y: Any, model: Any, names: Names = ()) -> Any:
        return np.asarray(y, float)

    def answered(
        self, model: Any, X: Any, y: Any, names: Names = (), held: Held = None
    ) -> tuple[np.ndarray | slice, Any, Predictions]:
        """The first steps of a series have no forecast."""
        made = self.predict(model, X, names, held)
        kept = made.pop("kept")
        del made["y"]
        return kept, self.truth(y, model)[kept], made

    def columns(self, predictions: Predictions) -> dict[str, Any]:
        """As `Steps` gives them."""
        if hasattr(predictions, "columns"):
            return predictions.columns()  # type: ignore[no-any-return]
        made = np.asarray(predictions["predicted"]).reshape(len(predictions["predicted"]), -1)
        names = ["prediction"] if made.shape[1] == 1 else [f"prediction {k + 1}" for k in range(made.shape[1])]
        return {"lead": predictions["lead"], **dict(zip(names, made.T, strict=True))}

    def notes(self, predictions: Predictions) -> list[str]:
        low = predictions.low if hasattr(predictions, "low") else predictions["low"]  # type: ignore[attr-defined]
        return ["no intervals: the series is too short to measure errors"] if low is None else []

    # ---- how good they are

    def score(self, y: Any, predictions: Predictions, *, model: Any = None, X: Any = None, seed: int = 0) -> Values:
        found = _backtest(y, predictions)
        return {**as_json(found.scores(seed=seed)), "how": found.how}

    def constant(self, y: Any) -> dict[str, float] | None:
        return {}  # predictions have those of the seasonal naive forecast

    def baseline(self, constant: Mapping[str, float], like: Predictions) -> Predictions:
        return {**like, "predicted": like["naive"], "low": None, "high": None}

    def baseline_name(self, made: Predictions) -> str:
        return "the seasonal naive forecast"

    def compare(self, y: Any, a: Predictions, b: Predictions, names: tuple[str, str]) -> Any:
        """By the mean squared error after each origin."""
        first, second = measure.forecast_tests(y, a["predicted"], b["predicted"], a["origin"])
        return measure.compare(np.zeros(len(first)), first, second, names=names) if len(first) > 1 else None

    def headlines(self, scores: Mapping[str, Any], y: Any, predictions: Predictions) -> Iterator[Headline]:
        """The error in units of the naive forecast's and of the series; what the intervals hold."""
        yield Headline("error over that of the naive forecast (MASE)", "MASE", in_words)
        yield Headline("typical error (RMSE)", "RMSE", lambda v: f"± {in_words(v)}")
        yield of_intervals(scores, "what came")

    def figures(self, y: Any, predictions: Predictions, target: str) -> dict[str, Callable[[], Result]]:
        return {"Forecast and what came": partial(_backtest, y, predictions, target)}

    def worst(self, y: Any, predictions: Predictions) -> dict[str, np.ndarray] | None:
        residual = np.asarray(y, float) - predictions["predicted"]
        if residual.ndim > 1:
            return None
        facts = {"true": np.asarray(y), "predicted": predictions["predicted"], "steps ahead": predictions["lead"]}
        return {**facts, "residual": residual, "wrong": np.abs(residual)}

    def worst_note(self, y: Any, predictions: Predictions) -> str:
        return "The largest errors first; a residual is truth minus forecast."


def _backtest(y: Any, predictions: Predictions, name: str = "forecast") -> measure.Backtest:
    return measure.Backtest.of({**predictions, "y": np.asarray(y, float)}, name=name)
