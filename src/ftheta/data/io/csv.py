"""Tables from CSV files as people have them, or one sentence that says what is wrong and where.

    bytes -> sample: delimiter, header, what must stay text -> one read by pandas -> columns inferred

UTF-8, UTF-16 or cp1252; commas, semicolons, tabs or bars; a header line; also inside gzip or zip. Numbers may have a
decimal comma; text, dates and missing cells stay what they are. Only what fails is read again, record by record.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np
import pandas as pd

from ...errors import FileFormatError
from ..datasets import Dataset
from ..encode.cells import different_names
from .dataset import CODE, MAX_COLUMNS, MISSING, NO_TARGET, CsvFormat, as_dataset, known_target, numbers, plain_number
from .files import FORMATS, content_of, first_bytes, format_of

SAMPLE, SAMPLE_ROWS = 2**18, 1000  # bytes and rows that are looked at first
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def read_csv(
    path: str | Path,
    target: str | None = None,
    *,
    required: bool = True,
    encoding: str = "utf-8",
    csv_format: CsvFormat | None = None,
    sheet: str = "",
    skip_rows: int = 0,
) -> Dataset:
    """A CSV file with a header as a data set; `FileFormatError` with path, line and column where it cannot be read.

    A file that is not UTF-8 is read as cp1252, with a note. Arguments as in `read`.
    """
    path, notes = Path(path), list[str]()
    if (kind := format_of(path, sheet)) != "csv":
        raise FileFormatError(f"{path}: its content is {FORMATS[kind][0]}, not CSV. Open it with ftheta.data.read.")
    data = content_of(path, sheet, notes)
    if (zero := data.find(b"\0")) >= 0:
        what = "a zero byte, so the file is binary or damaged. Use a CSV file in UTF-8."
        raise FileFormatError(f"{path} byte {zero}: {what}")
    file = _look(path, data, encoding, csv_format, notes, skip_rows)
    if required and target is not None and target not in file.names:
        file.reject_title(target)
    if (first := next(file.rows(file.skip), None)) and len(first.fields) != len(file.names):
        file.reject_ragged()  # pandas would take its first cell for an index
    target = known_target(path, target, file.names, required)
    how = {"required": required, "csv_format": file.csv_format, "notes": notes, "reject": file.reject_cells}
    return as_dataset(path, _read(file, target), target, **how)


def read_frame(
    path: Path, target: str | None = None, *, encoding: str = "utf-8", csv_format: CsvFormat | None = None
) -> tuple[pd.DataFrame, CsvFormat]:
    """The cells of a CSV file before it is decided what the columns hold, and how they are written."""
    file = _look(path, content_of(path), encoding, csv_format, [], 0)
    return _read(file, target if target in file.names else None), file.csv_format


def _encoding(path: Path, data: bytes, encoding: str, notes: list[str]) -> str:
    """The encoding of a file, cp1252 where the first character beyond ASCII is not UTF-8."""
    encoding = "utf-8" if data.startswith(codecs.BOM_UTF8) else encoding
    if encoding == "utf-8" and data.isascii():  # no copy of a large file
        return encoding
    try:
        data.decode(encoding)
        return encoding
    except LookupError:
        what = f"unknown encoding {encoding!r}. Try 'utf-8', 'latin-1' or 'cp1252'."
        raise FileFormatError(f"{path}: {what}") from None
    except UnicodeDecodeError as error:
        bad = error.start
    if encoding == "utf-8" and data[:bad].isascii():
        with suppress(UnicodeDecodeError):
            data.decode("cp1252")
            notes.append("not UTF-8: read as cp1252")
            return "cp1252"
    place = f"{path} line {data[:bad].count(10) + 1}, byte {bad}"
    advice = "Save it as UTF-8 (in Excel: 'CSV UTF-8'), or pass encoding='latin-1' (--encoding latin-1)."
    raise FileFormatError(f"{place}: not {encoding.upper()} (0x{data[bad]:02x}). {advice}")


class Record(NamedTuple):
    """Fields with the numbers of their first and last line."""

    line: int
    last: int
    fields: list[str]


class _File(NamedTuple):
    """How a file is to be taken apart."""

    path: Path
    data: bytes
    encoding: str
    delimiter: str
    start: int  # bytes that are skipped,
    head: int  # and lines before the header
    skip: int  # lines before the first row,
    records: int  # or records, blank ones too: a quoted name may be longer than a line
    names: list[str]
    kinds: dict[str, str]  # columns that are text, or numbers as far as the sample goes
    csv_format: CsvFormat

    def below(self) -> str:
        """A hint where most lines have more fields than the first: the table begins further down."""
        found = [(record.line, len(record.fields)) for record in islice(self.rows(self.head), 50)]
        (fields, count), expected = Counter(n for _, n in found).most_common(1)[0], len(self.names)
        if fields <= expected or 2 * count < len(found):
            return ""
        line = next(line for line, n in found if n == fields)
        return f" If the table begins at line {line}, skip the lines above it: --skip-rows {line - 1}."

    def reject_title(self, target: str) -> None:
        """Raise where the target is named in a line below the first: what is above is not part of the table."""
        for record in islice(self.rows(self.head), 1, 50):
            if target in (cell.strip() for field in record.fields for cell in re.split(r"[,;\t|]", field)):
                what = f"{target!r} is not in its header (line {self.head + 1}) but in line {record.line}"
                advice = f"Skip the lines above it: --skip-rows {record.line - 1}."
                raise FileFormatError(f"{self.path}: {what}. {advice}")

    def rows(self, skip: int) -> Iterator[Record]:
        """The records after `skip` lines."""
        encoding = "utf-8-sig" if self.encoding == "utf-8" else self.encoding
        with io.TextIOWrapper(io.BytesIO(self.data), encoding=encoding, newline="") as stream:
            for _ in range(skip):
                stream.readline()
            yield from _records(self.path, stream, self.delimiter, skip)

    def reject_ragged(self) -> None:
        """Raise for the first record with another number of fields than the header."""
        found, expected = self.rows(self.head), len(self.names)
        for record in found:
            if (n := len(record.fields)) == expected:
                continue
            place = f"{self.path} line {record.line}: {n} field{'s' * (n != 1)}, expected {expected} (header)."
            if below := self.below():
                raise FileFormatError(f"{place}{below}")
            if record.fields[0].startswith("#") or self.names[0].startswith("#"):
                raise FileFormatError(f"{place} A line that begins with # is not a row: remove such lines.")
            if n > expected:
                raise FileFormatError(f"{place} {_quote_hint(record.fields, self.delimiter)}")
            if next(found, None) is None and not self.data.endswith((b"\n", b"\r")):
                raise FileFormatError(f"{place} The last line is cut off: the file is truncated. Copy it again.")
            raise FileFormatError(f"{place} Fill in the missing cells or remove the line.")

    def reject_cells(self, name: str, bad: np.ndarray, what: str) -> NoReturn:
        """Raise for the first bad cell of a column; `what` may speak of {cell} and {count}."""
        j, row = self.names.index(name), int(np.argmax(bad))
        found = next(islice(self.rows(self.skip), row, None))
        message = what.format(cell=found.fields[j], count=int(bad.sum()))
        raise FileFormatError(f"{self.path} line {found.line}: column {name!r} ({j + 1}) {message}")


def _records(path: Path, lines: Iterable[str], delimiter: str, before: int = 0) -> Iterator[Record]:
    """The records that are not blank; `before` lines came before the first."""
    reader, start = csv.reader(lines, delimiter=delimiter), before + 1
    try:
        for fields in reader:
            if fields and not (len(fields) == 1 and fields[0].isspace()):
                yield Record(start, before + reader.line_num, fields)
            start = before + reader.line_num + 1
    except csv.Error as error:
        raise FileFormatError(f'{path} line {start}: {error}. Is a quote (") opened there and never closed?') from None


def _quote_hint(fields: Sequence[str], mark: str) -> str:
    what = "comma" if mark == "," else repr(mark)
    for left, right in zip(fields, fields[1:], strict=False):
        if left and right and not (plain_number(left) or plain_number(right)):
            return f"Quote the {what} in {left + mark + right!r}?"
    return f"Is there a {what} inside a value? Quote the value, or remove the extra field."


def _look(
    path: Path, data: bytes, encoding: str, csv_format: CsvFormat | None, notes: list[str], skip_rows: int
) -> _File:
    """Encoding, delimiter, header and what must stay text, from the beginning of a file."""
    encoding = _encoding(path, data, encoding, notes)
    start = _after(path, data, skip_rows)
    text, complete = _beginning(data[start:], encoding)
    stated = text[4:5] if text[:4].lower() == "sep=" else ""  # as Excel writes it
    head, text = skip_rows + bool(stated), text.partition("\n")[2] if stated else text
    delimiter = stated or max(DELIMITERS, key=lambda mark: _fit(path, text, complete, mark))
    found = list(islice(_records(path, io.StringIO(text, newline=""), delimiter, head), SAMPLE_ROWS))
    if not found:
        raise FileFormatError(f"{path}: the file is empty. A header line and at least one row are needed.")
    names = column_names(f"{path} line {found[0].line}", list(found[0].fields), notes)
    rows = [r.fields for r in (found[1:] if complete or len(found) < 3 else found[1:-1])]
    columns = list(zip(*(r for r in rows if len(r) == len(names)), strict=True)) or [()] * len(names)
    if delimiter != ",":
        notes.append(f"{DELIMITERS.get(delimiter, repr(delimiter))} between the columns")
    if csv_format is None:
        csv_format = CsvFormat(delimiter != "," and any(_comma_decimals(c, delimiter == ";") for c in columns))
    text_columns, kinds = {*csv_format.text, *csv_format.dates}, {}
    for name, column in zip(names, columns, strict=True):
        cells = [cell.strip() for cell in column]
        exact = csv_format.comma or name in text_columns or any(map(CODE.fullmatch, cells))
        numeric = all(plain_number(cell) or cell in MISSING for cell in cells)
        kinds[name] = "str" if exact else "float64" if numeric else "category"
    before = found[0].line - skip_rows
    return _File(path, data, encoding, delimiter, start, head, found[0].last, before, names, kinds, csv_format)


def _after(path: Path, data: bytes, lines: int) -> int:
    """The bytes of so many lines."""
    start = 0
    for _ in range(lines):
        if not (start := data.find(b"\n", start) + 1):
            raise FileFormatError(f"{path}: {lines} lines are to be skipped, and there are no more. Skip fewer.")
    return start


def _beginning(data: bytes, encoding: str) -> tuple[str, bool]:
    """The text of the first bytes up to a line's end, and whether that is all."""
    size = SAMPLE
    while size < len(data) and data.count(b"\n", 0, size) < 3 and size < 2**24:
        size *= 2
    end = data.rfind(b"\n", 0, size) + 1 if size < len(data) else len(data)
    return data[: end or size].decode(encoding).removeprefix("\ufeff"), size >= len(data)


