"""The models of a comparison: each trained once on the training part, and judged fold by fold within a budget; and the
arguments of a job that goes on where it was stopped, kept in its folder."""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from ..errors import FileFormatError, FThetaError, InputError, RunError
from ..store import Run, write_atomic
from ..tasks.base import Predictions
from .config import Config, merge
from .crossval import Fold, fold, joined, part
from .prepare import Prepared, digest
from .train import Watcher, fit_into, write_setup

SHARE = 1 / 20  # of the budget, for one training in steps
PILOT, LARGE = 2000, 4000  # rows of a trial fit, and of data that has one


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


def given(file: Path, shape: type, command: str) -> dict[str, Any]:
    """What `begin` wrote, as arguments."""
    if not file.is_file():
        raise InputError(f"--resume {file.parent}: expected a folder that `{command}` wrote; it has no {file.name}.")
    try:
        found: Any = TypeAdapter(shape).validate_json(file.read_bytes(), strict=True)
    except ValueError as error:
        raise FileFormatError(f"{file} is not one of `{command}`. Start again: {str(error)[:200]}") from None
    return found | asdict(merge(found.pop("config"), where=str(file)))
