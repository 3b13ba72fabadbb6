"""`compare`: every model that fits the data, cross-validated inside the training part; the best is tested once.

entrants: a run each, trained on the training part, judged by predictions for rows it did not learn from
winner:   the best by the metric, trained once more as a run of its own, and only then tested on the test part
"""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from .. import catalog, measure, plots
from ..catalog import Card, nearest
from ..data import Dataset
from ..data.kinds import KINDS
from ..errors import FThetaError, InputError
from ..explain.predictions.refitted import suspects
from ..plots import Figure
from ..results import Result, Table
from ..store import Run, write_atomic
from ..tasks import TASKS
from .baseline import LINEAR, Scored, loss_of, threshold
from .config import Config, merge, settings_of
from .crossval import FOLDS, SHARE, Clock, Entrant, begin, joined, judge, kept, metric_of, parts
from .opening import asked_task, open_data
from .prepare import prepare
from .runs import new_path, score_of
from .train import Watcher, train
from .trained import TrainedRun
from .tune import improved

SECONDS = 120.0  # default budget
REFITS = 12  # fits that a curve of more rows takes, generously
BASELINE, MEAN, TOP = "baseline", "committee", 3  # TOP: models whose mean is tried
ASKED = "compare.json"  # the arguments


class Leaderboard(Result):
    """Models by their score in cross-validation, the best first."""

    path: Path  # with a run per entrant
    metric: str  # that orders them
    n_folds: int
    entrants: tuple[Entrant, ...]
    left_out: Mapping[str, str]  # models that were not compared, and why
    best: TrainedRun  # the first, trained once more and tested
    advice: tuple[Result, ...] = ()  # for the first: a threshold, rows that look mislabeled, whether more would help

    @cached_property
    def pairs(self) -> dict[str, measure.Comparison]:
        """The first against each of the others, on the same rows."""
        first, *others = self.entrants
        _, y, own = first.predicted
        task = first.job.task
        made = {e.name: task.compare(y, own, e.predicted[2], (first.name, e.name)) for e in others}
        return {name: pair for name, pair in made.items() if pair is not None}

    @cached_property
    def constant(self) -> dict[str, float | None]:
        """Scores of the constant answer of each fold."""
        first = self.entrants[0]
        _, y, made = joined(first.folds, constant=True)
        return first.job.task.baseline_scores(y, made, list(first.found["scores"]), None, None) if made else {}

    def table(self) -> Table:
        """One row per model; differences are those of the paired test against the first."""
        return Table({name: [row[name] for row in self._rows] for name in self._rows[0]}, self._heading, "")

    @property
    def _heading(self) -> str:
        rows, level = len(self.entrants[0].predicted[0]), self.entrants[0].found.get("level", 0.95)
        how = f"{self.n_folds}-fold cross-validation" if self.n_folds > 1 else "one fold held out"
        return f"{how} of the training part (n = {rows:,}); intervals of {100 * level:g} % confidence"

    @cached_property
    def _rows(self) -> list[dict[str, Any]]:
        rows = [self._row(e) for e in self.entrants]
        simple = {"model": BASELINE, self.metric: self.constant.get(self.metric)}
        return rows + [dict.fromkeys(rows[0]) | simple] * (self.metric in self.constant)

    def _row(self, e: Entrant) -> dict[str, Any]:
        pair = self.pairs.get(e.name)
        test = None if pair is None else pair.tests[0]
        value, low, high = score_of(e.found, self.metric)
        what = f"{next(iter(self.pairs.values())).tests[0].measure} behind" if self.pairs else "behind"
        gap = None if test is None else abs(test.difference) if pair and pair.ahead != e.name else -abs(test.difference)
        ece = {"ECE": e.found["scores"].get("ECE")} if "ECE" in self.entrants[0].found["scores"] else {}
        return {
            **{"model": e.name, self.metric: value, "low": low, "high": high},
            **{what: gap, "p": None if test is None else test.p, **ece},
            **{"seconds": round(e.seconds, 3), "kB": round(e.size / 1024, 1)},
        }

    @property
    def verdicts(self) -> list[str]:
        """What the comparison says, in sentences."""
        return [self._verdict, *self._alike(), *(each.caption for each in self.advice)]

    @cached_property
    def _verdict(self) -> str:
        """Whether the first beats a constant and the linear model."""
        first = self.entrants[0]
        _, y, own = first.predicted
        task, linear = first.job.task, next((e for e in self.entrants[1:] if e.name == LINEAR), None)
        constant = task.constant(y)
        said = Scored(task, None, None, y, own, first.found).against(
            constant, None if linear is None else linear.predicted[2], where=" in cross-validation"
        )
        return f"Best: {first.name}. {said.get('verdict', '')}".strip()

    def _alike(self) -> Iterator[str]:
        names = [name for name, pair in self.pairs.items() if pair.better is None]
        if names:
            yield f"Not clearly different from {self.entrants[0].name}: {', '.join(names)}."
        elif self.pairs:
            yield f"All others are clearly behind {self.entrants[0].name}."

    def notes(self) -> Iterator[str]:
        """Models that were not compared."""
        for name, why in self.left_out.items():
            yield f"{name} was left out: {why}"

    def figure(self) -> Figure:
        scores = {e.name: score_of(e.found, self.metric) for e in self.entrants}
        rows = [(name, np.nan if value is None else value, *ends) for name, (value, *ends) in scores.items()]
        line = self.constant.get(self.metric)
        return plots.whiskers({f"{self.metric} (line: baseline)": rows}, title=self._heading, at=line)

    @property
    def caption(self) -> str:
        return " ".join(self.verdicts)

    def as_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            **{"path": str(self.path), "best": str(self.best.run.path), "metric": self.metric, "folds": self.n_folds},
            **{"entrants": self._rows, "verdicts": self.verdicts, "left_out": dict(self.left_out)},
            "runs": {e.name: str(e.run.path) for e in self.entrants},
        }


