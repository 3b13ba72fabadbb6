"""`ftheta data`: the data sets, what is in one, and where it comes from."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from ..results import Table
from ._show import echo, echo_table

if TYPE_CHECKING:
    from ..data import Dataset

_SHOWN_ROWS, _SHOWN_FIELDS = 5, 40


@click.group("data", invoke_without_command=True, short_help="List, show and fetch data sets.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per data set.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the data sets that have a name, or show or fetch one.

    \b
    ftheta data show moons                      rows, columns, truth, license
    ftheta data show my.csv --target price      your own file as fθ reads it
    ftheta data show images                     a folder with one folder of images per class
    ftheta data get mnist                       fetch it once; later runs need no network
    """
    if ctx.invoked_subcommand:
        return
    from .. import data

    found = [data.info(name)._asdict() for name in data.names()]
    if as_json:
        for row in found:
            echo(json.dumps(row))
    else:
        echo_table(Table({key: [row[key] for row in found] for key in found[0]}))


@command.command("show")
@click.argument("name", metavar="NAME|FILE")
@click.option("--target", metavar="COLUMN", help="The column of a file that is to be predicted.")
@click.option("--encoding", default="utf-8", metavar="NAME", help="Of the characters of a CSV file, e.g. latin-1.")
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def show(name: str, target: str | None, encoding: str, as_json: bool) -> None:
    """What is in a data set or a file: columns, first rows, classes, truth, license, notes."""
    from ..jobs.opening import described_data

    dataset = described_data(name, target, encoding, lambda text: echo(text, err=True))
    found = describe(dataset)
    if as_json:
        echo(json.dumps(found, ensure_ascii=False, indent=1))
        return
    echo(_headline(found, dataset))
    for part in _tables(dataset, found):
        echo()
        echo_table(part)
    for what in ("truth", "bayes_error", "license", "citation"):
        if found[what] not in ("", None):
            echo(f"\n{what.replace('_', ' ')}: {found[what]}")
    for note in found["notes"]:
        echo(f"\nnote: {note}")


# ---- what there is to show


def describe(dataset: Dataset) -> dict[str, Any]:
    """Everything that is known of a data set, as JSON values."""
    from ..data.kinds import KINDS

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
        "fields": KINDS[dataset.kind].fields(dataset),
        "classes": _classes(dataset),
        "truth": truth.formula if truth else "",
        "bayes_error": truth.bayes_error if truth else None,
        "license": dataset.license,
        "citation": dataset.citation,
        "notes": list(dataset.notes),
    }


def _classes(dataset: Dataset) -> dict[str, int]:
    import numpy as np

    if dataset.y is None or not dataset.target_names:
        return {}
    counts = np.unique(dataset.y, return_counts=True)[1]
    return dict(zip(dataset.target_names, counts.tolist(), strict=True))


def _headline(found: dict[str, Any], dataset: Dataset) -> str:
    from ..data.kinds import KINDS

    kind = KINDS[dataset.kind]
    parts = [f"{found['rows']:,} {kind.unit}", kind.size(dataset)]
    if found["task"] != "none":
        parts.append(found["task"] + (f" ({found['outputs']} classes)" if found["classes"] else ""))
    if found["official"]:
        parts.append(f"the last {found['official']:,} are the official test part")
    return f"{found['name']} ({found['kind']}): {', '.join(filter(None, parts))}"


def _tables(dataset: Dataset, found: dict[str, Any]) -> Iterator[Table]:
    from ..data.kinds import KINDS

    fields = found["fields"]
    rest = f" (the first {_SHOWN_FIELDS} of {len(fields):,})" if len(fields) > _SHOWN_FIELDS else ""
    yield Table({key: [f[key] for f in fields[:_SHOWN_FIELDS]] for key in fields[0]}, f"columns{rest}")
    first = KINDS[dataset.kind].first(dataset, _SHOWN_ROWS)
    if first is not None:
        yield first
    if found["classes"]:
        counts = found["classes"].values()
        shares = [f"{100 * count / sum(counts):.1f} %" for count in counts]
        yield Table({"class": list(found["classes"]), "count": list(counts), "share": shares})


# ---- fetching


@command.command("get")
@click.argument("name")
@click.option("--offline", is_flag=True, help="Never touch the network: only say what is here.")
def get(name: str, offline: bool) -> None:
    """Fetch a data set once, by name and SHA-256, into the cache; say where it is."""
    from .. import data

    where = data.info(name).where
    if where in ("built in", "synthetic"):
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
