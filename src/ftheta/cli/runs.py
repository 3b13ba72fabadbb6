"""`ftheta runs`: list, show, verify."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import click

from ..errors import FThetaError
from ..results import Table
from ..store import Run
from ._folders import ROOT, all_runs, find_run

__all__ = ["command"]


@click.group("runs", invoke_without_command=True, short_help="List, show and verify runs.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a run.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the runs below runs/, or show or verify one."""
    if ctx.invoked_subcommand:
        return
    found = [facts(Run(path)) for path in all_runs()]
    if as_json:
        for row in found:
            click.echo(json.dumps(row))
    elif not found:
        click.echo(f"No runs in {ROOT}/. Make one with: ftheta train mlp digits")
    else:
        names = ("id", "model", "data", "status", "epochs", "result")
        click.echo(Table({name: [row[name] for row in found] for name in names}).text())


def facts(run: Run) -> dict[str, Any]:
    """A run in a line; one that is damaged says so."""
    row: dict[str, Any] = {
        "id": run.path.name,
        "path": str(run.path),
        "model": "",
        "data": "",
        "epochs": "",
        "result": "",
    }
    try:
        config = tomllib.loads(run.read("config.toml").decode())
        row |= {"model": config["model"], "data": config["data"], "status": run.status}
        row["epochs"] = len(run.rows(unsaved=True)) or ""
        row["result"] = _best(run)
    except FThetaError as error:
        row |= {"status": "damaged", "result": str(error)}
    return row


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
    click.echo(f"{folder.path} ({folder.status})\n")
    click.echo(folder.read("config.toml").decode())
    rows = folder.rows(unsaved=True)
    if rows:
        shown = rows if len(rows) <= 10 else [*rows[:3], *rows[-7:]]
        click.echo(
            Table({key: [row.get(key, "") for row in shown] for key in rows[-1]}, f"{len(rows)} epochs").text() + "\n"
        )
    if folder.has("result.json"):
        from ._job import result_table

        found = json.loads(folder.read("result.json"))
        click.echo(result_table(found).text())
        click.echo(_looks(folder.path, found))


def _looks(path: Path, found: dict[str, Any]) -> str:
    """How often the same rows were used as a test part."""
    known = [Run(p) for p in {*all_runs(), path}]
    results = [json.loads(r.read("result.json")) for r in known if r.has("result.json")]
    same = [r["family"] for r in results if r["data"] == found["data"] and r["part"] == "test part"]
    if len(same) <= 1:
        return "These rows were used for testing once."
    by = ", ".join(sorted(set(same)))
    return (
        f"These rows were used for testing {len(same)} times (by {by}): the more often, the less the result is worth."
    )


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