def compare(
    data: str,
    *,
    models: Sequence[str] = (),
    metric: str = "",
    seconds: float = SECONDS,
    folds: int = FOLDS,
    run: Path | str | None = None,
    tune: bool = False,
    cost: str = "",
    report: bool = True,
    watch: Watcher | None = None,
    **settings: Any,
) -> Leaderboard:
    """Try the models that fit the data, and train the best.

    Args:
        data: Name of a data set, or the path of a file or a folder.
        models: Names in the catalog; empty: one of each family that fits kind, task and number of rows.
        metric: Score that orders the models, e.g. "log loss"; empty: the task's first.
        seconds: Budget of all of it; training in steps ends earlier, and what would take too long is left out.
        folds: Parts of the training part, each predicted by models that did not learn from it.
        run: Folder with a run per model; None: runs/compare-DATA/TIME. A folder of the same comparison is continued.
        tune: Whether a search for good parameters of the best takes half of the time that is left.
        cost: What a missed and a false row of the second of two classes cost, as 10:1; gives the cheapest threshold.
        report: Whether the winner gets a report, and the comparison a page, leaderboard.html.
        watch: Receives events; its `cancel` ends the job.
        **settings: Fields of Config.

    Example:
        >>> board = compare("wine", models=["linear", "lda"], seconds=20)      # doctest: +SKIP
        >>> board.best.predict("new.csv")                                      # doctest: +SKIP
    """
    clock, watch = Clock(seconds), watch or Watcher()
    asked = {"models": list(models), "metric": metric, "seconds": seconds, "folds": folds}
    asked |= {"tune": tune, "cost": cost}
    config = merge({"data": data}, settings_of(settings))
    folder = Path(run or new_path("compare", data))
    entrants, left_out = _entrants(config, folder, models, watch, cost)
    metric = metric_of([e.job for e in entrants], metric)
    begin(folder / ASKED, asked, config)
    try:
        rows = parts(entrants[0].job, folds)
        done = judge(entrants, left_out, clock, rows, watch)
        if not done:
            raise InputError(f"No model could be trained: {'; '.join(f'{k}: {v}' for k, v in left_out.items())}")
        entrants = _ranked([e for e in entrants if e.name not in left_out], metric, done)
        if not models and (mean := _mean_of(entrants, folder, clock)) is not None:
            if judge([mean], left_out, clock, rows[:done], watch) == done:
                entrants = _mean_first(_ranked([*entrants, mean], metric, done), mean, metric)
        if tune and done == len(rows):
            better = improved(entrants[0], metric, folds, clock, watch)
            entrants = _ranked([*entrants, *better], metric, done)
        watch.say("wait", f"training {entrants[0].name} on the training part, testing it once")
        best = train(_refit(entrants[0], clock), report=report, watch=_Quiet(watch))
    except (KeyboardInterrupt, SystemExit, BrokenPipeError):
        again = f"ftheta compare --resume {shlex.quote(str(folder))}"
        watch.say("stopped", f"Interrupted; what was trained is kept. Continue with: {again}")
        raise
    board = Leaderboard(
        folder, metric, done, tuple(entrants), left_out, best, tuple(_advice(entrants[0], best, clock, cost))
    )
    write_atomic(folder / "leaderboard.json", (json.dumps(board.as_json(), indent=1) + "\n").encode())
    if report:
        from .board_page import agreement, page

        watch.say("wait", f"writing {folder / 'leaderboard.html'}")
        columns = agreement(board) if clock.left > 5 * sum(e.seconds for e in entrants[:3]) else None
        write_atomic(folder / "leaderboard.html", page(board, columns, asked).encode())
    return board


