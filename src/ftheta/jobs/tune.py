"""`tune`: good parameters of a model by a search inside the training part; the test part is used once, at the end.

trial     one point of the space, cross-validated on the training part; trial 0 are the defaults
confirm   the best point and the defaults on other folds: is the gain more than noise?
result    the better of the two, trained on the training part and tested
"""

import json
import os
import shlex
import subprocess
import sys
import threading
import time
import tomllib
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Gt, Lt
from typing_extensions import TypedDict

from .. import measure
from ..catalog import nearest
from ..errors import InputError
from ..measure import Comparison
from ..selection import Range, Search, Trials, space_of, trials_of
from ..selection.search import SEARCHES, Report, optuna
from ..selection.together import stacks, values_of
from ..store import Run, write_atomic
from .asked import begin, given
from .config import Config, merge, settings_of
from .crossval import FOLDS, Fold, answered, fold, fresh, joined, metric_of, opened, parts
from .entrants import Clock, Entrant, judge
from .prepare import Prepared, prepare
from .runs import new_path
from .train import Watcher, train
from .trained import TrainedRun

FILE, JOURNAL = "tune.json", "journal.log"
TRIALS = 50


class Asked(TypedDict):
    """tune.json."""

    trials: Annotated[int, Ge(1), Lt(10**6)]
    search: str
    space: dict[str, Any]
    metric: str
    seconds: Annotated[float, Gt(0), Lt(1e9)]
    folds: Annotated[int, Ge(2), Lt(1000)]
    config: dict[str, Any]


class TunedRun(Trials):
    """The trials, whether their best is better than the defaults, and the run of the better of the two."""

    path: Path
    confirmed: Comparison | None  # of tuned and default parameters on other folds
    scores: tuple[float, float]  # tuned and default, on those folds
    best_run: TrainedRun

    @property
    def verdicts(self) -> list[str]:
        """What the search says, in sentences."""
        tuned, default = self.scores
        gain = (tuned - default) * (1 if self.maximize else -1)
        sure = "" if self.confirmed is None else f" (p = {self.confirmed.tests[0].p:.2g})"
        more = gain > 0 and self.confirmed is not None and self.confirmed.better == "tuned"
        what = "The gain is more than noise" if more else "Chance alone could make this gain"
        what = f"{what}{sure}." if gain > 0 else "No gain: the defaults are kept."
        said = f"On other folds: {self.metric} {tuned:.4g} tuned, {default:.4g} by default. {what}"
        return [self.caption, said]

    def as_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        kept = {"path": str(self.path), "best": str(self.best_run.run.path), "metric": self.metric}
        trials = self.table().as_json()["columns"]
        numbers = {"tuned": self.scores[0], "default": self.scores[1], "importance": dict(self.importance)}
        return {**kept, "best_params": self.best_point, "verdicts": self.verdicts, **numbers, "trials": trials}


def tune(
    model: str,
    data: str,
    *,
    trials: int = TRIALS,
    search: str = "tpe",
    space: Mapping[str, Any] | Path | None = None,
    metric: str = "",
    seconds: float = 1e8,
    folds: int = FOLDS,
    processes: int = 1,
    run: Path | str | None = None,
    report: bool = True,
    watch: Watcher | None = None,
    **settings: Any,
) -> TunedRun:
    """Search for good parameters of a model, then train it with them and test it once.

    Args:
        model: Name in the catalog.
        data: Name of a data set, or the path of a file or a folder.
        trials: Points that are tried, of all processes together.
        search: "tpe", "random", "quasi-random" or "grid".
        space: Ranges and values by parameter, or a TOML file with them; None: the family's own.
        metric: Score that is optimized; empty: the task's first.
        seconds: After which no trial begins.
        folds: Parts of the training part, each predicted by models that did not learn from it.
        processes: Processes on this machine; others may join with `ftheta tune --resume DIR`.
        run: Folder of the search; None: runs/tune-MODEL-DATA/TIME. A folder of the same search is continued.
        report: Whether the result gets a report.
        watch: Receives events.
        **settings: Fields of Config; any other name is a parameter of the model that stays as it is.
    """
    watch = watch or Watcher()
    optuna()
    if search not in SEARCHES:
        raise InputError(nearest("search", search, SEARCHES))
    config = merge({"model": model, "data": data}, settings_of(settings))
    job = prepare(config, lambda text: watch.say("wait", text))
    known = _space(job, space)
    metric = metric_of([job], metric)
    folder = Path(run or new_path(f"tune-{model}", data))
    plain = {n: asdict(w) if isinstance(w, Range) else list(w) for n, w in known.items()}
    asked = {"trials": trials, "search": search, "space": plain, "metric": metric, "seconds": seconds, "folds": folds}
    begin(folder / FILE, {**asked, "config": {k: v for k, v in asdict(config).items() if v is not None}})
    try:
        with _helpers(folder, processes - 1):
            made = _work(job, known, folder, asked, watch)
        return _finish(job, made, folder, asked, report, watch)
    except (KeyboardInterrupt, SystemExit, BrokenPipeError):
        again = f"ftheta tune --resume {shlex.quote(str(folder))}"
        watch.say("stopped", f"Interrupted; the trials are kept. Continue with: {again}")
        raise


