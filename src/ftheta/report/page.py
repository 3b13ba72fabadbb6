"""A run as one HTML page: what was trained on what, how well, where it fails, what is inside, how to repeat it.

The page fetches nothing and runs no script; the same run gives the same bytes.
"""

from __future__ import annotations

import platform
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from html import escape
from importlib.metadata import PackageNotFoundError, version
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from .. import __version__, explain, measure
from ..results import Table
from ..store import Run
from ._html import block, details, heading, note, pairs, paragraph, shown, slug, table
from ._style import CSS
from ._wrong import most_wrong

__all__ = ["at_most", "page"]

EXPLAINED = 2_000  # rows that explanations look at
IMAGES, NUMBERS = 64, 2**18  # of images so many in any case, and more up to so many numbers
PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "safetensors", "matplotlib")
TASKS = {
    "classify": "classification",
    "regress": "regression",
    "binary": "classification in two classes",
    "multiclass": "classification",
    "segment": "segmentation: a class for every pixel",
    "store": "memory of patterns",
    "density": "model of how the rows are spread",
}
PARTS = {"train": "training"}
ALTS = {
    "Residuals": "What is left of the truth after the prediction, row by row",
    "Confusion matrix": "How often each true class was taken for each class",
    "Confusion matrix of the pixels": "How many pixels of each true class were taken for each class",
    "ROC": "True positive rate against false positive rate",
    "Precision and recall": "Precision against recall",
    "Calibration": "Share of right predictions against predicted probability",
}


def page(
    run: Run,
    estimator: Any,
    train: tuple[Any, Any],
    shown: Any,
    *,
    data: Mapping[str, Any],
    result: Mapping[str, Any],
    test: Mapping[str, Any],
    command: str,
    looks: str = "",
) -> str:
    """The report of a run.

    Args:
        run: A trained run.
        estimator: The fitted model of the run.
        train: Rows and targets that it learned from, as it sees them.
        shown: The raw rows of `test`, in its order: a frame, an array or Pictures.
        data: What data.json holds.
        result: What result.json holds.
        test: What test.safetensors holds; `predicted` is None of a model that predicts nothing.
        command: What repeats the run.
        looks: How often its test rows were used for testing, in a sentence.
    """
    test = test if test.get("predicted") is not None else {}
    title = f"{result.get('family', type(estimator).__name__)} on {data.get('name', 'data')}"
    sections = {
        "Result": _result(result, looks),
        "Training": _training(run, estimator),
        "Predictions": _predictions(test, data.get("target") or "y"),
        "Most wrong": most_wrong(test, shown, data.get("shape") or ()) if test else "",
        "Inside the model": "".join(_inside(estimator, train)),
        "Data": _data(data),
        "Repeat it": _repeat(run, estimator, data, command),
    }
    parts = {name: inside for name, inside in sections.items() if inside}
    head = f"{heading(1, title, 'top')}{_lead(data, result)}{_warnings(data, result)}"
    body = "\n".join(f"<section>\n{heading(2, name)}\n{inside}\n</section>" for name, inside in parts.items())
    return _document(title, list(parts), head, body)


