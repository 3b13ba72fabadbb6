"""A run as one HTML page: how well it does, where it fails, what is inside, what it was trained on, how to repeat it.

The first screen answers: a title, cards of the first scores, a verdict, and the one picture that task and model
deserve. The page fetches nothing and runs no script; the same run gives the same bytes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from .. import catalog, explain, plots
from ..catalog.cards import View
from ..data.kinds import KINDS, histogram
from ..errors import FThetaError
from ..results import Table, counted, percent
from ..tasks.base import LEVEL, Headline
from . import files, pages
from .pages import Block, pairs, result_block, slug, table_html, upper
from .runs import chosen, score_of, versions

ROWS, IMAGES, MAPS, COLUMNS = 10, 12, 6, 12  # of the worst predictions
PARTS = {"train": "training"}
FIRST = 4  # views of a lower order are on the first screen


def page(trained: Any, times_tested: str = "") -> str:
    """The report of a TrainedRun; `times_tested` is a sentence about how often its test rows were used."""
    data, result = trained.facts, files.result(trained.run)
    made = _predictions(trained)
    known = [catalog.VIEWS[name] for name in trained.available() if name in catalog.VIEWS]
    replaced = {"curves", *(view.instead for view in known)}  # curves are under training
    quick = [view for view in known if view.cost == "quick" and view.name not in replaced]
    worst, views = _most_wrong(trained), {view.name: view for view in sorted(quick, key=lambda view: view.order)}
    first, where = _picture(trained, made, views, worst)
    shown = [_explained(trained, views.pop(name)) for name, view in list(views.items()) if view.order < FIRST]
    sections = {
        "Result": [*first, *shown, *_result(result, times_tested)],
        "Most wrong": [] if where is worst else worst,
        "Where it errs": _where_it_errs(trained),
        "Predictions": [block() for block in made.values()],
        "Training": _training(trained),
        "Inside the model": [_explained(trained, view) for view in views.values()],
        "Data": _data(trained),
        "Repeat it": _repeat(trained),
    }
    untested = ["No rows were held out: these numbers are of rows that the model has seen."]
    return pages.render(
        title=_title(trained, result),
        lead=_lead(trained, result),
        cards=_cards(trained, result),
        verdict=result.get("verdict", ""),
        leaks=data["leaks"],
        untested=untested if result["part"] == "training rows" else [],
        sections=sections,
    )


# ---- the first screen


def _title(trained: Any, result: Mapping[str, Any]) -> str:
    """Target and file; of a data set with a name the family too."""
    data = trained.facts
    file = Path(trained.config.data).name if "." in trained.config.data else data["name"]
    return f"{data['target']}, from {file}" if data["target"] else f"{result['family']} on {file}"


def _lead(trained: Any, result: Mapping[str, Any]) -> str:
    """What was trained on what, and tested on what."""
    data = trained.facts
    n_columns = sum(int(column.get("count", 1)) for column in data["columns"])
    columns = f", {counted(n_columns, 'column')}" if n_columns else ""
    columns = f", images of {'×'.join(map(str, data['shape']))}" if data["shape"] else columns
    rows = counted(result["rows"], "row")
    tested = {"test part": f"tested on {rows} held out", "test file": f"tested on {rows} of {data['test']}"}
    said = tested.get(result["part"], f"scored on the {rows} that it learned from")
    return f"{result['family']} {trained.task.title} · {counted(data['rows'], 'row')}{columns} · {said}"


def _picture(
    trained: Any, made: dict[str, Callable[[], Block]], views: dict[str, View], worst: list[Block]
) -> tuple[list[Block], list[Block] | None]:
    """The one picture for the first screen, taken from where it would stand; the worst predictions where they are it.

    A view that the task names, images that were predicted worst, or the first figure of the predictions.
    """
    name = next((name for name in trained.task.pictures if name in views), None)
    if name is not None:
        return [_explained(trained, views.pop(name))], None
    if trained.facts["shape"] and any(block.images or "<svg" in block.html for block in worst):
        worst[0].heading = "What does it get wrong?"
        views.pop("segmentation", None)  # the same picture, of rows that were learned from
        return worst, worst
    first = next(iter(made), None)
    return ([] if first is None else [made.pop(first)()]), None


def _cards(trained: Any, result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the template shows of each headline of the task; the first has a picture of interval and baseline."""
    answers = files.answers(trained.run)
    found = trained.task.headlines(result["scores"], answers["y"], answers)
    known = [line for line in found if result["scores"].get(line.score) is not None]
    return [_card(line, result, drawn=i == 0) for i, line in enumerate(known)]


