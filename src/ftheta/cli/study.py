"""`ftheta study NAME`: measure, judge, draw; what was measured before is taken from its folder."""

from pathlib import Path
from typing import Any

import click

from ..catalog import nearest
from ..errors import InputError
from ..jobs.config import from_toml
from ..results import Table
from ._show import echo, echo_json, echo_table, json_option


@click.command("study", short_help="Repeat a study: measure, judge, draw.")
@click.argument("name")
@click.option("--tiny", is_flag=True, help="The settings of the tests: a second or two, to see how it works.")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="A setting of the study; may be repeated.")
@click.option("--run", type=click.Path(path_type=Path), help="Folder to keep it in; default below runs/study/.")
@click.option("--allow-inexact", is_flag=True, help="Continue what was measured in part with other versions.")
@click.option("--record", is_flag=True, help="For developers: keep the verdicts of a full run in the package's ledger.")
@json_option()
def command(
    name: str, tiny: bool, changes: tuple[str, ...], run: Path | None, allow_inexact: bool, record: bool, as_json: bool
) -> None:
    """Measure, judge and draw the study NAME, and write a page about it. The exit code is 0 whatever the verdicts are.

    \b
    ftheta study optimizers/noise                  all of it; after Ctrl-C the same command continues
    ftheta study optimizers/noise --tiny           a second or two, to see how it works
    ftheta study optimizers/noise --set seeds=3    other settings
    """
    from .. import studies

    if name == "gallery":
        _gallery(_settings(changes), run)
        return
    if record and (tiny or changes):
        raise InputError("--record keeps full runs only; leave out --tiny and --set.")
    try:
        outcome = studies.run(name, _settings(changes), tiny=tiny, folder=run, allow_inexact=allow_inexact)
    except (KeyboardInterrupt, SystemExit, BrokenPipeError):
        echo("Interrupted. What is measured is saved; the same command continues.", err=True)
        raise
    if record:
        echo(f"Recorded in {studies.record(outcome)}", err=True)
    echo_json(outcome.as_json(), 1) if as_json else _show(outcome)


def _settings(changes: tuple[str, ...]) -> dict[str, Any]:
    """Settings given as KEY=VALUE."""
    given: dict[str, Any] = {}
    for item in changes:
        key, equals, value = item.partition("=")
        if not equals:
            raise InputError(f"--set {item}: expected KEY=VALUE, e.g. --set seeds=3.")
        given[key.strip()] = from_toml(value)
    return given


def _gallery(settings: dict[str, Any], folder: Path | None) -> None:
    """Draw the picture of a row, or list the pictures."""
    from ..results import svg
    from ..store.files import make_folder, write_atomic
    from ..studies.gallery import PICTURES

    if "row" not in settings:
        echo_table(Table({"row": list(PICTURES), "picture": [title for title, _ in PICTURES.values()]}))
        return
    if settings["row"] not in PICTURES:
        raise InputError(nearest("picture", str(settings["row"]), list(PICTURES)))
    folder = folder or Path("runs/study/gallery")
    make_folder(folder)
    write_atomic(folder / f"{settings['row']}.svg", svg(PICTURES[settings["row"]][1]()).encode())
    echo(f"Figure: {folder / settings['row']}.svg")


def _show(outcome: Any) -> None:
    """Question, finding and page; then claims with their checks, and the tables."""
    from .. import studies

    echo(studies.info(outcome.study).question, bold=True)
    echo(studies.sentence(outcome.as_json()["findings"]))
    echo(f"Page: {studies.write_article(outcome)}")
    for finding in outcome.findings:
        echo(f"\nThe source is {finding.verdict}: “{finding.source_says}” ({finding.row})")
        for check in finding.checks:
            echo(f"  {check}")
    for table in outcome.tables.values():
        echo()
        echo_table(table)
    when = f"measured on {outcome.date}" if outcome.cached else f"{outcome.seconds:.0f} s"
    echo(f"\nFolder: {outcome.path} ({when})")
