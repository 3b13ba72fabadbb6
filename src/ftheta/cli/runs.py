"""`ftheta runs`: list, show, verify."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import FThetaError
from ..results import Table
from ._folders import ROOT, all_runs, find_run, resume_command, settings
from ._show import echo_table, result_table

if TYPE_CHECKING:
    from ..store import Run

__all__ = ["command"]


@click.group("runs", invoke_without_command=True, short_help="List, show and verify runs.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a run.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the runs below runs/, or show or verify one."""
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
    flat = _flat(settings(folder))
    click.echo(f"{folder.path} ({_status(folder)})")
    echo_table(Table({"setting": list(flat), "value": list(map(str, flat.values()))}))
    click.echo()
    rows = folder.rows(unsaved=True)
    if rows:
        shown = rows if len(rows) <= 10 else [*rows[:3], *rows[-7:]]
        click.echo(f"{len(rows)} epoch{'s' * (len(rows) > 1)}")
        echo_table(Table({key: [row.get(key) for row in shown] for key in rows[-1]}))
        click.echo()
    if folder.has("result.json"):
        found = json.loads(folder.read("result.json"))
        echo_table(result_table(found))
        click.echo(_looks(folder.path, found))
    else:
        click.echo(f"Continue with: {resume_command(folder.path)}")


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings that are not empty, by the names that `--set` takes."""
    inner = (_flat(v, f"{k}.") if isinstance(v, Mapping) else {prefix + k: v} for k, v in table.items() if v != "")
    return {key: value for part in inner for key, value in part.items()}


def _looks(path: Path, found: dict[str, Any]) -> str:
    """How often the same rows were used as a test part."""
    if found["part"] != "test part":
        return "No rows were set aside for testing."
    others = [_result(p) for p in all_runs() if p.resolve() != path.resolve()]
    same = [found["family"], *(r["family"] for r in others if r["data"] == found["data"])]
    if len(same) == 1:
        return "These rows were used for testing once."
    by = ", ".join(sorted(set(same)))
    return f"These rows were used for testing {len(same)} times (by {by}): the more often, the less it is worth."


def _result(path: Path) -> dict[str, Any]:
    """The result of a run; empty where there is none, or a damaged one."""
    from ..store import Run

    nothing = {"family": "", "data": ""}
    try:
        return json.loads(Run(path).read("result.json")) if Run(path).has("result.json") else nothing
    except FThetaError:
        return nothing


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
