"""Tasks that learn from X alone: new rows like those of X, the stored pattern nearest to a cue, other features."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .. import check
from ..data.specs import TargetSpec
from ..measure import wilson
from ..results import percent
from .base import LEVEL, Headline, Held, Names, Predictions, Task, Values, in_words

WORDS = {  # what a part of the name of a score means
    "lower bound of mean log p(v)": "log-likelihood of a row (lower bound)",
    "mean log p(v)": "log-likelihood of a row",
    "-F(v) - log Z": "log-likelihood of a row (grays read as bits)",
    "mean log-pseudo-likelihood": "pseudo-likelihood of a row",
    "mean squared reconstruction error": "squared error of a reconstruction",
    "mean-field reconstruction": "error of a reconstruction",
    "hidden units that tell rows apart": "hidden units that tell rows apart",
    "ended in a stored pattern": "cues that end in a stored pattern",
    "converged": "cues that come to rest",
}
SHARES = ("ended in a stored pattern", "converged")


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
        numbers = [v if isinstance(v, int) else float(v) for v in table["value"]]  # a count stays one
        values = dict(zip(table["measure"], numbers, strict=True))
        errors = dict(zip(table["measure"], table["error"], strict=True))
        known = {name: error for name, error in errors.items() if error not in (None, "none", 0.0)}
        ends = {m: [v - 1.96 * known[m], v + 1.96 * known[m]] if m in known else None for m, v in values.items()}
        method = {name: "none" if end is None else "standard error" for name, end in ends.items()}
        for name in filter(values.__contains__, SHARES):
            ends[name], method[name] = list(wilson(round(values[name] * len(X)), len(X))), "Wilson"
        return {"scores": values, "level": LEVEL, "intervals": ends, "method": method}

    def said(self, name: str) -> str:
        """Without the unit, and without what the table says more."""
        return next((words for part, words in WORDS.items() if part in name), name.partition(" / ")[0])

    def headlines(self, scores: Mapping[str, Any], y: Any, predictions: Predictions) -> Iterator[Headline]:
        """The likelihood with its unit; errors; hidden units that learned something, or what becomes of cues."""
        names = [name for name in scores if not name.startswith("log Z")]
        counts = [name for name in names if "hidden units" in name]
        for name in [*names[:2], *(counts or names[2:3])]:
            unit = " nats" * name.endswith("/ nats") + f" of {name.rpartition(' ')[2]}" * (name in counts)
            show = percent if name in SHARES else str if name in counts else in_words
            yield Headline(self.said(name), name, lambda v, show=show, unit=unit: show(v) + unit)

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

    def defaults(
        self, known: Mapping[str, Any], *, rows: int, watched: bool, labeled: bool, optimizer: str | None
    ) -> Any:
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
