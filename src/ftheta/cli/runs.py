"""`ftheta runs`: list, show, compare, report, verify."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import FThetaError
from ..jobs import files
from ..jobs.runs import ROOT, all_runs, chosen, find_run, result_table, resume_command, times_tested, verdicts
from ..results import Table
from ._show import echo, echo_json, echo_rows, echo_scores, echo_table, json_option, new_file_option

if TYPE_CHECKING:
    from ..store import Run


@click.group("runs", invoke_without_command=True, short_help="List, show, compare and verify runs.")
@json_option("One JSON object per run.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """List the runs below runs/, or show, compare, report on or verify some."""
    if ctx.invoked_subcommand:
        return
    found = [_row(path) for path in all_runs()]
    if not found and not as_json:
        echo(f"No runs in {ROOT}/. Make one with: ftheta train mlp digits")
    else:
        echo_rows(found, as_json, ("id", "model", "data", "status", "epochs", "result"))


def _row(path: Path) -> dict[str, Any]:
    """One row of the table; a damaged run is marked."""
    from ..store import Run

    run = Run(path)
    row: dict[str, Any] = {"id": path.name, "path": str(path), "model": "", "data": ""}
    try:
        config = files.settings(run)
        row |= {"model": config.get("model", ""), "data": config.get("data", ""), "status": _status(run)}
        return row | {"epochs": len(run.rows(unsaved=True)) or None, "result": _best(run)}
    except (FThetaError, OSError) as error:
        return row | {"status": "damaged", "epochs": None, "result": str(error)}


def _status(run: Run) -> str:
    return "finished" if run.status == "finished" else "unfinished"


def _best(run: Run) -> str:
    if not run.has("result.json"):
        return ""
    found = files.result(run)
    name, value = next(iter(found["scores"].items()))
    other = found["baseline"]["scores"].get(name) if "baseline" in found else None
    of = "" if other is None else f" (baseline {other:.4f})"
    return f"{name} none" if value is None else f"{name} {value:.4f}{of}"


@command.command("show")
@click.argument("run")
def show(run: str) -> None:
    """Settings, history and result of RUN, and how often its test part was used."""
    folder = find_run(run)
    found = chosen(files.settings(folder))
    echo(f"{folder.path} ({_status(folder)})")
    echo_table(Table({"setting": list(found), "value": list(map(str, found.values()))}))
    echo()
    rows = folder.rows(unsaved=True)
    if rows:
        shown = rows if len(rows) <= 10 else [*rows[:3], *rows[-7:]]
        echo(f"{len(rows)} epoch{'s' * (len(rows) > 1)}")
        echo_table(Table({key: [row.get(key) for row in shown] for key in rows[-1]}))
        echo()
    if folder.has("result.json"):
        found = files.result(folder)
        echo_scores(result_table(dict(found)))
        for sentence in verdicts(found):
            echo(sentence)
        echo(times_tested(folder))
    else:
        echo(f"Continue with: {resume_command(folder.path)}")


@command.command("compare")
@click.argument("runs", nargs=-1, metavar="A B ...")
@json_option()
@click.option(
    *("-o", "--output"),
    help="Write compare.html and its figures into this folder; nothing is written without it.",
    type=click.Path(path_type=Path),
    metavar="DIR",
)
def compare(runs: tuple[str, ...], as_json: bool, output: Path | None) -> None:
    """Settings that differ, metrics, and tests of the others against A, row by row if the test rows are the same.

    A paired test asks whether chance alone could make such a difference: McNemar's for classes; sign flips, t and
    Wilcoxon's for numbers.
    """
    from ..jobs import compare_runs

    found = compare_runs(runs)
    drawn = found.draw(output) if output else []
    if as_json:
        echo_json(found.as_json())
    for table in () if as_json else found.tables():
        echo_table(table)
        echo()
    for note in () if as_json else found.notes():
        echo(note)
    if not as_json and not output:
        echo(f"A page with figures: ftheta runs compare {' '.join(runs)} -o DIR", err=True)
    for file in drawn:
        echo(f"written: {file}", err=True)


@command.command("report")
@click.argument("run")
@new_file_option("Write this file instead; RUN stays as it is.")
def report(run: str, output: Path | None) -> None:
    """Write RUN/report.html, again or after --no-report, from the run and the data that it was trained on."""
    from .. import jobs

    echo(str(jobs.open(run).report(output)))


@command.command("verify")
@click.argument("run")
def verify(run: str) -> None:
    """Check every file of RUN against its digest; exit code 1 if one is damaged."""
    folder = find_run(run)
    problems = folder.verify()
    for problem in problems:
        echo(problem, err=True)
    if problems:
        sys.exit(1)
    echo(f"{folder.path}: every file is as it was written (manifest {folder.digest[:16]}).")
