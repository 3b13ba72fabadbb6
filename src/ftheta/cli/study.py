"""`ftheta study NAME`: measure, judge, draw; what was measured before is taken from its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ..errors import InputError
from ..results import Table
from ._config import from_toml, typed
from ._show import echo, echo_table

__all__ = ["command"]


@click.command("study", short_help="Repeat a study: measure, judge, draw.")
@click.argument("name")
@click.option("--tiny", is_flag=True, help="The settings of the tests: a second or two, to look at the mechanism.")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="A setting of the study; may be repeated.")
@click.option("--run", type=click.Path(path_type=Path), help="Folder to keep it in; default below runs/study/.")
@click.option("--allow-inexact", is_flag=True, help="Continue what was half done with other versions.")
@click.option("--record", is_flag=True, help="For developers: keep the verdicts of a full run in the package's ledger.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(
    name: str, tiny: bool, changes: tuple[str, ...], run: Path | None, allow_inexact: bool, record: bool, as_json: bool
) -> None:
    """Measure, judge and draw the study NAME. Exit code 0 whatever the verdicts are.

    \b
    ftheta study evidence/noise                  all of it; Ctrl-C loses one piece, the same command continues
    ftheta study evidence/noise --tiny           the mechanism only
    ftheta study evidence/noise --set seeds=3    other settings
    """
    from ..studies import _study

    if record and (tiny or changes):
        raise InputError("--record keeps full runs only; leave out --tiny and --set.")
    config = _config(_study.load(name), tiny, changes)
    try:
        outcome = _study.conduct(name, config, run, allow_inexact=allow_inexact)
    except (KeyboardInterrupt, SystemExit, BrokenPipeError):
        echo("Stopped; the pieces that are complete are kept. The same command continues.", err=True)
        raise
    if record:
        echo(f"Recorded in {_study.keep(outcome)}", err=True)
    if as_json:
        echo(json.dumps(outcome.as_json(), indent=1, ensure_ascii=False))
        return
    _show(outcome)


def _config(study: Any, tiny: bool, changes: tuple[str, ...]) -> Any:
    """The settings of the study: full or tiny, with what `--set` changes."""
    from dataclasses import replace

    given: dict[str, Any] = {}
    for item in changes:
        key, equals, value = item.partition("=")
        if not equals:
            raise InputError(f"--set {item}: expected KEY=VALUE, e.g. --set seeds=3.")
        given[key.strip()] = from_toml(value)
    start = study.TINY if tiny else study.Config()
    return replace(start, **typed(study.Config, given, "--set"))


def _show(outcome: Any) -> None:
    """Findings with their reasons, where a row of the ledger is judged; then the tables of the study."""
    if outcome.findings:
        echo_table(outcome.table())
        echo()
        for finding in outcome.findings:
            echo(f"{finding.row}: {finding.why}")
    for k, table in enumerate(outcome.tables.values()):
        if k or outcome.findings:
            echo()
        echo_table(Table(table["columns"], table["caption"]))
    source = f"measured on {outcome.date}, taken from there" if outcome.cached else f"{outcome.seconds:.0f} s"
    echo(f"\nFolder: {outcome.path} ({source})")