def _card(line: Headline, result: Mapping[str, Any], *, drawn: bool) -> dict[str, Any]:
    value, *ends = score_of(result, line.score)
    simple = result.get("baseline")
    base = simple["scores"].get(line.score) if simple else None
    linear = (simple["linear"] or {}).get(line.score) if simple else None
    between = (
        f"{percent(result.get('level', LEVEL))}: {line.show(ends[0])} to {line.show(ends[1])}"
        if ends[0] is not None
        else ""
    )
    others = {} if simple is None else {simple["name"]: base if drawn else None, "linear model": linear}
    notes = [between, line.note, *(f"{name}: {line.show(v)}" for name, v in others.items() if v is not None)]
    notes = [note.replace("± ", "") if note != line.note else note for note in notes if note]
    low, high = ends if ends[0] is not None else (value, value)
    marks = [v for v in (value, low, high, base) if v is not None]
    start, span = min(marks), (max(marks) - min(marks)) or 1.0
    mark = None
    if drawn and (ends[0] is not None or base is not None):
        at = {name: 8 + 84 * (v - start) / span for name, v in {"value": value, "low": low, "high": high}.items()}
        mark = at | {"base": None if base is None else 8 + 84 * (base - start) / span}
        mark["says"] = "; ".join([f"{line.title} {line.show(value)}", *notes])
    return {"title": line.title, "value": line.show(value), "notes": notes, "mark": mark}


def _number(value: float | None) -> str:
    """As tables show it."""
    return "none" if value is None else Table({"": [value]}).text().split("\n")[-1]


def _result(result: Mapping[str, Any], times_tested: str) -> list[Block]:
    level = f"; {percent(result['level'])} confidence" if "level" in result else ""
    scores, method, simple = result["scores"], result.get("method", {}), result.get("baseline")
    columns = {"metric": list(scores), "value": list(scores.values())}
    ends = [score_of(result, name)[1:] for name in scores]
    columns["confidence interval"] = [
        "none" if low is None else f"{_number(low)} to {_number(high)}" for low, high in ends
    ]
    if simple:
        of_it = {name: round(v, 12) if isinstance(v, float) else v for name, v in simple["scores"].items()}
        columns["baseline"] = [of_it.get(name) for name in scores]  # an error of rounding is 0
        columns |= {"linear": [simple["linear"].get(name) for name in scores]} if simple["linear"] else {}
    columns["method"] = [
        "" if low is None else str(method.get(name, "")) for name, (low, _) in zip(scores, ends, strict=True)
    ]
    of = f"; baseline: {simple['name']}" if simple else ""
    caption = f"{upper(result['part'])}, {counted(result['rows'], 'row')}{level}{of}."
    return [Block("All scores", html=table_html(Table(columns, caption))), Block(text=times_tested)]


