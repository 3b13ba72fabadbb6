"""`ftheta ledger`: covered of all, and what was found."""

from __future__ import annotations

import json

import click

from ..catalog import nearest
from ..errors import InputError
from ..results import Table
from ..studies import _ledger

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
            click.echo(json.dumps(_ledger.record(row), ensure_ascii=False))
        return
    if milestone is not None:
        records = [_ledger.record(row) for row in rows]
        columns = {key: [r[key] for r in records] for key in ("id", "check", "status", "verdict")}
        click.echo(Table({**columns, "item": [r["item"][:70] for r in records]}).text() + "\n")
    for group, counts in _ledger.summary(rows).items():
        columns = {
            "rows": list(counts),
            "covered": [c.covered for c in counts.values()],
            "of": [c.of for c in counts.values()],
        }
        columns |= {
            "declined": [c.declined for c in counts.values()],
            "errata open": [c.errata_open for c in counts.values()],
        }
        click.echo(Table(columns, f"by {group}" if group != "all" else "").text() + "\n")
