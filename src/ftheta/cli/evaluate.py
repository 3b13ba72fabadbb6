"""`ftheta evaluate`: how good a trained run is on the rows of a file that has the target."""

from pathlib import Path

import click

from ._show import echo_json, echo_scores, encoding_option, json_option, say_loading, skip_bad_option


@click.command("evaluate", short_help="Evaluate a trained run on a file with targets.")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path))
@encoding_option
@skip_bad_option
@json_option()
def command(run: str, file: Path, encoding: str | None, skip_bad: bool, as_json: bool) -> None:
    """Scores of RUN (a folder, an id, or last) on FILE, which has its columns and its target. Nothing is written."""
    say_loading()
    from .. import jobs

    table = jobs.open(run).evaluate(file, encoding=encoding, skip_bad=skip_bad)
    echo_json(table.as_json()) if as_json else echo_scores(table)
