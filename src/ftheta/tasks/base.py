"""What every task defines: how targets are encoded, how predictions are shown and scored.

    task.learn(y) -> TargetSpec;    task.encode(y, spec);    task.likelihood(spec);    task.decode(predictions, spec)

    task.predict(model, X) -> Predictions;    columns, score, compare, figures, worst: of predictions
    task.constant(y) -> what is always predicted;    baseline, baseline_scores: of the constant

A task is a frozen dataclass that an estimator makes from its own parameters in `task()`. It keeps nothing of the data:
what is learned from y is a value, `TargetSpec`.
Shapes: n rows, K classes, T targets.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..data import Dataset
from ..data.specs import TargetSpec
from ..errors import InputError
from ..likelihoods import Likelihood
from ..measure import Comparison
from ..results import Result, percent

LEVEL = 0.95  # of all intervals
LEAST_WATCHED = 60  # validation rows of a table that stop training early; fewer are better learned from
Predictions = dict[str, Any]  # for n rows: `predicted`, and what else the model gives; saved in a run
Values = dict[str, Any]  # that JSON can hold
Held = Mapping[str, Any] | None  # what `calibrate` learned from held-out rows
Names = Sequence[str]  # of classes


class Headline(NamedTuple):
    """One of the first numbers of a report."""

    title: str
    score: str  # its name in the result
    show: Callable[[float], str]
    note: str = ""


@dataclass(frozen=True)
class Task:
    """Base of all tasks: learns from X alone, and predicts what the net does."""

    name: ClassVar[str]  # in the catalog
    needs_y: ClassVar[bool] = False
    stratify: ClassVar[bool] = False  # whether rows are held out class by class
    title: ClassVar[str] = "model of the rows"  # in a report
    answers: ClassVar[str] = "nothing"  # what is predicted
    targets: ClassVar[tuple[str, ...]] = ()  # tasks of data sets that it is for
    has_result: ClassVar[bool] = True  # whether test rows tell how good a model is
    wait: ClassVar[str] = ""  # what is shown before a result that takes long
    least_watched: ClassVar[int] = 0  # validation rows; a net learns from fewer, unless the user set them aside
    calibrates: ClassVar[bool] = False  # whether `calibrate` gives anything
    error: ClassVar[str] = ""  # what the mean of `errors` is
    judged: ClassVar[str] = ""  # the score that a verdict quotes; empty: the first
    each_step: ClassVar[bool] = False  # whether every step of a row has a target of its own
    asked_by: ClassVar[tuple[str, ...]] = ()  # settings that ask for it
    pictures: ClassVar[tuple[str, ...]] = ()  # explanations that open a report where a model has them, the best first

    def learn(self, owner: str, y: Any, n: int, weight: np.ndarray | None = None, classes: Any = None) -> TargetSpec:
        """What y is, from the training rows.

        Args:
            owner: Name of the estimator, for error messages.
            y: Targets as the user passed them.
            n: Number of rows of X.
            weight: Weights of the rows, (n,), or None where all are one.
            classes: All classes, where y need not have every one of them.
        """
        return TargetSpec("none")

    def match(self, owner: str, x: Any, y: Any) -> None:
        """Raise where the targets do not fit the parts of checked inputs, e.g. the steps of sequences."""

    def encode(self, owner: str, y: Any, n: int, spec: TargetSpec) -> Any:
        """What the loss compares with: an array or a list of n, or None."""
        return None

    def weigh(self, y: Any, weight: np.ndarray | None, spec: TargetSpec, *, train: bool) -> np.ndarray | None:
        """Weights of rows, (n,), or of their parts, (n, ...); in training multiplied by those of the classes."""
        return weight

    def likelihood(self, spec: TargetSpec) -> Likelihood | None:
        """What turns raw outputs into a loss and into predictions; None where the objective does."""
        return None

    def decode(self, predictions: Any, spec: TargetSpec) -> Any:
        """Predictions in the names or the units of y."""
        return predictions

    def verify(self, spec: TargetSpec) -> None:
        """Raise a ValueError where a spec that comes from a file is not one that `learn` makes."""
        for name, (shape, kinds) in self.learned(spec).items():
            found = spec.facts.get(name)
            if not isinstance(found, np.ndarray) or found.shape != shape or found.dtype.kind not in kinds:
                raise ValueError(f"{name} of y is {found!r:.40}; an array of shape {shape} is needed")

    def learned(self, spec: TargetSpec) -> Mapping[str, tuple[tuple[int, ...], str]]:
        """Shape and kinds of dtype of each fact of a spec."""
        return {}

    # ---- before training

    def check(self, data: Dataset) -> None:
        """Raise where the target of a data set cannot be learned."""

    def check_split(self, name: str, y_train: Any, y_test: Any) -> None:
        """Raise where the targets of the test rows cannot be learned from those of the training rows."""

    def validation_share(self, n: int) -> float:
        """Share of n rows that early stopping watches, unless the user says otherwise."""
        return 0.0

    def defaults(
        self, known: Mapping[str, Any], *, rows: int, watched: bool, labeled: bool, optimizer: str | None
    ) -> Any:
        """Parameters of the estimator and fields of Training, where the family has no defaults of its own.

        Args:
            known: The estimator's parameters.
            rows: Number of rows that are learned from.
            watched: Whether there are validation rows.
            labeled: Whether rows have targets.
            optimizer: The user's choice.
        """
        return {}, {}

    def leak_target(self, y: Any) -> Any:
        """The target that columns are compared with; None: no column can give it away."""
        return None

    # ---- predictions

    def calibrate(self, model: Any, X: Any, y: Any) -> Values | None:
        """What held-out rows tell about errors: saved in the run and passed to `predict` as `held`."""
        return None

    def truth(self, y: Any, model: Any, names: Names = ()) -> Any:
        """Targets in the form of predictions."""
        return y

    def predict(self, model: Any, X: Any, names: Names = (), held: Held = None) -> Predictions:
        """The predictions of a model for rows."""
        return {}

    def answered(
        self, model: Any, X: Any, y: Any, names: Names = (), held: Held = None
    ) -> tuple[np.ndarray | slice, Any, Predictions]:
        """Rows that have a prediction, their targets, and the predictions."""
        truth, made = self.truth(y, model, names), self.predict(model, X, names, held)
        return slice(None), truth, made

    def columns(self, predictions: Predictions) -> dict[str, Any]:
        """Predictions as the columns of a CSV file or a data frame."""
        return {"prediction": predictions["predicted"]}

    def lines(self, predictions: Predictions) -> np.ndarray | None:
        """The row that each line of `columns` is about; None: each has one."""
        return None

    def shown(self, predictions: Predictions) -> dict[str, Any]:
        """Predictions as the columns of a table on a terminal."""
        return self.columns(predictions)

    def notes(self, predictions: Predictions) -> list[str]:
        """What a reader of the predictions should know."""
        return []

    def draw(self, model: Any, X: Any, predictions: Predictions, title: str) -> tuple[Any, str] | None:
        """A figure of the prediction for one row and what it shows; None: there is none."""
        return None

    # ---- how good they are

    def score(self, y: Any, predictions: Predictions, *, model: Any = None, X: Any = None, seed: int = 0) -> Values:
        """Metrics with intervals as JSON values: scores, intervals, level, method; here the model's own score."""
        return {"scores": {"score": float(model.score(X, y))}}

    def constant(self, y: Any) -> dict[str, float] | None:
        """What to predict for every row, learned from the targets of the training rows; None: there is no such answer.

        Args:
            y: Targets, as `truth` gives them.
        """
        return None

    def baseline(self, constant: Mapping[str, float], like: Predictions) -> Predictions:
        """Predictions of `constant`, for as many rows and in the form of other predictions."""
        return {}

    def baseline_name(self, made: Predictions) -> str:
        """What `baseline` predicts, in words."""
        return "independent columns"

    def baseline_scores(self, y: Any, made: Predictions, names: Sequence[str], model: Any, X: Any) -> Values:
        """Of the scores with these names, those of `baseline` or of another model's predictions."""
        found = self.score(y, made)["scores"] if made else {}
        return {name: found[name] for name in names if name in found}

    def compare(self, y: Any, a: Predictions, b: Predictions, names: tuple[str, str]) -> Comparison | None:
        """Two models on the same rows; None where there is no paired test."""
        return None

    def said(self, name: str) -> str:
        """A score in a sentence."""
        return name

    def headlines(self, scores: Mapping[str, Any], y: Any, predictions: Predictions) -> Iterator[Headline]:
        """The first numbers of a report, at most three: the main score, one that guards it, one in the user's units."""
        yield from (Headline(self.said(name), name, in_words) for name in list(scores)[:3])

    def errors(self, y: Any, predictions: Predictions) -> np.ndarray | None:
        """The error of each row, (n,); None: rows have none."""
        return None

    def confused(self, y: Any, predictions: Predictions) -> dict[str, np.ndarray]:
        """Rows of the most frequent confusions, by their description in words."""
        return {}

    def figures(self, y: Any, predictions: Predictions, target: str) -> dict[str, Callable[[], Result]]:
        """Results for the report by their headings, the one that says most first."""
        return {}

    def worst(self, y: Any, predictions: Predictions) -> dict[str, np.ndarray] | None:
        """For each row `true`, `predicted`, other facts, and last `wrong`, 0 where it is right; None: nothing is."""
        return None

    def worst_note(self, y: Any, predictions: Predictions) -> str:
        """What the order of the worst rows is."""
        return ""

    def draw_worst(self, images: Any, y: Any, predictions: Predictions, worst: np.ndarray) -> Any:
        """A figure of the worst rows, images (k, H, W, C); None: the rows themselves are shown."""
        return None


