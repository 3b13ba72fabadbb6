"""`ftheta ledger`: what the sources claim, whether it holds, and the evidence."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from ..catalog import nearest
from ..errors import InputError
from ..results import Table
from ..studies import ledger
from ._show import echo, echo_json, echo_rows, echo_table, json_option

LISTED = ("id", "check", "status", "verdict", "date", "item")
SHOWN = "item kind check must_work source_says gives expected right reference erratum same_as milestone".split()


@click.command("ledger", short_help="What the sources claim, and whether it holds.")
@click.argument("words", nargs=-1, metavar="[ROW | check ROW]")
@click.option("--milestone", metavar="NAME", help="Only the rows of this milestone.")
@click.option("--source", type=click.Choice(list(ledger.SOURCES)), help="Only the rows of this document.")
@click.option("--search", default="", metavar="TEXT", help="Only the rows that contain this text.")
@click.option("--errors", is_flag=True, help="Only rows that are wrong, loose or incomplete, or have an open erratum.")
@json_option("One JSON object per line and row.")
def command(
    words: tuple[str, ...], milestone: str | None, source: str | None, search: str, errors: bool, as_json: bool
) -> None:
    """Formulas, examples, experiments and claims of five documents: which are covered, and with what verdict.

    \b
    ftheta ledger                  counts
    ftheta ledger A028             one row with everything known about it
    ftheta ledger check A028       repeat its tests and studies (in a checkout)
    """
    if words:
        _one(words, as_json)
        return
    known = sorted({row.milestone for row in ledger.rows()})
    if milestone is not None and milestone not in known:
        raise InputError(nearest("milestone", milestone, known))
    rows = ledger.rows(milestone, source, search, errors)
    if as_json or milestone or source or search or errors:
        echo_rows([ledger.record(row) for row in rows], as_json, LISTED)
        if as_json:
            return
        echo()
    for group, counts in ledger.summary(rows).items():
        echo_table(_counts(group, counts))
        echo()


def _one(words: tuple[str, ...], as_json: bool) -> None:
    """Show a row, or repeat its evidence."""
    *verb, name = words
    if verb not in ([], ["check"]):
        raise InputError(f"ftheta ledger {' '.join(words)}: expected a row such as A028, or check A028.")
    known = {row.id: row for row in ledger.rows()}
    if name.upper() not in known:
        raise InputError(nearest("row", name, list(known)))
    row = known[name.upper()]
    if verb:
        _repeat(row)
        return
    record = ledger.record(row)
    if as_json:
        echo_json(record)
        return
    documents = [f"{code} ({title})" for code, title in ledger.SOURCES.items() if code in row.source]
    echo(f"{row.id}: {record['status']}, the source is {record['verdict']}")
    echo(f"source: {row.source}; {', '.join(documents)}")
    for key in SHOWN:
        if record[key] not in (None, ""):
            echo(f"{key.replace('_', ' ')}: {record[key]}")
    for check in record["checks"]:
        answer = (
            "not stated" if check["missing"] else {True: "holds", False: "fails", None: "undecided"}[check["holds"]]
        )
        echo(f"  {check['text']}: {answer} {check['number']}")
    for place in record["evidence"]:
        echo(f"evidence: {place}")


def _repeat(row: ledger.Row) -> None:
    """Run the tests and studies that claim a row."""
    root = Path(__file__).parents[3]
    places = ledger.evidence(row)
    tests = [place for place in places if place.startswith("tests/")]
    if not places or not (root / "tests").is_dir():
        why = "its tests are not installed; use a checkout" if places else "nothing claims it yet"
        raise InputError(f"{row.id} cannot be repeated here: {why}.")
    commands = [[sys.executable, "-m", "pytest", "-q", "-m", "", *tests]] if tests else []
    studies = [claim.where for claim in ledger.claims().get(row.id, ()) if claim.kind == "study"]
    commands += [[sys.executable, "-m", "ftheta", "study", name] for name in studies]
    for command in commands:
        done = subprocess.run(command, cwd=root, check=False)
        if done.returncode:
            sys.exit(done.returncode)


def _counts(group: str, counts: Mapping[str, Any]) -> Table:
    columns: dict[str, list[Any]] = {"rows": list(counts)}
    for field in ("covered", "of", "declined", "errata_open"):
        columns[field.replace("_", " ")] = [getattr(count, field) for count in counts.values()]
    return Table(columns, "" if group == "all" else f"by {group}")
