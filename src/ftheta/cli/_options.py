"""Options that several commands share: how a file is read, and how its rows are divided."""

from collections.abc import Callable
from functools import reduce
from typing import Any

import click

from ..jobs.config import from_toml


def option(name: str, help: str, **more: Any) -> Any:
    return click.option(name, help=help, **more)


def _together(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator, in this order."""
    return lambda command: reduce(lambda made, each: each(made), reversed(options), command)


def layout_options(default: str = "") -> Callable[[Any], Any]:
    """How a file is read; `default` says what holds where nothing is given."""
    return _together(
        option("--encoding", f"Of the characters of a CSV file, e.g. latin-1{default}.", metavar="NAME"),
        option("--sheet", f"Sheet of a spreadsheet, or table of a zip archive{default}.", metavar="NAME"),
        option("--skip-rows", f"Lines above the header, to be skipped{default}.", type=click.IntRange(0), metavar="N"),
    )


folds_option = option(
    "--folds",
    "Parts of the training part, each predicted by models that did not learn from it.",
    default=5,
    type=click.IntRange(2, 999),
    show_default=True,
)
data_options = _together(
    option("--target", "Column of the file to predict.", metavar="COLUMN"),
    option("--task", "What is learned, e.g. classify or regress; default: decided by the target.", metavar="TASK"),
    option("--seed", "Seed of splits, folds, weights, order, noise and search.", type=int),
    option("--test", "Share held out for the result, a file, or none.", type=from_toml, metavar="SHARE|FILE|none"),
    option("--validation", "Share of the rest that early stopping watches.", type=float, metavar="SHARE"),
    option("--split", "How rows are held out.", type=click.Choice(["random", "stratified", "chronological"])),
    option("--group", "Column whose equal cells stay on one side of every split.", metavar="COLUMN"),
    option(
        "--time-column", "Column that orders the rows: for a chronological split, or of a series.", metavar="COLUMN"
    ),
    option("--horizon", "Steps to forecast; the data is then a series.", type=click.IntRange(1), metavar="STEPS"),
    option(
        "--known-ahead",
        "Column of a series whose coming values are known; may be repeated.",
        multiple=True,
        metavar="COLUMN",
    ),
    layout_options(),
)
"""Which rows of which data; the names are fields of `jobs.Config`."""