def asked_of(folder: Path) -> dict[str, Any]:
    """The arguments of `compare` that a folder was made with."""
    return {name: value for name, value in kept(folder / ASKED, "ftheta compare").items() if name != "model"}


def _ranked(entrants: list[Entrant], metric: str, done: int) -> list[Entrant]:
    """The best first, each with its result kept."""
    for e in entrants:
        e.folds = e.folds[:done]
        e.keep()
    sign = 1 if measure.lower_is_better(metric) else -1

    def place(e: Entrant) -> tuple[float, float]:
        value, second = (e.found["scores"].get(name) for name in (metric, "log loss"))
        return np.inf if value is None or np.isnan(value) else sign * value, second or 0.0

    return sorted(entrants, key=place)


def _mean_of(ranked: Sequence[Entrant], folder: Path, clock: Clock) -> Entrant | None:
    """A committee of the best three, with equal weights; None where it is not for such data or takes too long."""
    able = [e for e in ranked if e.predicted[2].get("p", 0) is not None]  # classes need probabilities
    best, job = able[:TOP], ranked[0].job
    if len(best) < TOP or (job.kind.name, job.task.name) not in catalog.card(MEAN).targets:
        return None
    if clock.left < 1.5 * (len(best[0].folds) + 2) * sum(e.seconds for e in best):
        return None
    cls: Any = catalog.resolve(MEAN, job.kind.name, job.task.name)
    kept = {k: v for k, v in job.config.params.items() if k in cls._get_param_names()}
    params = kept | {"members": [e.name for e in best], **cls.plain_mean}
    try:
        made = prepare(replace(job.config, model=MEAN, params=params), dataset=job.dataset)
    except InputError:
        return None
    return Entrant(made, Run(folder / MEAN))


def _mean_first(ranked: list[Entrant], mean: Entrant, metric: str) -> list[Entrant]:
    """The mean of several models before a first one that is not clearly better: the best of many is partly luck."""
    (_, y, best), (_, _, own), task = ranked[0].predicted, mean.predicted, mean.job.task
    pair = task.compare(y, best, own, (ranked[0].name, mean.name)) if metric == task.judged else None
    first = mean if pair is not None and pair.better is None else ranked[0]
    return [first, *(e for e in ranked if e is not first)]


