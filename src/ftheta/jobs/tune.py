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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import measure
from ..catalog import nearest
from ..errors import InputError
from ..measure import Comparison
from ..selection import Range, Search, Trials, space_of, trials_of
from ..selection.search import FAILS, SEARCHES, optuna
from ..selection.space import written
from ..selection.tune import Folds
from ..store import Run, write_atomic
from ..tasks.base import Predictions
from .config import Config, merge, settings_of
from .crossval import FOLDS, Clock, Entrant, answered, begin, fold, fresh, joined, judge, kept, metric_of, opened, parts
from .prepare import Prepared, prepare
from .runs import new_path
from .train import Watcher, train
from .trained import TrainedRun

FILE, JOURNAL = "tune.json", "journal.log"
PARTS = ("scientific", "nuisance")  # of the parameters of a round
TRIALS = 50


class Stage(NamedTuple):
    """What is searched at a time."""

    goal: str
    parts: dict[str, dict[str, Any]]  # scientific parameters, whose effect is of interest, and nuisance parameters

    @property
    def space(self) -> dict[str, Any]:
        return {name: where for part in self.parts.values() for name, where in part.items()}


class TunedRun(Trials):
    """The trials, whether their best is better than the defaults, and the run of the better of the two."""

    path: Path
    confirmed: Comparison | None  # of tuned and default parameters on other folds
    scores: tuple[float, float]  # tuned and default, on those folds
    best_run: TrainedRun
    rounds: tuple[dict[str, Any], ...]  # goal, parameters, scores and decision of each; one, where there are no rounds

    @property
    def verdicts(self) -> list[str]:
        """What the search says, in sentences."""
        tuned, default = self.scores
        gain = (tuned - default) * (1 if self.maximize else -1)
        sure = "" if self.confirmed is None else f" (p = {self.confirmed.tests[0].p:.2g})"
        more = gain > 0 and self.confirmed is not None and self.confirmed.better == "tuned"
        what = "The gain is more than noise" if more else "Chance alone could make this gain"
        what = f"{what}{sure}." if gain > 0 else "No gain: the defaults are kept."
        what = what if np.isfinite(default) else "The defaults could not be trained."
        said = f"On other folds: {self.metric} {tuned:.4g} tuned, {default:.4g} by default. {what}"
        return [self.caption, *map(self._said, self.rounds)] if len(self.rounds) > 1 else [self.caption, said]

    def _said(self, r: Mapping[str, Any]) -> str:
        did = f"adopted {written(r['best'])}" if r["adopted"] else "nothing adopted, no gain beyond noise"
        sure = "" if r["p"] is None else f", p = {r['p']:.2g}"
        return f"Round {r['goal']}: {did} ({self.metric} {r['tuned']:.4g}, {r['before']:.4g} before{sure})."

    def as_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        kept: dict[str, Any] = {"path": str(self.path), "best": str(self.best_run.run.path), "metric": self.metric}
        trials = self.table().as_json()["columns"]
        numbers = {"tuned": self.scores[0], "default": self.scores[1], "importance": dict(self.importance)}
        kept["rounds"] = list(self.rounds)
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
        space: Ranges and values by parameter, or a TOML file with them; None: the family's own. `round` in place of
            that is a list of {goal, scientific, nuisance}: searches one after the other, each of which keeps what those
            before it adopted. A round adopts its best point only where its gain is more than noise.
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
    rounds = _rounds(job, space)
    metric = metric_of([job], metric)
    folder = Path(run or new_path(f"tune-{model}", data))
    asked = {"trials": trials, "search": search, "metric": metric, "seconds": seconds, "folds": folds}
    try:
        done = list(_searched(job, rounds, folder, asked, processes, watch))
        watch.say("wait", f"training {model}, testing it once")
        last, log = done[-1], tuple(each.log for each in done)
        trained = train(last.job.config, report=report, watch=watch)
    except (KeyboardInterrupt, SystemExit, BrokenPipeError):
        again = f"ftheta tune --resume {shlex.quote(str(folder))}"
        watch.say("stopped", f"Interrupted; the trials are kept. Continue with: {again}")
        raise
    scores = last.log["tuned"], last.log["before"]
    found = TunedRun(**vars(last.found), path=folder, confirmed=last.pair, scores=scores, best_run=trained, rounds=log)
    write_atomic(folder / "tuned.json", (json.dumps(found.as_json(), indent=1, default=float) + "\n").encode())
    return found


