"""`train`: decide, write down what is known, fit, evaluate, report; events for a watcher, and how to stop it.

`start` does it in a child process: torch's generator, threads and signals belong to a process.
"""

import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from sklearn.base import clone

from ..errors import InputError, RunError
from ..results import Table, svg
from ..store import Run
from ..train import Callback, Context, watched
from . import files
from .baseline import Scored, errors_by, linear_answers
from .config import Config, merge, settings_of
from .prepare import Prepared, digest, prepare
from .runs import new_path, stopped
from .trained import TrainedRun


class Cancelled(BaseException):
    """Raised by a loop after `cancel`, once its checkpoint is written."""


class Watcher(Callback):
    """Silent: override `say`, `on_row` or `on_step`."""

    cancelled = False

    def cancel(self) -> None:
        """End the job; any thread may call this."""
        self.cancelled = True

    def say(self, event: str, what: object) -> None:
        """Receives each event.

        Args:
            event: run, headline, note, warning, wait, stopped, result, verdict or report.
            what: A path for run and report, a Table for result, else a text.
        """

    def on_step(self, ctx: Context) -> None:
        if self.cancelled:
            ctx.caught.append(Cancelled())


class JsonLines(Watcher):
    """Writes one JSON object per event: {"event": "row", "epoch": 3, "loss": 0.2, ...}."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def say(self, event: str, what: object) -> None:
        self._write({"event": event, "what": what.as_json() if isinstance(what, Table) else str(what)})

    def on_row(self, ctx: Context, row: Mapping[str, float]) -> None:
        self._write({"event": "row", "epoch": ctx.round, "of": ctx.rounds, **row})

    def _write(self, event: Mapping[str, object]) -> None:
        self.stream.write(json.dumps(event, allow_nan=True) + "\n")
        self.stream.flush()


def train(
    model: str | Config,
    data: str = "",
    *,
    run: Run | Path | str | None = None,
    report: bool = True,
    watch: Watcher | None = None,
    **settings: Any,
) -> TrainedRun:
    """Train a model on a data set or a file; the run folder holds everything.

    Args:
        model: Name in the catalog, or a complete Config.
        data: Name of a data set, or the path of a file or a folder.
        run: Folder; None: runs/MODEL-DATA/TIME. A folder of the same training is continued.
        report: Whether report.html is written.
        watch: Receives events; its `cancel` ends the job.
        **settings: Fields of Config; any other name is a parameter of the model.
    """
    config = _config(model, data, settings)
    watch = watch or Watcher()
    folder = run if isinstance(run, Run) else Run(run or new_path(config.model, config.data))
    try:
        trained = _run(config, folder, watch)
    except (KeyboardInterrupt, SystemExit, BrokenPipeError):
        if folder.exists():
            watch.say("stopped", stopped(folder))
        raise
    if not folder.has("result.json"):  # cancelled
        watch.say("stopped", stopped(folder))
        return trained
    try:
        if report and not folder.has("report.html"):
            watch.say("wait", "writing report.html")
            trained.report()
    except BaseException:  # the result stays, whatever happens to its report
        again = f"ftheta runs report {shlex.quote(str(folder.path))}"
        watch.say("stopped", f"The result is saved, but report.html could not be written. Write it with: {again}")
        raise
    finally:
        watch.say("report" if folder.has("report.html") else "run", folder.path)
    return trained


def _run(config: Config, folder: Run, watch: Watcher) -> TrainedRun:
    """Everything up to the result, or up to a checkpoint where it was cancelled."""
    job = prepare(config, lambda text: watch.say("wait", text))
    _refuse_other(job, folder)
    _dry_run(job)
    watch.say("run", folder.path)
    trained = TrainedRun(folder, job)
    with folder:
        write_setup(job, folder)
        watch.say("headline", job.headline())
        for note in job.notes():
            watch.say("note", note)
        for leak in job.leaks:
            watch.say("warning", f"possible leak: {leak}")
        try:
            fit_into(job, folder, watch)
        except Cancelled:
            return trained
        if message := _stop_message(job.estimator):
            watch.say("stopped", message)
        if job.task.wait:
            watch.say("wait", job.task.wait)
        if not folder.has("result.json"):
            _evaluate(job, folder)
        watch.say("result", trained.result)
        for sentence in trained.verdicts:
            watch.say("verdict", sentence)
    return trained


def fit_into(job: Prepared, run: Run, watch: Watcher) -> None:
    """Train, continue, or take what is finished; the model is in the run afterwards."""
    if job.stepped:
        with watched(watch):
            job.estimator.fit(**job.fit_arguments, run=run)
    elif run.status != "finished":
        job.estimator._save_into(run)


def _dry_run(job: Prepared) -> None:
    """A fit of no seconds: what training would refuse is refused before a folder is made; closed forms are fitted."""
    if job.stepped:
        trial: Any = clone(job.estimator)
        trial.set_params(training__seconds=0.0).fit(**job.fit_arguments)
        if hasattr(trial, "note_"):  # of a memory: patterns that are there twice
            job.estimator.note_ = trial.note_
    else:
        job.estimator.fit(**job.fit_arguments)


def _stop_message(estimator: Any) -> str:
    """Why training ended before its last epoch, or nothing."""
    reason = getattr(estimator, "stop_reason_", "rounds")
    why = {"seconds": "the time is used up", "steps": "the steps are used up"}.get(reason, reason)
    return "" if reason in ("", "rounds", "converged") else f"Ended after {estimator.n_iter_} epochs: {why}."


# ---- before training


def _refuse_other(job: Prepared, run: Run) -> None:
    """A folder with other things in it, with another run, or with a run on other data is not written into."""
    if run.path.is_file():
        raise InputError(f"--run {run.path} is a file; a run is a folder. Choose another --run.")
    if run.status == "new" and not run.is_empty():
        raise InputError(f"{run.path} is not empty and holds no run; nothing was changed. Choose another --run.")
    if run.has("config.toml") and files.settings(run) != asdict(job.config):
        raise RunError(f"{run.path} holds a run with other settings. Choose another --run, or use --resume.")
    if run.has("split.safetensors") and files.split(run)["data"] != job.digest:
        raise RunError(
            f"{job.config.data} has changed since {run.path} was started, and a run is continued with the same "
            "data only. Restore the old data or choose another --run."
        )


def write_setup(job: Prepared, run: Run) -> None:
    """Write what is known before training."""
    content = {
        "config.toml": job.config.toml(),
        **({} if job.encoder is None else {"encoder.json": json.dumps(job.encoder.get_state(), indent=1) + "\n"}),
        "split.safetensors": {**job.split._asdict(), "data": job.digest},
        "data.json": json.dumps(_facts(job), indent=1, ensure_ascii=False) + "\n",
    }
    if (packed := job.kind.pack(job.dataset)) is not None:
        content["past.safetensors"] = packed
    if job.learning_rates is not None:
        content["figures/learning-rate.svg"] = svg(job.learning_rates.figure())
    for name, value in content.items():
        run.read(name) if run.has(name) else run.write(name, value)  # a damaged file is an error
    if run.status == "finished":
        run.check()


def _facts(job: Prepared) -> dict[str, Any]:
    """What is known of the data, for the run and its report."""
    d, (train, validation, test) = job.dataset, map(len, job.split)
    between = train + validation - len(job.fitted)  # what a model learns from is not called validation
    return {
        **{"name": d.name, "kind": d.kind, "taken_as": job.kind.name, "shape": list(d.shape), "rows": d.rows},
        **{"task": job.task.name, "test": job.config.test if isinstance(job.config.test, str) else ""},
        **{"target": job.config.target, "classes": list(d.target_names)},
        "parts": {"train": len(job.fitted), "validation": between, "test": test},
        "columns": job.columns,
        "csv_format": None if d.csv_format is None else d.csv_format._asdict(),
        **{"notes": list(d.notes), "leaks": list(job.leaks)},
        **{"license": d.license, "citation": d.citation, "digest": job.digest},
    }


# ---- after training


def _evaluate(job: Prepared, run: Run) -> None:
    """Scores of the test part, of a test file, or of the training rows if there is neither; kept with predictions."""
    held = _held(job)
    run.write("interval.json", json.dumps(held) + "\n")
    if job.test_file is not None:
        part, X, y, data = "test file", job.test_file.X, job.test_file.y, digest(job.test_file.dataset)
        index = np.arange(len(job.test_file.x))
    else:
        part = "test part" if len(job.split.test) else "training rows"
        index = job.split.test if len(job.split.test) else job.fitted
        (X, y), data = job.rows(index), digest(job.dataset, index)
    task, names, model = job.task, job.dataset.target_names, job.estimator
    kept, truth, answers = task.answered(model, X, y, names, held) if task.needs_y else (slice(None), None, {})
    index = index[kept]
    scores = task.score(truth, answers, model=model, X=X, seed=job.config.seed)
    run.write("test.safetensors", {"rows": index, **({"y": truth, **answers} if answers else {})})
    about = {"rows": len(index), "family": job.config.model, "data": data}
    raw = job.dataset.x if job.test_file is None else job.test_file.x
    raw = job.kind.take(raw, index) if job.test_file is None else raw
    learned = task.truth(job.rows(job.fitted)[1], model, names) if task.needs_y else None
    simple = Scored(task, model, X, truth, answers, scores).against(
        task.constant(learned),
        linear_answers(job, X, raw, names) if answers else None,
        where=", on the rows that it learned from" if part == "training rows" else "",
    )
    groups = errors_by(task, raw, {"y": truth, **answers}, job.dataset.shape) if answers else None
    errors = {} if groups is None else {"errors": groups.sentences}
    errors |= {"warning": warned} if (warned := getattr(model, "warning_", "")) else {}
    run.write("result.json", json.dumps({"part": part, **scores, **about, **simple, **errors}, indent=1) + "\n")


def _held(job: Prepared) -> dict[str, Any] | None:
    """What validation rows tell about answers; a model that learned from them is fitted again without."""
    if not job.task.calibrates or not len(job.split.validation):
        return None
    X, y = job.rows(job.split.validation)
    if job.validates:
        return job.task.calibrate(job.estimator, X, y)
    trial: Any = clone(job.estimator)
    return job.task.calibrate(trial.fit(*job.rows(job.split.train)), X, y)


# ---- in a child process


class Started:
    """A child process that trains.

    started = start("mlp", "wine", epochs=50)
    for event in started.events(): ...     {"event": "row", "epoch": 3, ...}, one dict per line of the child
    started.cancel()                       within a second; `train` with the same settings and run continues it
    """

    def __init__(self, process: subprocess.Popen[str], run: Path) -> None:
        self.process, self.run = process, run

    def events(self) -> Iterator[dict[str, Any]]:
        """What happens, until it ends; a line that is not JSON is an event `text`."""
        for line in self.process.stdout or ():
            try:
                yield json.loads(line)
            except ValueError:
                yield {"event": "text", "what": line.rstrip("\n")}

    def cancel(self) -> None:
        """Interrupt it; what was learned is in the run."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its exit code: 0 done, 2 a mistake, 130 interrupted."""
        code = self.process.wait(timeout)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code


def start(
    model: str | Config, data: str = "", *, run: Path | str | None = None, report: bool = True, **settings: Any
) -> Started:
    """Train in a child process; the arguments are those of `train`."""
    config = _config(model, data, settings)
    folder = Path(run or new_path(config.model, config.data))
    command = [sys.executable, "-m", "ftheta", "train", "--config", "-", "--run", str(folder), "--json"]
    process = subprocess.Popen(
        command + ([] if report else ["--no-report"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"FTHETA_PROGRESS": "0"},
    )
    if process.stdin is not None:
        process.stdin.write(config.toml())
        process.stdin.close()
    return Started(process, folder)


def _config(model: str | Config, data: str, settings: Mapping[str, Any]) -> Config:
    return model if isinstance(model, Config) else merge({"model": model, "data": data}, settings_of(settings))
