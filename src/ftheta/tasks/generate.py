"""Tasks that learn from X alone: new rows like those of X, the stored pattern nearest to a cue, other features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import check
from ..data.specs import TargetSpec
from .base import LEVEL, Held, Names, Predictions, Task, Values


@dataclass(frozen=True)
class Generate(Task):
    """Samples and densities; how good a model is, its method `assess` tells."""

    name: ClassVar[str] = "generate"
    title: ClassVar[str] = "density model"
    pictures: ClassVar[tuple[str, ...]] = ("samples",)
    wait: ClassVar[str] = "Looking at the test rows; the sum over all states may take a minute."

    def score(self, y: Any, predictions: Predictions, *, model: Any = None, X: Any = None, seed: int = 0) -> Values:
        """Measures of the model's own, with intervals of two standard errors."""
        if not hasattr(model, "assess"):
            return super().score(y, predictions, model=model, X=X, seed=seed)
        table = model.assess(X).columns
        values = dict(zip(table["measure"], map(float, table["value"]), strict=True))
        errors = dict(zip(table["measure"], table["error"], strict=True))
        known = {name: error for name, error in errors.items() if error not in (None, "none", 0.0)}
        ends = {m: [v - 1.96 * known[m], v + 1.96 * known[m]] if m in known else None for m, v in values.items()}
        method = {name: "none" if end is None else "standard error" for name, end in ends.items()}
        return {"scores": values, "level": LEVEL, "intervals": ends, "method": method}

    def constant(self, y: Any) -> dict[str, float] | None:
        return {}  # the model knows the means of its columns

    def baseline_scores(self, y: Any, made: Predictions, names: Sequence[str], model: Any, X: Any) -> Values:
        """The first score, a likelihood, for independent columns."""
        known = hasattr(model, "log_prob_independent")
        return {names[0]: float(model.log_prob_independent(X).mean())} if known else {}


@dataclass(frozen=True)
class Recall(Generate):
    """Stored patterns; y may name them."""

    name: ClassVar[str] = "recall"
    title: ClassVar[str] = "memory of patterns"
    pictures: ClassVar[tuple[str, ...]] = ("recall",)
    wait: ClassVar[str] = ""

    def encode(self, owner: str, y: Any, n: int, spec: TargetSpec) -> np.ndarray | None:
        """Labels of the patterns as they are, (n,); None where they have none."""
        if y is None:
            return None
        found = check.target(owner, y, n, numeric=False, columns=False)
        return found.astype(str) if found.dtype.kind == "O" and all(isinstance(v, str) for v in found) else found

    def defaults(self, known: Mapping[str, Any], *, watched: bool, labeled: bool, optimizer: str | None) -> Any:
        return ({"keep": "medoid"} if "keep" in known and labeled else {}), {}

    def predict(self, model: Any, X: Any, names: Names = (), held: Held = None) -> Predictions:
        return {"predicted": model.predict(X), "none": model.spurious}

    def notes(self, predictions: Predictions) -> list[str]:
        predicted, none = predictions["predicted"], predictions["none"]
        lost = int((predicted == none).sum())
        return [f"{lost} of {len(predicted)} rows ended in no stored pattern: {none!r}"] if lost else []


@dataclass(frozen=True)
class Transform(Task):
    """Features."""

    name: ClassVar[str] = "transform"
    has_result: ClassVar[bool] = False