def _training(trained: Any) -> list[Block]:
    rows = getattr(trained.model, "history_", None) or trained.run.rows()
    history = [{k: v for k, v in row.items() if k != "seconds"} for row in rows]  # a page does not tell its day
    if not any(row.keys() - {"epoch", "round", "step", "rows"} for row in history):  # nothing but counts was logged
        return [Block(text=getattr(trained.model, "how_fitted", "The model was fitted in closed form."))]
    reason = getattr(trained.model, "stop_reason_", "")
    warned = f" {files.result(trained.run).get('warning', '')}".rstrip()
    known = {
        "": "",
        "rounds": "",
        "converged": " It converged.",
        "seconds": " The time was used up.",
        "steps": " The steps were used up.",
    }
    why = known.get(reason, f" Ended early: {reason}.")
    known = {n: getattr(trained.model, n) for n in ("likelihood_", "target_", "surrogate") if hasattr(trained.model, n)}
    words = {"target": trained.facts["target"]} if trained.facts["target"] else {}
    phases, what = {row.get("phase", 1) for row in history}, "epoch" if "epoch" in history[0] else "round"
    course = f"{counted(len(history), what)}{f' in {len(phases)} phases' * (len(phases) > 1)}"
    said = f"{course}.{why}{warned}"
    if len(history) == 1:  # one point makes no curve
        return [Block(text=said, html=table_html(Table({name: [value] for name, value in history[0].items()})))]
    curves = partial(explain.curves, SimpleNamespace(history_=history, **known), **words)
    alt = "Loss in each epoch of training, with the best epoch marked"
    return [result_block(curves, "curves", alt, text=said)]


# ---- predictions


def _predictions(trained: Any) -> dict[str, Callable[[], Block]]:
    answers = files.answers(trained.run)
    if answers["predicted"] is None:
        return {}
    index = getattr(trained.tested[0], "index", None)
    if "time" in answers and isinstance(index, pd.DatetimeIndex) and len(index) == len(answers["y"]):
        answers = answers | {"time": index.to_numpy()}  # dates are easier to read than the numbers of steps
    made = trained.task.figures(answers["y"], answers, trained.facts["target"] or "y")
    return {name: partial(result_block, make, slug(name), name, heading=name) for name, make in made.items()}


def _where_it_errs(trained: Any) -> list[Block]:
    """Mean errors by columns, or pictures of the most frequent confusions."""
    answers, task, data = files.answers(trained.run), trained.task, trained.facts
    groups = trained.errors()
    if groups is not None and groups.groups:
        return [result_block(lambda: groups, "where-it-errs", groups.caption)]
    confused = task.confused(answers["y"], answers) if data["shape"] and answers["predicted"] is not None else {}
    if not confused:
        return []
    x, kind, (height, width, *colors) = trained.tested[0], KINDS[data["kind"]], data["shape"]
    found = {name: np.asarray(kind.images(x, rows, data["shape"])) for name, rows in confused.items()}
    shown = {name: np.moveaxis(v.reshape(len(v), height, width, *colors or [1]), -1, 1) for name, v in found.items()}
    said = f"The most frequent confusions: {'; '.join(confused)}."
    return [Block(text=said, html=pages.figure_html(plots.examples(shown), "confused", said))]


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
            return [note, Block(text=named, html=pages.figure_html(drawn, "worst-maps", note.text))]
        return [note, Block(images=list(_grid(facts, rows, order[:IMAGES], images)))]
    named = trained.dataset.row_names if isinstance(x, list) and not data["test"] else None
    more = {} if named is None else {trained.config.group or "name": np.asarray(named)[rows]}
    more |= {"steps": np.array([len(row) for row in x])} if isinstance(x, list) else {}
    return [note, Block(html=table_html(_table(more | facts, rows, order[:ROWS], x)))]


def _grid(facts: Mapping[str, Any], rows: Any, worst: np.ndarray, images: np.ndarray) -> Iterator[dict[str, Any]]:
    for i, pixels in zip(worst, images, strict=True):
        cells = {name: f"{v[i]:.2g}" if isinstance(v[i], float) else str(v[i]) for name, v in facts.items()}
        true, predicted, _ = cells.pop("true"), cells.pop("predicted"), cells.pop("wrong")
        what = f"{true} predicted as {predicted}"
        more = "".join(f"{name} {cell}, " for name, cell in cells.items())
        yield {"row": rows[i], "what": what, "more": more, "png": pages.png(pixels)}


