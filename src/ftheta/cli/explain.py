"""`ftheta explain`: what a trained run can show of its inside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from ..results import Table
from ._folders import find_run
from ._show import draw, echo, echo_table, figures_option

if TYPE_CHECKING:
    from ..store import Run

__all__ = ["command"]


@click.command("explain", short_help="Show what happened inside a trained run.")
@click.argument("run")
@click.argument("names", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="Only say what there is; nothing is computed or drawn.")
@figures_option
def command(run: str, names: tuple[str, ...], only_list: bool, figures: Path | None) -> None:
    """Tables of all explanations that RUN can give, or of those in NAMES. RUN is only read.

    Explanations that look at rows look at those that the model learned from: at most 2,000, evenly spaced, or all
    where they are of the fit itself.
    """
    from .. import explain
    from ..catalog import nearest
    from ._subject import trained

    folder = find_run(run)
    _, model = trained(folder)
    known = explain.available(model)
    for name in names:
        if name not in known:
            raise InputError(nearest(f"explanation of {type(model).__name__}:", name, known))
    if not known:
        echo(f"{type(model).__name__} has no explanations yet.")
    elif only_list:
        what = [_first_line(explain.get(name).function) for name in names or known]
        echo_table(Table({"explanation": names or known, "what": what}))
    else:
        _show(folder, names or known, figures, all_of_them=not names)


def _first_line(function: Any) -> str:
    return (function.__doc__ or "").partition("\n")[0].replace("`", "")


def _show(run: Run, names: Sequence[str], figures: Path | None, *, all_of_them: bool) -> None:
    """One after the other; where nobody asked for it by name, one that cannot be had says why and the others follow."""
    from .. import explain
    from ._subject import reopen

    subject = reopen(run)
    for name in names:
        try:
            result = explain.run(name, subject.estimator, *subject.learned_from(all_rows=explain.get(name).all_rows))
        except InputError as error:
            if not all_of_them:
                raise
            echo(f"{name}: {error}", err=True)
            continue
        if type(result).__str__ is object.__str__:
            echo_table(result.table())
        else:  # more than a table
            echo(str(result))
        echo()
        if figures is not None:
            echo(f"drawn: {draw(figures, name, result.figure())}", err=True)
