"""`ftheta explain`: what a trained run can show of its inside."""

from pathlib import Path

import click

from ..catalog import VIEWS, nearest
from ..errors import FThetaError, InputError
from ..results import Result, Table
from ._show import draw, echo, echo_result, echo_table, figures_option, say_loading


@click.command("explain", short_help="Show what happened inside a trained run.")
@click.argument("run")
@click.argument("names", nargs=-1)
@click.option("--list", "only_list", is_flag=True, help="Only list what there is; nothing is computed or drawn.")
@click.option("--all", "every", is_flag=True, help="Every explanation, slow ones too, and every row of every table.")
@click.option("--row", type=int, metavar="N", help="Test row that `attribution` explains; else the most wrong one.")
@figures_option
def command(
    run: str, names: tuple[str, ...], only_list: bool, every: bool, row: int | None, figures: Path | None
) -> None:
    """What RUN shows of its inside: the first explanations that are quick, or those in NAMES, or all. RUN is only read.

    A terminal shows at most 12 rows of a table; --figures writes all of them as CSV beside each picture.
    Explanations that look at rows look at those that the model learned from: at most 2,000, evenly spaced, or all
    where they are of the fit itself; those of the columns of a table at rows of the test part.
    """
    say_loading()
    from .. import explain, jobs

    trained = jobs.open(run)
    known = trained.available()
    for name in names:
        if name not in VIEWS and name not in (every_name := explain.available(trained.model)):
            raise InputError(nearest(f"explanation of {type(trained.model).__name__}:", name, every_name))
    if not known:
        echo(f"{type(trained.model).__name__} has no explanations yet.")
        return
    if only_list:
        shown = [VIEWS[name] for name in names or known]
        titles = {"explanation": "name", "question": "question", "cost": "cost", "what": "summary"}
        echo_table(Table({title: [getattr(view, field) for view in shown] for title, field in titles.items()}))
        return
    seen = set()
    for name, result in trained.explain(*names, every=every, row=row):
        seen.add(name)
        if isinstance(result, FThetaError):
            echo(f"{name}: {result}", err=True)
            continue
        echo(f"{VIEWS[name].question} ({name})", bold=True)
        echo_result(result, every=every)
        echo()
        if figures is not None:
            echo(f"drawn: {draw(figures, name, result)}", err=True)
        elif type(result).html is not Result.html:
            echo(f"It is a page to step through: ftheta explain {run} {name} --figures DIR writes it.", err=True)
    if (rest := [name for name in known if name not in seen]) and not names:
        echo(f"There is more by name, or with --all: {', '.join(rest)}. --list says what each shows.", err=True)