def asked_of(folder: Path) -> dict[str, Any]:
    """The arguments of `tune` that a folder was made with."""
    return given(folder / FILE, Asked, "ftheta tune")


def work(folder: Path) -> None:
    """Take part in a search until it ends."""
    asked = asked_of(folder)
    config = merge({name: asked[name] for name in asked if name in Config.__dataclass_fields__})
    job = prepare(config)
    _work(job, space_of(asked["space"]), folder, asked, Watcher())


# ---- trials


def _space(job: Prepared, asked: Mapping[str, Any] | Path | None) -> dict[str, Any]:
    given: Any = asked
    if isinstance(asked, str | os.PathLike):
        try:
            given = tomllib.loads(Path(asked).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"--space {asked} is not a TOML file that can be read: {error}.") from None
    given = getattr(type(job.estimator), "space", None) if given is None else given
    if not given:
        raise InputError(f"{job.config.model} has no search space of its own. Give one with --space FILE.toml.")
    return space_of(given, list(job.estimator.get_params(deep=False)))


def _with(job: Prepared, point: Mapping[str, Any]) -> Prepared:
    """The same training with other parameters."""
    params = {n: v for n, v in point.items() if not n.startswith("training.")}
    training = {n.partition(".")[2]: v for n, v in point.items() if n.startswith("training.")}
    plain = json.loads(json.dumps(params))  # as a file of settings holds them
    config = replace(job.config, params={**job.config.params, **plain})
    return prepare(replace(config, training={**config.training, **training}), dataset=job.dataset)


def _tried(job: Prepared, point: Mapping[str, Any]) -> Prepared | InputError:
    try:
        return _with(job, point)
    except InputError as error:
        return error


def _score(job: Prepared, found: list[Fold], metric: str) -> float:
    _, y, answers = joined(found)
    value = job.task.score(y, answers, seed=job.config.seed)["scores"].get(metric)
    return np.nan if value is None else value


def _work(job: Prepared, space: Mapping[str, Any], folder: Path, asked: Mapping[str, Any], watch: Watcher) -> Search:
    """Try points until the search ends."""
    metric, maximize = asked["metric"], not measure.lower_is_better(asked["metric"])
    search = Search(
        space, search=asked["search"], seed=job.config.seed, maximize=maximize, journal=folder / JOURNAL,
        first=_default(job, space),
    )  # fmt: skip
    rows = [opened(job, *each) for each in parts(job, asked["folds"])]

    def value(point: Mapping[str, Any], report: Report) -> float:
        trial, found = _with(job, point), []
        for each in rows:
            found.append(answered(trial, each, fresh(trial).fit(**each.fit)))
            report(_score(job, found, metric))
        return _score(job, found, metric)

    def together(points: list[dict[str, Any]]) -> list[Any]:
        trials = [_tried(job, point) for point in points]
        fits = [(fresh(trial), each.fit) for trial in trials if isinstance(trial, Prepared) for each in rows]
        found = iter(
            values_of(fits, len(rows), lambda k, m: answered(job, rows[k], m), lambda f: _score(job, f, metric))
        )
        return [next(found) if isinstance(trial, Prepared) else trial for trial in trials]

    def heard(trial: Any) -> None:
        done = trials_of(search, metric, maximize)
        best = f"; best {metric} {done.values[done.best]:.4g}" if "complete" in done.states else ""
        if trial.number % 10 == 0 or (best and trial.number == done.best):
            watch.say("wait", f"trial {trial.number + 1} of {asked['trials']}{best}")

    with warnings.catch_warnings(action="ignore", category=UserWarning):  # the training at the end gives them
        if stacks(job.estimator, rows[0].fit["X"], len(rows)):
            search.run_together(together, asked["trials"], seconds=asked["seconds"], heard=heard)
        else:
            search.run(value, asked["trials"], seconds=asked["seconds"], heard=heard)
    return search


