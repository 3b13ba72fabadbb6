"""Classify: one of two classes, one of several, or several labels of 0 and 1 each.

binary:  y in {0, 1} as floats;      multiclass:  y in {0, ..., K-1};      multilabel:  y (n, L) of 0 and 1
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.multiclass import type_of_target

from .. import catalog, check, likelihoods, measure
from ..data import Dataset
from ..data.specs import TargetSpec
from ..errors import InputError
from ..likelihoods import Likelihood
from ..results import Result, percent
from .base import LEAST_WATCHED, LEVEL, Headline, Held, Names, Predictions, Supervised, Task, Values, as_json

CONFUSIONS = 6  # pairs of classes, and rows of each, that are shown


@dataclass(frozen=True)
class Classify(Supervised):
    """Classes; the spec holds them as `classes`, and their weights as `weights`."""

    class_weight: Mapping[Any, float] | str | None = None
    dtype: str = "float32"  # of y where it is 0 or 1

    name: ClassVar[str] = "classify"
    stratify: ClassVar[bool] = True
    title: ClassVar[str] = "classification"
    answers: ClassVar[str] = "classes"
    targets: ClassVar[tuple[str, ...]] = ("binary", "multiclass")
    judged: ClassVar[str] = "accuracy"
    pictures: ClassVar[tuple[str, ...]] = ("tree", "regions", "class-axes")
    error: ClassVar[str] = "share of wrong rows"

    def learn(self, owner: str, y: Any, n: int, weight: np.ndarray | None = None, classes: Any = None) -> TargetSpec:
        y = check.target(owner, y, n, numeric=False, columns=True)
        spec = learn_classes(owner, y, classes)
        if self.class_weight is not None and spec.kind == "multilabel":
            raise InputError("class_weight is for one label per row; with several labels use sample_weight.")
        return weighted(spec, self.class_weight, y, weight)

    def encode(self, owner: str, y: Any, n: int, spec: TargetSpec) -> np.ndarray:
        """Positions in `classes`, (n,), or labels (n, L)."""
        y = check.target(owner, y, n, numeric=False, columns=spec.kind == "multilabel", quiet=True)
        if spec.kind != "multilabel":
            index = encode_labels(y, spec.facts["classes"])
            return index.astype(self.dtype) if spec.kind == "binary" else index
        if y.shape[1:] != (spec.n,) or not np.isin(y, (0, 1)).all():
            raise InputError(f"y must hold 0 or 1 for each of {spec.n} labels; got shape {y.shape}.")
        return np.asarray(y, dtype=self.dtype)

    def weigh(self, y: Any, weight: np.ndarray | None, spec: TargetSpec, *, train: bool) -> np.ndarray | None:
        if not train or "weights" not in spec.facts:
            return weight
        return spec.facts["weights"][y.astype(np.int64)] * (1.0 if weight is None else weight)

    def likelihood(self, spec: TargetSpec) -> Likelihood:
        return likelihoods.for_task(spec)

    def decode(self, predictions: np.ndarray, spec: TargetSpec) -> np.ndarray:
        """Positions as classes; labels as they are."""
        index = predictions.astype(np.int64)
        return index if spec.kind == "multilabel" else spec.facts["classes"][index]

    def learned(self, spec: TargetSpec) -> Mapping[str, tuple[tuple[int, ...], str]]:
        return learned_classes(spec)

    # ---- before training

    def check(self, data: Dataset) -> None:
        """At least two classes, with different names; fractions are not classes."""
        super().check(data)
        y = np.asarray(data.y)
        if (y == y[0]).all():
            rest = "at least 2 are needed. Check --target and the rows, or the folders: each class is one."
            raise InputError(f"{data.name}: the target has 1 class only ({str(y[0])!r}, {len(y)} rows); {rest}")
        if y.dtype.kind in "iuf" and (y != np.round(y)).any():
            first = y[np.argmax(y != np.round(y))]
            raise InputError(f"{data.name}: the target holds {first:g}, which is not a class. Use --task regress.")

    def check_split(self, name: str, y_train: Any, y_test: Any) -> None:
        """No class that only test rows have."""
        if np.asarray(y_test).dtype.kind in "OU" and np.asarray(y_train).dtype.kind in "iuf":
            y_train = [str(label) for label in np.unique(y_train).tolist()]  # one odd label makes a column text
        unseen = np.setdiff1d(y_test, y_train)
        if len(unseen):
            rows = np.isin(y_test, unseen).reshape(len(y_test), -1).any(1).sum()
            what = f"{rows} of {len(y_test)} test rows have a class that no training row has"
            advice = "Leave them out, or have classes on both sides with --split stratified."
            raise InputError(f"{name}: {what} ({', '.join(map(repr, unseen[:5].tolist()))}). {advice}")

    def validation_share(self, n: int) -> float:
        """A tenth; none where that is few rows."""
        return 0.0 if 0.1 * n < LEAST_WATCHED else 0.1

    # ---- predictions

    def truth(self, y: Any, model: Any, names: Names = ()) -> np.ndarray:
        name = dict(zip(model.classes_.tolist(), class_names(model, names), strict=True))
        return np.array([name.get(label, str(label)) for label in np.asarray(y).tolist()])

    def predict(self, model: Any, X: Any, names: Names = (), held: Held = None) -> Predictions:
        """Names of classes, with probabilities where the model has them."""
        p = np.asarray(model.predict_proba(X), dtype=np.float64) if hasattr(model, "predict_proba") else None
        p = None if p is None else p / p.sum(1, keepdims=True)
        return {"predicted": self.truth(model.predict(X), model, names), "p": p, "classes": class_names(model, names)}

    def columns(self, predictions: Predictions) -> dict[str, Any]:
        p, classes = predictions["p"], predictions["classes"]
        each = {} if p is None else {f"p({name})": p[:, k] for k, name in enumerate(classes)}
        return {"prediction": predictions["predicted"], **each}

    def shown(self, predictions: Predictions) -> dict[str, Any]:
        """The class with its probability, and the next one."""
        p, names = predictions["p"], [str(name) for name in predictions["classes"]]
        if p is None or len(names) < 2:
            return self.columns(predictions)
        first = [names.index(str(name)) for name in predictions["predicted"]]
        second = np.where(np.arange(len(names)) == np.array(first)[:, None], -1, p).argmax(1)
        sure = [p[i, k] for i, k in enumerate(first)]
        after = [f"{names[k]} ({_percent(p[i, k])})" for i, k in enumerate(second)]
        bars = [f"{_percent(q):>7} {'█' * round(10 * q):<10}" for q in sure]
        return {"prediction": [names[k] for k in first], "probability": bars, "then": after}

    def draw(self, model: Any, X: Any, predictions: Predictions, title: str) -> tuple[Any, str] | None:
        saliency = catalog.load(catalog.view("saliency").target)
        return saliency(model, X).figure(), "which pixels speak for the class"

    # ---- how good they are

    def score(self, y: Any, predictions: Predictions, *, model: Any = None, X: Any = None, seed: int = 0) -> Values:
        if predictions["p"] is None:
            return as_json(measure.labels(y, predictions["predicted"], predictions["classes"], seed=seed))
        return as_json(measure.classification(y, predictions["p"], predictions["classes"], seed=seed))

    def constant(self, y: Any) -> dict[str, float] | None:
        """The share of each class."""
        names, counts = np.unique(y, return_counts=True)
        return dict(zip(names.tolist(), (counts / len(y)).tolist(), strict=True))

    def baseline(self, constant: Mapping[str, float], like: Predictions) -> Predictions:
        """The most frequent class, with the shares of all as probabilities."""
        classes, n = like["classes"], len(like["predicted"])
        shares = np.array([constant.get(name, 0.0) for name in classes])
        p = None if like["p"] is None else np.tile(shares / shares.sum(), (n, 1))
        return {"predicted": np.full(n, classes[shares.argmax()]), "p": p, "classes": classes}

    def baseline_name(self, made: Predictions) -> str:
        return f"always '{made['predicted'][0]}'"

    def compare(self, y: Any, a: Predictions, b: Predictions, names: tuple[str, str]) -> Any:
        classes = list(dict.fromkeys([*a["classes"], *b["classes"]]))
        return measure.compare(y, a["predicted"], b["predicted"], classes=classes, names=names)

    def headlines(self, scores: Mapping[str, Any], y: Any, predictions: Predictions) -> Iterator[Headline]:
        """Accuracy; the recall of a rare class, or the mean of all; how well the classes are ranked."""
        right = np.asarray(y) == np.asarray(predictions["predicted"])
        yield Headline("right (accuracy)", "accuracy", percent, f"{right.sum():,} of {len(right):,} rows")
        rare = next((name for name in scores if name.startswith("recall(")), None)
        if rare is not None:
            own, said = (np.asarray(v).astype(str) == rare[7:-1] for v in (y, predictions["predicted"]))
            note = f"{(own & said).sum():,} of {own.sum():,}; {(said & ~own).sum():,} false alarms"
            yield Headline(f"“{rare[7:-1]}” found (recall)", rare, percent, note)
        elif "balanced accuracy" in scores:
            yield Headline("mean over classes (balanced accuracy)", "balanced accuracy", percent)
        if "ROC AUC" in scores:
            yield Headline("ranking (ROC AUC)", "ROC AUC", "{:.2f}".format, "chance: 0.50")

    def errors(self, y: Any, predictions: Predictions) -> np.ndarray | None:
        return (np.asarray(y) != np.asarray(predictions["predicted"])).astype(float)

    def confused(self, y: Any, predictions: Predictions) -> dict[str, np.ndarray]:
        """At most six pairs of classes, the most frequent first, and of each at most six rows, the worst first."""
        wrong = self.worst(y, predictions)["wrong"]
        order = np.argsort(-wrong, kind="stable")[: (wrong > 0).sum()]
        pairs = [(str(y[i]), str(predictions["predicted"][i])) for i in order]
        counted = sorted(Counter(pairs).items(), key=lambda found: (-found[1], found[0]))[:CONFUSIONS]
        words = {pair: f"{pair[0]} taken for {pair[1]} ({n:,})" for pair, n in counted}
        rows = {pair: [i for i, own in zip(order, pairs, strict=True) if own == pair] for pair in words}
        return {text: np.array(rows[pair][:CONFUSIONS]) for pair, text in words.items()}

    def figures(self, y: Any, predictions: Predictions, target: str) -> dict[str, Callable[[], Result]]:
        classes, p = list(predictions["classes"]), predictions["p"]
        matrix = partial(measure.confusion, y, predictions["predicted"], classes)
        if p is None:
            return {"Confusion matrix": matrix}
        return {
            "Confusion matrix": matrix,
            "ROC": partial(measure.roc, y, p, classes),
            "Precision and recall": partial(measure.precision_recall, y, p, classes),
            "Calibration": partial(measure.calibration, y, p, classes),
        }

    def worst(self, y: Any, predictions: Predictions) -> dict[str, np.ndarray]:
        """Of wrong rows the least probable truth first; a class that the model does not know has probability 0."""
        y, predicted, p = np.asarray(y), np.asarray(predictions["predicted"]), predictions["p"]
        if p is None:
            return {"true": y, "predicted": predicted, "wrong": (y != predicted).astype(float)}
        place = {name: k for k, name in enumerate(predictions["classes"])}
        at = np.array([place.get(name, -1) for name in y.tolist()], dtype=int)
        of_truth = np.where(at < 0, 0.0, np.asarray(p, dtype=float)[np.arange(len(at)), at])
        wrong = np.where(y == predicted, 0.0, 1 - of_truth)
        return {"true": y, "predicted": predicted, "p(true class)": of_truth, "wrong": wrong}

    def worst_note(self, y: Any, predictions: Predictions) -> str:
        wrong, n = int(np.sum(np.asarray(y) != np.asarray(predictions["predicted"]))), len(y)
        count = f"{wrong:,} of {n:,} rows were" if wrong else f"None of {n:,} rows was"
        ordered = wrong and predictions["p"] is not None
        order = "; rows whose true class was the least probable come first" if ordered else ""
        return f"{count} predicted wrongly{order}."


@dataclass(frozen=True)
class Parts(Task):
    """Base of tasks with a class for each part of a row, a step or a pixel; -1 is none. Rows are resampled."""

    part_of: ClassVar[str]  # what a row is
    least: ClassVar[int] = 10  # fewer rows give no interval

    def weigh(self, y: Any, weight: np.ndarray | None, spec: TargetSpec, *, train: bool) -> np.ndarray | None:
        """Weights of the parts (n, ...) where they differ within a row."""
        known, own = y >= 0, spec.facts.get("weights") if train else None
        if known.all() and own is None:
            return weight
        each = known * (1.0 if weight is None else weight.reshape(-1, *[1] * (y.ndim - 1)))
        return each if own is None else each * own[y]

    def likelihood(self, spec: TargetSpec) -> Likelihood:
        return likelihoods.Categorical()

    def learned(self, spec: TargetSpec) -> Mapping[str, tuple[tuple[int, ...], str]]:
        return learned_classes(spec)

    def validation_share(self, n: int) -> float:
        return 0.1

    def resampled(self, sums: np.ndarray, metrics: Any, seed: int, few: Mapping[str, Any] = {}) -> Values:
        """Metrics of sums over rows, (..., M) -> by name (...), from sums of each row (n, M); `few` have none."""
        n, boot, scores = len(sums), measure.Bootstrap(len(sums), LEVEL, seed=seed), []
        for name, value in metrics(sums.sum(0)).items():
            ends = None
            if n >= self.least and np.isfinite(value) and not few.get(name, False):
                ends = boot.interval(sums.T, lambda drawn, name=name: metrics(drawn)[name])
            scores.append(measure.Score.of(name, value, ends, f"bootstrap BCa of {self.part_of}s"))
        return as_json(measure.Scores(n, LEVEL, tuple(scores)))

    def compared(self, a: np.ndarray, b: np.ndarray, names: tuple[str, str]) -> measure.Comparison:
        """Two models by the shares of right parts in each row: (n,), (n,)."""
        n = len(a)
        if n < 2:
            raise InputError(f"There is one test {self.part_of}; two models cannot be compared on fewer than two.")
        tested = measure.paired_tests("accuracy", a - b, measure.Bootstrap(n, LEVEL, seed=0))
        return measure.Comparison(names, n, LEVEL, {"accuracy": (float(a.mean()), float(b.mean()))}, tested)


def class_names(model: Any, names: Sequence[str]) -> list[str]:
    """The names of a model's classes, if there is one for each."""
    return [str(c) for c in (names if len(names) == len(model.classes_) else model.classes_.tolist())]


