"""`ftheta export`: a trained run as files that need no fθ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from ._files import facts as facts_of
from ._files import interval
from ._folders import find_run, settings

if TYPE_CHECKING:
    from ..store import Run

__all__ = ["command"]


@click.command("export", short_help="Take a model away: plain PyTorch, no fθ.")
@click.argument("run")
@click.option("--python", is_flag=True, help="As one PyTorch script, its constants and its weights.")
@click.option("-o", "--output", help="Folder; default: RUN's id and -python, here.", type=click.Path(path_type=Path))
def command(run: str, python: bool, output: Path | None) -> None:
    """Write RUN (a folder, an id, or last) as a folder that predicts and trains without fθ.

    `python model.py new.csv` there predicts the same as `ftheta predict RUN new.csv`; its train() is a plain loop of
    Adam with the same loss. The run itself stays as it is.
    """
    if not python:
        raise InputError(f"`ftheta export {run}`: in which format? --python is the only one so far; say it.")
    found = find_run(run)
    folder = output or Path(f"{found.path.resolve().name}-python")
    files = _files(found)
    from ..store import write_folder

    write_folder(folder, files)
    click.echo(f"{folder}: {', '.join(files)}; try: python {folder / next(iter(files))} --help")


def _files(run: Run) -> dict[str, bytes]:
    """What is written, by name."""
    from .. import __version__
    from ..models._export import export
    from ..models._files import described, load
    from ._answers import class_names

    config = settings(run)
    encoder, estimator = load(run.path)
    facts, spread = facts_of(run), interval(run)
    classes = getattr(estimator, "classes_", None)
    by = f"written by fθ {__version__} from the run {run.path.resolve().name}"
    with described(run.path):
        state = _with_form(encoder.get_state(), dict(facts["form"] or {}))
        names = () if classes is None else class_names(classes.tolist(), facts["classes"])
    return export(
        estimator,
        state,
        about=f"{config['model']} trained on {facts['name']}, {by}.",
        target=config["target"],
        classes=names,
        half_width=None if spread is None else spread["half_width"],
        encoding=config.get("encoding", "utf-8"),
    )


def _with_form(encoder: dict[str, Any], form: dict[str, Any]) -> dict[str, Any]:
    """The state of an encoder, with how the numbers and dates of training were written."""
    ways = form.get("dates", {})
    for column in encoder.get("columns", ()):
        column |= {"format": ways[column["name"]]} if column["name"] in ways else {}
    return {**encoder, "comma": form.get("comma", False)}
