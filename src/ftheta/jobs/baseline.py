"""What the simplest answers score on the same rows, a constant of the training rows and a linear model; and which
threshold follows from what errors cost."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import get_tags

from .. import catalog, measure
from ..errors import InputError
from ..tasks import Task
from ..tasks.base import Names, Predictions, Values, in_words
from .prepare import Prepared

LINEAR = "linear"  # in the catalog
MAX_NUMBERS = 5_000_000  # of X, up to which a linear model takes less than a second
MODEL, OTHER = "model", "other"
BETTER, WORSE = "better than", "worse than"


class Relation(NamedTuple):
    """How a model compares."""

    said: str
    p: float | None  # of a paired test
    method: str


class Scored(NamedTuple):
    """A model, and what was asked of it."""

    task: Task
    model: Any
    X: Any
    y: Any  # as the task gives it
    answers: Predictions
    found: Mapping[str, Any]  # its scores, as the task gives them

    def against(
        self, constant: dict[str, float] | None, linear: Predictions | None = None, *, where: str = ""
    ) -> dict[str, Any]:
        """`baseline` and `verdict` of a result; nothing where no constant can be scored.

        Args:
            constant: What `Task.constant` learned from the training rows.
            linear: Predictions of a linear model.
            where: Last words of the verdict.
        """
        made = {} if constant is None else self.task.baseline(constant, self.answers)
        scores = {} if constant is None else self._scores(made)
        if self.judged not in scores:
            return {}
        first = self._relation(scores, made)
        name = self.task.baseline_name(made)
        known = {"name": name, "constant": constant, "scores": scores, "p": first.p, "method": first.method}
        known |= {"linear": None, "linear_p": None}
        words = f"{name} ({in_words(scores[self.judged])})"
        judged = self.task.said(self.judged)
        value = f"{judged[:1].upper()}{judged[1:]} {in_words(self.found['scores'][self.judged])}"
        said = f"{first.said} {words}{_p(first.p)}"
        if linear:
            known["linear"] = of_linear = self._scores(linear)
            second = self._relation(of_linear, linear)
            known["linear_p"] = second.p
            other = f"a linear model ({in_words(of_linear[self.judged])})"
            if second.said == first.said:
                both = "or" if first.said.startswith("not") else "and"
                said = f"{first.said} {words} {both} than {other}{_p(first.p, second.p)}"
            else:
                said += f", {'but' if first.said == BETTER else 'and'} {second.said} {other}{_p(second.p)}"
        return {"baseline": known, "verdict": f"{value} is {said}{where}."}

    @property
    def judged(self) -> str:
        """The score that the verdict quotes."""
        return self.task.judged or next(iter(self.found["scores"]))

    def _scores(self, made: Predictions) -> Values:
        return self.task.baseline_scores(self.y, made, list(self.found["scores"]), self.model, self.X)

    def _relation(self, scores: Values, made: Predictions) -> Relation:
        """By the paired test; where there is none, by the interval."""
        try:
            pair = self.task.compare(self.y, self.answers, made, (MODEL, OTHER)) if made else None
        except InputError:  # too few rows
            pair = None
        if pair is not None:
            unsure = f"not clearly {BETTER}" if pair.ahead == MODEL else f"not {BETTER}"
            said = {MODEL: BETTER, OTHER: WORSE, None: unsure}[pair.better]
            return Relation(said, float(pair.tests[0].p), pair.tests[0].test)
        value, other = self.found["scores"][self.judged], scores[self.judged]
        low, high = self.found.get("intervals", {}).get(self.judged) or (value, value)
        if measure.lower_is_better(self.judged):
            low, high, other = -high, -low, -other
        return Relation(BETTER if low > other else WORSE if high < other else f"not {BETTER}", None, "none")


def _p(*found: float | None) -> str:
    said = ["p < 0.001" if p < 0.001 else f"p = {p:.2g}" for p in found if p is not None]
    return "".join(f", {words}" for words in [" and ".join(dict.fromkeys(said))] if words)


def errors_by(task: Task, x: Any, found: Predictions, shape: Sequence[int]) -> measure.ErrorGroups | None:
    """Where the answers to raw rows of a table err; `shape` is that of images, which have no columns."""
    errors = task.errors(found["y"], found)
    if errors is None or len(shape) or getattr(x, "ndim", 0) != 2:
        return None
    return measure.error_groups(x, errors, name=task.error)


def linear_answers(job: Prepared, X: Any, raw: Any, names: Names) -> Predictions | None:
    """Predictions of a linear model of the same rows; None where it is one, is not for such data, or takes long.

    What a model takes as it is, e.g. missing cells of `raw` rows, is encoded for the linear one."""
    targets, own = catalog.card(LINEAR).targets, (job.kind.name, job.task.name)
    if own not in targets:
        return None
    x, y = (job.fit_arguments[name] for name in ("X", "y"))
    if np.size(x) > MAX_NUMBERS:
        return None
    if np.shape(getattr(job.estimator, "coef_", ()))[-1:] == np.shape(x)[-1:]:  # it is linear
        return None
    try:
        with warnings.catch_warnings(action="ignore"):
            model, takes = catalog.load(targets[own])(), get_tags(job.estimator).input_tags
            if takes.allow_nan or takes.categorical:
                encoder = job.kind.encoder(job.dataset, model)
                x, X = encoder.fit_transform(job.kind.take(job.dataset.x, job.fitted)), encoder.transform(raw)
            return job.task.predict(model.fit(x, y), X, names)
    except Exception:  # the result does not depend on it
        return None


# ---- costs


def loss_of(cost: str) -> list[list[float]]:
    """What each answer costs, a row per true class; `a:b` is the cost of a missed row of the second and a false one."""
    try:
        missed, false = (float(part) for part in cost.split(":"))
    except ValueError:
        raise InputError(f"--cost {cost}: expected two numbers, what a missed and a false row cost, as 10:1.") from None
    return [[0.0, false], [missed, 0.0]]


def threshold(y: Any, answers: Predictions, cost: str) -> measure.Threshold:
    """The cheapest threshold of two classes."""
    if answers.get("p") is None or len(answers["classes"]) != 2:
        raise InputError(f"--cost {cost} is for two classes with probabilities. Leave it out.")
    return measure.threshold(y, answers["p"][:, 1], loss=loss_of(cost), classes=list(answers["classes"]))
