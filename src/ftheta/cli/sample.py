"""`ftheta sample`: new rows that a trained run draws."""

import io
from pathlib import Path
from types import SimpleNamespace

import click

from ..errors import FThetaError, InputError
from ._show import csv_text, draw, echo, echo_table, figures_option, new_file_option, say_loading


@click.command("sample", short_help="Draw new rows from a trained run.")
@click.argument("run")
@click.option("-n", "count", help="How many.", type=click.IntRange(1), default=64, show_default=True)
@click.option("--steps", help="Steps of the chains; default: as the model has it.", type=click.IntRange(1))
@click.option("--seed", help="Of the draws.", type=click.IntRange(0), default=0, show_default=True)
@new_file_option("Write the rows to this CSV or NPY file too.")
@figures_option
def command(run: str, count: int, steps: int | None, seed: int, output: Path | None, figures: Path | None) -> None:
    """Draw new rows from RUN (a folder, an id, or last), a model of how rows are distributed, e.g. rbm.

    --figures draws them beside the nearest of the rows that the model learned from. RUN is only read.
    """
    say_loading()
    import numpy as np
    import pandas as pd

    from .. import explain, jobs
    from ..store import write_atomic

    if output is not None and output.suffix.lower() not in (".csv", ".npy"):
        raise InputError(f"--output {output}: expected a name that ends in .csv or .npy.")
    trained = jobs.open(run)
    rows = trained.sample(count, seed=seed, **({} if steps is None else {"steps": steps}))
    if not hasattr(rows, "shape"):  # e.g. texts
        for row in rows:
            echo(str(row))
        return
    learned = None
    try:
        learned = trained.learned_from(all_rows=True)[0]
    except FThetaError as error:  # the data is gone
        echo(f"note: without the nearest training rows: {error}", err=True)
    model = SimpleNamespace(sample=lambda *_, **__: rows)
    found = explain.samples(model, learned, count, random_state=seed)
    echo_table(found.table())
    if figures is not None:
        echo(f"drawn: {draw(figures, 'samples', found.figure())}", err=True)
    if output is not None:
        stream = io.BytesIO()
        if output.suffix.lower() == ".csv":
            stream.write(csv_text(pd.DataFrame(rows, columns=trained.encoder.get_feature_names_out())).encode())
        else:
            np.save(stream, rows)
        write_atomic(output, stream.getvalue())
        echo(f"{output}: {count} rows in the numbers of the model", err=True)