# ---- classes and their weights, which other tasks need too


def learn_classes(owner: str, y: np.ndarray, classes: Any = None) -> TargetSpec:
    """The classes of y; several columns of 0 and 1 are labels."""
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind.startswith("continuous") or kind == "multiclass-multioutput":
        advice = "Use a regressor, or turn y into classes with KBinsDiscretizer."
        raise InputError(f"Unknown label type: {kind} (e.g. {np.ravel(y)[0]}). {advice}")
    if kind == "multilabel-indicator":
        return TargetSpec("multilabel", y.shape[1], {"classes": np.arange(y.shape[1])})
    found = np.unique(y if classes is None else np.asarray(classes))
    if len(found) < 2:
        rest = f"{owner} needs at least 2 classes. Check the label column or the split (use stratify=y)."
        raise InputError(f"y has 1 class ({found.tolist()[0]!r}, {len(y)} rows); {rest}")
    return TargetSpec("binary" if len(found) == 2 else "multiclass", len(found), {"classes": found})


def weighted(spec: TargetSpec, given: Any, y: np.ndarray, weight: np.ndarray | None) -> TargetSpec:
    """A spec of classes with their weights, if any are given, from labels (n,) and the weights of these."""
    if given is None:
        return spec
    found = spec.facts["classes"]
    counts = np.bincount(encode_labels(y, found), weights=weight, minlength=len(found)).astype(float)
    return spec._replace(facts={"classes": found, "weights": class_weights(given, found, counts)})