class _Quiet(Watcher):
    """Passes on what the winner's run says of its result."""

    def __init__(self, outer: Watcher) -> None:
        self.outer = outer

    def say(self, event: str, what: object) -> None:
        if event not in ("headline", "note", "run"):
            self.outer.say(event, what)


def _refit(first: Entrant, clock: Clock) -> Config:
    """The winner's settings; where the budget ended its training, it ends the last one too."""
    config = first.job.config
    if getattr(first.job.estimator, "stop_reason_", "") != "seconds":
        return config
    return replace(config, training={**config.training, "seconds": round(max(clock.left, clock.seconds * SHARE), 1)})


def _advice(first: Entrant, best: TrainedRun, clock: Clock, cost: str) -> Iterator[Result]:
    """For the best of a comparison, by what it predicted for rows that it did not learn from."""
    rows, y, answers = first.predicted
    p, classes = answers.get("p"), answers.get("classes", ())
    if cost:
        yield threshold(y, answers, cost)
    apart = first.job.kind.split == "random"  # a step of a series is judged by those before it
    if apart and np.ndim(y) == 1 and ("p" not in answers or p is not None):
        yield suspects(y, answers["predicted"], p, classes, rows)
    if clock.left > REFITS * first.seconds:
        try:
            yield best.explained("more-rows")
        except FThetaError:  # too few rows, or another kind of answer
            return


# ---- who takes part


def _entrants(
    config: Config, folder: Path, models: Sequence[str], watch: Watcher, cost: str
) -> tuple[list[Entrant], dict[str, str]]:
    """Prepared models; those that cannot learn from the data are left out with the reason."""
    supervised = {n: t for n, t in TASKS.items() if t.needs_y}
    known = [card for card in catalog.CARDS.values() if any(task in supervised for _, task in card.targets)]
    for name in models:
        catalog.card(name)
    targets = {key: value for card in known for key, value in card.targets.items() if key[1] in supervised}
    dataset = open_data(config, Card("compare", targets), lambda text: watch.say("wait", text))
    two = bool(cost) and bool(loss_of(cost)) and len(np.unique(np.asarray(dataset.y))) == 2
    found, left_out = [], {}
    task = asked_task(config, Card("compare", targets), dataset.kind)
    asked = [catalog.card(name) for name in dict.fromkeys(models)] or _default(known, dataset, task)
    for card in asked:
        try:
            job = prepare(replace(config, model=card.name), dataset=dataset)
            if cost and not (two and hasattr(job.estimator, "predict_proba")):
                raise InputError(f"--cost {cost} is for two classes and models with probabilities.")
            found.append(Entrant(job, Run(folder / card.name)))
        except InputError as error:
            if models:
                raise
            left_out[card.name] = str(error)
    if not found:
        raise InputError(f"No model was found for {dataset.name}. {' '.join(dict.fromkeys(left_out.values()))}".strip())
    watch.say(
        "headline",
        found[0].job.headline().replace(f"{found[0].name} (", f"{len(found)} model{'s' * (len(found) > 1)} (", 1),
    )
    for note in found[0].job.notes():
        watch.say("note", note)
    return found, left_out


def _default(cards: Sequence[Card], dataset: Dataset, task: str) -> list[Card]:
    """Cards for the data's own kind and for its task that are tried with so many rows."""
    tasks = [task] if task else [name for name, t in TASKS.items() if dataset.task in t.targets]
    kinds = [dataset.kind, *KINDS[dataset.kind].also(dataset)]
    fitting = [c for c in cards if any((kind, name) in c.targets for kind in kinds for name in tasks)]
    tried = [card for card in fitting if card.installed and dataset.rows <= card.compare_rows]
    if not tried:
        unknown = nearest("task", task, TASKS) if task and task not in TASKS else ""
        raise InputError(unknown or f"{dataset.name} has no target to compare models on. Give --target COLUMN.")
    return tried