def looks_like_table(path: Path, encoding: str = "utf-8", *, sheet: str = "", skip_rows: int = 0) -> bool:
    """Whether most lines of a text have as many fields as its first."""
    data = content_of(path, sheet)
    data = data[_after(path, data, skip_rows) :]
    try:
        text, complete = _beginning(data, "utf-8" if data.startswith(codecs.BOM_UTF8) else encoding)
    except (UnicodeDecodeError, LookupError):
        text, complete = _beginning(data, "latin-1")
    share, fields = max(_fit(path, text, complete, mark) for mark in DELIMITERS)
    return text[:4].lower() == "sep=" or (share >= 0.9 and fields > 1)


def _fit(path: Path, text: str, complete: bool, mark: str) -> tuple[float, int]:
    """Share of the first records with as many fields as the header, if it has several, and how many."""
    try:
        sizes = [len(r.fields) for r in islice(_records(path, io.StringIO(text, newline=""), mark), 50)]
    except FileFormatError:
        return 0.0, 0
    sizes = sizes if complete or len(sizes) < 2 else sizes[:-1]
    return (sum(n == sizes[0] for n in sizes) / len(sizes), sizes[0]) if sizes and sizes[0] > 1 else (0.0, 0)


def column_names(place: str, names: list[str], notes: list[str]) -> list[str]:
    """Names of the columns, each different and without blanks around it; `place` is where they stand."""
    names = [name.strip() for name in names]
    if len(names) > MAX_COLUMNS:
        raise FileFormatError(f"{place}: {len(names)} columns; at most {MAX_COLUMNS} are read.")
    if len(names) == 1 and len(parts := names[0].split()) > 1 and all(map(plain_number, parts)):
        raise FileFormatError(f"{place}: blanks between numbers. Put commas there, and names of the columns above.")
    digits = [name for name in names if plain_number(name)]
    if len(digits) == len(names) or (2 * len(digits) > len(names) and not all(n.isdigit() for n in digits)):
        what = f"the first line holds numbers ({digits[0]!r}, ...), so the header is missing"
        raise FileFormatError(f"{place}: {what}. Put the names of the columns there.")
    different = different_names(names)
    for j, (name, new) in enumerate(zip(names, different, strict=True), 1):
        if new != name:
            why = "has no name" if not name else f"is named {name!r} again"
            notes.append(f"column {j} {why}: it is called {new!r} here")
    return different


