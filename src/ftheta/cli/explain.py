"""`ftheta explain`: what a trained run can show of its inside."""

from __future__ import annotations

import tomllib
from typing import Any

import click
import numpy as np

from ..store import Run
from ._config import merge
from ._folders import find_run

__all__ = ["command"]


@click.command("explain", short_help="Show what happened inside a trained run.")
@click.argument("run")
@click.argument("names", nargs=-1)
def command(run: str, names: tuple[str, ...]) -> None:
    """Tables of all explanations that RUN can give, or of those named; figures go into RUN/figures/."""
    from .. import explain
    from ..catalog import nearest
    from ..errors import InputError

    folder = find_run(run)
    model, X, y = _subject(folder)
    known = explain.available(model)
    for name in names:
        if name not in known:
            raise InputError(nearest("explanation", name, known))
    if not known:
        click.echo(f"{type(model).__name__} has no explanations yet.")
    for name in names or known:
        result = explain.run(name, model, X, y)
        click.echo(result.table().text() + "\n")
        _keep(folder, name, result)


def _subject(run: Run) -> tuple[Any, Any, Any]:
    """The estimator of a run, and the rows that it was trained on as its net sees them."""
    from ..models._files import load
    from ._data import open_data

    model = load(run.path)
    config = merge(tomllib.loads(run.read("config.toml").decode()))
    dataset, rows = open_data(config.data, config.target), run.tree("split.safetensors")["train"]
    return model[-1], model[0].transform(dataset.x.iloc[rows]), np.asarray(dataset.y)[rows]


def _keep(run: Run, name: str, result: Any) -> None:
    import io

    buffer = io.BytesIO()
    result.figure().savefig(buffer, format="svg")
    file = f"figures/{name}.svg"
    run.write(file, buffer.getvalue())
    click.echo(f"drawn: {run.path / file}", err=True)
