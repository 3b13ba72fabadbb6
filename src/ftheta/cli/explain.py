"""`ftheta explain`: what a trained run can show of its inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError, RunError
from ._config import merge
from ._folders import find_run, settings
from ._show import echo_table

if TYPE_CHECKING:
    from ..store import Run

__all__ = ["command"]


@click.command("explain", short_help="Show what happened inside a trained run.")
@click.argument("run")
@click.argument("names", nargs=-1)
def command(run: str, names: tuple[str, ...]) -> None:
    """Tables of all explanations that RUN can give, or of those in NAMES; figures go into RUN/figures/."""
    from .. import explain
    from ..catalog import nearest

    folder = find_run(run)
    model, X, y = _subject(folder)
    known = explain.available(model)
    for name in names:
        if name not in known:
            raise InputError(nearest(f"explanation of {type(model).__name__}:", name, known))
    if not known:
        click.echo(f"{type(model).__name__} has no explanations yet.")
    for name in names or known:
        result = explain.run(name, model, X, y)
        echo_table(result.table())
        click.echo()
        _keep(folder, name, result)


def _subject(run: Run) -> tuple[Any, Any, Any]:
    """The estimator of a run, and the rows that it was trained on as its net sees them."""
    import numpy as np

    from ..models._files import load
    from ._data import digest, open_data, rows_of

    config = merge(settings(run))
    model, parts = load(run.path), run.tree("split.safetensors")
    dataset = open_data(config)
    if digest(dataset) != parts["data"]:
        raise RunError(f"{config.data} has changed since {run.path} was trained on it. Put the old data back.")
    rows = parts["train"]
    return model[-1], model[0].transform(rows_of(dataset.x, rows)), np.asarray(dataset.y)[rows]


def _keep(run: Run, name: str, result: Any) -> None:
    from ..results import svg

    run.write(f"figures/{name}.svg", svg(result.figure()))
    click.echo(f"drawn: {run.path / 'figures' / name}.svg", err=True)
