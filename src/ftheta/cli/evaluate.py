"""`ftheta evaluate`: how good a trained run is on the rows of a file that has the target."""

from pathlib import Path
from typing import Any

import click

from ._options import layout_options, option
from ._show import echo_json, echo_scores, json_option, say_loading, skip_bad_option


@click.command("evaluate", short_help="Evaluate a trained run on a file with targets.")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path))
@layout_options("; default: as in training")
@skip_bad_option
@option("--cost", "What a missed and a false row of the second of two classes cost, e.g. 10:1.", metavar="A:B")
@json_option()
def command(run: str, file: Path, skip_bad: bool, cost: str | None, as_json: bool, **layout: Any) -> None:
    """Scores of RUN (a folder, an id, or last) on FILE, which has its columns and its target. Nothing is written."""
    say_loading()
    from .. import jobs

    table = jobs.open(run).evaluate(file, skip_bad=skip_bad, cost=cost or "", **layout)
    echo_json(table.as_json()) if as_json else echo_scores(table)
