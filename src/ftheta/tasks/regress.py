"""Regress: numbers, standardized inside where the likelihood allows it.

encoded y = (y - m) / s,      m, s: mean and standard deviation of the training rows
"""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from .. import check, likelihoods, measure
from ..data import Dataset
from ..data.specs import TargetSpec
from ..errors import InputError
from ..likelihoods import Likelihood
from ..results import Result, digits_of, fixed, percent
from .base import (
    LEAST_WATCHED,
    LEVEL,
    Headline,
    Held,
    Names,
    Predictions,
    Supervised,
    Values,
    as_json,
    in_words,
    of_intervals,
)


@dataclass(frozen=True)
class Regress(Supervised):
    """One or several columns of numbers; the spec holds their `mean` and `scale`, () or (T,)."""

    family: str | Likelihood = "gaussian"  # the likelihood: a name, or an instance, which is copied
    dtype: str = "float32"
    standardize: bool = True  # whether y is shifted and scaled inside

    name: ClassVar[str] = "regress"
    title: ClassVar[str] = "regression"
    answers: ClassVar[str] = "numbers"
    targets: ClassVar[tuple[str, ...]] = ("regression",)
    least_watched: ClassVar[int] = LEAST_WATCHED
    calibrates: ClassVar[bool] = True
    judged: ClassVar[str] = "RMSE"
    pictures: ClassVar[tuple[str, ...]] = ("tree", "fitted-curve")
    error: ClassVar[str] = "mean absolute error"

    def learn(self, owner: str, y: Any, n: int, weight: np.ndarray | None = None, classes: Any = None) -> TargetSpec:
        y = self._numbers(owner, y, n)
        spec = TargetSpec("regression", y.shape[1] if y.ndim == 2 else 1)
        like = self.likelihood(spec)
        bad = y[(y < 0) | (y != np.floor(y))] if like.support == "count" else np.empty(0)
        if bad.size:
            counts = f"likelihood={self.family!r} is for counts 0, 1, 2, ..., but y holds {bad.flat[0]:g}"
            raise InputError(f"{counts}. Use likelihood='gaussian'.")
        mean, scale = np.zeros(y.shape[1:]), np.ones(y.shape[1:])
        if self.standardize and like.standardize:
            mean = np.average(y, axis=0, weights=weight)
            spread = np.sqrt(np.average((y - mean) ** 2, axis=0, weights=weight))
            scale = np.where(spread > 1e-12 * np.abs(y).max(axis=0), spread, 1.0)
        return spec._replace(facts={"mean": np.asarray(mean), "scale": np.asarray(scale)})

    def encode(self, owner: str, y: Any, n: int, spec: TargetSpec) -> np.ndarray:
        """Standardized y: (n,), or (n, T) for several columns."""
        y = self._numbers(owner, y, n)
        if (y.shape[1] if y.ndim == 2 else 1) != spec.n:
            raise InputError(f"y has shape {y.shape}, but fit saw {spec.n} target column(s). Pass the same ones.")
        return (y - spec.facts["mean"]) / spec.facts["scale"]

    def likelihood(self, spec: TargetSpec) -> Likelihood:
        return likelihoods.by_name(self.family, spec) if isinstance(self.family, str) else deepcopy(self.family)

    def decode(self, predictions: np.ndarray, spec: TargetSpec) -> np.ndarray:
        """Predictions in the units of y, (n,) or (n, T); several columns come as float64."""
        dtype = np.float64 if spec.n > 1 else self.dtype
        predictions = predictions if spec.n > 1 else predictions.reshape(len(predictions))
        return (predictions.astype(np.float64) * spec.facts["scale"] + spec.facts["mean"]).astype(dtype)

    def learned(self, spec: TargetSpec) -> Mapping[str, tuple[tuple[int, ...], str]]:
        shape = (spec.n,) if spec.n > 1 else ()
        return {"mean": (shape, "f"), "scale": (shape, "f")}

    def _numbers(self, owner: str, y: Any, n: int) -> np.ndarray:
        y = check.target(owner, y, n, numeric=True, columns=True)
        if (most := np.abs(y).max()) > np.finfo(self.dtype).max / 1000:
            raise InputError(f"y holds {most:g}, too large for {self.dtype}. Rescale y or use dtype='float64'.")
        return y

    # ---- before training

    def check(self, data: Dataset) -> None:
        super().check(data)
        y = np.asarray(data.y)
        if y.dtype.kind not in "iuf":
            raise InputError(f"{data.name}: the target holds text ({str(y[0])!r}); --task regress needs numbers.")

    # ---- predictions

    def calibrate(self, model: Any, X: Any, y: Any) -> Values | None:
        """Half the width of an interval that holds 95 of 100 new numbers."""
        width = measure.half_width(y - model.predict(X), LEVEL)
        return {"level": LEVEL, "half_width": width, "rows": len(y)} if np.isfinite(width) else None

    def predict(self, model: Any, X: Any, names: Names = (), held: Held = None) -> Predictions:
        """With the interval of the likelihood, else of the errors in held-out rows, else of the theory."""
        predicted = model.predict(X)
        own = _interval(model, X) if held is None or hasattr(model, "likelihood_") else None
        low, high = (None, None) if own is None else own.T
        if own is None and held is not None:
            middle = predicted.astype(np.float64)  # in float32 the width of the interval would vary with rounding
            low, high = middle - held["half_width"], middle + held["half_width"]
        return {"predicted": predicted, "low": low, "high": high}

    def columns(self, predictions: Predictions) -> dict[str, Any]:
        ends = {name: predictions[name] for name in ("low", "high") if predictions[name] is not None}
        return {"prediction": predictions["predicted"], **ends}

    def shown(self, predictions: Predictions) -> dict[str, Any]:
        """With as many digits as the interval supports."""
        value, *ends = (predictions[name] for name in ("predicted", "low", "high"))
        rows = list(zip(value.tolist(), *([None] * len(value) if end is None else end for end in ends), strict=True))
        cells = [[fixed(x, digits_of(*row)) for x in row] for row in rows]
        width = max([len("prediction"), *(len(first) for first, *_ in cells)])
        found = {"prediction": [first.rjust(width) for first, *_ in cells]}
        return found if ends[0] is None else found | {"interval": [f"[{low}, {high}]" for _, low, high in cells]}

    def notes(self, predictions: Predictions) -> list[str]:
        none = predictions["low"] is None
        return ["no intervals: they need a model of the noise, or at least 19 validation rows"] if none else []

    # ---- how good they are

    def score(self, y: Any, predictions: Predictions, *, model: Any = None, X: Any = None, seed: int = 0) -> Values:
        ends = {"low": predictions["low"], "high": predictions["high"], "nominal": LEVEL}
        return as_json(measure.regression(y, predictions["predicted"], **ends, seed=seed))

    def constant(self, y: Any) -> dict[str, float] | None:
        """Mean and standard deviation."""
        return {"mean": float(np.mean(y)), "spread": float(np.std(y))} if np.ndim(y) == 1 else None

    def baseline(self, constant: Mapping[str, float], like: Predictions) -> Predictions:
        """The mean, with the interval that a normal distribution of this spread has."""
        n, mean, half = len(like["predicted"]), constant["mean"], float(ndtri((1 + LEVEL) / 2)) * constant["spread"]
        low, high = (None, None) if like["low"] is None else (np.full(n, mean - half), np.full(n, mean + half))
        return {"predicted": np.full(n, mean), "low": low, "high": high}

    def baseline_name(self, made: Predictions) -> str:
        return f"always {in_words(made['predicted'][0])}"

    def compare(self, y: Any, a: Predictions, b: Predictions, names: tuple[str, str]) -> Any:
        return measure.compare(y, a["predicted"], b["predicted"], names=names)

    def headlines(self, scores: Mapping[str, Any], y: Any, predictions: Predictions) -> Iterator[Headline]:
        """The typical error in units of y; the share that is explained; what the intervals hold."""
        yield Headline("typical error (RMSE)", "RMSE", lambda v: f"± {in_words(v)}")
        yield Headline("explained (R²)", "R²", lambda v: percent(v) if v > -1 else in_words(v))
        yield of_intervals(scores, "the truth")

    def errors(self, y: Any, predictions: Predictions) -> np.ndarray | None:
        return self.worst(y, predictions)["wrong"]

    def figures(self, y: Any, predictions: Predictions, target: str) -> dict[str, Callable[[], Result]]:
        ends = {name: predictions[name] for name in ("low", "high")}
        return {"Predicted and true": partial(measure.residuals, y, predictions["predicted"], **ends, name=target)}

    def worst(self, y: Any, predictions: Predictions) -> dict[str, np.ndarray]:
        y, predicted = np.asarray(y), np.asarray(predictions["predicted"])
        residual = y.astype(float) - predicted.astype(float)
        size = np.abs(residual).reshape(len(y), -1).max(1)
        return {"true": y, "predicted": predicted, "residual": residual, "wrong": size}

    def worst_note(self, y: Any, predictions: Predictions) -> str:
        return "The largest residuals first; a residual is truth minus prediction."


def _interval(model: Any, X: Any) -> Any:
    try:
        return model.predict_interval(X, LEVEL) if hasattr(model, "predict_interval") else None
    except InputError:  # a likelihood of fixed scale
        return None