def learned_classes(spec: TargetSpec) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and dtypes of classes, and of their weights where they differ."""
    weights = {"weights": ((spec.n,), "f")} if "weights" in spec.facts else {}
    return {"classes": ((spec.n,), "biufUO"), **weights}


def encode_labels(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Labels as positions in `classes`; an unknown label is named."""
    index = np.searchsorted(classes, y)
    np.minimum(index, len(classes) - 1, out=index)
    unseen = classes[index] != y
    if unseen.any():
        known = ", ".join(map(str, classes[:8]))
        never = f"y has class {y[unseen].tolist()[0]!r} never seen before (classes_: {known})"
        raise InputError(f"{never}. Pass classes= or fit anew.")
    return index.astype(np.int64, copy=False)


def class_weights(given: Mapping[Any, float] | str | None, classes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The weight of each class; "balanced" is n / (K n_k), with n counted in row weights."""
    if given is None:
        return np.ones(len(classes))
    if isinstance(given, str):
        return counts.sum() / (len(classes) * np.maximum(counts, np.finfo(float).tiny))
    known = list(classes.tolist())
    unknown = [label for label in given if label not in known]
    if unknown:
        raise InputError(catalog.nearest("class in class_weight:", unknown[0], known))
    try:
        weights = np.array([float(given.get(label, 1.0)) for label in known])
    except (TypeError, ValueError):
        raise InputError(f"class_weight={dict(given)}: a weight must be a number.") from None
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise InputError(f"class_weight={dict(given)}: weights must be finite and >= 0, and one of them > 0.")
    return weights


def warn_unseen(y: Any, classes: np.ndarray) -> None:
    """Warn about a class that fit never saw: no prediction can be right there."""
    unseen = set(np.ravel(check.plain(y)).tolist()) - set(classes.tolist())
    if unseen:
        known = ", ".join(map(str, classes[:8]))
        never = f"y has class {min(unseen, key=str)!r} never seen in fit (classes_: {known})"
        warnings.warn(f"{never}. It counts as wrong; refit to include it.", stacklevel=3)


def _percent(p: float) -> str:
    return f"{100 * p:.{4 if p >= 0.99 else 3}g} %"
