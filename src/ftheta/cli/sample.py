"""`ftheta sample`: new rows that a trained run draws."""

from __future__ import annotations

import io
from functools import partial
from inspect import signature
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from ._folders import find_run
from ._show import csv_text, draw, echo, echo_table, figures_option

if TYPE_CHECKING:
    import numpy as np

__all__ = ["command"]


@click.command("sample", short_help="Draw new rows from a trained run.")
@click.argument("run")
@click.option("-n", "count", help="How many.", type=click.IntRange(1), default=64, show_default=True)
@click.option("--steps", help="Steps of the chains; default: as the model has it.", type=click.IntRange(1))
@click.option("--seed", help="Of the draws.", type=click.IntRange(0), default=0, show_default=True)
@click.option("-o", "--output", help="Write the rows to this CSV or NPY file too.", type=click.Path(path_type=Path))
@figures_option
def command(run: str, count: int, steps: int | None, seed: int, output: Path | None, figures: Path | None) -> None:
    """Draw new rows from RUN (a folder, an id, or last), a model of how rows are spread, e.g. rbm.

    --figures draws them beside the rows that the model learned from and that are nearest. RUN is only read.
    """
    from .. import explain
    from ..store import write_atomic
    from ._subject import reopen

    if output is not None and output.exists():
        raise InputError(f"--output {output}: the file exists; nothing was changed. Choose another name.")
    if output is not None and output.suffix.lower() not in (".csv", ".npy"):
        raise InputError(f"--output {output}: expected a name that ends in .csv or .npy.")
    folder = find_run(run)
    subject = reopen(folder)
    model = subject.estimator
    if not hasattr(model, "sample"):
        raise InputError(
            f"{folder.path} is a {type(model).__name__}, which draws no new rows. Models that do: rbm, dbm, boltzmann."
        )
    asked = {} if steps is None else {"steps": steps}
    if steps is not None and "steps" not in signature(model.sample).parameters:
        raise InputError(f"--steps {steps}: {type(model).__name__} draws without a chain. Leave --steps out.")
    chains = SimpleNamespace(sample=partial(model.sample, **asked))
    found = explain.samples(chains, subject.learned_from(all_rows=True)[0], count, random_state=seed)
    echo_table(found.table())
    if figures is not None:
        echo(f"drawn: {draw(figures, 'samples', found.figure())}", err=True)
    if output is not None:
        write_atomic(output, _written(found.rows, output.suffix.lower(), subject.encoder))
        echo(f"{output}: {count} rows in the numbers of the model", err=True)


def _written(rows: np.ndarray, suffix: str, encoder: Any) -> bytes:
    """Rows as the bytes of a file."""
    import numpy as np
    import pandas as pd

    if suffix == ".csv":
        return csv_text(pd.DataFrame(rows, columns=encoder.get_feature_names_out())).encode()
    held = io.BytesIO()
    np.save(held, rows)
    return held.getvalue()
