"""What a search found: every trial, the best point, which parameters mattered, and what to widen."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import InputError
from ..plots import GREY, PALETTE, Figure, canvas, drawn
from ..results import Result, Table
from .search import Search, optuna
from .space import Range, Space, written

MIN_TRIALS = 6  # from which the importance of parameters can be told


class Trials(Result):
    """The trials of a search, in the order in which they began."""

    space: Space
    metric: str
    maximize: bool
    points: tuple[Mapping[str, Any], ...]
    values: np.ndarray  # (T,), NaN where a trial has none
    states: tuple[str, ...]  # complete, pruned, failed
    seconds: np.ndarray  # (T,)
    study: Any  # Optuna's

    @cached_property
    def importance(self) -> Mapping[str, float]:
        """Share of the variance of the values that each parameter explains, by the trees of fANOVA; empty with few
        trials, or where nothing varies."""
        values = self.values[self.complete]
        if len(values) < MIN_TRIALS or len(set(values)) < 2 or len(self.space) < 2:
            return {}
        importance = optuna().importance
        return importance.get_param_importances(self.study, evaluator=importance.FanovaImportanceEvaluator(seed=0))

    @property
    def why(self) -> str:
        """Why the first point that could not be trained could not; else an empty text."""
        errors = (t.user_attrs.get("error") for t in self.study.get_trials(deepcopy=False))
        return next((f": {error.rstrip('.')}" for error in errors if error), "")

    @property
    def complete(self) -> np.ndarray:
        """Whether each trial has its value: (T,)."""
        return np.array(self.states) == "complete"

    @property
    def best(self) -> int:
        """Row of the best trial that is complete."""
        if not self.complete.any():
            raise InputError(f"None of {len(self.points)} trials could be trained{self.why}. Check the space.")
        return int(np.nanargmax(np.where(self.complete, self.values if self.maximize else -self.values, -np.inf)))

    @property
    def best_point(self) -> dict[str, Any]:
        """Parameters of the best trial."""
        return dict(self.points[self.best])

    def table(self) -> Table:
        """One row per trial, the best first."""
        sign = -1 if self.maximize else 1
        rank = {"complete": 0, "pruned": 1, "failed": 2}
        order = sorted(
            range(len(self.points)), key=lambda t: (rank[self.states[t]], sign * np.nan_to_num(self.values[t]))
        )
        columns: dict[str, list[Any]] = {"trial": order, self.metric: [self.values[t] for t in order]}
        for name in self.space:
            cells = [self.points[t].get(name) for t in order]
            columns[name] = [c if isinstance(c, int | float) else written(c) for c in cells]
        columns |= {"state": [self.states[t] for t in order], "seconds": [round(self.seconds[t], 2) for t in order]}
        return Table(columns, self.caption)

    @drawn
    def figure(self) -> Figure:
        """The values trial by trial with the best so far, then each parameter against the value."""
        names = list(self.space)
        figure, (history, *slices) = canvas(1 + len(names), across=min(3, 1 + len(names)), width=3.2, height=2.7)
        number, complete = np.arange(len(self.values)), self.complete
        best = (np.fmax if self.maximize else np.fmin).accumulate(np.where(complete, self.values, np.nan))
        history.plot(number[complete], self.values[complete], "o", color=PALETTE[0], ms=4, alpha=0.6, label="trial")
        history.plot(number, best, color=PALETTE[1], drawstyle="steps-post", label="best so far")
        history.set(title="History", xlabel="trial", ylabel=self.metric)
        history.legend(loc="best")
        for axes, name in zip(slices, names, strict=True):
            self._slice(axes, name)
        return figure

    def _slice(self, axes: Any, name: str) -> None:
        where, rows = self.space[name], np.flatnonzero(self.complete)
        cells = [self.points[t].get(name) for t in rows]
        ticks = [] if isinstance(where, Range) else [written(value) for value in where]
        x = cells if isinstance(where, Range) else [ticks.index(written(c)) for c in cells]
        axes.plot(x, self.values[rows], "o", color=PALETTE[0], ms=4, alpha=0.6)
        k = rows.tolist().index(self.best)
        axes.plot(x[k], self.values[self.best], "o", mfc="none", mec=PALETTE[1], ms=10, mew=2)
        share = self.importance.get(name)
        axes.set(title="" if share is None else f"importance {100 * share:.0f} %", xlabel=name, ylabel=self.metric)
        if isinstance(where, Range):
            axes.set_xscale("log" if where.log else "linear")
        else:
            axes.set_xticks(range(len(ticks)), ticks, rotation=30 if len(ticks) > 3 else 0)
        axes.axhline(self.values[self.best], color=GREY, lw=1, ls=(0, (4, 3)))

    @cached_property
    def edges(self) -> list[str]:
        """Where the best point lies at the end of a range, in sentences."""
        found = {n: w.near_end(self.best_point[n]) for n, w in self.space.items() if isinstance(w, Range)}
        return [
            f"The best {name} ({self.best_point[name]:.3g}) is at the {end} end of its range: widen it."
            for name, end in found.items()
            if end
        ]

    @property
    def caption(self) -> str:
        counts = {state: self.states.count(state) for state in ("complete", "pruned", "failed")}
        how = ", ".join(f"{n} {state}" for state, n in counts.items() if n)
        most = max(self.importance, key=lambda name: self.importance[name]) if self.importance else ""
        matters = f" {most} matters most." if most else ""
        failed = [f"One that failed{self.why}."] if self.why else []
        said = f"{len(self.points)} trials: {how}; the best is trial {self.best}.{matters}"
        return " ".join([said, *failed, *self.edges])


def trials_of(search: Search, metric: str) -> Trials:
    """The trials of a search that have ended."""
    states = {"COMPLETE": "complete", "PRUNED": "pruned", "FAIL": "failed"}
    ended = [
        t for t in search.study.get_trials(deepcopy=False) if t.state.name in states and "put back" not in t.user_attrs
    ]
    texts = {n: {written(v): v for v in where} for n, where in search.space.items() if not isinstance(where, Range)}

    def point(trial: Any) -> dict[str, Any]:
        return {name: texts[name][v] if name in texts else v for name, v in trial.params.items()}

    values = np.array([np.nan if t.value is None else t.value for t in ended], dtype=float)
    seconds = np.array([t.duration.total_seconds() if t.duration else np.nan for t in ended])
    return Trials(
        search.space, metric, search.maximize, tuple(map(point, ended)), values,
        tuple(states[t.state.name] for t in ended), seconds, search.study,
    )  # fmt: skip