def _default(job: Prepared, space: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """The point of the defaults, where the space contains it."""
    known = job.estimator.get_params(deep=True)
    point = {name: known.get(name.replace(".", "__")) for name in space}
    return (point,) if all(_inside(point[name], where) for name, where in space.items()) else ()


def _inside(value: Any, where: Any) -> bool:
    if isinstance(where, Range):
        return isinstance(value, int | float) and where.low <= value <= where.high
    return value is not None and json.dumps(value, default=str) in [json.dumps(v, default=str) for v in where]


def improved(first: Entrant, metric: str, folds: int, clock: Clock, watch: Watcher) -> list[Entrant]:
    """An entrant with tuned parameters, judged on other folds than those that chose them; none without a space."""
    job, folder = first.job, first.run.path.with_name(f"{first.name}-tuned")
    try:
        space = _space(job, None)
    except InputError:
        return []
    plain = {"trials": TRIALS, "search": "tpe", "metric": metric, "folds": folds}
    begin(folder / FILE, plain)
    plain["seconds"] = clock.left / 2
    found = trials_of(_work(job, space, folder, plain, watch), metric, not measure.lower_is_better(metric))
    if "complete" not in found.states:
        return []
    made = Entrant(_with(job, found.best_point), Run(folder / "best"))
    made.name, rows = f"{first.name} tuned", parts(job, folds, "confirm")
    return [made] if judge([made], {}, clock, rows, watch) == len(rows) else []


def _finish(
    job: Prepared, search: Search, folder: Path, asked: Mapping[str, Any], report: bool, watch: Watcher
) -> TunedRun:
    """Confirm the best point on other folds, and train with it or with the defaults."""
    metric, maximize = asked["metric"], not measure.lower_is_better(asked["metric"])
    found = trials_of(search, metric, maximize)
    if "complete" not in found.states:
        raise InputError(f"None of {len(found.points)} trials could be trained{search.why}. Check the space.")
    watch.say("wait", "trying the best point and the defaults on other folds")
    tuned, rows = _with(job, found.best_point), parts(job, asked["folds"], "confirm")
    (_, y, own), (_, _, other) = (joined([fold(each, *r) for r in rows]) for each in (tuned, job))
    scores = [job.task.score(y, made, seed=job.config.seed)["scores"][metric] for made in (own, other)]
    better = scores[0] > scores[1] if maximize else scores[0] < scores[1]
    pair = job.task.compare(y, own, other, ("tuned", "default"))
    trained = train((tuned if better else job).config, report=report, watch=watch)
    done = TunedRun(**vars(found), path=folder, confirmed=pair, scores=(scores[0], scores[1]), best_run=trained)
    write_atomic(folder / "tuned.json", (json.dumps(done.as_json(), indent=1, default=float) + "\n").encode())
    return done


# ---- several processes


@contextmanager
def _helpers(folder: Path, n: int) -> Iterator[None]:
    """Processes that take part; they end with this one."""
    command = [sys.executable, "-m", "ftheta", "tune", "--resume", str(folder), "--worker"]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = [subprocess.Popen(command, **quiet) for _ in range(n)]  # type: ignore[call-overload]
    try:
        yield
        for process in started:
            process.wait()
    finally:
        for process in started:
            process.terminate()


def end_with_parent() -> None:
    """End this process soon after the one that started it has ended, however that came about."""
    parent = os.getppid()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(0)

    threading.Thread(target=look, daemon=True).start()
