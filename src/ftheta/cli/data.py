"""`ftheta data`: the data sets, what is in one, and where it comes from."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from ..results import Table
from ._options import layout_options
from ._show import echo, echo_json, echo_rows, echo_table, json_option

if TYPE_CHECKING:
    from ..data import Dataset

_SHOWN_ROWS, _SHOWN_FIELDS = 5, 40
_SHADES, _WIDE, _LINE = " ░▒▓█", 16, 90  # of pictures; pixels that take two letters each; letters


@click.group("data", invoke_without_command=True, short_help="List, show and fetch data sets.")
@json_option("One JSON object per data set.")
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

    echo_rows([data.info(name)._asdict() for name in data.names()], as_json)


@command.command("show")
@click.argument("name", metavar="NAME|FILE")
@click.option("--target", metavar="COLUMN", help="The column of a file that is to be predicted.")
@layout_options()
@json_option()
def show(name: str, target: str | None, as_json: bool, **layout: Any) -> None:
    """What is in a data set or a file: columns, first rows, classes, truth, license, notes."""
    from ..jobs.opening import described_data

    dataset = described_data(name, target, lambda text: echo(text, err=True), **layout)
    facts = describe(dataset)
    if as_json:
        echo_json(facts, 1)
        return
    kind = _kind(dataset)
    parts = [f"{facts['rows']:,} {kind.unit}", kind.size(dataset)]
    if facts["task"] != "none":
        parts.append(facts["task"] + (f" ({facts['outputs']} classes)" if facts["classes"] else ""))
    if facts["official"]:
        parts.append(f"the last {facts['official']:,} are the official test part")
    echo(f"{facts['name']} ({facts['kind']}): {', '.join(filter(None, parts))}")
    for part in _tables(facts, dataset):
        echo()
        echo_table(part)
    for what in ("truth", "bayes_error", "license", "citation"):
        if facts[what] not in ("", None):
            value = f"{facts[what]:.3g}" if isinstance(facts[what], float) else facts[what]
            echo(f"\n{what.replace('_', ' ')}: {value}")
    for note in facts["notes"]:
        echo(f"\nnote: {note}")


def describe(dataset: Dataset) -> dict[str, Any]:
    """Everything that is known of a data set, as JSON values."""
    import numpy as np

    truth, classes = dataset.truth, {}
    if dataset.y is not None and dataset.target_names:
        counts = np.unique(dataset.y, return_counts=True)[1].tolist()
        classes = dict(zip(dataset.target_names, counts, strict=True))
    names = ("name", "kind", "rows", "columns", "task", "outputs", "shape", "official")
    return {
        **{name: getattr(dataset, name) for name in names},
        "fields": _kind(dataset).fields(dataset),
        "classes": classes,
        "truth": truth.formula if truth else "",
        "bayes_error": truth.bayes_error if truth else None,
        **{name: getattr(dataset, name) for name in ("license", "citation", "notes")},
    }


def _kind(dataset: Dataset) -> Any:
    from ..data.kinds import KINDS

    return KINDS[dataset.kind]


def _tables(facts: dict[str, Any], dataset: Dataset) -> Iterator[Table]:
    fields = facts["fields"]
    pictures = _pictures(dataset) if facts["shape"] else None
    if pictures is not None and len(fields) > 1:  # a column per pixel
        ends = [f(field[key] for field in fields) for f, key in ((min, "lowest"), (max, "highest"))]
        yield Table({"columns": [len(fields)], "kind": ["pixels"], "lowest": ends[:1], "highest": ends[1:]})
    else:
        yield from _columns(fields)
    first = _kind(dataset).first(dataset, _SHOWN_ROWS) if pictures is None else pictures
    if first is not None:
        yield first
    if facts["classes"]:
        counts = facts["classes"].values()
        shares = [f"{100 * count / sum(counts):.1f} %" for count in counts]
        yield Table({"class": list(facts["classes"]), "count": list(counts), "share": shares})


def _pictures(dataset: Dataset) -> Table | None:
    """The first images in blocks, as many as fit beside one another; None where they are too large."""
    import numpy as np

    height, width = dataset.shape[:2]
    twice = width <= _WIDE
    n = min(_LINE // (width * (1 + twice) + 2), dataset.rows)
    pixels = _kind(dataset).images(dataset.x, np.arange(n), dataset.shape) if n else None
    if pixels is None or not len(pixels):
        return None
    gray = np.asarray(pixels, float).reshape(n, height, width, -1).mean(-1)
    gray = gray.repeat(2, 2) if twice else gray[:, : height // 2 * 2].reshape(n, height // 2, 2, width).mean(2)
    low, high = gray.min(), gray.max()
    blocks = np.array(list(_SHADES))[np.minimum(5 * (gray - low) / ((high - low) or 1), 4).astype(int)]
    return Table({f"row {i}": ["".join(line) for line in block] for i, block in enumerate(blocks)}, "first images")


def _columns(fields: list[dict[str, Any]]) -> Iterator[Table]:
    rest = f" (the first {_SHOWN_FIELDS} of {len(fields):,})" if len(fields) > _SHOWN_FIELDS else ""
    yield Table({key: [f[key] for f in fields[:_SHOWN_FIELDS]] for key in fields[0]}, f"columns{rest}")


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
    quiet = not sys.stderr.isatty() or os.environ.get("FTHETA_PROGRESS") == "0"
    folder = data.fetch(name, offline=offline, say=lambda text: None if quiet else echo(text, err=True))
    echo(f"{name} is in {folder}; its content is as expected.")
