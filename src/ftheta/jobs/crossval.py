"""Predictions for rows that a model did not learn from: a prepared training repeated inside its training part.

fold k:  encoder and model learn from its rows alone, validation rows for early stopping are taken from them,
         and both predict the rows held out;    the test part is never looked at
entrant: a model with a run of its own, trained once on the training part and judged fold by fold within a budget
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from time import monotonic, perf_counter
from types import SimpleNamespace
from typing import Annotated, Any, NamedTuple, NotRequired

import numpy as np
from annotated_types import Ge, Gt, Lt
from pydantic import TypeAdapter
from sklearn.base import clone
from typing_extensions import TypedDict  # in Python 3.11 pydantic takes no other

from ..catalog import nearest
from ..data import holdout
from ..draw import Draw
from ..errors import FileFormatError, FThetaError, InputError, RunError
from ..selection import folds
from ..store import Run, write_atomic
from ..tasks.base import Predictions
from .config import Config, merge
from .prepare import Prepared, digest, encoded, fit_arguments, split_by, targets
from .train import Watcher, fit_into, write_setup

FOLDS, PROBE = 5, 2000  # PROBE: rows of a quick trial
SHARE = 1 / 20  # of a budget, for one training in steps
PILOT, LARGE = 2000, 4000  # rows of a trial fit, and of data that has one


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
    fit = fit_arguments(job.kind, encoder, job.dataset, learn, watched)
    return Opened(held, *encoded(job.kind, encoder, job.dataset, held), targets(job.dataset.y, learn), fit)


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
    every = SimpleNamespace(classes_=labels)  # whichever the model knows
    truth, learned = (job.task.truth(y, every, names) for y in (rows.y, rows.learned))
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


# ---- entrants


class Clock:
    """What is left of a budget."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.end = seconds, monotonic() + seconds

    @property
    def left(self) -> float:
        return self.end - monotonic()


