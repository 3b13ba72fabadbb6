"""`ftheta data`: the data sets, what is in one, and where it comes from."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..catalog import nearest
from ..errors import InputError
from ..results import Table
from ._show import echo, echo_table

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ..data import Dataset

__all__ = ["command"]

_SHOWN_ROWS, _SHOWN_COLUMNS, _SHOWN_FIELDS, _SHOWN_PICTURES = 5, 10, 40, 200


@click.group("data", invoke_without_command=True, short_help="List, show and fetch data sets.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a data set.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the data sets that have a name, or show or fetch one.

    \b
    ftheta data show moons                      rows, columns, truth, licence
    ftheta data show my.csv --target price      your own file as fθ reads it
    ftheta data show pictures                   a folder with a folder of pictures for each class
    ftheta data get mnist                       fetch it once; later runs need no network
    """
    if ctx.invoked_subcommand:
        return
    from .. import data

    found = [data.facts(name)._asdict() for name in data.names()]
    if as_json:
        for row in found:
            echo(json.dumps(row))
    else:
        echo_table(Table({key: [row[key] for row in found] for key in found[0]}))


@command.command("show")
@click.argument("name", metavar="NAME|FILE")
@click.option("--target", metavar="COLUMN", help="The column of a file that is to be predicted.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def show(name: str, target: str | None, as_json: bool) -> None:
    """What is in a data set or a file: columns, first rows, classes, truth, licence, notes."""
    dataset = _open(name, target)
    found = describe(dataset)
    if as_json:
        echo(json.dumps(found, ensure_ascii=False, indent=1))
        return
    echo(_headline(found))
    for part in _tables(dataset, found):
        echo()
        echo_table(part)
    for what in ("truth", "bayes_error", "licence", "citation"):
        if found[what] not in ("", None):
            echo(f"\n{what.replace('_', ' ')}: {found[what]}")
    for note in found["notes"]:
        echo(f"\nnote: {note}")


def _open(name: str, target: str | None) -> Dataset:
    from .. import data

    if name in data.names():
        if target:
            raise InputError(f"--target {target}: the data set {name!r} has its own target; leave --target out.")
        return data.load(name)
    if not Path(name).exists():
        raise InputError(f"{nearest('data set or file', name, data.names())} A file needs its path, e.g. my.csv.")
    if Path(name).is_dir():
        if target:
            raise InputError(f"--target {target}: the classes of {name} are the names of its folders; leave it out.")
        return data.open_images(name, skip_bad=True, say=lambda text: echo(text, err=True))
    return data.read(name, target)


# ---- what there is to say


def describe(dataset: Dataset) -> dict[str, Any]:
    """Everything that is known of a data set, as JSON values."""
    truth = dataset.truth
    return {
        "name": dataset.name,
        "kind": dataset.kind,
        "rows": dataset.rows,
        "columns": dataset.columns,
        "task": dataset.task,
        "outputs": dataset.outputs,
        "shape": list(dataset.shape),
        "official": dataset.official,
        "fields": _fields(dataset),
        "classes": _classes(dataset),
        "truth": truth.formula if truth else "",
        "bayes_error": truth.bayes_error if truth else None,
        "licence": dataset.licence,
        "citation": dataset.citation,
        "notes": list(dataset.notes),
    }


def _fields(dataset: Dataset) -> list[dict[str, Any]]:
    """Name, kind, missing cells, different values and range of each column; of pictures and others as one column."""
    import pandas as pd

    if dataset.kind == "table":
        columns = [(str(name), column) for name, column in dataset.x.items()]
        number = [("(target)", pd.Series(dataset.y))] if dataset.task == "regression" else []
        return [_field(*column) for column in columns + number]
    if dataset.kind == "text":
        span = {"lowest": None, "highest": None}
        return [{"name": "character", "kind": "category", "missing": 0, "levels": len(set(dataset.x)), **span}]
    return [_field("pixel" if dataset.kind == "image" else "value", pd.Series(_values(dataset.x)))]


def _values(x: Any) -> np.ndarray:
    """Pixels or values in one column; of pictures in files those of some, evenly spaced."""
    import numpy as np

    from ..data import Pictures

    if not isinstance(x, Pictures):
        return x.ravel()
    some = x[:: -(-len(x) // _SHOWN_PICTURES)]
    return np.asarray(some[some.usable()]).ravel()


def _field(name: str, column: pd.Series) -> dict[str, Any]:
    import pandas as pd

    kind = {"f": "number", "i": "number", "u": "number", "b": "number", "M": "date"}.get(column.dtype.kind, "category")
    known = column.dropna()
    ordered = known.astype(str) if kind == "category" else known
    ends = pd.Series([ordered.min(), ordered.max()]).tolist() if len(known) else [None, None]
    low, high = (v if v is None or isinstance(v, int | float) else str(v) for v in ends)
    missing, levels = int(column.isna().sum()), int(known.nunique())
    return {"name": name, "kind": kind, "missing": missing, "levels": levels, "lowest": low, "highest": high}


def _classes(dataset: Dataset) -> dict[str, int]:
    import numpy as np

    if dataset.y is None or dataset.task == "regression":
        return {}
    counts = np.unique(dataset.y, return_counts=True)[1]
    return dict(zip(dataset.target_names, counts.tolist(), strict=True))


# ---- on the screen


def _headline(found: dict[str, Any]) -> str:
    units = {"table": "rows", "image": "pictures", "series": "values", "text": "characters"}
    parts = [f"{found['rows']:,} {units[found['kind']]}"]
    if found["kind"] == "table":
        parts.append(f"{found['columns']:,} column{'s' * (found['columns'] != 1)}")
    if found["shape"]:
        parts.append(" x ".join(map(str, found["shape"])) + " pixels")
    if found["task"] != "none":
        parts.append(found["task"] + (f" ({found['outputs']} classes)" if found["classes"] else ""))
    if found["official"]:
        parts.append(f"the last {found['official']:,} are the official test part")
    return f"{found['name']} ({found['kind']}): {', '.join(parts)}"


def _tables(dataset: Dataset, found: dict[str, Any]) -> Iterator[Table]:
    fields = found["fields"]
    rest = f" (the first {_SHOWN_FIELDS} of {len(fields):,})" if len(fields) > _SHOWN_FIELDS else ""
    yield Table({key: [f[key] for f in fields[:_SHOWN_FIELDS]] for key in fields[0]}, f"columns{rest}")
    if dataset.kind != "image":
        yield _first(dataset)
    if found["classes"]:
        counts, unit = found["classes"].values(), "pixels" if found["task"] == "segment" else "rows"
        shares = [f"{100 * count / sum(counts):.1f} %" for count in counts]
        yield Table({"class": list(found["classes"]), unit: list(counts), "share": shares})


def _first(dataset: Dataset) -> Table:
    """The first rows; of a series a few values, of a text a few lines."""
    if dataset.kind == "text":
        return Table({"first lines": dataset.x[:1000].splitlines()[:_SHOWN_ROWS]})
    if dataset.kind == "series":
        return Table({"first values": dataset.x[:_SHOWN_ROWS].tolist()})
    x = dataset.x[:_SHOWN_ROWS]
    wide = f" (the first {_SHOWN_COLUMNS} of {x.shape[1]:,} columns)" if x.shape[1] > _SHOWN_COLUMNS else ""
    cells: dict[str, Any] = {str(c): [None if v != v else v for v in x[c].tolist()] for c in x.columns[:_SHOWN_COLUMNS]}
    if dataset.y is not None:
        cells["(target)"] = _named(dataset, dataset.y[:_SHOWN_ROWS])
    return Table(cells, f"first rows{wide}")


def _named(dataset: Dataset, y: np.ndarray) -> list[Any]:
    """Targets by their names."""
    import numpy as np

    if not dataset.target_names:
        return y.tolist()
    place = np.searchsorted(np.unique(np.asarray(dataset.y)), y)
    return [dataset.target_names[i] for i in place]


# ---- fetching


@command.command("get")
@click.argument("name")
@click.option("--offline", is_flag=True, help="Never touch the network: only say what is here.")
def get(name: str, offline: bool) -> None:
    """Fetch a data set once, by name and SHA-256, into the cache; say where it is."""
    from .. import data

    where = data.facts(name).where
    if where in ("built in", "made"):
        echo(f"{name} is {where}: there is nothing to fetch.")
        return
    with _progress() as say:
        folder = data.fetch(name, offline=offline, say=say)
    echo(f"{name} is in {folder}; its content is as expected.")


@contextmanager
def _progress() -> Iterator[Callable[[str], object]]:
    """A bar on a terminal's stderr; nothing elsewhere."""
    if not sys.stderr.isatty() or os.environ.get("FTHETA_PROGRESS") == "0":
        yield lambda text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda text: bar.update(task, description=text)
