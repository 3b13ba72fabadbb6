"""A search for the best point of a space, kept in a journal that any number of processes may share.

    tpe             points like the better ones so far (tree-structured Parzen estimator)
    random          independent points
    quasi-random    a scrambled Sobol sequence: points that leave no large gaps
    grid            every combination of choices, four values of each range

The point of trial k depends on the seed, on k and on the trials that have ended: a search that was interrupted goes on
as if it had not been. A trial whose process has died is put back and tried again.
Reference: Akiba et al., Optuna, KDD (2019); Bergstra et al., Algorithms for hyper-parameter optimization, NIPS (2011).
"""

import os
import secrets
import socket
import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from scipy.stats import qmc

from ..catalog import nearest
from ..errors import FileFormatError, InputError
from .space import Range, Space, at, grid, suggest, written

SEARCHES = ("tpe", "random", "quasi-random", "grid")
STARTUP = 10  # trials before points of TPE follow from earlier ones, and before one is ended early
BATCH = 40  # trials that are measured at once
KEPT = 66.0  # percent of trials that are not ended early
FAILS = (ValueError, ArithmeticError)  # of a point that cannot be trained
Report = Callable[[float], None]  # hears the value so far, and ends a trial that is clearly behind


def optuna() -> Any:
    """The engine, quiet; one sentence where it is not installed."""
    try:
        import optuna
    except ImportError:
        raise InputError("A search needs Optuna. Install it with: pip install 'ftheta[tune]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


class Search:
    """Trials over a space.

    Args:
        space: What is tried.
        search: One of SEARCHES.
        seed: Decides which points are tried.
        maximize: Whether a larger value is better.
        journal: File that keeps the trials; None: memory.
        first: Points that are tried before all others.
        prune: Whether a trial ends that is, after two reports, in the last third of those that were completed.
    """

    def __init__(
        self,
        space: Space,
        *,
        search: str = "tpe",
        seed: int = 0,
        maximize: bool = True,
        journal: Path | None = None,
        first: tuple[Mapping[str, Any], ...] = (),
        prune: bool = True,
    ) -> None:
        if search not in SEARCHES:
            raise InputError(nearest("search", search, SEARCHES))
        self.space, self.search, self.seed, self.maximize = dict(space), search, seed, maximize
        self.engine, self.journal, self.n_first = optuna(), journal, len(first)
        self.worker = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}"
        pruner = self.engine.pruners.PercentilePruner(KEPT, n_startup_trials=STARTUP, n_warmup_steps=1)
        storages, storage = self.engine.storages, None
        try:
            if journal is not None:
                backend = storages.journal.JournalFileBackend(str(journal), lock_obj=self._lock(""))
                storage = storages.JournalStorage(backend)
            self.study = self.engine.create_study(
                study_name="search",
                storage=storage,
                direction="maximize" if maximize else "minimize",
                pruner=pruner if prune else self.engine.pruners.NopPruner(),
                load_if_exists=True,
            )
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            if journal is None:
                raise
            raise FileFormatError(f"{journal} is damaged: {error}. Remove it, or search in another folder.") from None
        with self._lock():
            if not self.study.get_trials(deepcopy=False):
                for point in first:
                    self.study.enqueue_trial(self._stored(point))

    def _lock(self, name: str = ".ask", timeout: float = -1) -> Any:
        """Held by one process at a time; it ends with the process."""
        if self.journal is None:
            return nullcontext()
        from filelock import FileLock

        return FileLock(f"{self.journal}{name}.lock", timeout)

    # ---- trials

    def run(
        self,
        measure: Callable[..., Any],
        trials: int,
        *,
        together: bool = False,
        seconds: float = float("inf"),
        heard: Callable[[Any], object] = lambda trial: None,
    ) -> None:
        """Try points until there are so many trials, or the time is over.

        Args:
            measure: Gives the value of a point, and calls its second argument with the value so far; or `together`
                those of a list of points, each a value or an error.
            trials: Of all processes together.
            together: Whether many points are measured at once. Those of TPE follow from the values before them, so
                they come one by one.
            seconds: After which no trial begins.
            heard: Hears each trial that ends.
        """
        end, size = monotonic() + seconds, BATCH if together and self.search != "tpe" else 1
        with self._lock(f".{self.worker}"):
            while monotonic() < end and (asked := [t for t in (self._ask(trials) for _ in range(size)) if t]):
                points = [suggest(t, self.space) for t in asked]
                try:
                    values = measure(points) if together else [self._one(measure, asked[0], points[0])]
                except BaseException:
                    for trial in asked:
                        self._put_back(trial.number)
                    raise
                for trial, value in zip(asked, values, strict=True):
                    self._tell(trial, value)
                    heard(self.study.get_trials(deepcopy=False)[trial.number])

    def _one(self, measure: Callable[..., float], trial: Any, point: dict[str, Any]) -> Any:
        """The value of a point, or the error that ended it."""
        stage = count()

        def report(value: float) -> None:
            trial.report(value, next(stage))
            if trial.should_prune():
                raise self.engine.TrialPruned

        try:
            return measure(point, report)
        except (*FAILS, self.engine.TrialPruned) as error:
            return error

    def _tell(self, trial: Any, value: Any) -> None:
        """A value, or why there is none: it ended early, or it could not be trained."""
        states = self.engine.trial.TrialState
        if isinstance(value, self.engine.TrialPruned):
            self.study.tell(trial, state=states.PRUNED)
        elif isinstance(value, Exception) or not np.isfinite(value):
            if isinstance(value, Exception):
                trial.set_user_attr("error", str(value))
            self.study.tell(trial, state=states.FAIL)
        else:
            self.study.tell(trial, value)

    def _ask(self, trials: int) -> Any:
        """The next trial; None where there are enough."""
        with self._lock(), warnings.catch_warnings(action="ignore"):  # of samplers that are experimental
            self._take_up()
            states = self.engine.trial.TrialState
            known = self.study.get_trials(deepcopy=False)
            begun = [t for t in known if t.state != states.WAITING and "put back" not in t.user_attrs]
            if len(begun) >= trials:
                return None
            if not any(t.state == states.WAITING for t in known):
                if (point := self._point(len(begun))) is not None:
                    self.study.enqueue_trial(point)
                elif self.search == "grid":
                    return None
            seed = int(np.random.SeedSequence([self.seed, len(begun)]).generate_state(1)[0])
            how = {"n_startup_trials": STARTUP, "multivariate": True, "constant_liar": True}
            self.study.sampler = self.engine.samplers.TPESampler(seed=seed, **how)
            trial = self.study.ask()
            trial.set_user_attr("worker", self.worker)
            suggest(trial, self.space)  # kept in the journal before anything is tried
            return trial

    def _point(self, k: int) -> dict[str, Any] | None:
        """Point k of a search that does not look at values; None: there is none, or TPE chooses."""
        if self.search == "tpe":
            return None
        if self.search == "grid":
            points, k = grid(self.space), k - self.n_first
            order = np.random.default_rng(self.seed).permutation(len(points))  # a part of it is spread out as well
            return self._stored(points[order[k]]) if k < len(points) else None
        if self.search == "quasi-random":
            sobol = qmc.Sobol(len(self.space), scramble=True, rng=np.random.default_rng(self.seed))
            (u,) = (sobol.fast_forward(k) if k else sobol).random(1)
        else:
            u = np.random.default_rng([self.seed, k]).random(len(self.space))
        return self._stored({name: at(where, x) for (name, where), x in zip(self.space.items(), u, strict=True)})

    def _stored(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """A point as Optuna keeps it: ranges as numbers, choices as text."""
        ranges = {name for name, where in self.space.items() if isinstance(where, Range)}
        return {name: value if name in ranges else written(value) for name, value in point.items()}

    # ---- processes that died

    def _take_up(self) -> None:
        """Put the trials of dead processes back."""
        if self.journal is None:
            return
        running = self.engine.trial.TrialState.RUNNING
        for trial in self.study.get_trials(deepcopy=False, states=(running,)):
            worker = trial.user_attrs.get("worker", "")
            if worker != self.worker:
                with suppress(TimeoutError), self._lock(f".{worker}", timeout=0):  # which a process that lives holds
                    self._put_back(trial.number)

    def _put_back(self, number: int) -> None:
        """Try a trial again; whoever dies in here leaves what the next one completes."""
        storage, trials = self.study._storage, self.study.get_trials(deepcopy=False)
        if not any(t.user_attrs.get("again") == number for t in trials):
            point = trials[number].system_attrs.get("fixed_params", {}) | trials[number].params
            self.study.enqueue_trial(point, user_attrs={"again": number})
        storage.set_trial_user_attr(trials[number]._trial_id, "put back", True)
        self.study.tell(number, state=self.engine.trial.TrialState.FAIL)