class Entrant:
    """A model in a comparison: its run, and what it predicts fold by fold."""

    def __init__(self, job: Prepared, run: Run) -> None:
        self.job, self.run, self.name = job, run, job.config.model
        self.folds: list[Fold] = []

    def pilot(self) -> float:
        """Seconds that a training may take, by a line through two on a few rows of large data."""
        rows = part(self.job)
        if len(rows) <= LARGE or self.job.stepped:
            return 0.0
        few = [rows[:: max(1, len(rows) // m)][:m] for m in (PILOT // 4, PILOT)]
        small, large = (fold(self.job, each, each[: PILOT // 10]).seconds for each in few)
        return large + max(0.0, large - small) * (len(rows) - len(few[1])) / (len(few[1]) - len(few[0]))

    def train(self, limit: float) -> None:
        """A run of it, trained on the training part; one that stands is taken as it is."""
        job = self.job
        if job.stepped:
            job.estimator.set_params(training__seconds=limit, training__progress=False)
        with self.run as run:
            write_setup(job, run)
            if not job.stepped:
                job.estimator.fit(**job.fit_arguments)
            fit_into(job, run, Watcher())

    def judge(self, k: int, learn: np.ndarray, held: np.ndarray, limit: float) -> None:
        """Predict one fold; what was predicted before an interruption is read."""
        file = f"fold-{k + 1}.safetensors"
        if not self.run.has(file):
            made = fold(self.job, learn, held, seconds=limit)
            with self.run:
                self.run.write(file, made._asdict())
        found = Fold(**self.run.tree(file))  # type: ignore[arg-type]
        if not np.array_equal(found.rows, held):
            raise RunError(f"{self.run.path}: the rows of the data are others than when it began. Start again.")
        self.folds.append(found)

    @property
    def seconds(self) -> float:
        """Of one training, the mean over folds."""
        return float(np.mean([f.seconds for f in self.folds]))

    @property
    def size(self) -> int:
        """Bytes of the trained model."""
        return (self.run.path / "model.safetensors").stat().st_size

    @cached_property
    def predicted(self) -> tuple[np.ndarray, np.ndarray, Predictions]:
        """Rows, targets and predictions of all folds."""
        return joined(self.folds)

    @cached_property
    def found(self) -> dict[str, Any]:
        """Scores with their intervals."""
        _, y, answers = self.predicted
        return self.job.task.score(y, answers, seed=self.job.config.seed)

    def keep(self) -> None:
        """Its predictions and scores as the result of its run."""
        rows, y, answers = self.predicted
        about = {"rows": len(rows), "family": self.name, "data": digest(self.job.dataset, rows)}
        with self.run:
            self.run.write("test.safetensors", {"rows": rows, "y": y, **answers})
            result = {"part": "cross-validation", **self.found, **about}
            self.run.write("result.json", json.dumps(result, indent=1) + "\n")


def judge(
    entrants: Sequence[Entrant],
    left_out: dict[str, str],
    clock: Clock,
    rows: Sequence[tuple[np.ndarray, np.ndarray]],
    watch: Watcher,
) -> int:
    """Train each model and predict fold by fold while there is time.

    Returns the number of folds that every model predicted; a model that fails is left out, 0 if each does.
    """
    limit = clock.seconds * SHARE
    for i, e in enumerate(entrants):
        watch.say("wait", f"{e.name} ({i + 1} of {len(entrants)})")
        try:
            with warnings.catch_warnings(action="ignore", category=UserWarning):  # the winner gives them once more
                _first(e, i, clock, rows[0], limit)
        except FThetaError as error:
            left_out[e.name] = str(error)
    able = [e for e in entrants if e.name not in left_out]
    for k, (learn, held) in enumerate(rows[1:], 1):
        watch.say("wait", f"fold {k + 1} of {len(rows)}")
        for e in able:
            last = 1.3 * max(other.seconds for other in able)  # the training of the winner
            if clock.left < last + e.seconds and not e.run.has(f"fold-{k + 1}.safetensors"):
                watch.say("note", f"the time ended after {k} of {len(rows)} folds; --time gives more")
                return k
            try:
                e.judge(k, learn, held, limit)
            except FThetaError as error:
                left_out[e.name] = f"fold {k + 1}: {error}"
        able = [e for e in able if e.name not in left_out]
    return len(rows) if able else 0


def _first(e: Entrant, i: int, clock: Clock, rows: tuple[np.ndarray, np.ndarray], limit: float) -> None:
    """Train a model on all rows and on the first fold; what would take too long is refused."""
    if not e.run.has("fold-1.safetensors"):
        expected = e.pilot()
        if i and (clock.left < limit or expected > clock.left / 4):
            took = f"would take about {2 * expected:.0f} s" if expected else "has to wait"
            raise InputError(f"it {took}, and {max(clock.left, 0):.0f} s of {clock.seconds:g} s are left. Use --time.")
    e.train(limit)
    e.judge(0, *rows, limit)


# ---- to be continued


def begin(file: Path, asked: Mapping[str, Any], config: Config) -> None:
    """Write down the arguments; a folder of other ones is refused."""
    text = json.dumps({**asked, "config": config.plain}, indent=1) + "\n"
    if file.exists() and file.read_bytes() != text.encode():
        raise RunError(f"{file.parent} was made with other settings. Choose another --run, or continue with --resume.")
    write_atomic(file, text.encode())


class Asked(TypedDict):
    """compare.json and tune.json."""

    models: NotRequired[list[str]]
    tune: NotRequired[bool]
    cost: NotRequired[str]
    trials: NotRequired[Annotated[int, Ge(1), Lt(10**6)]]
    search: NotRequired[str]
    space: NotRequired[dict[str, Any]]
    metric: str
    seconds: Annotated[float, Gt(0), Lt(1e9)]
    folds: Annotated[int, Ge(2), Lt(1000)]
    config: dict[str, Any]


def kept(file: Path, command: str) -> dict[str, Any]:
    """What `begin` wrote, as arguments."""
    if not file.is_file():
        raise InputError(f"--resume {file.parent}: expected a folder that `{command}` wrote; it has no {file.name}.")
    try:
        found: Any = TypeAdapter(Asked).validate_json(file.read_bytes(), strict=True)
    except ValueError as error:
        raise FileFormatError(f"{file} is not one of `{command}`. Start again: {str(error)[:200]}") from None
    return found | asdict(merge(found.pop("config"), where=str(file)))
