"""Runs side by side: settings that differ, metrics, and paired tests of the others against the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import measure, plots
from ..catalog import nearest
from ..errors import InputError, RunError
from ..results import Table, svg
from ..store import Run, write_atomic
from ..tasks import TASKS
from . import files
from .runs import find_run, flat, resume_command, times_tested

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["RunComparison", "RunResult", "compare_runs"]

LINES = 6  # of a figure; where training and validation losses would be more, each run has one
LOSSES = {"loss": "training", "valid_loss": "validation"}  # the last one there is decides


def compare_runs(runs: Sequence[Run | Path | str]) -> RunComparison:
    """Two runs or more; the first is what the others are tested against."""
    return RunComparison.of([run if isinstance(run, Run) else find_run(str(run)) for run in runs])


class RunResult(NamedTuple):
    """A run that was tested: its name among the others, settings, history, result, answers and task."""

    name: str
    run: Run
    settings: dict[str, Any]
    history: list[dict[str, float]]
    result: dict[str, Any]
    test: dict[str, Any]
    task: str

    @classmethod
    def of(cls, name: str, run: Run) -> RunResult:
        """What a run holds; one without a result or a test part is refused."""
        config = flat(files.settings(run))
        if not run.has("result.json"):
            raise RunError(f"{run.path} has no result yet. Finish it with: {resume_command(run.path)}")
        result = dict(files.result(run))
        if result["part"] == "training rows":
            raise InputError(
                f"{run.path} has no test part: its numbers are of rows that it learned from. Train it with one."
            )
        return cls(name, run, config, files.history(run), result, files.answers(run), files.facts(run)["task"])

    def same_rows(self, other: RunResult) -> bool:
        """Whether both were tested on the same rows with the same targets, in the same order."""
        return self.result["data"] == other.result["data"]

    def score(self, metric: str) -> tuple[float, float | None, float | None]:
        """Value, low and high; None where there is no interval, NaN where there is no value."""
        low, high = self.result.get("intervals", {}).get(metric) or (None, None)
        value = self.result["scores"].get(metric)
        return np.nan if value is None else value, low, high

    def losses(self) -> dict[str, list[float]]:
        """The losses that were logged, by epoch."""
        there = {key: [row.get(key, np.nan) for row in self.history] for key in LOSSES}
        return {LOSSES[key]: values for key, values in there.items() if not np.isnan(values).all()}


@dataclass(frozen=True)
class RunComparison:
    """Two runs or more; the first is what the others are tested against.

    Args:
        tried: The runs.
        pairs: The name of each other run that has the test rows of the first, with what the tests say.
    """

    tried: list[RunResult]
    pairs: dict[str, measure.Comparison]

    @classmethod
    def of(cls, runs: list[Run]) -> RunComparison:
        """Runs that can be compared; others are refused in a sentence."""
        if len(runs) < 2:
            raise InputError(f"Comparing takes two runs or more, got {len(runs)}. `ftheta runs` lists runs.")
        for a, b in combinations(runs, 2):
            if a.path.resolve() == b.path.resolve():
                raise InputError(f"{a.path} was given twice. Give each run once.")
        ids = [run.path.resolve().name for run in runs]
        names = [i if ids.count(i) == 1 else str(run.path) for i, run in zip(ids, runs, strict=True)]
        tried = [RunResult.of(name, run) for name, run in zip(names, runs, strict=True)]
        return cls(tried, {b.name: _paired(tried[0], b) for b in tried[1:] if _comparable(tried[0], b)})

    def tables(self) -> Iterator[Table]:
        """Settings that differ, metrics, and a table a test."""
        names = [t.name for t in self.tried]
        differing = self._differing()
        if differing:
            cells = {
                name: ["default" if row[k] is None else str(row[k]) for row in differing.values()]
                for k, name in enumerate(names)
            }
            yield Table({"setting": list(differing), **cells}, "Settings that differ")
        scores = {t.name: [_written(*t.score(metric)) for metric in self._metrics()] for t in self.tried}
        level = self.tried[0].result.get("level", 0.95)
        yield Table({"metric": self._metrics(), **scores}, f"Test part, with {level:.0%} confidence intervals")
        yield from (pair.table() for pair in self.pairs.values())

    def notes(self) -> Iterator[str]:
        """What the tables do not say."""
        first, *others = self.tried
        unpaired = [t.name for t in others if t.name not in self.pairs]
        if first.test.get("predicted") is None:
            yield "These models predict nothing, so there is no test in pairs of rows."
        elif unpaired:
            yield (
                f"No paired test of {', '.join(unpaired)} against {first.name}: their test rows differ (other rows, "
                "columns or targets), and so part of any difference may come from the rows."
            )
        k = len(self.pairs)
        if k > 1:
            yield f"{k} runs were tested against {first.name}: with so many, trust a p below {0.05 / k:.2g} only."
        yield times_tested(first.run)

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        runs = {t.name: {"path": str(t.run.path), "result": t.result} for t in self.tried}
        tests = {name: [_finite(t._asdict()) for t in pair.tests] for name, pair in self.pairs.items()}
        first = self.tried[0].name
        pairs = [
            {"a": first, "b": b, "n": pair.n, "tests": tests[b], "meaning": pair.meaning}
            for b, pair in self.pairs.items()
        ]
        return {"runs": runs, "settings": self._differing(), "paired": pairs, "notes": list(self.notes())}

    def draw(self, folder: Path) -> list[Path]:
        """Write the figures; a file that exists is not replaced."""
        files = {folder / f"{name}.svg": figure for name, figure in self._figures().items()}
        for file in files:
            if file.exists():
                raise InputError(f"--output {folder}: {file} exists; nothing was changed. Choose another folder.")
        for file, (figure, alt) in files.items():
            write_atomic(file, svg(figure, alt).encode())
        return list(files)

    def _differing(self) -> dict[str, list[Any]]:
        names = dict.fromkeys(name for t in self.tried for name in t.settings)
        rows = {name: [t.settings.get(name) for t in self.tried] for name in names}
        return {name: row for name, row in rows.items() if any(value != row[0] for value in row)}

    def _metrics(self) -> list[str]:
        return list(dict.fromkeys(metric for t in self.tried for metric in t.result["scores"]))

    def _figures(self) -> dict[str, tuple[Figure, str]]:
        """By name, each with what is said to those who do not see it."""
        names, curves = ", ".join(t.name for t in self.tried), self._curves()
        found = {"metrics": (self._scores(), f"Metrics of {names} with their intervals")}
        if curves:
            found["curves"] = plots.curves(curves), f"Losses of {names} by epoch"
        for name, pair in self.pairs.items():
            found[f"compare-{self.tried[0].name}-{name}".replace("/", "-")] = pair.figure(), pair.caption
        return found

    def _scores(self) -> Figure:
        rows = {m: [(t.name, *t.score(m)) for t in self.tried if np.isfinite(t.score(m)[0])] for m in self._metrics()}
        return plots.whiskers(
            {m: found for m, found in rows.items() if found}, title="Test part, with confidence intervals"
        )

    def _curves(self) -> dict[str, list[float]]:
        """Losses by run, all of one length; only the deciding one of each run where they would be many."""
        losses = {t.name: t.losses() for t in self.tried}
        if sum(map(len, losses.values())) > LINES:
            losses = {name: dict(list(found.items())[-1:]) for name, found in losses.items()}
        lines = {f"{name} {label}": v for name, found in losses.items() for label, v in found.items()}
        longest = max(map(len, lines.values()), default=0)
        return {name: v + [np.nan] * (longest - len(v)) for name, v in lines.items()}


def _comparable(first: RunResult, other: RunResult) -> bool:
    """Whether rows can be paired; runs of different tasks are refused."""
    if first.task != other.task:
        raise InputError(
            f"{first.name} and {other.name} have different tasks, {first.task} and {other.task}, and no metric in "
            "common. Compare runs of one task."
        )
    return first.same_rows(other) and first.test.get("predicted") is not None


def _paired(a: RunResult, b: RunResult) -> measure.Comparison:
    found = _task(a.task).compare(a.test["y"], a.test, b.test, (a.name, b.name))
    if found is None:
        raise InputError(f"Runs of the task {a.task} cannot be compared row by row.")
    return found


def _task(name: str) -> Any:
    if name not in TASKS:
        raise InputError(nearest("task", name, TASKS))
    return TASKS[name]()


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """Numbers that JSON has; of others, nothing."""
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in row.items()}


def _written(value: float, low: float | None, high: float | None) -> str:
    interval = "none" if low is None else f"{low:.4f}, {high:.4f}"
    return "none" if np.isnan(value) else f"{value:.4f} [{interval}]"
