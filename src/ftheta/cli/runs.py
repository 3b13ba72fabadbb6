"""`ftheta runs`: list, show, compare, report, verify."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import FThetaError
from ..results import Table
from ._folders import ROOT, all_runs, find_run, flat, looks, resume_command, settings
from ._show import echo_table, result_table

if TYPE_CHECKING:
    from ..store import Run

__all__ = ["command"]


@click.group("runs", invoke_without_command=True, short_help="List, show, compare and verify runs.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a run.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the runs below runs/, or show, compare, report on or verify some."""
    if ctx.invoked_subcommand:
        return
    found = [facts(path) for path in all_runs()]
    if as_json:
        for row in found:
            click.echo(json.dumps(row))
    elif not found:
        click.echo(f"No runs in {ROOT}/. Make one with: ftheta train mlp digits")
    else:
        names = ("id", "model", "data", "status", "epochs", "result")
        echo_table(Table({name: [row[name] for row in found] for name in names}))


def facts(path: Path) -> dict[str, Any]:
    """A run in a line; one that is damaged says so."""
    from ..store import Run

    run = Run(path)
    row: dict[str, Any] = {"id": path.name, "path": str(path), "model": "", "data": ""}
    try:
        config = settings(run)
        row |= {"model": config.get("model", ""), "data": config.get("data", ""), "status": _status(run)}
        return row | {"epochs": len(run.rows(unsaved=True)) or None, "result": _best(run)}
    except FThetaError as error:
        return row | {"status": "damaged", "epochs": None, "result": str(error)}


def _status(run: Run) -> str:
    return "finished" if run.status == "finished" else "unfinished"


def _best(run: Run) -> str:
    if not run.has("result.json"):
        return ""
    name, value = next(iter(json.loads(run.read("result.json"))["scores"].items()))
    return f"{name} {value:.4f}"


@command.command("show")
@click.argument("run")
def show(run: str) -> None:
    """What RUN is, how it went, what came out, and how often its test part was looked at."""
    folder = find_run(run)
    found = flat(settings(folder))
    click.echo(f"{folder.path} ({_status(folder)})")
    echo_table(Table({"setting": list(found), "value": list(map(str, found.values()))}))
    click.echo()
    rows = folder.rows(unsaved=True)
    if rows:
        shown = rows if len(rows) <= 10 else [*rows[:3], *rows[-7:]]
        click.echo(f"{len(rows)} epoch{'s' * (len(rows) > 1)}")
        echo_table(Table({key: [row.get(key) for row in shown] for key in rows[-1]}))
        click.echo()
    if folder.has("result.json"):
        echo_table(result_table(json.loads(folder.read("result.json"))))
        click.echo(looks(folder))
    else:
        click.echo(f"Continue with: {resume_command(folder.path)}")


@command.command("compare")
@click.argument("runs", nargs=-1, metavar="A B ...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option(
    *("-o", "--output"),
    help="Draw into this folder: metrics, curves, each pair; nothing is drawn without it.",
    type=click.Path(path_type=Path),
    metavar="DIR",
)
def compare(runs: tuple[str, ...], as_json: bool, output: Path | None) -> None:
    """Settings that differ, metrics, and tests of the others against A, row by row where the test rows are the same.

    A paired test asks whether chance alone could make such a difference: McNemar's for classes; sign flips, t and
    Wilcoxon's for numbers.
    """
    from ._compare import Compared

    found = Compared.of([find_run(name) for name in runs])
    drawn = found.draw(output) if output else []
    if as_json:
        click.echo(json.dumps(found.as_json()))
    for table in () if as_json else found.tables():
        echo_table(table)
        click.echo()
    for said in () if as_json else found.said():
        click.echo(said)
    for file in drawn:
        click.echo(f"drawn: {file}", err=True)


@command.command("report")
@click.argument("run")
def report(run: str) -> None:
    """Write RUN/report.html, again or after --no-report, from the run and the data that it was trained on."""
    from ._subject import reopen

    folder = find_run(run)
    reopen(folder).report(folder)
    click.echo(f"{folder.path}/report.html")


@command.command("verify")
@click.argument("run")
def verify(run: str) -> None:
    """Check every file of RUN against its digest; exit code 1 if one is damaged."""
    folder = find_run(run)
    problems = folder.verify()
    for problem in problems:
        click.echo(problem, err=True)
    if problems:
        sys.exit(1)
    click.echo(f"{folder.path}: every file is as it was written (manifest {folder.digest[:16]}).")
