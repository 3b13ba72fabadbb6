"""`ftheta predict`: a trained run applied to the rows of a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from ._folders import find_run, settings

if TYPE_CHECKING:
    from ..store import Run

__all__ = ["command"]


@click.command("predict", short_help="Predict with a trained run.")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", help="Write to this CSV file instead of the screen.", type=click.Path(path_type=Path))
def command(run: str, file: Path, output: Path | None) -> None:
    """Predict each row of FILE, a numeric CSV file with the columns that RUN (a folder, an id, or last) was trained on.

    The target column may be missing; other columns and another order do no harm.
    """
    if output is not None and output.exists():
        raise InputError(f"--output {output}: the file exists; nothing was changed. Choose another name.")
    text = predictions(find_run(run), file).to_csv(index=False)
    if output is None:
        click.echo(text, nl=False)
        return
    from ..store import write_atomic

    write_atomic(output, text.encode())
    click.echo(f"{output}: {text.count(chr(10)) - 1} predictions", err=True)


def predictions(run: Run, file: Path) -> Any:
    """A frame with the prediction of each row and, for classes, their probabilities."""
    import pandas as pd

    from ..data import read_csv
    from ..models._files import load

    target = settings(run)["target"] or None
    model = load(run.path)
    frame = model[0].align(read_csv(file, target, required=False).x)
    found = pd.DataFrame({"prediction": model.predict(frame)})
    if hasattr(model, "predict_proba"):
        classes = model[-1].classes_
        found[[f"p({c})" for c in classes]] = model.predict_proba(frame)
    return found