def _document(title: str, names: list[str], head: str, body: str) -> str:
    links = "".join(f'<li><a href="#{slug(name)}">{escape(name)}</a></li>' for name in names)
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>{CSS}</style>
</head>
<body>
<nav aria-label="Contents"><ul>{links}</ul></nav>
<main>
<header>{head}</header>
{body}
<footer>Written by fθ (ftheta {escape(__version__)}).</footer>
</main>
</body>
</html>
"""


def _lead(data: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """What was trained on what, and the first number, in two sentences."""
    task = str(data.get("task", "model"))
    target = f" of “{data['target']}”" if data.get("target") else ""
    sizes = ", ".join(f"{n:,} {PARTS.get(name, name)} rows" for name, n in data.get("parts", {}).items() if n)
    columns = f", {len(data['columns']):,} columns" if data.get("columns") else ""
    columns = f", pictures of {'×'.join(map(str, data['shape']))}" if data.get("shape") else columns
    said = ""
    for name, value in list(result.get("scores", {}).items())[:1]:
        between = "" if (interval := _interval(result, name)) == "none" else f" ({interval})"
        said = f" {_upper(name)} {_number(value)}{between} on {result['rows']:,} rows ({result['part']})."
    return paragraph(f"{_upper(TASKS.get(task, task))}{target}: {sizes}{columns}.{said}", "lead")


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _warnings(data: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    train = "training" in result.get("part", "")
    untested = ["No rows were set aside: these numbers are of rows that the model has seen."] if train else []
    return (
        note("Found in the data", data.get("leaks", []))
        + note("No test", untested)
        + note("Notes", data.get("notes", []))
    )


def _number(value: float | None) -> str:
    return "none" if value is None else Table({"": [value]}).text().split("\n")[-1]


def _interval(result: Mapping[str, Any], name: str) -> str:
    found = result.get("intervals", {}).get(name)
    return "none" if found is None else f"{_number(found[0])} to {_number(found[1])}"


def _method(result: Mapping[str, Any], name: str) -> str:
    return "" if _interval(result, name) == "none" else str(result.get("method", {}).get(name, ""))


def _result(result: Mapping[str, Any], looks: str) -> str:
    scores = result.get("scores", {})
    if not scores:
        return ""
    level = f"; {result['level']:.0%} confidence" if "level" in result else ""
    said = f"{result['part']}, {result['rows']:,} rows{level}."
    columns = {
        "metric": list(scores),
        "value": list(scores.values()),
        "confidence interval": [_interval(result, name) for name in scores],
        "how": [_method(result, name) for name in scores],
    }
    return table(Table(columns, _upper(said))) + (paragraph(looks) if looks else "")


def _training(run: Run, estimator: Any) -> str:
    rows = getattr(estimator, "history_", None) or run.rows()
    history = [{k: v for k, v in row.items() if k != "seconds"} for row in rows]  # a page says nothing of its day
    if not history:
        return paragraph("The model was found in one step, without a course of training.")
    reason = getattr(estimator, "stop_reason_", "")
    why = {"": "", "rounds": "", "seconds": " The time was used up."}.get(reason, f" Ended early: {reason}.")
    said = paragraph(f"{len(history):,} epochs.{why}")
    curves = partial(explain.curves, SimpleNamespace(history_=history))
    return said + shown(curves, "curves", "Loss in each epoch of training, with the best epoch marked")


def _predictions(test: Mapping[str, Any], target: str) -> str:
    """Confusion, ROC, precision and recall, calibration; or residuals."""
    if not test:
        return ""
    y, predicted, p = (None if test[name] is None else np.asarray(test[name]) for name in ("y", "predicted", "p"))
    if test["classes"] is None:
        made = {"Residuals": partial(measure.residuals, y, predicted, name=target)}
    elif np.ndim(test["y"]) == 3:  # places in the classes, of every pixel
        classes = tuple(map(str, test["classes"]))
        counts = partial(measure.pixel_counts, y, predicted, range(len(classes)))
        made = {"Confusion matrix of the pixels": lambda: measure.Confusion(classes, counts())}
    else:
        classes = list(test["classes"])
        made = {"Confusion matrix": partial(measure.confusion, y, predicted, classes)}
        if p is not None:
            made |= {
                "ROC": partial(measure.roc, y, p, classes),
                "Precision and recall": partial(measure.precision_recall, y, p, classes),
                "Calibration": partial(measure.calibration, y, p, classes),
            }
    return "".join(heading(3, name) + shown(make, slug(name), ALTS[name]) for name, make in made.items())


def at_most(shape: Sequence[int], rows: int) -> int:
    """So many rows are looked at: of images (C, H, W) the fewer, the larger they are."""
    return min(rows, max(IMAGES, NUMBERS // prod(shape))) if len(shape) > 1 else rows


def _inside(estimator: Any, train: tuple[Any, Any]) -> Iterator[str]:
    """Explanations that the model can give, on rows that it learned from: some, evenly spaced, or all."""
    step = -(-len(train[0]) // at_most(getattr(train[0], "shape", ())[1:], EXPLAINED))
    some = tuple(None if part is None else part[::step] for part in train)
    for name in explain.available(estimator):
        if name != "curves" and explain.get(name).in_report:  # curves stand under training
            what = str(explain.get(name).function.__doc__).partition("\n")[0].replace("`", "")
            rows = train if explain.get(name).all_rows else some
            made = shown(partial(explain.run, name, estimator, *rows), slug(name), what, folded=False)
            title = heading(3, name.replace("-", " ").capitalize(), f"explain-{slug(name)}")
            yield title + paragraph(what, "soft") + made


def _data(data: Mapping[str, Any]) -> str:
    columns = data.get("columns", [])
    named = {name: [column.get(name, "") for column in columns] for name in ("name", "kind", "did")}
    facts = {name: data[name] for name in ("name", "kind", "rows", "target", "licence", "citation") if data.get(name)}
    facts |= {"shape of a picture": " × ".join(map(str, data["shape"]))} if data.get("shape") else {}
    facts |= {f"{PARTS.get(name, name)} rows": f"{n:,}" for name, n in data.get("parts", {}).items()}
    made = Table({"column": named["name"], "kind": named["kind"], "what was done": named["did"]})
    return pairs(("what", "value"), facts) + (heading(3, "Columns") + table(made) if columns else "")


def _repeat(run: Run, estimator: Any, data: Mapping[str, Any], command: str) -> str:
    config = tomllib.loads(run.read("config.toml").decode()) if run.has("config.toml") else {}
    seed = {"seed": seed} if (seed := getattr(estimator, "seed_", config.get("seed"))) is not None else {}
    files = [name for name in ("model.safetensors", "test.safetensors") if run.has(name)]
    digests = [f"{data.get('digest', '')}  data", *(f"{sha256(run.read(name)).hexdigest()}  {name}" for name in files)]
    parameters = {k: v for k, v in estimator.get_params(deep=False).items() if v is not None}
    return "".join(
        [
            block(command),
            heading(3, "Settings"),
            pairs(("setting", "value"), dict(_flat(config)) | seed),
            details(f"All parameters of {type(estimator).__name__}", pairs(("parameter", "value"), parameters)),
            heading(3, "Versions"),
            pairs(("package", "version"), _versions()),
            heading(3, "Digests"),
            paragraph("SHA-256: the same data and the same command on the same versions give the same files.", "soft"),
            block("\n".join(digests)),
        ]
    )


def _flat(config: Mapping[str, Any], head: str = "") -> Iterator[tuple[str, Any]]:
    """Nested settings under dotted names; empty ones left out."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{head}{name}.")
        elif value != "":
            yield f"{head}{name}", value


def _versions() -> dict[str, str]:
    def found(name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            return "missing"

    return {"ftheta": __version__, "python": platform.python_version()} | {name: found(name) for name in PACKAGES}
