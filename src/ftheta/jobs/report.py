"""A run as one HTML page: what was trained on what, how well, where it fails, explanations, how to repeat it.

Task and kind give its contents, `pages` its form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from functools import partial
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import catalog, explain
from ..data.kinds import KINDS
from ..results import Table
from . import files
from .pages import Block, counted, figure_html, pairs, png, render, result_block, slug, table_html, upper
from .runs import flat, versions

ROWS, IMAGES, MAPS, COLUMNS = 10, 24, 6, 12  # of the worst predictions
PARTS = {"train": "training"}


def page(trained: Any, times_tested: str = "") -> str:
    """The report of a TrainedRun; `times_tested` is a sentence about how often its test rows were used."""
    data, result = trained.facts, files.result(trained.run)
    sections = {
        "Result": _result(result, times_tested),
        "Training": _training(trained),
        "Predictions": _predictions(trained),
        "Most wrong": _most_wrong(trained),
        "Inside the model": list(_inside(trained)),
        "Data": _data(data),
        "Repeat it": _repeat(trained),
    }
    untested = ["No rows were held out: these numbers are of rows that the model has seen."]
    return render(
        title=f"{result['family']} on {data['name']}",
        lead=_lead(trained, result),
        leaks=data["leaks"],
        untested=untested if result["part"] == "training rows" else [],
        notes=data["notes"],
        sections={name: blocks for name, blocks in sections.items() if blocks},
    )


# ---- the first screen


def _lead(trained: Any, result: Mapping[str, Any]) -> str:
    """What was trained on what, and the first number, in two sentences."""
    data = trained.facts
    target = f" of “{data['target']}”" if data["target"] else ""
    sizes = ", ".join(counted(n, f"{PARTS.get(name, name)} row") for name, n in data["parts"].items() if n)
    n_columns = sum(int(column.get("count", 1)) for column in data["columns"])
    columns = f", {counted(n_columns, 'column')}" if n_columns else ""
    columns = f", images of {'×'.join(map(str, data['shape']))}" if data["shape"] else columns
    first = ""
    for name, value in list(result["scores"].items())[:1]:
        between = "" if (interval := _interval(result, name)) == "none" else f" ({interval})"
        first = f" {upper(name)} {_number(value)}{between} on {counted(result['rows'], 'row')} ({result['part']})."
    return f"{upper(trained.task.title)}{target}: {sizes}{columns}.{first}"


def _number(value: float | None) -> str:
    return "none" if value is None else Table({"": [value]}).text().split("\n")[-1]


def _interval(result: Mapping[str, Any], name: str) -> str:
    found = result.get("intervals", {}).get(name)
    return "none" if found is None else f"{_number(found[0])} to {_number(found[1])}"


def _result(result: Mapping[str, Any], times_tested: str) -> list[Block]:
    level = f"; {result['level']:.0%} confidence" if "level" in result else ""
    scores, method = result["scores"], result.get("method", {})
    columns = {
        "metric": list(scores),
        "value": list(scores.values()),
        "confidence interval": [_interval(result, name) for name in scores],
        "method": ["" if _interval(result, name) == "none" else str(method.get(name, "")) for name in scores],
    }
    caption = f"{upper(result['part'])}, {counted(result['rows'], 'row')}{level}."
    return [Block(html=table_html(Table(columns, caption))), Block(text=times_tested)]


def _training(trained: Any) -> list[Block]:
    rows = getattr(trained.model, "history_", None) or trained.run.rows()
    history = [{k: v for k, v in row.items() if k != "seconds"} for row in rows]  # a page does not tell its day
    if not history:
        return [Block(text="The model was fitted in closed form.")]
    reason = getattr(trained.model, "stop_reason_", "")
    known = {"": "", "rounds": "", "seconds": " The time was used up.", "steps": " The steps were used up."}
    why = known.get(reason, f" Ended early: {reason}.")
    curves = partial(explain.curves, SimpleNamespace(history_=history))
    alt = "Loss in each epoch of training, with the best epoch marked"
    return [result_block(curves, "curves", alt, text=f"{counted(len(history), 'epoch')}.{why}")]


# ---- predictions


def _predictions(trained: Any) -> list[Block]:
    answers = files.answers(trained.run)
    if answers["predicted"] is None:
        return []
    made = trained.task.figures(answers["y"], answers, trained.facts["target"] or "y")
    return [result_block(make, slug(name), name, heading=name) for name, make in made.items()]


def _most_wrong(trained: Any) -> list[Block]:
    """The rows that were predicted worst: images, maps, or a table of the raw rows."""
    answers, task, data = files.answers(trained.run), trained.task, trained.facts
    facts = None if answers["predicted"] is None else task.worst(answers["y"], answers)
    if facts is None:
        return []
    order = np.argsort(-facts["wrong"], kind="stable")
    order = order[facts["wrong"][order] > 0]
    note = Block(text=task.worst_note(answers["y"], answers))
    if not len(order):
        return [note]
    kind, x, rows = KINDS[data["kind"]], trained.tested[0], answers["rows"]
    images = kind.images(x, order[: IMAGES if data["shape"] else 0], data["shape"])
    if images is not None and len(images):
        maps = images[:MAPS].reshape(-1, *(*data["shape"], 1)[:3])
        drawn = task.draw_worst(maps, answers["y"], answers, order[:MAPS])
        if drawn is not None:
            named = f"Rows {', '.join(str(row) for row in rows[order[:MAPS]])}."
            return [note, Block(text=named, html=figure_html(drawn, "worst-maps", note.text))]
        return [note, Block(images=list(_grid(facts, rows, order[:IMAGES], images)))]
    return [note, Block(html=table_html(_table(facts, rows, order[:ROWS], x)))]


def _grid(facts: Mapping[str, Any], rows: Any, worst: np.ndarray, images: np.ndarray) -> Iterator[dict[str, Any]]:
    for i, pixels in zip(worst, images, strict=True):
        cells = {name: f"{v[i]:.2g}" if isinstance(v[i], float) else str(v[i]) for name, v in facts.items()}
        true, predicted, _ = cells.pop("true"), cells.pop("predicted"), cells.pop("wrong")
        what = f"{true} predicted as {predicted}" if true != predicted else f"{true}, unsure"
        more = "".join(f"{name} {cell}, " for name, cell in cells.items())
        yield {"row": rows[i], "what": what, "more": more, "png": png(pixels)}


def _table(facts: Mapping[str, np.ndarray], rows: Any, worst: np.ndarray, x: Any) -> Table:
    import pandas as pd

    def cells(column: pd.Series) -> list[Any]:
        """Integers without a fraction, dates as text, None where a cell is missing."""
        values = column.convert_dtypes()
        return [None if pd.isna(v) else v if np.isscalar(v) else str(v).removesuffix(" 00:00:00") for v in values]

    if isinstance(x, pd.DataFrame):
        frame = x
    else:  # rows of different lengths are not shown
        frame = pd.DataFrame(np.empty((len(x), 0)) if isinstance(x, list) else np.asarray(x).reshape(len(x), -1))
    columns: dict[str, list[Any]] = {"row": list(np.asarray(rows)[worst])}
    columns |= {name: list(np.asarray(column)[worst]) for name, column in facts.items() if name != "wrong"}
    for i, name in enumerate(frame.columns[:COLUMNS]):
        columns[f"{name} (column)" if str(name) in columns else str(name)] = cells(frame.iloc[worst, i])
    wide = frame.shape[1] > COLUMNS
    return Table(columns, f"The first {COLUMNS} of {frame.shape[1]:,} columns." if wide else "")


# ---- inside, data, repetition


def _inside(trained: Any) -> Iterator[Block]:
    """Explanations that the model can give, on rows that it learned from."""
    views = [catalog.VIEWS[name] for name in trained.available() if name in catalog.VIEWS]
    for view in sorted(views, key=lambda view: view.order):
        if view.name != "curves" and view.cost == "quick":  # curves are under training
            about = {"heading": view.name.replace("-", " ").capitalize(), "anchor": f"explain-{slug(view.name)}"}
            make = partial(trained.explained, view.name)
            yield result_block(make, slug(view.name), view.summary, folded=False, **about, text=view.summary, soft=True)


def _data(data: Mapping[str, Any]) -> list[Block]:
    names = ("name", "kind", "rows", "test", "target", "license", "citation")
    facts = {name: data[name] for name in names if data[name]}
    facts |= {"shape of an image": " × ".join(map(str, data["shape"]))} if data["shape"] else {}
    facts |= {f"{PARTS.get(name, name)} rows": f"{n:,}" for name, n in data["parts"].items()}
    titles = {"name": "column", "kind": "kind", "did": "what was done"}
    made = {title: [column.get(name, "") for column in data["columns"]] for name, title in titles.items()}
    table = [Block("Columns", html=table_html(Table(made)))] if data["columns"] else []
    return [Block(html=pairs(("what", "value"), facts)), *table]


def _repeat(trained: Any) -> list[Block]:
    run, model, config = trained.run, trained.model, trained.config
    settings = {name: value for name, value in flat(asdict(config)).items() if value is not None}
    settings["seed"] = getattr(model, "seed_", config.seed)
    kept = [name for name in ("model.safetensors", "test.safetensors") if run.has(name)]
    digests = [f"{trained.facts['digest']}  data", *(f"{sha256(run.read(name)).hexdigest()}  {name}" for name in kept)]
    parameters = {k: v for k, v in model.get_params(deep=False).items() if v is not None}
    same = "SHA-256: the same data and the same command with the same versions give the same files."
    folded, summary = pairs(("parameter", "value"), parameters), f"All parameters of {type(model).__name__}"
    return [
        Block(code=config.command()),
        Block("Settings", html=pairs(("setting", "value"), settings), folded=folded, summary=summary),
        Block("Versions", html=pairs(("package", "version"), versions())),
        Block("Digests", text=same, soft=True),
        Block(code="\n".join(digests)),
    ]