def _comma_decimals(cells: Sequence[str], likely: bool) -> bool:
    present = [cell.strip() for cell in cells if cell.strip() not in MISSING]
    return any("," in cell for cell in present) and numbers(present, comma=likely)[1] == "1.234,5"


def _read(file: _File, target: str | None) -> pd.DataFrame:
    """One read by pandas; if it fails, a slow one that says where."""
    try:
        try:
            frame = _pandas(file, file.kinds, target)
        except pd.errors.ParserError:
            raise
        except ValueError:  # a number of the sample is text further down
            frame = _pandas(file, {name: kind for name, kind in file.kinds.items() if kind != "float64"}, target)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, OverflowError, ValueError) as error:
        file.reject_ragged()
        if "inside string" in str(error):
            line = max(record.line for record in file.rows(file.head))
            what = f'line {line}: a quote (") is opened and never closed. Close it.'
            raise FileFormatError(f"{file.path} {what}") from None
        raise FileFormatError(f"{file.path}: it cannot be read as a table ({error}). Save it as CSV again.") from None
    if frame.empty:
        raise FileFormatError(f"{file.path}: a header of {len(file.names)} columns but no rows. One row is needed.")
    if frame.iloc[:, -1].isna().any() and not _evenly_filled(file, len(frame)):
        file.reject_ragged()
    return frame


