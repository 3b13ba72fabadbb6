"""Tag: a class for each step of each sequence.

encoded y (n, T_max) = positions in the classes, -1 after the end, where the weight is 0

Predictions, and y beside them, are of all steps one after the other: (N,), N = Σ_i T_i, with `lengths` (n,). Steps of a
sequence go together, so intervals and tests resample sequences.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..check import plain, unequal
from ..data import Dataset
from ..data.kinds.base import padded
from ..data.specs import TargetSpec
from ..errors import InputError
from ..results import Result, counted, percent
from .base import Headline, Held, Names, Predictions, Values
from .classify import Classify, Parts, class_names, encode_labels, weighted


@dataclass(frozen=True)
class Tag(Parts, Classify):
    """Classes of steps; the spec holds `classes`, and `weights` where they differ."""

    name: ClassVar[str] = "tag"
    part_of: ClassVar[str] = "sequence"
    stratify: ClassVar[bool] = False
    each_step: ClassVar[bool] = True
    title: ClassVar[str] = "tagging"
    answers: ClassVar[str] = "a class for each step"
    targets: ClassVar[tuple[str, ...]] = ("tag",)
    error: ClassVar[str] = "share of wrong steps"
    pictures: ClassVar[tuple[str, ...]] = ()

    def learn(self, owner: str, y: Any, n: int, weight: np.ndarray | None = None, classes: Any = None) -> TargetSpec:
        rows = _labels(owner, y, n)
        flat = np.concatenate(rows)
        found = np.unique(flat if classes is None else np.asarray(classes))
        if len(found) < 2:
            raise InputError(f"The steps of y have 1 class ({found.tolist()[0]!r}); {owner} needs at least 2.")
        each = None if weight is None else np.repeat(weight, [len(row) for row in rows])
        return weighted(TargetSpec("tag", len(found), {"classes": found}), self.class_weight, flat, each)

    def match(self, owner: str, x: Any, y: Any) -> None:
        for i, (row, labels) in enumerate(zip(x.values, () if y is None else _labels(owner, y, len(x)), strict=False)):
            if len(row) != len(labels):
                sizes = f"y[{i}] has {counted(len(labels), 'label')} for {counted(len(row), 'step')}"
                raise InputError(f"{sizes} of X[{i}]; {owner} needs one for each step.")

    def encode(self, owner: str, y: Any, n: int, spec: TargetSpec) -> np.ndarray:
        """Positions in `classes`, (n, T_max); -1 after the end."""
        return padded([encode_labels(row, spec.facts["classes"]) + 1 for row in _labels(owner, y, n)]) - 1

    # ---- before training

    def check(self, data: Dataset) -> None:
        """At least two classes."""
        if not isinstance(data.y, list):
            raise InputError(f"{data.name} has one target for each sequence, not for each step. Leave --task out.")
        y = np.concatenate(data.y)
        if (y == y[0]).all():
            raise InputError(f"{data.name}: all steps have the class {str(y[0])!r}; at least 2 are needed.")

    def check_split(self, name: str, y_train: Any, y_test: Any) -> None:
        super().check_split(name, *(np.concatenate(y) if isinstance(y, list) and y else y for y in (y_train, y_test)))

    def leak_target(self, y: Any) -> Any:
        return None

    # ---- predictions

    def truth(self, y: Any, model: Any, names: Names = ()) -> np.ndarray:
        return super().truth(np.concatenate([np.asarray(plain(row)) for row in y]), model, names)

    def predict(self, model: Any, X: Any, names: Names = (), held: Held = None) -> Predictions:
        """Names of classes and probabilities of all steps, and the lengths of the sequences."""
        p = [np.asarray(row, dtype=np.float64) for row in model.predict_proba(X)]
        both, lengths = np.concatenate(p), np.array([len(row) for row in p])
        known = np.array(class_names(model, names))
        both = both / both.sum(1, keepdims=True)
        return {"predicted": known[both.argmax(1)], "p": both, "classes": known.tolist(), "lengths": lengths}

    def lines(self, predictions: Predictions) -> np.ndarray:
        return np.repeat(np.arange(len(predictions["lengths"])), predictions["lengths"])

    def columns(self, predictions: Predictions) -> dict[str, Any]:
        """step, the class and the probability of each class: one line for each step."""
        return {"step": _steps(predictions["lengths"]), **super().columns(predictions)}

    def shown(self, predictions: Predictions) -> dict[str, Any]:
        return {"step": _steps(predictions["lengths"]), **super().shown(predictions)}

    def draw(self, model: Any, X: Any, predictions: Predictions, title: str) -> tuple[Any, str] | None:
        return None

    # ---- how good they are

    def score(self, y: Any, predictions: Predictions, *, model: Any = None, X: Any = None, seed: int = 0) -> Values:
        """Accuracy, mean F1, log loss of the steps, and the share of sequences without a wrong step."""
        return self.resampled(_sums(np.asarray(y), predictions, self.lines(predictions)), _metrics, seed)

    def baseline(self, constant: Mapping[str, float], like: Predictions) -> Predictions:
        return {**super().baseline(constant, like), "lengths": like["lengths"]}

    def compare(self, y: Any, a: Predictions, b: Predictions, names: tuple[str, str]) -> Any:
        right = (np.asarray(y) == np.asarray(found["predicted"]) for found in (a, b))
        of_a, of_b = (np.bincount(self.lines(a), own) / a["lengths"] for own in right)
        return self.compared(of_a, of_b, names)

    def headlines(self, scores: Mapping[str, Any], y: Any, predictions: Predictions) -> Iterator[Headline]:
        right = np.asarray(y) == np.asarray(predictions["predicted"])
        yield Headline("right steps (accuracy)", "accuracy", percent, f"{right.sum():,} of {len(right):,} steps")
        yield Headline("mean over classes (F1)", "mean F1", percent)
        yield Headline("sequences without an error", "whole sequences", percent)

    def errors(self, y: Any, predictions: Predictions) -> np.ndarray | None:
        return self.worst(y, predictions)["wrong"]

    def confused(self, y: Any, predictions: Predictions) -> dict[str, np.ndarray]:
        return {}

    def figures(self, y: Any, predictions: Predictions, target: str) -> dict[str, Callable[[], Result]]:
        made = super().figures(y, predictions, target)
        return {{"Confusion matrix": "Confusion matrix of the steps"}.get(name, name): f for name, f in made.items()}

    def worst(self, y: Any, predictions: Predictions) -> dict[str, np.ndarray]:
        """For each sequence the steps that are wrong, its number of steps, and the share of wrong ones."""
        rows, lengths = self.lines(predictions), predictions["lengths"]
        wrong = np.bincount(rows, np.asarray(y) != np.asarray(predictions["predicted"]), len(lengths))
        return {"wrong steps": wrong.astype(int), "steps": lengths, "wrong": wrong / lengths}

    def worst_note(self, y: Any, predictions: Predictions) -> str:
        wrong = self.worst(y, predictions)["wrong"]
        some = f"{(wrong > 0).sum():,} of {len(wrong):,} sequences have a wrong step"
        return f"{some}; those with the largest share first."


def _labels(owner: str, y: Any, n: int) -> list[np.ndarray]:
    """A label for each step of each sequence."""
    if y is None or isinstance(y, str) or not hasattr(y, "__len__"):
        raise InputError(f"{owner} learns from labels: pass y, a list with one label for every step of each sequence.")
    if len(y) != n:
        raise unequal(n, "y", len(y))
    rows = [np.asarray(plain(y[i])) for i in range(n)]
    for i, row in enumerate(rows):
        if row.ndim != 1 or not len(row) or row.dtype.kind == "f" and (row != np.round(row)).any():
            needs = f"{owner} needs a class for every step, (T,)"
            raise InputError(f"y[{i}] has shape {row.shape}, type {row.dtype}; {needs}.")
    return rows


def _steps(lengths: np.ndarray) -> np.ndarray:
    """1, 2, ..., T_i of each sequence."""
    return np.concatenate([np.arange(1, n + 1) for n in lengths])


def _sums(y: np.ndarray, predictions: Predictions, rows: np.ndarray) -> np.ndarray:
    """Of each sequence 1, whether all is right, T_i, Σ -log p, and for each class right, true and predicted steps.

    (n, 4 + 3 K)
    """
    names, predicted, p = predictions["classes"], np.asarray(predictions["predicted"]), predictions["p"]
    true, said = (np.asarray(labels)[:, None] == np.array(names) for labels in (y, predicted))  # (N, K)
    loss = -np.log(np.maximum((np.asarray(p) * true).sum(1), np.finfo(float).tiny))
    each = np.column_stack([y != predicted, np.ones(len(y)), loss, true & said, true, said])
    found = np.stack([np.bincount(rows, column) for column in each.T], 1)
    found[:, 0] = found[:, 0] == 0
    return np.column_stack([np.ones(len(found)), found])


def _metrics(sums: np.ndarray) -> dict[str, Any]:
    """Scores of sums over sequences: (..., 4 + 3 K) -> (...)."""
    (n, whole, steps, loss), (right, true, said) = np.moveaxis(sums[..., :4], -1, 0), np.split(sums[..., 4:], 3, -1)
    with np.errstate(invalid="ignore"):  # 0 / 0, of a class that is nowhere, is NaN
        f1 = np.nanmean(2 * right / (true + said), axis=-1)
    found = {"accuracy": right.sum(-1) / steps, "mean F1": f1, "log loss": loss / steps}
    return found | {"whole sequences": whole / n}
