"""A leaderboard as a page: the verdict, the scores, the columns that the best models agree on, how to repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup

from ..errors import FThetaError
from ..results import Table
from .pages import Block, figure_html, render, result_block, table_html
from .trained import TrainedRun

FIRST, ROWS, COLUMNS = 3, 150, 10  # models whose columns are compared, rows that are looked at, columns that are listed


def page(board: Any, columns: Table | None, asked: Mapping[str, Any]) -> str:
    """The page; `columns` is what `agreement` gives, `asked` the arguments of `compare`."""
    first = board.entrants[0]
    figure = figure_html(board.figure(), "scores", board.caption)
    config = replace(first.job.config, params={}, training={})
    _, _, _, *given = shlex.split(config.command())  # ftheta train MODEL
    models = ["--models", ",".join(asked["models"])] if asked["models"] else []
    how = ["--metric", board.metric, "--folds", str(asked["folds"])]
    runs = {e.name: str(e.run.path) for e in board.entrants} | {f"{first.name}, tested": str(board.best.run.path)}
    sections = {
        "Scores in cross-validation": [Block(html=figure), Block(html=table_html(board.table()))],
        "Which columns matter?": [] if columns is None else [Block(html=table_html(columns))],
        "What next?": [result_block(lambda e=e: e, f"next-{k}", e.caption) for k, e in enumerate(board.advice)],
        "Result of the best on the test part": [Block(html=table_html(board.best.result))],
        "Runs": [Block(html=table_html(Table({"model": list(runs), "folder": list(runs.values())})))],
        "Notes": [Block(text=note) for note in board.notes()],
        "Repeat it": [Block(code=shlex.join(["ftheta", "compare", *given, *models, *how]))],
    }
    facts = first.job.dataset
    return render(
        title=f"{len(board.entrants)} models on {facts.name}",
        lead=f"{first.job.task.title}; {board.table().caption}",
        verdict=Markup("<br>").join(board.verdicts),
        sections=sections,
    )


def agreement(board: Any) -> Table | None:
    """The place of each column in the order of importance, for the best models; None where rows have no columns."""
    found: dict[str, Mapping[str, float]] = {}
    for e in board.entrants[:FIRST]:
        try:
            columns = TrainedRun(e.run).explained("importance", max_rows=ROWS).table().columns
        except FThetaError:
            continue
        names, growth = list(columns.values())[:2]
        found[e.name] = dict(zip(names, growth, strict=True))
    shared = [name for name in next(iter(found.values()), {}) if all(name in each for each in found.values())]
    if len(found) < 2 or not shared:
        return None
    places = {
        model: {name: k + 1 for k, name in enumerate(sorted(shared, key=lambda n: -each[n]))}
        for model, each in found.items()
    }
    order = sorted(shared, key=lambda name: np.mean([place[name] for place in places.values()]))[:COLUMNS]
    spread = max(max(p[n] for p in places.values()) - min(p[n] for p in places.values()) for n in order[:3])
    said = "agree on the first three columns" if spread <= 2 else "differ in which columns matter most"
    table = {"column": order} | {model: [place[name] for name in order] for model, place in places.items()}
    return Table(table, f"Place of each column by importance: {', '.join(found)} {said}.")