def _table(facts: Mapping[str, np.ndarray], rows: Any, worst: np.ndarray, x: Any) -> Table:
    def cells(column: pd.Series) -> list[Any]:
        """Integers without a fraction, dates as text."""
        values = column.convert_dtypes()
        return ["missing" if pd.isna(v) else v if np.isscalar(v) else str(v).removesuffix(" 00:00:00") for v in values]

    if isinstance(x, pd.DataFrame):
        frame = x
    else:  # rows of different lengths are not shown
        frame = pd.DataFrame(np.empty((len(x), 0)) if isinstance(x, list) else np.asarray(x).reshape(len(x), -1))
    columns: dict[str, list[Any]] = {"row": list(np.asarray(rows)[worst])}
    if isinstance(frame.index, pd.DatetimeIndex):
        columns[str(frame.index.name or "time")] = cells(frame.index[worst].to_series())
    columns |= {name: list(np.asarray(column)[worst]) for name, column in facts.items() if name != "wrong"}
    for i, name in enumerate(frame.columns[:COLUMNS]):
        if "steps ahead" in facts and np.array_equal(frame.iloc[:, i], facts["true"]):  # the target of a series
            continue
        columns[f"{name} (column)" if str(name) in columns else str(name)] = cells(frame.iloc[worst, i])
    wide = frame.shape[1] > COLUMNS
    return Table(columns, f"The first {COLUMNS} of {frame.shape[1]:,} columns." if wide else "")


# ---- inside, data, repetition


def _explained(trained: Any, view: View) -> Block:
    """An explanation below the question that it answers; with the table of the one that it stands for."""
    about = {"heading": view.question, "anchor": f"explain-{slug(view.name)}", "text": view.summary, "soft": True}
    numbers = partial(trained.explained, view.instead) if view.instead else None
    draw = view.name != "summary"  # whose figure says no more than its table
    return result_block(
        partial(trained.explained, view.name), slug(view.name), view.summary, numbers, draw=draw, **about
    )


def _data(trained: Any) -> list[Block]:
    data = trained.facts
    names = ("name", "kind", "rows", "test", "target", "license", "citation")
    facts = {name: data[name] for name in names if data[name]}
    facts |= {"shape of an image": " × ".join(map(str, data["shape"]))} if data["shape"] else {}
    facts |= {f"{PARTS.get(name, name)} rows": n for name, n in data["parts"].items()}
    facts = {name: f"{value:,}" if isinstance(value, int) else value for name, value in facts.items()}
    notes = [Block("Notes", text=" ".join(f"{upper(note).rstrip('.')}." for note in data["notes"]))]
    blocks = [Block(html=pairs(("what", "value"), facts)), *(notes if data["notes"] else []), *_target(trained)]
    if not data["columns"]:
        return blocks
    titles = {"name": "column", "kind": "kind", "did": "what was done"}
    made = {title: [column.get(name, "") for column in data["columns"]] for name, title in titles.items()}
    return [*blocks, Block("Columns", html=table_html(Table(made), _histograms(trained, made["column"])))]


def _histograms(trained: Any, names: list[str]) -> list[Markup]:
    """A small histogram for each column; nothing where the data cannot be read any more."""
    try:
        x = trained.dataset.x
    except FThetaError:
        return []
    known = {str(name): x[name] for name in getattr(x, "columns", ())}
    return [pages.bars(*histogram(known[name])) if name in known else Markup("") for name in names if known]


def _target(trained: Any) -> list[Block]:
    """How the target is distributed in each part."""
    try:
        data, parts = trained.dataset, trained.split._asdict()
    except FThetaError:
        return []
    if not trained.facts["parts"].get("validation"):  # the model learned from those rows too
        parts["train"] = np.concatenate([parts["train"], parts.pop("validation")])
    if data.y is None or isinstance(data.y, list) or np.ndim(data.y) != 1:
        return []
    found, places = np.unique(data.y, return_inverse=True)
    y = np.array(data.target_names)[places] if len(data.target_names) == len(found) else np.asarray(data.y)
    shown = {f"{PARTS.get(name, name)} rows": histogram(y[rows], y) for name, rows in parts.items() if len(rows)}
    table = Table({"part": list(shown), "values": [words for _, words in shown.values()]})
    return [Block("Target", html=table_html(table, [pages.bars(*each) for each in shown.values()]))]


def _repeat(trained: Any) -> list[Block]:
    run, model, config = trained.run, trained.model, trained.config
    settings = chosen(asdict(config))
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
