"""`ftheta explain`: what a trained run can show of its inside."""

from __future__ import annotations

from pathlib import Path

import click

from ..catalog import VIEWS, nearest
from ..errors import FThetaError, InputError
from ..results import Table
from ._show import draw, echo, echo_table, figures_option


@click.command("explain", short_help="Show what happened inside a trained run.")
@click.argument("run")
@click.argument("names", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="Only list what there is; nothing is computed or drawn.")
@figures_option
def command(run: str, names: tuple[str, ...], only_list: bool, figures: Path | None) -> None:
    """Tables of all explanations that RUN can give, or of those in NAMES. RUN is only read.

    Explanations that look at rows look at those that the model learned from: at most 2,000, evenly spaced, or all
    where they are of the fit itself.
    """
    from .. import explain, jobs

    trained = jobs.open(run)
    known = explain.available(trained.model)
    for name in names:
        if name not in known:
            raise InputError(nearest(f"explanation of {type(trained.model).__name__}:", name, known))
    if not known:
        echo(f"{type(trained.model).__name__} has no explanations yet.")
        return
    if only_list:
        shown = names or known
        echo_table(Table({"explanation": shown, "what": [VIEWS[name].summary for name in shown]}))
        return
    for name, result in trained.explain(*names):
        if isinstance(result, FThetaError):
            echo(f"{name}: {result}", err=True)
            continue
        if type(result).__str__ is object.__str__:
            echo_table(result.table())
        else:  # more than a table
            echo(str(result))
        echo()
        if figures is not None:
            echo(f"drawn: {draw(figures, name, result.figure())}", err=True)
