"""Runs side by side: settings that differ, metrics, and paired tests of the others against the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import measure, plots
from ..errors import InputError, RunError
from ..results import Table, svg
from ..store import Run, write_atomic
from . import _files
from ._folders import flat, looks, resume_command
from ._pixels import compare_pixels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Compared", "Tried"]

LINES = 6  # of a figure; where training and validation losses would be more, each run has one
_KINDS = {1: "classes", 3: "classes of pixels"}  # by the axes of the truth
LOSSES = {"loss": "training", "valid_loss": "validation"}  # the last one there is decides


class Tried(NamedTuple):
    """A run that was tested: its name among the others, settings, course, result and answers."""

    name: str
    run: Run
    settings: dict[str, Any]
    history: list[dict[str, float]]
    result: dict[str, Any]
    test: dict[str, Any]

    @classmethod
    def of(cls, name: str, run: Run) -> Tried:
        """What a run holds; one without a result or a test part is refused."""
        said = flat(_files.settings(run))
        if not run.has("result.json"):
            raise RunError(f"{run.path} has no result yet. Finish it with: {resume_command(run.path)}")
        result = dict(_files.result(run))
        if result["part"] != "test part":
            raise InputError(
                f"{run.path} has no test part: its numbers are of rows that it learned from. Train it with one."
            )
        return cls(name, run, said, _files.history(run), result, _files.answers(run))

    def same_rows(self, other: Tried) -> bool:
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
class Compared:
    """Two runs or more; the first is what the others are tested against.

    Args:
        tried: The runs.
        pairs: The name of each other run that has the test rows of the first, with what the tests say.
    """

    tried: list[Tried]
    pairs: dict[str, measure.Comparison]

    @classmethod
    def of(cls, runs: list[Run]) -> Compared:
        """Runs that can be compared; others are refused in a sentence."""
        if len(runs) < 2:
            raise InputError(f"Comparing takes two runs or more, got {len(runs)}. `ftheta runs` lists runs.")
        for a, b in combinations(runs, 2):
            if a.path.resolve() == b.path.resolve():
                raise InputError(f"{a.path} was given twice. Give each run once.")
        ids = [run.path.resolve().name for run in runs]
        names = [i if ids.count(i) == 1 else str(run.path) for i, run in zip(ids, runs, strict=True)]
        tried = [Tried.of(name, run) for name, run in zip(names, runs, strict=True)]
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

    def said(self) -> Iterator[str]:
        """What the tables do not say."""
        first, *others = self.tried
        unpaired = [t.name for t in others if t.name not in self.pairs]
        if first.test["predicted"] is None:
            yield "These models predict nothing, so there is no test in pairs of rows."
        elif unpaired:
            yield (
                f"No paired test of {', '.join(unpaired)} against {first.name}: their test rows differ (other rows, "
                "columns or targets), and so part of any difference may come from the rows."
            )
        k = len(self.pairs)
        if k > 1:
            yield f"{k} runs were tested against {first.name}: with so many, trust a p below {0.05 / k:.2g} only."
        yield looks(first.run)

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        runs = {t.name: {"path": str(t.run.path), "result": t.result} for t in self.tried}
        tests = {name: [_finite(t._asdict()) for t in pair.tests] for name, pair in self.pairs.items()}
        first = self.tried[0].name
        pairs = [
            {"a": first, "b": b, "n": pair.n, "tests": tests[b], "said": pair.meaning} for b, pair in self.pairs.items()
        ]
        return {"runs": runs, "settings": self._differing(), "paired": pairs, "said": list(self.said())}

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
            found[f"compare-{self.tried[0].name}-{name}".replace("/", "-")] = pair.figure(), pair.alt
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


def _comparable(first: Tried, other: Tried) -> bool:
    """Whether rows can be paired; runs of different tasks are refused."""
    kinds = [_kind(t.test) for t in (first, other)]
    if kinds[0] != kinds[1]:
        raise InputError(
            f"{first.name} and {other.name} have different tasks, one predicts {kinds[0]} and one {kinds[1]}, and have "
            "no metric in common. Compare runs of one task."
        )
    return first.same_rows(other) and kinds[0] != "nothing"


def _kind(test: Mapping[str, Any]) -> str:
    if test["predicted"] is None:
        return "nothing"
    return "numbers" if test["classes"] is None else _KINDS[np.ndim(test["y"])]


def _paired(a: Tried, b: Tried) -> measure.Comparison:
    classes = None if a.test["classes"] is None else list(dict.fromkeys([*a.test["classes"], *b.test["classes"]]))
    answers = a.test["predicted"], b.test["predicted"]
    if classes is not None and np.ndim(a.test["y"]) == 3:
        places = [np.array([classes.index(name) for name in t.test["classes"]]) for t in (a, b)]
        first, second = (place[found] for place, found in zip(places, answers, strict=True))
        return compare_pixels(places[0][a.test["y"]], first, second, (a.name, b.name))
    return measure.compare(a.test["y"], *answers, classes=classes, names=(a.name, b.name))


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """Numbers that JSON has; of others, nothing."""
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in row.items()}


def _written(value: float, low: float | None, high: float | None) -> str:
    interval = "none" if low is None else f"{low:.4f}, {high:.4f}"
    return "none" if np.isnan(value) else f"{value:.4f} [{interval}]"
