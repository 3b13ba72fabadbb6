"""Predictions for rows that a model did not learn from: a prepared training repeated inside its training part.

fold k:  encoder and model learn from its rows alone, validation rows for early stopping are taken from them,
         and both predict the rows held out;    the test part is never looked at
"""

import warnings
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..catalog import nearest
from ..data import holdout
from ..draw import Draw
from ..errors import FThetaError, InputError
from ..selection import folds
from ..tasks.base import Predictions
from .prepare import Prepared, encoded, split_by

FOLDS, PROBE = 5, 2000  # PROBE: rows of a quick trial


class Fold(NamedTuple):
    """Predictions of one fold; row numbers are those of the data."""

    rows: np.ndarray  # held out
    y: np.ndarray  # their targets, as the task gives them
    answers: Predictions
    constant: Predictions  # of what the rows that were learned from say without a model
    seconds: float  # of fitting


def part(job: Prepared) -> np.ndarray:
    """Rows that are not of the test part."""
    return np.sort(np.concatenate([job.split.train, job.split.validation]))


def parts(job: Prepared, k: int = FOLDS, place: str = "folds") -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to learn from and rows held out, for each of k folds of the training part; another `place`, other folds."""
    rows, (how, y) = part(job), split_by(job.config, job.dataset, job.task)
    labels, groups = (None if v is None else v[rows] for v in (y, job.dataset.groups))
    how = "random" if how == "stratified" and not job.task.stratify else how  # bins of numbers
    k += how == "chronological" and place != "folds"  # nothing is drawn: other folds are others in number
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # a class with fewer rows than folds
        found = folds(len(rows), k, Draw(job.config.seed).at(place), split=how, y=labels, groups=groups)
    return [(rows[learn], rows[held]) for learn, held in found]


class Opened(NamedTuple):
    """The rows of a fold, encoded by what the rows to learn from say."""

    held: np.ndarray
    X: Any  # of the rows held out
    y: Any
    learned: Any  # targets of the rows to learn from
    fit: dict[str, Any]  # what `fit` takes


def opened(job: Prepared, learn: np.ndarray, held: np.ndarray) -> Opened:
    """Encode a fold; rows for early stopping are taken from those to learn from."""
    encoder: Any = None if job.encoder is None else clone(job.encoder)
    learn, watched = _watched(job, learn)
    if encoder is not None:
        encoder.fit(job.kind.take(job.dataset.x, learn))
    parts = {"": learn, "_val": watched} if len(watched) else {"": learn}
    fit: dict[str, Any] = {}
    for end, rows in parts.items():
        fit["X" + end], fit["y" + end] = encoded(job.kind, encoder, job.dataset, rows)
    learned = fit["y"]
    fit = {"X": fit["X"]} if job.kind.has_targets else fit
    return Opened(held, *encoded(job.kind, encoder, job.dataset, held), learned, fit)


def fold(job: Prepared, learn: np.ndarray, held: np.ndarray, *, seconds: float = np.inf) -> Fold:
    """Learn from some rows, predict others; training in steps ends after so many seconds."""
    rows, model = opened(job, learn, held), fresh(job)
    if job.stepped:
        model.set_params(training__seconds=seconds)
    began = perf_counter()
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # the training on all rows gives them
        model.fit(**rows.fit)
    return answered(job, rows, model, perf_counter() - began)


def fresh(job: Prepared) -> Any:
    """A model that is not fitted, and that shows no progress."""
    model: Any = clone(job.estimator)
    model.set_params(**getattr(model, "in_folds", {}))
    return model.set_params(training__progress=False) if job.stepped else model


def answered(job: Prepared, rows: Opened, model: Any, seconds: float = np.nan) -> Fold:
    """What a fitted model predicts for the rows held out."""
    labels, names = np.unique(np.asarray(job.dataset.y)), job.dataset.target_names
    own = getattr(model, "classes_", None)  # a fold need not have each
    known = names if own is None or not len(names) else [names[k] for k in np.searchsorted(labels, own)]
    kept, _, answers = job.task.answered(model, rows.X, rows.y, known)
    truth, learned = (job.task.truth(y, _Classes(labels), names) for y in (rows.y, rows.learned))
    constant = job.task.constant(learned)
    simple = {} if constant is None else job.task.baseline(constant, answers)
    return Fold(rows.held[kept], truth[kept], answers, simple, seconds)


def _watched(job: Prepared, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from and rows for early stopping, by the share that the training would take."""
    if not (job.validates and len(job.split.validation)):
        return rows, rows[:0]
    (how, y), share = split_by(job.config, job.dataset, job.task), len(job.split.validation) / len(part(job))
    labels, groups = (None if v is None else v[rows] for v in (y, job.dataset.groups))
    draw = Draw(job.config.seed).at("validation")
    kept, held = holdout(len(rows), share, draw, split=how, y=labels, groups=groups)
    return rows[kept], rows[held]


class _Classes(NamedTuple):
    """What names of classes need of a model, whichever it knows."""

    classes_: np.ndarray


def joined(found: Sequence[Fold], *, constant: bool = False) -> tuple[np.ndarray, np.ndarray, Predictions]:
    """Rows, targets and predictions of several folds, in the order of the rows."""
    rows, y = (np.concatenate([getattr(f, name) for f in found]) for name in ("rows", "y"))
    order, each = np.argsort(rows, kind="stable"), [f.constant if constant else f.answers for f in found]
    return rows[order], y[order], {name: _joined(name, each, order) for name in each[0]}


def _joined(name: str, each: Sequence[Mapping[str, Any]], order: np.ndarray) -> Any:
    """One entry of predictions; classes are those of every fold, with probability 0 where a fold has none of one."""
    if name == "classes":
        return list(dict.fromkeys(label for a in each for label in a["classes"]))
    if any(a[name] is None for a in each):
        return None
    if name != "p":
        return np.concatenate([a[name] for a in each])[order]
    classes = _joined("classes", each, order)
    p = np.zeros((len(order), len(classes)))
    ends = np.cumsum([0, *(len(a["p"]) for a in each)])
    for a, start, stop in zip(each, ends, ends[1:], strict=False):
        p[start:stop, [classes.index(label) for label in a["classes"]]] = a["p"]
    return p[order]


def metric_of(jobs: Sequence[Prepared], asked: str) -> str:
    """The score that orders models, known from quick trials until one has it."""
    if not asked and jobs[0].task.judged:
        return jobs[0].task.judged
    known: dict[str, None] = {}
    for job in jobs:
        try:
            learn, held = parts(job, 2)[0]
            probe = fold(job, learn[:: max(1, len(learn) // PROBE)], held[:: max(1, len(held) // PROBE)])
        except FThetaError:  # which is said where the model is tried
            continue
        known |= dict.fromkeys(job.task.score(probe.y, probe.answers)["scores"])
        if not asked or asked in known:
            return asked or next(iter(known))
    if not known:
        return asked
    raise InputError(f"--metric: {nearest('metric', asked, list(known))}")
