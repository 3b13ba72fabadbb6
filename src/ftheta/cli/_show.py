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
    """The result of a run as a table; an interval that cannot be had is "none"."""
    values, intervals = found["scores"], found.get("intervals", {})
    ends = [intervals.get(name) or ("none", "none") for name in values]
    cells = {
        "metric": list(values),
        "value": [_number(value) for value in values.values()],
        "low": [_number(low) for low, _ in ends],
        "high": [_number(high) for _, high in ends],
    }
    level = f"; low and high: {found['level']:.0%} confidence" if "level" in found else ""
    return Table(cells, f"{found['part']} (n = {found['rows']}){level}")


def _number(value: float | str | None) -> str:
    return "none" if value is None else value if isinstance(value, str) else f"{value:.4f}"
