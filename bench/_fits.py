"""Whole fits, ours beside those of peers: the same rows, the same epochs, a new seed in every repetition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Any, NamedTuple

import numpy as np
import torch

from . import bare
from ._peers import PEERS, Fit, Rows, Shape, bare_loop, ours
from ._report import Line, Report
from ._timing import Settings, alternate, compare, fastest, ratios, summarise, threads

__all__ = ["Race", "race"]

TRIED = 10  # a trial of a thread count makes one in so many of the epochs


class Entrant(NamedTuple):
    """How somebody fits, and with how many threads."""

    fit: Fit
    threads: int


@dataclass(frozen=True)
class Race:
    """Who runs, over what.

    Args:
        name: Name of the benchmark.
        title: What is trained on what.
        shape: The net and how it is trained.
        rows: The rows of a seed.
        epochs: Passes over them.
        asked: The ratio that is asked for, by contestant; None where one is only reported.
    """

    name: str
    title: str
    shape: Shape
    rows: Callable[[int], Rows]
    epochs: int
    asked: Mapping[str, float | None]


def race(given: Race, settings: Settings) -> Report:
    """Let each try its thread counts, then run all in turns."""
    rows = lru_cache(maxsize=1)(given.rows)
    report = Report(given.name, given.title, "a step, whole fits, start-up included")
    entrants = _entrants(given, rows(0), settings, report)
    steps = given.epochs * ceil(len(rows(0).y) / given.shape.batch_size)
    scores: dict[str, list[float]] = {name: [] for name in entrants}

    def score(name: str, seed: int, predict: Any) -> None:
        scores[name].append(float(np.mean(predict(rows(seed).x_test) == rows(seed).y_test)))

    def with_threads(name: str) -> AbstractContextManager[None]:
        return threads(entrants[name].threads)

    runs = {name: lambda seed, fit=e.fit: fit(rows(seed), seed, given.epochs) for name, e in entrants.items()}
    times = alternate(runs, settings.repetitions, before=rows, around=with_threads, done=score)
    for name, entrant in entrants.items():
        count, ratio = (None, None) if name == "ours" else (entrant.threads, ratios(times[name], times["ours"]))
        seconds, accuracy = summarise(times[name]).scaled(1 / steps), compare(scores[name], scores["ours"])
        report.lines.append(Line(name, seconds, count, ratio, given.asked.get(name), accuracy=accuracy))
    return report


def _entrants(given: Race, rows: Rows, settings: Settings, report: Report) -> dict[str, Entrant]:
    """Ours with all cores, of which it takes what it likes; the bare loop and the peers at their best."""
    x, y = torch.from_numpy(rows.narrow), torch.from_numpy(rows.y)
    choice = bare.best(x, y, given.shape.widths, given.shape.batch_size, settings)
    report.notes.append(f"Bare loop: Adam by the kernel {choice.kernel!r}.")
    entrants = {
        "ours": Entrant(ours(given.shape), max(settings.counts)),
        "bare loop": Entrant(bare_loop(given.shape, choice.kernel), choice.threads),
    }
    for name in [] if settings.quick else [n for n in given.asked if n in PEERS]:
        try:
            fit = PEERS[name](given.shape)
        except ModuleNotFoundError as error:
            report.skipped.append(f"{name} ({error})")
            continue
        entrants[name] = Entrant(fit, _best_count(fit, rows, given.epochs, settings))
    entrants["ours"].fit(rows, 0, 1)  # warm-up: the others had theirs
    return entrants


def _best_count(fit: Fit, rows: Rows, epochs: int, settings: Settings) -> int:
    runs = {count: lambda seed: fit(rows, seed, max(1, epochs // TRIED)) for count in settings.counts}
    return fastest(runs, 2, around=threads)
