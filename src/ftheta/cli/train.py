"""`ftheta train`: data, split, encoder, estimator, run, result."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from ..errors import InputError
from ._config import Config, duration, from_toml, merge, parse_set, read_config
from ._files import settings
from ._folders import find_run, new_path, stopped
from ._show import echo, echo_table

if TYPE_CHECKING:
    from ..store import Run

__all__ = ["command"]


class Rate(click.ParamType):
    """A number, or the word find."""

    name = "rate"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or the word."""
        return value if value == "find" else click.FLOAT.convert(value, param, ctx)


def option(name: str, help: str, **more: Any) -> Any:
    """A flag with its help."""
    return click.option(name, help=help, **more)


_SAID = ("model", "data", "target", "task", "seed", "validation", "split", "group", "encoding", "size", "skip_bad")


@click.command("train", short_help="Train a model on a data set or a file.")
@click.argument("model", required=False, default="")
@click.argument("data", required=False, default="")
@option("--target", "Column of the file to predict.", default="", metavar="COLUMN")
@option("--task", "What the target is; told by its values if left out.", type=click.Choice(["classify", "regress"]))
@option("--epochs", "Passes over the rows.", type=int)
@option("--batch-size", "Rows of a batch.", metavar="N|auto")
@option("--lr", "Learning rate; find: by a range test before training.", type=Rate(), metavar="RATE|find")
@option("--optimizer", "Name of the optimizer, e.g. adam, nesterov, lbfgs.", metavar="NAME")
@option("--hidden", "Widths of the hidden layers, e.g. 64,64.", metavar="WIDTHS")
@option("--seed", "Seed of splits, weights, order and noise.", type=int)
@option("--device", "auto, cpu, cuda, ...", metavar="NAME")
@option("--test", "Share set aside for the result, a file with its rows, or none.", metavar="SHARE|FILE|none")
@option("--validation", "Share of the rest that early stopping watches.", type=float, metavar="SHARE")
@option("--split", "How rows are set aside.", type=click.Choice(["random", "stratified", "chronological"]))
@option("--group", "Column whose equal cells stay on one side of every split.", default="", metavar="COLUMN")
@option("--encoding", "Of the characters of a CSV file, e.g. latin-1.", default="", metavar="NAME")
@option("--size", "Height and width of the pictures of a folder.", type=int, metavar="PIXELS")
@option("--skip-bad", "Leave damaged pictures of a folder out.", is_flag=True, default=None)
@option("--time", "Time budget, e.g. 90s, 10m, 2h.", metavar="TIME")
@option("--run", "Folder of the run; default: runs/MODEL-DATA/TIME.", type=click.Path(path_type=Path), metavar="DIR")
@option("--config", "TOML file with settings; a run's config.toml repeats it.", type=click.Path(path_type=Path))
@option("--set", "Any other setting, e.g. training.clip_norm=1 or dropout=0.2.", multiple=True, metavar="KEY=VALUE")
@option("--report/--no-report", "Write RUN/report.html, one page that shows it all.", default=True)
@option("--resume", "Continue this run: a folder, an id, or last.", metavar="RUN")
@option("--allow-inexact", "Continue even if the result will not be bit-exact.", is_flag=True)
@click.pass_context
def command(
    ctx: click.Context, run: Path | None, resume: str | None, allow_inexact: bool, report: bool, **flags: Any
) -> None:
    """Train MODEL (see `ftheta models`) on DATA: a data set (see `ftheta data`), a CSV, Parquet, NPY, NPZ or IDX file,
    or a folder with a folder of images for each class.

    A test part is set aside before anything is learned; the result table is of that part. RUN/report.html shows all.
    """
    from ..store import Run

    if resume is not None:
        _refuse_settings(ctx, resume)
        found = find_run(resume)
        chosen = merge(settings(found), where=str(found.path / "config.toml"))
        _run(chosen, Run(found.path, allow_inexact=allow_inexact), report)
        return
    chosen = _chosen(**flags)
    _run(chosen, Run(run or new_path(chosen.model, chosen.data), allow_inexact=allow_inexact), report)


def _refuse_settings(ctx: click.Context, resume: str) -> None:
    """A run is continued with its own settings only."""
    given = [p for p in ctx.command.params if ctx.get_parameter_source(p.name or "") is ParameterSource.COMMANDLINE]
    names = [p.human_readable_name if isinstance(p, click.Argument) else p.opts[0] for p in given]
    extra = [name for name in names if name not in ("--resume", "--allow-inexact", "--report")]
    if extra:
        raise InputError(
            f"--resume {resume} continues a run with its own settings, but {', '.join(extra)} was given too. "
            "Leave it out, or start a new run without --resume."
        )


def _chosen(config: Path | None, **flags: Any) -> Config:
    """Defaults < file < --set < flags."""
    said: dict[str, Any] = {k: flags[k] for k in _SAID}
    said["test"] = 0.0 if flags["test"] == "none" else _value(flags["test"])
    params = {name: flags[name] for name in ("epochs", "lr", "optimizer", "device")}
    params |= {"batch_size": _value(flags["batch_size"]), "hidden": _widths(flags["hidden"])}
    said = {k: v for k, v in said.items() if v not in (None, "")}
    said["params"] = {k: v for k, v in params.items() if v is not None}
    said["training"] = {"seconds": duration(flags["time"])} if flags["time"] is not None else {}
    stored = read_config(config) if config else {}
    found = merge(stored, parse_set(flags["set"]), said, where=str(config or "command line"))
    if not found.model or not found.data:
        raise InputError("Say what to train and on what: ftheta train MODEL DATA, e.g. ftheta train mlp digits.")
    return found


def _value(text: str | None) -> Any:
    return None if text is None else from_toml(text)


def _widths(text: str | None) -> list[int] | None:
    value = _value(text)
    value = [value] if isinstance(value, int) else value
    if value is not None and not (isinstance(value, list) and all(type(width) is int for width in value)):
        raise InputError(f"--hidden {text}: expected widths such as 64 or 64,64.")
    return value


# ---- the work, in order


def _run(config: Config, run: Run, report: bool) -> None:
    """Everything is checked before the folder is touched."""
    from ._job import Job

    job = Job(config)
    job.refuse_other(run)
    try:
        with run:
            job.keep(run)
            echo(job.headline(), err=True)
            for said in job.warnings():
                echo(said, err=True)
            job.fit(run)
            if job.ending():
                echo(job.ending(), err=True)
            if job.task == "density":
                echo("Looking at the test rows; the sum over all states may take a minute.", err=True)
            echo_table(job.evaluate(run))
    except (KeyboardInterrupt, SystemExit, BrokenPipeError):
        if run.exists():
            echo(stopped(run), err=True)
        raise
    try:
        if report:
            job.report(run)
    except BaseException:
        again = f"ftheta runs report {shlex.quote(str(run.path))}"
        echo(f"The result stands and is kept; only report.html is missing. Write it with: {again}", err=True)
        raise
    finally:
        echo(f"Run folder: {run.path}" + (" (report.html shows it all)" if run.has("report.html") else ""))
