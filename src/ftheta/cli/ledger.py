"""`ftheta ledger`: covered of all, and what was found."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import click

from ..catalog import nearest
from ..errors import InputError
from ..results import Table
from ..studies import _ledger
from ._show import echo, echo_table

__all__ = ["command"]


@click.command("ledger", short_help="What the sources claim, and what was found.")
@click.option("--milestone", metavar="NAME", help="Only the rows of this milestone, one a line.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a row.")
def command(milestone: str | None, as_json: bool) -> None:
    """1,119 capabilities, formulas, examples and claims of five documents: which are covered, and with what verdict."""
    known = sorted({row.milestone for row in _ledger.rows()})
    if milestone is not None and milestone not in known:
        raise InputError(nearest("milestone", milestone, known))
    rows = _ledger.rows(milestone)
    if as_json:
        for row in rows:
            echo(json.dumps(_ledger.record(row), ensure_ascii=False))
        return
    if milestone is not None:
        records = [_ledger.record(row) for row in rows]
        echo_table(
            Table({key: [r[key] for r in records] for key in ("id", "check", "status", "verdict", "date", "item")})
        )
        echo()
    for group, counts in _ledger.summary(rows).items():
        echo_table(_counts(group, counts))
        echo()


def _counts(group: str, counts: Mapping[str, _ledger.Count]) -> Table:
    columns: dict[str, list[Any]] = {"rows": list(counts)}
    for field in ("covered", "of", "declined", "errata_open"):
        columns[field.replace("_", " ")] = [getattr(count, field) for count in counts.values()]
    return Table(columns, "" if group == "all" else f"by {group}")
