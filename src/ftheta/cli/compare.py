"""`ftheta compare`: a leaderboard of the models that fit the data, and the result of the best."""

from pathlib import Path
from typing import Any

import click

from ..errors import InputError
from ..jobs.config import duration
from ._options import data_options, folds_option, option
from ._show import echo, echo_file, echo_json, echo_table, say_loading
from .train import say_next, watcher


@click.command("compare", short_help="Try the models that fit the data, and train the best.")
@click.argument("data", required=False, default="")
@data_options
@option("--models", "Models to compare, e.g. linear,mlp; default: one of each family that fits.", metavar="A,B")
@option("--metric", "Score that orders them, e.g. 'log loss'; default: accuracy or RMSE.", default="", metavar="NAME")
@option("--time", "Time budget of all of it.", default="2m", show_default=True, metavar="TIME")
@folds_option
@option("--tune", "Search for good parameters of the best, in half of the time that is left.", is_flag=True)
@option("--cost", "What a missed and a false row of the second of two classes cost, e.g. 10:1.", metavar="A:B")
@option("--run", "Folder of the comparison; default: runs/compare-DATA/TIME.", type=click.Path(path_type=Path))
@option("--resume", "Continue the comparison in this folder.", type=click.Path(path_type=Path), metavar="DIR")
@option("--report/--no-report", "Write report.html for the best and leaderboard.html for all.", default=True)
@option("--json", "Write what happens as JSON, one object per line; the last one is the leaderboard.", is_flag=True)
def command(
    data: str,
    models: str | None,
    time: str,
    run: Path | None,
    resume: Path | None,
    report: bool,
    json: bool,
    **flags: Any,
) -> None:
    """Train each model that fits DATA (a data set, a file or a folder) in cross-validation inside the training part,
    show them by their score, train the best and test it once. `last` is then the run of the best."""
    if bool(data) == (resume is not None):
        raise InputError("Give either DATA, e.g. `ftheta compare my.csv --target price`, or --resume DIR.")
    if not json:
        say_loading(always=True)
    from .. import jobs

    asked: dict[str, Any]
    if resume is not None:
        asked = jobs.asked_of(resume) | {"run": resume}
    else:
        asked = {name: value for name, value in flags.items() if value not in (None, "", ())}
        names = [name.strip() for name in models.split(",")] if models else []
        asked |= {"data": data, "models": names, "seconds": duration(time), "run": run}
    board = jobs.compare(**asked, report=report, watch=watcher(json))
    if json:
        return echo_json(board.as_json())
    echo()
    echo_table(board.table())
    for sentence in board.verdicts:
        echo(sentence)
    for note in board.notes():
        echo(f"note: {note}", err=True)
    echo(f"Runs of all: {board.path}")
    if report:
        echo_file("Page:        ", board.path / "leaderboard.html")
    say_next(board.best)
