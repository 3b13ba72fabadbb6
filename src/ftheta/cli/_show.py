"""Tables on the screen: on a terminal no row is wider than it."""

from __future__ import annotations

import shutil
import sys
from typing import Any

import click

from ..results import Table

__all__ = ["echo_table", "result_table"]


def echo_table(table: Table) -> None:
    """Print a table; on a terminal rows that are too long end in an ellipsis."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if table.caption:
        click.echo(table.caption)
    for line in Table(table.columns).text().splitlines():
        click.echo(line if width is None or len(line) <= width else line[: width - 1] + "…")


def result_table(found: dict[str, Any]) -> Table:
    """The result of a run as a table."""
    values = found["scores"]
    cells = {"metric": list(values), "value": [f"{value:.4f}" for value in values.values()]}
    return Table(cells, f"{found['part']} (n = {found['rows']})")