class Round(NamedTuple):
    """A search, and what it changed."""

    found: Trials
    pair: Comparison | None  # of the best point and of what was before, on other folds
    job: Prepared  # with what is kept
    log: dict[str, Any]


def _searched(
    job: Prepared, rounds: Sequence[Stage], folder: Path, asked: Mapping[str, Any], processes: int, watch: Watcher
) -> Iterator[Round]:
    """Searches one after the other; one alone adopts any gain on other folds, several only one beyond noise."""
    several, sign = len(rounds) > 1, -1 if measure.lower_is_better(asked["metric"]) else 1
    if several:
        space = {"round": [{"goal": r.goal, **_plain(r.parts)} for r in rounds]}
        begin(folder / FILE, {**asked, "space": space}, job.config)
    for k, stage in enumerate(rounds, 1):
        place = folder / f"round-{k}" if several else folder
        begin(place / FILE, {**asked, "space": _plain(stage.space)}, job.config)
        with _helpers(place, processes - 1):
            search = _work(job, stage.space, place, asked, watch)
        watch.say("wait", "trying the best point and what was before on other folds")
        found, pair, scores, tuned = _confirmed(job, search, asked)
        gain, fixed = sign * (scores[0] - scores[1]), dict(job.config.params)
        adopted = gain > 0 and (not several or (pair is not None and pair.better == "tuned"))
        job = tuned if adopted else job
        log = {"goal": stage.goal or str(k), **{name: list(part) for name, part in stage.parts.items()}, "fixed": fixed}
        log |= {"best": found.best_point, "tuned": scores[0], "before": scores[1], "adopted": bool(adopted)}
        yield Round(found, pair, job, {**log, "p": None if pair is None else pair.tests[0].p})


def _plain(space: Mapping[str, Any]) -> dict[str, Any]:
    """A space as a file holds it; also one whose values are spaces."""
    return {
        n: asdict(w) if isinstance(w, Range) else _plain(w) if isinstance(w, Mapping) else list(w)
        for n, w in space.items()
    }


def asked_of(folder: Path) -> dict[str, Any]:
    """The arguments of `tune` that a folder was made with."""
    return kept(folder / FILE, "ftheta tune")


def work(folder: Path) -> None:
    """Take part in a search until it ends."""
    asked = asked_of(folder)
    config = merge({name: asked[name] for name in asked if name in Config.__dataclass_fields__})
    job = prepare(config)
    _work(job, space_of(asked["space"]), folder, asked, Watcher())


# ---- trials


def _rounds(job: Prepared, asked: Mapping[str, Any] | Path | None) -> list[Stage]:
    given: Any = asked
    if isinstance(asked, str | os.PathLike):
        try:
            given = tomllib.loads(Path(asked).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"--space {asked} is not a TOML file that can be read: {error}.") from None
    given = getattr(type(job.estimator), "space", None) if given is None else given
    if not given:
        raise InputError(f"{job.config.model} has no search space of its own. Give one with --space FILE.toml.")
    known = list(job.estimator.get_params(deep=False))
    rounds = given.get("round", [{"scientific": given}])
    wrong = (
        not isinstance(rounds, list)
        or not rounds
        or not all(isinstance(r, Mapping) and r.get("scientific") for r in rounds)
    )
    if wrong or ("round" in given and len(given) > 1) or any(r.keys() - {"goal", *PARTS} for r in rounds):
        raise InputError("Search space: a round has goal, scientific and nuisance, and there is nothing beside rounds.")
    return [
        Stage(str(r.get("goal", "")), {name: space_of(r[name], known) for name in PARTS if r.get(name)}) for r in rounds
    ]


