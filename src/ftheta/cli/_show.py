"""Output: text without control characters, tables no wider than the terminal, CSV without formulas."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from ..results import Table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

# C0 except tab and line feed, DEL, C1, line and paragraph separators, and what turns the direction of writing
_CONTROL = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_FORMULA = re.compile(r"[=+\-@\t\r](?s:.*)")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def clean(text: str) -> str:
    r"""Text from data or files as a terminal may have it: a control character becomes \u and its number."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text, without control characters: everything that is shown goes through here."""
    click.echo(clean(text), err=err, nl=nl)


def echo_table(table: Table) -> None:
    """Print a table; on a terminal rows that are too long end in an ellipsis."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    if table.caption:
        echo(table.caption)
    for line in map(clean, Table(table.columns).text().split("\n")):
        echo(line if width is None or len(line) <= width else line[: width - 1] + "…")


def json_option(help: str = "As one JSON object.") -> Any:
    return click.option("--json", "as_json", is_flag=True, help=help)


def echo_json(value: Any, indent: int | None = None) -> None:
    """Print a value as JSON."""
    echo(json.dumps(value, ensure_ascii=False, indent=indent))


def echo_rows(rows: Sequence[Mapping[str, Any]], as_json: bool, names: Sequence[str] = ()) -> None:
    """Print one JSON object per row, or a table of these columns."""
    for row in rows if as_json else ():
        echo_json(row)
    if not as_json:
        echo_table(Table({name: [row[name] for row in rows] for name in names or rows[0]}))


def csv_text(frame: pd.DataFrame) -> str:
    """A frame as CSV; text that a spreadsheet would run as a formula gets a single quote in front."""
    texts = frame.select_dtypes(exclude="number").astype(object)
    safe = frame.assign(**{name: texts[name].map(_inert) for name in texts})
    return safe.to_csv(index=False, header=[_inert(str(name)) for name in frame], lineterminator="\n")


def _inert(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    text = "\n".join(re.split("\r\n?", cell))  # a line feed is quoted, a carriage return would begin a row
    return f"'{text}" if _FORMULA.fullmatch(cell) and not _NUMBER.fullmatch(cell) else text


def new_file_option(help: str) -> Any:
    """-o, a file that must not exist yet."""

    def check(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
        if value is not None and value.exists():
            raise InputError(f"--output {value}: the file exists; nothing was changed. Choose another name.")
        return value

    return click.option("-o", "--output", help=help, type=click.Path(path_type=Path), callback=check)


encoding_option = click.option("--encoding", help="Of the characters of FILE; default: as in training.", metavar="NAME")
skip_bad_option = click.option("--skip-bad", help="Leave damaged images of a folder out.", is_flag=True)
figures_option = click.option(
    *("--figures", "figures"), help="Draw into this folder.", type=click.Path(path_type=Path), metavar="DIR"
)


def draw(folder: Path, name: str, figure: Figure) -> Path:
    """Write a figure as DIR/NAME.svg; a file that exists is not replaced."""
    from ..results import svg
    from ..store import write_atomic

    file = folder / f"{re.sub(r'[^A-Za-z0-9_-]', '-', name)[:80]}.svg"
    if file.exists():
        raise InputError(f"--figures {folder}: {file} exists; nothing was changed. Choose another folder.")
    write_atomic(file, svg(figure).encode())
    return file
