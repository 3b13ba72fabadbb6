"""Runs side by side: settings that differ, metrics, and paired tests of the others against the first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup

from .. import measure, plots
from ..catalog import nearest
from ..errors import InputError, RunError
from ..plots import Figure
from ..results import Table, percent, svg
from ..store import Run, write_atomic
from ..tasks import TASKS
from . import files
from .pages import Block, figure_html, render, slug, table_html
from .runs import find_run, flat, resume_command, score_of, times_tested

MAX_CURVES = 6  # of a figure; where training and validation losses would be more, only the last one of each run
LOSSES = {"loss": "training", "valid_loss": "validation"}


class RunResult(NamedTuple):
    """A run that was tested."""

    name: str  # among the compared runs: its id, or its path
    label: str  # what differs from the others, in words
    run: Run
    settings: dict[str, Any]
    history: list[dict[str, float]]
    result: dict[str, Any]
    test: dict[str, Any]  # tested rows, targets and predictions
    task: str

    def score(self, metric: str) -> tuple[float, float | None, float | None]:
        """Value, low and high; None without an interval, NaN without a value."""
        value, low, high = score_of(self.result, metric)
        return np.nan if value is None else value, low, high

    def losses(self) -> dict[str, list[float]]:
        """The logged losses by epoch."""
        logged = {key: [row.get(key, np.nan) for row in self.history] for key in LOSSES}
        return {LOSSES[key]: values for key, values in logged.items() if not np.isnan(values).all()}


def compare_runs(runs: Sequence[Run | Path | str]) -> RunComparison:
    """Two runs or more; the first is what the others are tested against."""
    found = [run if isinstance(run, Run) else find_run(str(run)) for run in runs]
    if len(found) < 2:
        raise InputError(f"Comparing takes two runs or more, got {len(found)}. `ftheta runs` lists runs.")
    for a, b in combinations(found, 2):
        if a.path.resolve() == b.path.resolve():
            raise InputError(f"{a.path} was given twice. Give each run once.")
    ids = [run.path.resolve().name for run in found]
    labels = _labels([flat(files.settings(run)) for run in found])
    first, *others = (
        _result(i if ids.count(i) == 1 else str(run.path), label, run)
        for i, label, run in zip(ids, labels, found, strict=True)
    )
    tests = {other.name: _paired(first, other) for other in others}
    return RunComparison([first, *others], {name: test for name, test in tests.items() if test is not None})


def _labels(settings: Sequence[dict[str, Any]]) -> list[str]:
    """Each run by its model and, among several of one model, by the settings that tell them apart: two, or three."""
    names = [str(s.get("model", "")) for s in settings]
    for model in [name for name in dict.fromkeys(names) if names.count(name) > 1]:
        alike = {i: settings[i] for i, name in enumerate(names) if name == model}
        keys = dict.fromkeys(key for one in alike.values() for key in reversed(one))
        differ = [key for key in keys if _told_apart(alike.values(), [key]) > 1]
        differ.sort(key=lambda key: any(key not in one for one in alike.values()))  # a default has no words
        chosen: list[str] = []
        while differ and (len(chosen) < 2 or (len(chosen) < 3 and _told_apart(alike.values(), chosen) < len(alike))):
            chosen.append(max(differ, key=lambda key: _told_apart(alike.values(), [*chosen, key])))
            differ.remove(chosen[-1])
        for i, one in alike.items():
            names[i] = ", ".join([model, *(_setting(key, one[key]) for key in chosen if key in one)])
    return [name if names.count(name) == 1 else f"{name} ({i})" for i, name in enumerate(names, 1)]


def _told_apart(settings: Iterable[dict[str, Any]], keys: Sequence[str]) -> int:
    return len({tuple(str(one.get(key)) for key in keys) for one in settings})


def _setting(key: str, value: Any) -> str:
    name, words = key.rpartition(".")[2], "-".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{words} {name}" if name == "epochs" else f"{name} {words}"


def _result(name: str, label: str, run: Run) -> RunResult:
    """What a run holds; one without a result or a test part is refused."""
    config = flat(files.settings(run))
    if not run.has("result.json"):
        raise RunError(f"{run.path} has no result yet. Finish it with: {resume_command(run.path)}")
    result = dict(files.result(run))
    if result["part"] == "training rows":
        raise InputError(f"{run.path} has no test part, only rows that it learned from. Train it with one.")
    return RunResult(name, label, run, config, run.rows(), result, files.answers(run), files.facts(run)["task"])


def _paired(a: RunResult, b: RunResult) -> measure.Comparison | None:
    """A paired test where both were tested on the same rows; runs of different tasks are refused."""
    if a.task != b.task:
        raise InputError(
            f"{a.name} and {b.name} have different tasks, {a.task} and {b.task}, and no metric in common. "
            "Compare runs of one task."
        )
    if a.result["data"] != b.result["data"] or a.test["predicted"] is None:
        return None
    if a.task not in TASKS:
        raise InputError(nearest("task", a.task, TASKS))
    found = TASKS[a.task]().compare(a.test["y"], a.test, b.test, (a.label, b.label))
    if found is None:
        raise InputError(f"Runs of the task {a.task} cannot be compared row by row.")
    return found


@dataclass(frozen=True)
class RunComparison:
    """Two runs or more; the first is what the others are tested against."""

    tried: list[RunResult]
    pairs: dict[str, measure.Comparison]  # by the name of each other run that has the test rows of the first

    def tables(self) -> Iterator[Table]:
        """Settings that differ, metrics, and one table per test."""
        metrics = self._metrics()
        yield self._settings()
        scores = {t.label: [_cell(*t.score(metric)) for metric in metrics] for t in self.tried}
        level = self.tried[0].result.get("level", 0.95)
        known, level_of = self.tried[0].result.get("baseline"), f"with {percent(level)} confidence intervals"
        if known and len(self.pairs) == len(self.tried) - 1:  # of the same rows
            values = [known["scores"].get(metric) for metric in metrics]
            scores["baseline"] = ["none" if v is None else f"{v:.4f}" for v in values]
            level_of = f"{level_of}; baseline: {known['name']}"
        yield Table({"metric": metrics, **scores}, f"Test part, {level_of}")
        yield from (pair.table() for pair in self.pairs.values())

    def notes(self) -> Iterator[str]:
        """What the tables do not show."""
        first, *others = self.tried
        unpaired = [t.label for t in others if t.name not in self.pairs]
        if first.test["predicted"] is None:
            yield "These models predict nothing, so there is no test in pairs of rows."
        elif unpaired:
            yield (
                f"No paired test of {', '.join(unpaired)} against {first.label}: their test rows differ (other rows, "
                "columns or targets), and so part of any difference may come from the rows."
            )
        k = len(self.pairs)
        if k > 1:
            yield f"{k} runs were tested against {first.label}: with so many, trust a p below {0.05 / k:.2g} only."
        yield times_tested(first.run)

    def as_json(self) -> dict[str, Any]:
        """Everything, as plain values."""
        runs = {t.name: {"path": str(t.run.path), "result": t.result} for t in self.tried}
        first, pairs = self.tried[0].name, []
        for name, pair in self.pairs.items():
            tests = [_finite(t._asdict()) for t in pair.tests]
            pairs.append({"a": first, "b": name, "n": pair.n, "tests": tests, "meaning": pair.meaning})
        return {"runs": runs, "settings": self._differing(), "paired": pairs, "notes": list(self.notes())}

    def draw(self, folder: Path) -> list[Path]:
        """Write the page and its figures; a file that exists is not replaced."""
        made = {folder / f"{name}.svg": svg(figure, alt) for name, (figure, alt) in self._figures()}
        made = {folder / "compare.html": self.page()} | made
        for file in made:
            if file.exists():
                raise InputError(f"--output {folder}: {file} exists; nothing was changed. Choose another folder.")
        for file, text in made.items():
            write_atomic(file, text.encode())
        return list(made)

    def page(self) -> str:
        """All of it as one page: verdicts first, then differences, metrics, curves and settings."""
        settings, metrics, *tests = self.tables()
        figures = {name: figure_html(figure, slug(name), alt) for name, (figure, alt) in self._figures()}
        pairs = [drawn for name, drawn in figures.items() if name.startswith("compare-")]
        tested = [Block(html=html, folded=table_html(t), summary="Tests") for html, t in zip(pairs, tests, strict=True)]
        first, *others = self.tried
        sections = {
            "Differences on the same rows": tested,
            "Metrics": [Block(html=figures["metrics"], folded=table_html(metrics))],
            "Training": [Block(html=figures["curves"])] if "curves" in figures else [],
            "What differs": [Block(html=table_html(settings))],
            "Notes": [Block(text=note) for note in self.notes()],
            "Repeat it": [Block(code=" ".join(["ftheta runs compare", *(str(t.run.path) for t in self.tried)]))],
        }
        return render(
            title=f"{first.label} against {'; '.join(t.label for t in others)}",
            lead="; ".join(f"{t.label}: {t.name} on {t.settings.get('data', '')}" for t in self.tried),
            verdict=Markup("<br>").join(pair.meaning for pair in self.pairs.values()) or next(self.notes()),
            sections=sections,
        )

    def _settings(self) -> Table:
        """Which run has which name, and the settings that differ."""
        differing = {"run": [t.name for t in self.tried]} | self._differing()
        cells = {
            t.label: ["default" if row[k] is None else str(row[k]) for row in differing.values()]
            for k, t in enumerate(self.tried)
        }
        return Table({"setting": list(differing), **cells}, "Settings that differ")

    def _differing(self) -> dict[str, list[Any]]:
        names = dict.fromkeys(name for t in self.tried for name in t.settings)
        rows = {name: [t.settings.get(name) for t in self.tried] for name in names}
        return {name: row for name, row in rows.items() if any(value != row[0] for value in row)}

    def _metrics(self) -> list[str]:
        return list(dict.fromkeys(metric for t in self.tried for metric in t.result["scores"]))

    def _figures(self) -> Iterator[tuple[str, tuple[Figure, str]]]:
        """Name, figure and its description in words."""
        names, curves = ", ".join(t.label for t in self.tried), self._curves()
        scores = {m: [(t.label, *t.score(m)) for t in self.tried] for m in self._metrics()}
        finite = {metric: [row for row in rows if np.isfinite(row[1])] for metric, rows in scores.items()}
        known = {metric: rows for metric, rows in finite.items() if rows}
        drawn = plots.whiskers(known, title="Test part, with confidence intervals")
        yield "metrics", (drawn, f"Metrics of {names} with their intervals")
        if curves:
            yield "curves", (plots.curves(curves), f"Losses of {names} by epoch")
        for name, pair in self.pairs.items():
            yield f"compare-{self.tried[0].name}-{name}".replace("/", "-"), (pair.figure(), pair.caption)

    def _curves(self) -> dict[str, list[float]]:
        """Losses by run, all of one length."""
        losses = {t.label: t.losses() for t in self.tried}
        if sum(map(len, losses.values())) > MAX_CURVES:
            losses = {name: dict(list(each.items())[-1:]) for name, each in losses.items()}
        lines = {f"{name} {label}": v for name, each in losses.items() for label, v in each.items()}
        longest = max(map(len, lines.values()), default=0)
        return {name: v + [np.nan] * (longest - len(v)) for name, v in lines.items()}


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """A number that JSON does not have becomes null."""
    return {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in row.items()}


def _cell(value: float, low: float | None, high: float | None) -> str:
    interval = "none" if low is None else f"{low:.4f}, {high:.4f}"
    return "none" if np.isnan(value) else f"{value:.4f} [{interval}]"
