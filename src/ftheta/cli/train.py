"""`ftheta train`: data, split, encoder, estimator, run, result."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click

from ..errors import InputError
from ..store import Run
from ._config import Config, duration, from_toml, merge, option, parse_set, read_config
from ._folders import find_run, new_path

__all__ = ["command"]


@click.command("train", short_help="Train a model on a data set or a CSV file.")
@click.argument("model", required=False, default="")
@click.argument("data", required=False, default="")
@option("--target", "Column of the file to predict.", default="", metavar="COLUMN")
@option("--task", "What the target is; told by its values if left out.", type=click.Choice(["classify", "regress"]))
@option("--epochs", "Passes over the rows.", type=int)
@option("--batch-size", "Rows of a batch.", metavar="N|auto")
@option("--lr", "Learning rate.", type=float)
@option("--optimizer", "Name of the optimizer, e.g. adam, nesterov, lbfgs.")
@option("--hidden", "Widths of the hidden layers, e.g. 64,64.")
@option("--seed", "Seed of splits, weights, order and noise.", type=int)
@option("--device", "auto, cpu, cuda, ...")
@option("--test", "Share set aside for the result, or none.", metavar="SHARE|none")
@option("--validation", "Share of the rest that early stopping watches.", type=float)
@option("--time", "Time budget, e.g. 90s, 10m, 2h.")
@option("--run", "Folder of the run; default: runs/MODEL-DATA/TIME.", type=click.Path(path_type=Path))
@option("--config", "TOML file with settings; a run's config.toml repeats it.", type=click.Path(path_type=Path))
@option("--set", "Any other setting, e.g. training.clip_norm=1 or dropout=0.2.", multiple=True, metavar="KEY=VALUE")
@option("--resume", "Continue this run: a folder, an id, or last.", metavar="RUN")
@option("--allow-inexact", "Continue even if the result will not be bit-exact.", is_flag=True)
def command(model: str, data: str, run: Path | None, config: Path | None, resume: str | None, **flags: Any) -> None:
    """Train MODEL (see `ftheta models`) on DATA, a built-in data set or a numeric CSV file with a header.

    A test part is set aside before anything is learned; the result table is of that part.
    """
    allow = flags.pop("allow_inexact")
    if resume:
        folder = Run(find_run(resume).path, allow_inexact=allow)
        _run(merge(_stored(folder), where=str(folder.path / "config.toml")), folder)
        return
    chosen = _chosen(model, data, config, flags)
    path = run or new_path(chosen.model, chosen.data)
    _run(chosen, Run(path, allow_inexact=allow))


def _stored(run: Run) -> dict[str, Any]:
    return tomllib.loads(run.read("config.toml").decode())


def _chosen(model: str, data: str, config: Path | None, flags: dict[str, Any]) -> Config:
    """Defaults < file < --set < flags."""
    top = {"model": model, "data": data, "target": flags["target"], "task": flags["task"], "seed": flags["seed"]}
    top |= {"validation": flags["validation"], "test": _share(flags["test"])}
    params = {name: flags[name] for name in ("epochs", "lr", "optimizer", "device")}
    params |= {"batch_size": _value(flags["batch_size"]), "hidden": _widths(flags["hidden"])}
    said: dict[str, Any] = {k: v for k, v in top.items() if v not in (None, "")}
    said["params"] = {k: v for k, v in params.items() if v is not None}
    said["training"] = {"seconds": duration(flags["time"])} if flags["time"] else {}
    found = merge(
        read_config(config) if config else {}, parse_set(flags["set"]), said, where=str(config or "command line")
    )
    if not found.model or not found.data:
        raise InputError("Say what to train and on what: ftheta train MODEL DATA, e.g. ftheta train mlp digits.")
    return found


def _share(text: str | None) -> float | None:
    if text is None:
        return None
    value = 0.0 if text == "none" else from_toml(text)
    if not isinstance(value, int | float) or not 0 <= value < 1:
        raise InputError(f"--test {text}: expected a share such as 0.2, or none.")
    return float(value)


def _value(text: str | None) -> Any:
    return None if text is None else from_toml(text)


def _widths(text: str | None) -> Any:
    value = _value(text)
    return [value] if isinstance(value, int) else value


# ---- the work, in order


def _run(config: Config, run: Run) -> None:
    """Everything is checked before the folder is touched."""
    from ._job import Job

    job = Job(config)
    with run:
        job.keep(run)
        click.echo(job.headline(), err=True)
        try:
            job.fit(run)
        except (KeyboardInterrupt, SystemExit):
            click.echo(
                f"Stopped; all that was learned is kept. Continue with: ftheta train --resume {run.path}", err=True
            )
            raise
        result = job.evaluate(run)
    click.echo(result.text())
    click.echo(f"Run folder: {run.path}")