def _pandas(file: _File, kinds: dict[str, str], target: str | None) -> pd.DataFrame:
    same = first_bytes(file.path, 4) == file.data[:4]  # neither unpacked nor UTF-16: pandas reads files in threads
    return pd.read_csv(
        file.path if same and not file.start else io.BytesIO(file.data[file.start :]),
        compression=None,
        sep=file.delimiter,
        header=None,
        names=file.names,
        skiprows=file.records,
        dtype=kinds,  # type: ignore[arg-type]
        na_values={name: NO_TARGET if name == target else MISSING for name in file.names},
        keep_default_na=False,
        encoding=file.encoding,
        true_values=["\0"],  # True and False stay text
        low_memory=len(kinds) == len(file.names),  # in parts, if no part must guess a type
    )


def _evenly_filled(file: _File, rows: int) -> bool:
    """Whether the number of delimiters alone says that no row is short; False where quotes make that unsure."""
    if file.encoding != "utf-8" or file.start or b'"' in file.data:
        return False
    size = len(file.data)
    blocks = (np.frombuffer(file.data, np.uint8, min(SAMPLE, size - i), i) for i in range(0, size, SAMPLE))
    marks = sum(np.count_nonzero(block == ord(file.delimiter)) for block in blocks)  # faster than bytes.count
    return marks - file.head == (rows + 1) * (len(file.names) - 1)  # a line sep=; holds one too
