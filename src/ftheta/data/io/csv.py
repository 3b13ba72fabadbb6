"""Tables from CSV files as people have them, or one sentence that says what is wrong and where.

    bytes -> sample: delimiter, header, what must stay text -> one read by pandas -> columns inferred

UTF-8, UTF-16 or cp1252; commas, semicolons, tabs or bars; a header line; also packed by gzip. Numbers may have a
decimal comma; text, dates and missing cells stay what they are.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import FileFormatError
from ..datasets import Dataset
from .cells import MISSING, CsvFormat, numbers, plain_number
from .content import Content, content_of
from .csv_errors import (
    Layout,
    first_bad_byte,
    records,
    reject_cells,
    reject_encoding,
    reject_open_quote,
    reject_ragged,
    reject_zero,
)
from .dataset import MAX_COLUMNS, NO_TARGET, as_dataset, known_target
from .formats import FORMATS, format_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["looks_like_table", "read_csv"]

SAMPLE, SAMPLE_ROWS = 2**18, 1000  # bytes and rows that are looked at first
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def read_csv(
    path: str | Path,
    target: str | None = None,
    *,
    required: bool = True,
    encoding: str = "utf-8",
    csv_format: CsvFormat | None = None,
) -> Dataset:
    """A CSV file with a header as a data set; `FileFormatError` with path, line and column where it cannot be read.

    A file that is not UTF-8 is read as cp1252, with a note. Arguments as in `read`.
    """
    if (kind := format_of(Path(path))) != "csv":
        raise FileFormatError(f"{path}: its content is {FORMATS[kind]}, not CSV. Open it with ftheta.data.read.")
    content, notes = content_of(Path(path)), []
    encoding = "utf-8" if content.data is not None else encoding
    try:
        return _read_csv(content, target, required, encoding, csv_format, notes)
    except LookupError:
        raise FileFormatError(f"{path}: unknown encoding {encoding!r}. Try 'utf-8', 'latin-1' or 'cp1252'.") from None
    except UnicodeDecodeError:
        if encoding != "utf-8" or not first_bad_byte(content, encoding).first:  # damaged UTF-8 is not cp1252
            reject_encoding(content, encoding)
    try:
        return _read_csv(content, target, required, "cp1252", csv_format, ["not UTF-8: read as cp1252"])
    except UnicodeDecodeError:
        reject_encoding(content, encoding)


def _read_csv(
    content: Content, target: str | None, required: bool, encoding: str, csv_format: CsvFormat | None, notes: list[str]
) -> Dataset:
    file = _look(content, encoding, csv_format, notes)
    target = known_target(content.path, target, file.names, required)
    reject = partial(reject_cells, file.layout, file.skip, file.names)
    how = {"required": required, "csv_format": file.csv_format, "notes": notes, "reject": reject}
    return as_dataset(content.path, _read(file, target), target, **how)


# ---- the first look


class _File(NamedTuple):
    layout: Layout
    skip: int  # lines before the first row,
    records: int  # or records, blank ones too: a quoted name may be longer than a line
    names: list[str]
    kinds: dict[str, str]  # columns that are text, or numbers as far as the sample goes
    csv_format: CsvFormat


def _look(content: Content, encoding: str, csv_format: CsvFormat | None, notes: list[str]) -> _File:
    """Delimiter, header and what must stay text, from the beginning of a file."""
    path = content.path
    text, complete = _beginning(content, encoding)
    stated = text[4:5] if text[:4].lower() == "sep=" else ""  # as Excel writes it
    text = text.partition("\n")[2] if stated else text
    delimiter = stated or max(DELIMITERS, key=lambda mark: _fit(path, text, complete, mark))
    layout = Layout(content, encoding, delimiter, int(bool(stated)))
    found = list(islice(records(path, io.StringIO(text, newline=""), delimiter, layout.head), SAMPLE_ROWS))
    if not found:
        raise FileFormatError(f"{path}: the file is empty. A header line and at least one row are needed.")
    names = column_names(f"{path} line {found[0].line}", [name.strip() for name in found[0].fields], notes)
    rows = [r.fields for r in (found[1:] if complete or len(found) < 3 else found[1:-1])]
    if rows and len(rows[0]) != len(names):
        reject_ragged(layout, len(names))  # pandas would take its first cell for an index
    columns = list(zip(*(r for r in rows if len(r) == len(names)), strict=True)) or [()] * len(names)
    if delimiter != ",":
        notes.append(f"{DELIMITERS.get(delimiter, repr(delimiter))} between the columns")
    if csv_format is None:
        csv_format = CsvFormat(delimiter != "," and any(_comma_decimals(c, delimiter == ";") for c in columns))
    text_columns = {*csv_format.text, *csv_format.dates}
    kinds = {}
    for name, cells in zip(names, columns, strict=True):
        exact = name in text_columns or csv_format.comma or any(map(_is_code, cells))
        numeric = all(plain_number(cell) or cell.strip() in MISSING for cell in cells)
        kinds[name] = "str" if exact else "float64" if numeric else "category"
    return _File(layout, found[0].last, found[0].line, names, kinds, csv_format)


def _beginning(content: Content, encoding: str) -> tuple[str, bool]:
    """The text of the first bytes up to a line's end, and whether that is all."""
    size = SAMPLE
    with content.open() as stream:
        data = stream.read(size)
        while len(data) == size and data.count(b"\n") < 3 and size < 2**24:
            data += stream.read(size)
            size *= 2
    complete = len(data) == content.size
    if not complete and b"\n" in data:
        data = data[: data.rindex(b"\n") + 1]
    return data.decode(encoding).removeprefix("\ufeff"), complete