def as_json(scores: Any) -> dict[str, Any]:
    """Scores without the number of rows, which the caller knows."""
    return {key: value for key, value in scores.as_json().items() if key != "rows"}


def of_intervals(scores: Mapping[str, Any], what: str) -> Headline:
    """The share of intervals that hold what they must; where there are none, the mean error."""
    if scores.get("coverage") is None:
        return Headline("mean error (MAE)", "MAE", in_words)
    half = in_words(scores["mean width"] / 2)
    return Headline(
        "intervals", "coverage", percent, f"of the {percent(LEVEL)} intervals hold {what}; they are ± {half} wide"
    )


def in_words(value: float) -> str:
    """A number for a sentence, with three digits.

    Example:
        >>> in_words(0.9), in_words(27.749), in_words(12345.6)
        ('0.900', '27.7', '12,346')
    """
    if abs(value) < 1e-9:  # rounding
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    return f"{value:,.{max(0, 2 - exponent)}f}" if -6 < exponent < 9 else f"{value:.3g}"


@dataclass(frozen=True)
class Supervised(Task):
    """Base of tasks that predict a target for each row."""

    needs_y: ClassVar[bool] = True

    def check(self, data: Dataset) -> None:
        if np.asarray(data.y).ndim > 1:
            raise InputError(f"{data.name} has a class for every pixel. Leave --task out.")

    def validation_share(self, n: int) -> float:
        return 0.1

    def defaults(
        self, known: Mapping[str, Any], *, rows: int, watched: bool, labeled: bool, optimizer: str | None
    ) -> Any:
        """Of nets: Adam at 0.003, l2 = 3 / rows, at most 200 epochs, stopped after 40 without a better validation loss.

        Without validation rows 300 epochs, of more than 700 rows fewer, at least 100. Chosen on fifty real tables.
        """
        if "optimizer" not in known:
            return {}, {}
        alone = max(100, min(300, 210_000 // rows))
        found: dict[str, Any] = {"epochs": 200, "patience": 40} if watched else {"epochs": alone}
        if optimizer in (None, "adam"):
            found["lr"] = 0.003
        return {name: value for name, value in found.items() if name in known}, {"l2": 3.0 / max(rows, 30)}

    def leak_target(self, y: Any) -> Any:
        return y
