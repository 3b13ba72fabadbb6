"""`ftheta train`: options, and what happens shown on the terminal."""

import shlex
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from .. import catalog
from ..errors import InputError
from ..jobs.config import FLAGS, Config, duration, from_toml, merge, parse_set, read_config
from ..jobs.files import settings
from ..jobs.runs import all_runs, find_run, new_path
from ._options import data_options, option
from ._show import echo, echo_file, echo_scores, say_loading


class TrainCommand(click.Command):
    """`train MODEL --help` also lists the parameters of MODEL."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["words"] = [word for word in args if not word.startswith("-")]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        from ..catalog import CARDS

        model = next((word for word in ctx.meta["words"] if word in CARDS), None)
        if model is None:
            return
        from ..jobs.prepare import parameters

        for group, rows in parameters(model).items():
            with formatter.section(group):
                formatter.write_dl([(f"{p.name}={p.default}", f"{p.text} [{p.type}]".strip()) for p in rows])


def widths(ctx: click.Context, param: click.Parameter, text: str | None) -> list[int] | None:
    """One width, or several with commas between them."""
    value = None if text is None else from_toml(text)
    value = [value] if isinstance(value, int) else value
    if value is not None and not (isinstance(value, list) and all(type(width) is int for width in value)):
        raise InputError(f"--hidden {text}: expected widths such as 64 or 64,64.")
    return value


@click.command("train", cls=TrainCommand, short_help="Train a model on a data set or a file.")
@click.argument("model", required=False, default="")
@click.argument("data", required=False, default="")
@data_options
@option("--epochs", "Passes over the rows.", type=int)
@option("--batch-size", "Rows of a batch.", type=from_toml, metavar="N|auto")
@option("--lr", "Learning rate; find: by a range test before training.", type=from_toml, metavar="RATE|find")
@option("--optimizer", "Name of the optimizer, e.g. adam, nesterov, lbfgs.", metavar="NAME")
@option("--hidden", "Widths of the hidden layers, e.g. 64,64.", callback=widths, metavar="WIDTHS")
@option("--device", "auto, cpu, cuda, ...", metavar="NAME")
@option("--size", "Height and width of the images of a folder.", type=int, metavar="PIXELS")
@option("--skip-bad", "Leave damaged images of a folder out.", is_flag=True, default=None)
@option("--time", "Time budget, e.g. 90s, 10m, 2h.", metavar="TIME")
@option("--run", "Folder of the run; default: runs/MODEL-DATA/TIME.", type=click.Path(path_type=Path), metavar="DIR")
@option("--config", "TOML file with settings; a run's config.toml repeats it.", type=click.Path(path_type=Path))
@option("--set", "Any other setting, e.g. training.clip_norm=1 or dropout=0.2.", multiple=True, metavar="KEY=VALUE")
@option("--report/--no-report", "Write RUN/report.html, one page that shows everything.", default=True)
@option("--resume", "Continue this run: a folder, an id, or last.", metavar="RUN")
@option("--allow-inexact", "Continue even if the result will not be bit-exact.", is_flag=True)
@option("--json", "Write what happens as JSON, one object per line.", is_flag=True)
@click.pass_context
def command(
    ctx: click.Context,
    run: Path | None,
    resume: str | None,
    allow_inexact: bool,
    report: bool,
    json: bool,
    **flags: Any,
) -> None:
    """Train MODEL (see `ftheta models`) on DATA: a data set (see `ftheta data`), a CSV, Parquet, Excel, JSON, NPY, NPZ
    or IDX file, or a folder with one folder of images per class. `ftheta train MODEL --help` lists its parameters.

    A test part is held out before anything is learned; the result table is of that part. RUN/report.html shows
    everything.
    """
    from ..store import Run

    if resume is not None:
        _refuse_settings(ctx, resume)
        found = find_run(resume)
        config, run = merge(settings(found), where=str(found.path / "config.toml")), found.path
    else:
        config = _config(**flags)
    folder = Run(run or new_path(config.model, config.data), allow_inexact=allow_inexact)
    catalog.card(config.model)  # a name that is not known is answered at once
    if not json:
        say_loading(always=True)
    from .. import jobs

    trained = jobs.train(config, run=folder, report=report, watch=watcher(json))
    if not json and folder.has("result.json"):
        say_next(trained)


def say_next(trained: Any) -> None:
    """What can be typed now."""
    path = trained.run.path
    name = "last" if all_runs()[-1:] == [path] else shlex.quote(str(path))
    first = trained.available()[:1]
    verbs = [f"ftheta explain {name} {view}" for view in first]
    verbs += [f"ftheta predict {name} {trained.kind.new}"] * hasattr(trained.model, "predict")
    verbs += [f"ftheta sample {name}"] * hasattr(trained.model, "sample")
    for i, verb in enumerate(verbs):
        echo(f"{'' if i else 'Next:':12}{verb}")


def _refuse_settings(ctx: click.Context, resume: str) -> None:
    """A run is continued with its own settings only."""
    given = [p for p in ctx.command.params if ctx.get_parameter_source(p.name or "") is ParameterSource.COMMANDLINE]
    names = [p.human_readable_name if isinstance(p, click.Argument) else p.opts[0] for p in given]
    extra = [name for name in names if name not in ("--resume", "--allow-inexact", "--report", "--json")]
    if extra:
        raise InputError(
            f"--resume {resume} continues a run with its own settings, but {', '.join(extra)} was given too. "
            "Leave it out, or start a new run without --resume."
        )


def _config(config: Path | None, **flags: Any) -> Config:
    """Defaults < file < --set < flags."""
    given: dict[str, Any] = {f.name: flags[f.name] for f in fields(Config) if f.name in flags}
    params = {name: flags[name] for name in FLAGS}
    given = {k: v for k, v in given.items() if v not in (None, "", ())}
    given["params"] = {k: v for k, v in params.items() if v is not None}
    given["training"] = {"seconds": duration(flags["time"])} if flags["time"] is not None else {}
    stored = read_config(config) if config else {}
    found = merge(stored, parse_set(flags["set"]), given, where=str(config or "command line"))
    if not found.model or not found.data:
        raise InputError("Name a model and data: ftheta train MODEL DATA, e.g. ftheta train mlp digits.")
    return found


def watcher(json: bool) -> Any:
    """Events as JSON, or as text: the result on standard output, all else on standard error."""
    from ..jobs import JsonLines, Watcher

    class Terminal(Watcher):
        started = False

        def say(self, event: str, what: Any) -> None:
            if event == "result":
                echo_scores(what)
            elif event == "verdict":
                echo(str(what))
            elif event == "report" or (event == "run" and self.started):
                echo(f"Run folder: {what}")
                if event == "report":
                    echo_file("Report:     ", what / "report.html")
            elif event != "run":
                prefix = {"note": "note: ", "warning": "warning: "}.get(event, "")
                echo(f"{prefix}{what}", err=True)
            self.started = True

    return JsonLines(sys.stdout) if json else Terminal()
