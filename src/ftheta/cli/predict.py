"""`ftheta predict`: a trained run applied to the rows of a file."""

from __future__ import annotations

import sys
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from ..results import Table
from . import _show
from ._options import layout_options, option
from ._show import echo, width

if TYPE_CHECKING:
    from ..jobs.trained import Answers

INPUTS = 4  # columns that are shown beside a prediction


@click.command("predict", short_help="Predict with a trained run.")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@option("--horizon", "Steps to forecast after the end of the series; default: as in training.", type=click.IntRange(1))
@_show.new_file_option("Write to this CSV file instead of the screen.")
@layout_options("; default: as in training")
@_show.skip_bad_option
@_show.figures_option
def command(
    run: str,
    file: Path | None,
    output: Path | None,
    horizon: int | None,
    skip_bad: bool,
    figures: Path | None,
    **layout: Any,
) -> None:
    """Predict each row of FILE, which has the columns that RUN (a folder, an id, or last) was trained on.

    For a run that forecasts a series, FILE is another series whose next steps are predicted; without FILE, the series
    that it was trained on is continued, its test part included.

    For a run that was trained on images, FILE is an image or a folder of images; --figures draws what was seen in
    an image. Classes come with their probabilities, numbers with the interval that holds 95 of 100, classes of
    pixels with their shares of the image. The target column may be missing; other columns and another order do not
    matter; columns that name the rows are copied. RUN is only read. A terminal shows the first rows with their first
    columns; a pipe and -o get every row as CSV, where text that a spreadsheet would run as a formula gets a single
    quote in front.
    """
    _show.say_loading()
    from .. import jobs

    trained = jobs.open(run)
    found = trained.predict(file, horizon=horizon, skip_bad=skip_bad, **layout)
    if figures is not None:
        drawn, name = None, "" if file is None else file.stem
        if "file" in found.rows.names and file is not None and file.is_file():
            drawn = trained.task.draw(trained.model, found.rows.X, found.predictions, file.name)
        if drawn is None:
            raise InputError(f"--figures {figures}: `ftheta predict` draws what was seen in one image. Leave it out.")
        echo(f"drawn: {_show.draw(figures, f'predicted-{name}', drawn[0])} shows {drawn[1]}", err=True)
    for note in found.notes:
        echo(f"note: {note}", err=True)
    if output is None and width() is not None:
        _for_eyes(found, trained.task.shown(found.predictions))
        return
    text = _show.csv_text(found.frame)
    if output is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    from ..store import write_atomic

    write_atomic(output, text.encode())
    echo(f"{output}: {len(found.frame)} predictions", err=True)


def _for_eyes(found: Answers, shown: dict[str, Any]) -> None:
    """A table of the first rows: what names them, their first columns, and the predictions."""
    import pandas as pd

    inputs = found.rows.x if isinstance(found.rows.x, pd.DataFrame) else pd.DataFrame()
    names = pd.DataFrame(found.rows.names).join(inputs.iloc[:, :INPUTS], how="outer", rsuffix=" ").iloc[: _show.ROWS]
    columns: dict[str, list[Any]] = {}
    for name, cells in names.convert_dtypes().items():
        plain = [None if pd.isna(cell) else cell if isinstance(cell, Real) else str(cell) for cell in cells]
        columns[f"{name} (column)" if name in shown else str(name)] = plain
    _show.echo_table(Table(columns | {name: list(cells)[: _show.ROWS] for name, cells in shown.items()}))
    if (more := len(found.frame) - _show.ROWS) > 0:
        echo(f"... {more:,} more rows: -o FILE writes all as CSV.", dim=True)
