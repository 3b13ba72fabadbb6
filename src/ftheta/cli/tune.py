"""`ftheta tune`: a search for good parameters of a model."""

from pathlib import Path
from typing import Any

import click

from ..errors import InputError
from ..jobs.config import duration, parse_set
from ._options import data_options, folds_option, option
from ._show import ROWS, echo, echo_json, echo_table, figures_option, say_loading
from .train import say_next, watcher


@click.command("tune", short_help="Search for good parameters of a model.")
@click.argument("model", required=False, default="")
@click.argument("data", required=False, default="")
@data_options
@option("--trials", "Points that are tried.", default=50, type=click.IntRange(1, 10**6), show_default=True)
@option("--search", "tpe, random, quasi-random or grid.", default="tpe", show_default=True, metavar="NAME")
@option("--space", "TOML file with ranges and values; default: the family's own.", type=click.Path(path_type=Path))
@option("--metric", "Score that is optimized; default: accuracy or RMSE.", default="", metavar="NAME")
@option("--time", "After which no trial begins, e.g. 10m.", metavar="TIME")
@folds_option
@option(
    "--processes", "Processes on this machine; others may join with --resume.", default=1, type=click.IntRange(1, 256)
)
@option("--set", "A setting that stays as it is, e.g. epochs=50.", multiple=True, metavar="KEY=VALUE")
@option("--run", "Folder of the search; default: runs/tune-MODEL-DATA/TIME.", type=click.Path(path_type=Path))
@option("--resume", "Continue the search in this folder, or join it.", type=click.Path(path_type=Path), metavar="DIR")
@option("--report/--no-report", "Write report.html for the result.", default=True)
@figures_option
@option("--json", "Write what happens as JSON, one object per line; the last one is the search.", is_flag=True)
@click.option("--worker", is_flag=True, hidden=True)
def command(
    model: str, data: str, time: str | None, run: Path | None, resume: Path | None, report: bool, worker: bool,
    figures: Path | None, json: bool, set: tuple[str, ...], processes: int, **flags: Any,
) -> None:  # fmt: skip
    """Search for good parameters of MODEL on DATA, by cross-validation inside the training part.

    Trial 0 are the defaults. The best point and the defaults are then compared on other folds, and the better one is
    trained and tested once. The same --run, or --resume, continues; on several machines a shared folder joins them.
    """
    if bool(model and data) == (resume is not None):
        raise InputError("Give either MODEL and DATA, e.g. `ftheta tune mlp wine`, or --resume DIR.")
    if not json and not worker:
        say_loading(always=True)
    from .. import jobs
    from ..jobs.tune import asked_of, end_with_parent, work

    if worker and resume is not None:
        end_with_parent()
        return work(resume)
    asked: dict[str, Any]
    if resume is not None:
        asked = asked_of(resume) | {"run": resume}
    else:
        asked = parse_set(set) | {name: value for name, value in flags.items() if value not in (None, "")}
        asked = {"seconds": 1e8 if time is None else duration(time), "run": run, **asked, "model": model, "data": data}
    found = jobs.tune(**asked, processes=processes, report=report, watch=watcher(json))
    if figures is not None:
        from ._show import draw

        draw(figures, "tune", found)
    if json:
        return echo_json(found.as_json())
    echo()
    table = found.table()
    echo_table(table.take(range(min(ROWS, len(found.points)))))
    for sentence in found.verdicts[1:]:
        echo(sentence)
    echo(f"Trials: {found.path}")
    say_next(found.best_run)
