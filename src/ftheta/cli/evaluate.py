"""`ftheta evaluate`: how good a trained run is on the rows of a file that has the target."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ._show import echo, echo_table


@click.command("evaluate", short_help="Evaluate a trained run on a file with targets.")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--encoding", help="Of the characters of FILE; default: as in training.", metavar="NAME")
@click.option("--skip-bad", help="Leave damaged images of a folder out.", is_flag=True)
@click.option("--json", "as_json", is_flag=True, help="As one JSON object.")
def command(run: str, file: Path, encoding: str | None, skip_bad: bool, as_json: bool) -> None:
    """Scores of RUN (a folder, an id, or last) on FILE, which has its columns and its target. Nothing is written."""
    from .. import jobs

    table = jobs.open(run).evaluate(file, encoding=encoding, skip_bad=skip_bad)
    if as_json:
        echo(json.dumps(table.as_json()))
    else:
        echo_table(table)
