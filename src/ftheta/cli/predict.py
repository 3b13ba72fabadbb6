"""`ftheta predict`: a trained run applied to the rows of a file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import click

from ..errors import InputError
from ..store import Run
from ._config import option
from ._folders import find_run

__all__ = ["command"]


@click.command("predict", short_help="Predict with a trained run.")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path))
@option("--output", "Write the predictions to this CSV file instead of the screen.", type=click.Path(path_type=Path))
def command(run: str, file: Path, output: Path | None) -> None:
    """Predict each row of FILE, a numeric CSV file with the columns that RUN was trained on; the target may be "
    "missing."""
    folder = find_run(run)
    text = predictions(folder, file).to_csv(index=False)
    if output is None:
        click.echo(text, nl=False)
        return
    if output.exists():
        raise InputError(f"{output} exists; nothing was changed. Choose another --output.")
    from ..store import write_atomic

    write_atomic(output, text.encode())
    click.echo(f"{output}: {text.count(chr(10)) - 1} predictions")


def predictions(run: Run, file: Path) -> Any:
    """A frame with the prediction of each row and, for classes, their probabilities."""
    import pandas as pd

    from ..data import read_csv
    from ..models._files import load

    model = load(run.path)
    frame = model[0].align(read_csv(file, _target(run) or None, required=False).x)
    found = pd.DataFrame({"prediction": model.predict(frame)})
    if hasattr(model, "predict_proba"):
        classes = model[-1].classes_
        found[[f"p({c})" for c in classes]] = model.predict_proba(frame)
    return found


def _target(run: Run) -> str:
    return tomllib.loads(run.read("config.toml").decode())["target"]