def _with(job: Prepared, point: Mapping[str, Any]) -> Prepared:
    """The same training with other parameters."""
    params = {n: v for n, v in point.items() if not n.startswith("training.")}
    training = {n.partition(".")[2]: v for n, v in point.items() if n.startswith("training.")}
    plain = json.loads(json.dumps(params))  # as a file of settings holds them
    config = replace(job.config, params={**job.config.params, **plain})
    return prepare(replace(config, training={**config.training, **training}), dataset=job.dataset)


def _score(job: Prepared, found: list[Any], metric: str) -> float:
    _, y, answers = joined(found)
    value = job.task.score(y, answers, seed=job.config.seed)["scores"].get(metric)
    return np.nan if value is None else value


def _work(job: Prepared, space: Mapping[str, Any], folder: Path, asked: Mapping[str, Any], watch: Watcher) -> Search:
    """Try points until the search ends."""
    metric, first = asked["metric"], _default(job, space)
    how: dict[str, Any] = {"search": asked["search"], "seed": job.config.seed, "journal": folder / JOURNAL}
    search = Search(space, maximize=not measure.lower_is_better(metric), first=first, **how)
    rows = [opened(job, *each) for each in parts(job, asked["folds"])]

    def heard(trial: Any) -> None:
        done = trials_of(search, metric)
        best = f"; best {metric} {done.values[done.best]:.4g}" if "complete" in done.states else ""
        if trial.number % 10 == 0 or (best and trial.number == done.best):
            watch.say("wait", f"trial {trial.number + 1} of {asked['trials']}{best}")

    folds = Folds(
        lambda point: fresh(_with(job, point)),
        [each.fit for each in rows],
        lambda k, model: answered(job, rows[k], model),
        lambda found: _score(job, found, metric),
    )
    with warnings.catch_warnings(action="ignore", category=UserWarning):  # the training at the end gives them
        folds.run(search, job.estimator, asked["trials"], seconds=asked["seconds"], heard=heard)
    return search


def _default(job: Prepared, space: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """The point of the defaults, where the space contains it."""
    known = job.estimator.get_params(deep=True)
    point = {name: known.get(name.replace(".", "__")) for name in space}
    return (point,) if all(_inside(point[name], where) for name, where in space.items()) else ()


def _inside(value: Any, where: Any) -> bool:
    if isinstance(where, Range):
        return isinstance(value, int | float) and where.low <= value <= where.high
    return value is not None and written(value) in map(written, where)


def improved(first: Entrant, metric: str, folds: int, clock: Clock, watch: Watcher) -> list[Entrant]:
    """An entrant with tuned parameters, judged on other folds than those that chose them; none without a space."""
    job, folder = first.job, first.run.path.with_name(f"{first.name}-tuned")
    try:
        space = _rounds(job, None)[0].space
    except InputError:
        return []
    plain = {"trials": TRIALS, "search": "tpe", "metric": metric, "folds": folds}
    begin(folder / FILE, plain, job.config)
    plain["seconds"] = clock.left / 2
    found = trials_of(_work(job, space, folder, plain, watch), metric)
    if not found.complete.any():
        return []
    made = Entrant(_with(job, found.best_point), Run(folder / "best"))
    made.name, rows = f"{first.name} tuned", parts(job, folds, "confirm")
    return [made] if judge([made], {}, clock, rows, watch) == len(rows) else []


def _confirmed(
    job: Prepared, search: Search, asked: Mapping[str, Any]
) -> tuple[Trials, Comparison | None, tuple[float, float], Prepared]:
    """The trials; the best point and what was before on other folds: their comparison and scores; the best training."""
    metric, found = asked["metric"], trials_of(search, asked["metric"])
    tuned, rows = _with(job, found.best_point), parts(job, asked["folds"], "confirm")
    made: list[tuple[Any, Predictions]] = []
    for each in (tuned, job):
        try:
            made.append(joined([fold(each, *r) for r in rows])[1:])
        except FAILS:  # it cannot be trained
            made.append((None, {}))
    worst = -np.inf if search.maximize else np.inf
    scores = [job.task.score(*m, seed=job.config.seed)["scores"][metric] if m[1] else worst for m in made]
    (y, own), (_, other) = made
    pair = job.task.compare(y, own, other, ("tuned", "default")) if own and other else None
    return found, pair, (scores[0], scores[1]), tuned


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