def looks_like_table(path: Path, encoding: str = "utf-8") -> bool:
    """Whether most lines of a text have as many fields as its first."""
    try:
        text, complete = _beginning(content_of(path), encoding)
    except (UnicodeDecodeError, LookupError):
        text, complete = _beginning(content_of(path), "latin-1")
    share, fields = max(_fit(path, text, complete, mark) for mark in DELIMITERS)
    return text[:4].lower() == "sep=" or (share >= 0.9 and fields > 1)


def _fit(path: Path, text: str, complete: bool, mark: str) -> tuple[float, int]:
    """Share of the first records with as many fields as the header, if it has several, and how many."""
    try:
        sizes = [len(r.fields) for r in islice(records(path, io.StringIO(text, newline=""), mark), 50)]
    except FileFormatError:
        return 0.0, 0
    sizes = sizes if complete or len(sizes) < 2 else sizes[:-1]
    return (sum(n == sizes[0] for n in sizes) / len(sizes), sizes[0]) if sizes and sizes[0] > 1 else (0.0, 0)


def column_names(place: str, names: list[str], notes: list[str]) -> list[str]:
    """Names of the columns, each different; `place` is where they stand."""
    if len(names) > MAX_COLUMNS:
        raise FileFormatError(f"{place}: {len(names)} columns; at most {MAX_COLUMNS} are read.")
    digits = [name for name in names if plain_number(name)]
    if len(digits) == len(names) or (2 * len(digits) > len(names) and not all(n.isdigit() for n in digits)):
        raise FileFormatError(
            f"{place}: the first line holds numbers ({digits[0]!r}, ...), so the header is missing. "
            "Put the names of the columns there."
        )
    taken: dict[str, int] = {}
    for j, name in enumerate(names):
        new = name or f"column {j + 1}"
        taken[new] = taken.get(new, 0) + 1
        while taken[new] > 1 and f"{new} ({taken[new]})" in names:
            taken[new] += 1
        names[j] = new if taken[new] == 1 else f"{new} ({taken[new]})"
        if names[j] != name:
            why = "has no name" if not name else f"is named {name!r} again"
            notes.append(f"column {j + 1} {why}: it is called {names[j]!r} here")
    return names


def _is_code(cell: str) -> bool:
    cell = cell.strip()
    return cell[:1] == "0" and cell.isdigit() and len(cell) > 1


def _comma_decimals(cells: Sequence[str], likely: bool) -> bool:
    present = [cell.strip() for cell in cells if cell.strip() not in MISSING]
    return any("," in cell for cell in present) and numbers(present, comma=likely)[1] == "1.234,5"


# ---- all rows


def _read(file: _File, target: str | None) -> pd.DataFrame:
    """One read by pandas; if it fails, a slow one that says where."""
    import pandas as pd

    layout, path, expected = file.layout, file.layout.content.path, len(file.names)
    reject_zero(layout.content)
    try:
        try:
            frame = _pandas(file, file.kinds, target)
        except ValueError as error:
            if isinstance(error, pd.errors.ParserError | UnicodeDecodeError):
                raise
            frame = _pandas(file, {name: kind for name, kind in file.kinds.items() if kind != "float64"}, target)
    except UnicodeDecodeError:
        raise
    except (pd.errors.ParserError, pd.errors.EmptyDataError, OverflowError, ValueError) as error:
        reject_ragged(layout, expected)
        reject_open_quote(layout, str(error))
        raise FileFormatError(f"{path}: it cannot be read as a table ({error}). Save it as CSV again.") from None
    if frame.empty:
        raise FileFormatError(f"{path}: a header of {expected} columns but no rows. At least one row is needed.")
    if frame.iloc[:, -1].isna().any() and not _evenly_filled(file, len(frame)):
        reject_ragged(layout, expected)
    return frame


def _pandas(file: _File, kinds: dict[str, str], target: str | None) -> pd.DataFrame:
    import pandas as pd

    with file.layout.content.open() as stream:
        return pd.read_csv(
            stream,
            sep=file.layout.delimiter,
            header=None,
            names=file.names,
            skiprows=file.records,
            dtype=kinds,  # type: ignore[arg-type]
            na_values={name: NO_TARGET if name == target else MISSING for name in file.names},
            keep_default_na=False,
            encoding=file.layout.encoding,
            true_values=["\0"],  # True and False stay text
            low_memory=len(kinds) == len(file.names),  # in parts, if no part must guess a type
        )


def _evenly_filled(file: _File, rows: int) -> bool:
    """Whether the number of delimiters alone says that no row is short; False where quotes make that unsure."""
    if file.layout.encoding != "utf-8":
        return False
    found, mark = -file.layout.head, ord(file.layout.delimiter)  # a line sep=; holds one too
    for block in file.layout.content.blocks():
        if b'"' in block:
            return False
        found += int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == mark))  # faster than bytes.count
    return found == (rows + 1) * (len(file.names) - 1)
