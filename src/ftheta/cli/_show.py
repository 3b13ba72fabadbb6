"""Output: text without control characters, tables no wider than the terminal, CSV without formulas."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from ..results import Result, Table, digits_of, fixed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

ROWS = 12  # of a table that a terminal shows
NARROW = 20  # letters of a column whose texts are not broken any more
# C0 except tab and line feed, DEL, C1, line and paragraph separators, and what turns the direction of writing
_CONTROL = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_FORMULA = re.compile(r"[=+\-@\t\r](?s:.*)")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def clean(text: str) -> str:
    r"""Text from data or files as a terminal may have it: a control character becomes \u and its number."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def width(*, err: bool = False) -> int | None:
    """Letters of a line of the terminal; None where nobody reads at one."""
    return shutil.get_terminal_size().columns if (sys.stderr if err else sys.stdout).isatty() else None


def echo(text: str = "", *, err: bool = False, nl: bool = True, **style: bool) -> None:
    """Print a text, without control characters: everything that is shown goes through here.

    A terminal breaks long lines between words, and shows a `style` such as bold.
    """
    lines, wide = clean(text).split("\n"), width(err=err)
    if wide is not None and max(map(len, lines)) > wide:
        how: Any = {"break_long_words": False, "break_on_hyphens": False, "replace_whitespace": False}
        lines = [line.replace(" %", "\xa0%") for line in lines]  # a number stays beside its sign
        lines = [part for line in lines for part in textwrap.wrap(line, wide, **how) or [""]]
    text = "\n".join(lines).replace("\xa0%", " %")
    click.echo(click.style(text, **style) if style and wide is not None else text, err=err, nl=nl)


def say_loading(*, always: bool = False) -> None:
    """Say on a terminal, or always, that the seconds before the first answer are imports."""
    if "torch" not in sys.modules and (always or width(err=True) is not None):
        echo("loading PyTorch and scikit-learn", err=True)


def echo_file(before: str, path: Path) -> None:
    """Print the path of a file, on a terminal as a link."""
    text = clean(str(path))
    link = text if width() is None else f"\x1b]8;;{path.resolve().as_uri()}\x1b\\{text}\x1b]8;;\x1b\\"
    click.echo(f"{before}{link}")


def echo_table(table: Table) -> None:
    """Print a table; on a terminal texts in its last column are broken, and rows that are still too long cut."""
    wide = width()
    if table.caption:
        echo(table.caption)
    lines = clean(replace(table, caption="").text()).split("\n")
    if wide is not None and max(map(len, lines)) > wide:
        lines = _narrowed(table, wide) or _without_last(table, wide)
    for line in lines:
        echo(line if wide is None or len(line) <= wide else line[: wide - 1] + "…")


def _narrowed(table: Table, wide: int) -> list[str]:
    """Lines of a table whose last column is broken between words; nothing where it has no texts or no room."""
    *names, last = table.columns
    cells = [str(cell) for cell in table.columns[last] if isinstance(cell, str)]
    left = clean(Table({name: table.columns[name] for name in names}).text()).split("\n") if names else [""]
    before = max(map(len, left)) + 2
    if len(cells) + 2 != len(left) or wide - before < NARROW:
        return []
    broken = [textwrap.wrap(clean(cell), wide - before) or [""] for cell in (last, "-" * (wide - before), *cells)]
    blocks = [zip([row, *[""] * len(parts)], parts, strict=False) for row, parts in zip(left, broken, strict=True)]
    return [f"{row:{before}}{part}".rstrip() for block in blocks for row, part in block]


def _without_last(table: Table, wide: int) -> list[str]:
    """Lines of a table with as many columns as fit, at least one, and the names of the others."""
    names, lines, k = list(table.columns), [" " * (wide + 1)], len(table.columns) + 1
    while max(map(len, lines)) > wide and k > 1:
        k -= 1
        some = replace(table, caption="", columns={name: table.columns[name] for name in names[:k]})
        lines = clean(some.text()).split("\n")
    return lines + [f"... without {', '.join(names[k:])}"] * (k < len(names))


def echo_result(result: Result, *, every: bool = True) -> None:
    """Print what a result says of itself, or its table; on a terminal the first rows of a long one."""
    if type(result).__str__ is not object.__str__:
        return echo(str(result))
    table = result.table()
    n = len(next(iter(table.columns.values()), ()))
    rows = range(n) if every or n <= ROWS or width() is None else result.excerpt or range(ROWS)
    echo_table(table.take(rows))
    if len(rows) < n:
        echo(f"... {n - len(rows):,} more rows: --all, or the CSV file that --figures writes.", dim=True)


def echo_scores(table: Table) -> None:
    """Print a result; on a terminal each number with the digits that its interval supports, the first score bold."""
    columns = dict(table.columns)
    if width() is None:
        texts = {name: [fixed(x, 4) for x in cells] for name, cells in columns.items() if name != "metric"}
        shown = [_aligned([name, *cells]) for name, cells in texts.items()]
        return echo_table(replace(table, columns={"metric": columns["metric"]} | {head: rest for head, *rest in shown}))
    ends = list(zip(columns.pop("low"), columns.pop("high"), strict=True))
    digits = [digits_of(value, *end) for value, end in zip(columns["value"], ends, strict=True)]

    def column(numbers: Sequence[Any]) -> list[str]:
        return [fixed(x, k) for x, k in zip(numbers, digits, strict=True)]

    low, high = map(column, zip(*ends, strict=True))
    between = ["none" if "none" in pair else "[{}, {}]".format(*pair) for pair in zip(low, high, strict=True)]
    rows = {name: column(cells) for name, cells in columns.items()}
    ordered = {"metric": rows.pop("metric"), "value": rows.pop("value"), "interval": between, **rows}
    echo(table.caption)
    for i, line in enumerate(zip(*(_aligned([name, *cells]) for name, cells in ordered.items()), strict=True)):
        styles = [{"dim": True} if cell.strip() == "none" else {"bold": True} if i == 1 else {} for cell in line]
        cells = [click.style(cell, **how) if how else cell for cell, how in zip(line, styles, strict=True)]
        click.echo("  ".join(cells).rstrip())


def _aligned(cells: Sequence[str]) -> list[str]:
    """Cells of equal width: numbers to the right, words and intervals to the left."""
    most, words = max(map(len, cells)), cells[0] in ("metric", "interval")
    return [clean(cell.ljust(most) if words else cell.rjust(most)) for cell in cells]


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


skip_bad_option = click.option("--skip-bad", help="Leave damaged images of a folder out.", is_flag=True)
figures_option = click.option(
    *("--figures", "figures"), help="Draw into this folder.", type=click.Path(path_type=Path), metavar="DIR"
)


def draw(folder: Path, name: str, shown: Figure | Result) -> Path:
    """Write a figure as DIR/NAME.svg, and the numbers of a result as .csv; a file that exists is not replaced.

    A result that is a page, such as a film, is written as .html too.
    """
    from ..results import svg
    from ..store import write_atomic

    file = folder / f"{re.sub(r'[^A-Za-z0-9_-]', '-', name)[:80]}.svg"
    numbers, page = file.with_suffix(".csv"), file.with_suffix(".html")
    for path in (file, numbers, page):
        if path.exists():
            raise InputError(f"--figures {folder}: {path} exists; nothing was changed. Choose another folder.")
    if isinstance(shown, Result):
        write_atomic(numbers, csv_text(shown.table().frame()).encode())
        text, shown = shown.html(), shown.figure()
        write_atomic(page, text.encode()) if text else None
    write_atomic(file, svg(shown).encode())
    return page if page.exists() else file
