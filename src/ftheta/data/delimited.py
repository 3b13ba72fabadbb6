"""Tables from CSV files as people have them, or one sentence that says what is wrong and where.

    bytes -> sample: delimiter, header, kinds of the columns -> one typed read of the whole file -> columns settled

UTF-8 with or without a byte-order mark; commas, semicolons, tabs or bars; a header line. Numbers may have a decimal
comma; text, dates and missing cells stay what they are. A column that looked numeric in the sample and is not, is
read again as text.
"""

from __future__ import annotations

import ctypes
import io
import math
import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..catalog import nearest
from ..errors import FileFormatError
from ._cells import MISSING, Form, Settled, numbers, plain_number, settle
from ._csv_errors import (
    Layout,
    blocks,
    records,
    reject_cells,
    reject_encoding,
    reject_open_quote,
    reject_ragged,
    reject_zero,
)
from ._kinds import WORDS, kind_of
from .datasets import Dataset

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_csv", "task_of"]

MOST_COLUMNS = 100_000
SAMPLE = 2**18  # bytes that are looked at first
SAMPLE_ROWS = 1000
LARGE = 2**24  # bytes
_FEW = 20  # so many different whole numbers are still classes
_ABSENT = ("", "NA", "N/A", "n/a", "nan", "NaN", "null", "NULL", "?")  # of a target: "none" may be a class
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


def read_csv(
    path: str | Path,
    target: str | None = None,
    *,
    required: bool = True,
    encoding: str = "utf-8",
    form: Form | None = None,
) -> Dataset:
    """A CSV file with a header as a data set; `FileFormatError` with path, line and column where it cannot be read.

    Args:
        path: The file.
        target: Name of the column to predict; None leaves all columns as features.
        required: Whether rows must have a target; else `y` is None where the column or a cell of it is missing.
        encoding: How characters are written, e.g. "latin-1".
        form: The `form` of the data set that these rows are to be read like.
    """
    path = Path(path)
    if (kind := kind_of(path)) != "characters":
        raise FileFormatError(f"{path}: its content is {WORDS[kind]}, not CSV. Open it with ftheta.data.read.")
    file = _look(path, encoding, form)
    if target is not None and target not in file.names:
        if required:
            raise FileFormatError(f"{path}: {nearest('target column', target, file.names)}")
        target = None
    frame = _read(file, target)
    notes = list(file.notes)
    y = None if target is None else _target(file, frame.pop(target), required, notes)
    if not frame.shape[1]:
        raise FileFormatError(f"{path}: {target!r} is the only column; at least one column of features is needed.")
    frame, found = _features(file, frame, notes)
    if y is not None and required and len(y) < len(frame):
        notes.append(f"{len(frame) - len(y)} rows without {target!r} were left out")
        frame = frame.loc[y.index].reset_index(drop=True)
    return _dataset(file, frame, None if y is None else y.to_numpy(), tuple(notes), found)


def _dataset(file: _File, x: pd.DataFrame, y: np.ndarray | None, notes: tuple[str, ...], form: Form) -> Dataset:
    task = "none" if y is None else task_of(y)
    classes = tuple(map(str, np.unique(y))) if y is not None and task != "regression" else ()
    return Dataset(file.path.stem, x, y, tuple(map(str, x.columns)), classes, task, notes=notes, form=form)


def task_of(y: np.ndarray) -> str:
    """Text and up to 20 different whole numbers are classes, other numbers regression.

    Example:
        >>> task_of(np.array(["b", "a", "b"])), task_of(np.array([0, 1, 2])), task_of(np.array([0.5, 1.0]))
        ('binary', 'multiclass', 'regression')
    """
    values = np.unique(y)
    if values.dtype.kind in "iuf" and (len(values) > _FEW or (values != np.round(values)).any()):
        return "regression"
    return "binary" if len(values) <= 2 else "multiclass"


# ---- the first look


class _File(NamedTuple):
    path: Path
    layout: Layout
    skip: int
    """Lines before the first row,"""
    records: int
    """or records, blank ones too: a quoted name may be longer than a line."""
    names: list[str]
    numeric: list[bool]
    """Which columns are plain numbers, as far as the sample goes."""
    form: Form
    exact: bool
    """Whether text is read letter by letter: pandas makes numbers of categories that look like some, of 1.000 one."""
    notes: tuple[str, ...]


def _look(path: Path, encoding: str, form: Form | None) -> _File:
    """Delimiter, header and kinds of columns from the beginning of a file."""
    text, whole = _beginning(path, encoding)
    said = text[4:5] if text[:4].lower() == "sep=" else ""  # as Excel writes it
    text = text.partition("\n")[2] if said else text
    layout = Layout(path, encoding, said or _delimiter(path, text, whole), int(bool(said)))
    found = list(islice(records(path, io.StringIO(text, newline=""), layout.delimiter, layout.head), SAMPLE_ROWS))
    if not found:
        raise FileFormatError(f"{path}: the file is empty. A header line and at least one row are needed.")
    notes: list[str] = []
    names = _names(path, found[0].line, [name.strip() for name in found[0].fields], notes)
    rows = [r.fields for r in (found[1:] if whole or len(found) < 3 else found[1:-1])]
    if rows and len(rows[0]) != len(names):
        reject_ragged(layout, len(names))  # pandas would take its first cell for an index
    columns = list(zip(*(r for r in rows if len(r) == len(names)), strict=True)) or [()] * len(names)
    comma = layout.delimiter != "," and any(_comma_decimals(c, layout.delimiter == ";") for c in columns)
    if layout.delimiter != ",":
        notes.append(f"{_DELIMITERS.get(layout.delimiter, repr(layout.delimiter))} between the columns")
    form, alike = form or Form(comma), form is not None
    text = {*form.text, *form.dates}
    numeric = [name not in text and _numeric(c, form.comma) for name, c in zip(names, columns, strict=True)]
    exact = form.comma or alike or any(map(_has_codes, columns))
    return _File(path, layout, found[0].last, found[0].line, names, numeric, form, exact, tuple(notes))


def _beginning(path: Path, encoding: str) -> tuple[str, bool]:
    """The text of the first bytes up to a line's end, and whether that is all."""
    size = SAMPLE
    with path.open("rb") as stream:
        data = stream.read(size)
        while len(data) == size and data.count(b"\n") < 3 and size < 2**24:
            data += stream.read(size)
            size *= 2
    whole = len(data) == path.stat().st_size
    if not whole and b"\n" in data:
        data = data[: data.rindex(b"\n") + 1]
    try:
        return data.decode(encoding).removeprefix("\ufeff"), whole
    except LookupError:
        raise FileFormatError(f"{path}: unknown encoding {encoding!r}. Try 'utf-8', 'latin-1' or 'cp1252'.") from None
    except UnicodeDecodeError:
        reject_encoding(path, encoding)


def looks_like_table(path: Path, encoding: str = "utf-8") -> bool:
    """Whether most lines of a text have as many fields as its first."""
    try:
        text, whole = _beginning(path, encoding)
    except FileFormatError:
        return False
    share, fields = max(_fit(path, text, whole, mark) for mark in _DELIMITERS)
    return text[:4].lower() == "sep=" or (share >= 0.9 and fields > 1)


def _delimiter(path: Path, text: str, whole: bool) -> str:
    """The delimiter by which most records have as many fields as the header, and the header most fields."""
    return max(_DELIMITERS, key=lambda mark: _fit(path, text, whole, mark))


def _fit(path: Path, text: str, whole: bool, mark: str) -> tuple[float, int]:
    """Share of the first records with as many fields as the header, if it has several, and how many."""
    try:
        sizes = [len(r.fields) for r in islice(records(path, io.StringIO(text, newline=""), mark), 50)]
    except FileFormatError:
        return 0.0, 0
    sizes = sizes if whole or len(sizes) < 2 else sizes[:-1]
    return (sum(n == sizes[0] for n in sizes) / len(sizes), sizes[0]) if sizes and sizes[0] > 1 else (0.0, 0)


def _names(path: Path, line: int, names: list[str], notes: list[str]) -> list[str]:
    if len(names) > MOST_COLUMNS:
        raise FileFormatError(f"{path} line {line}: {len(names)} columns; at most {MOST_COLUMNS} are read.")
    digits = [name for name in names if plain_number(name)]
    if len(digits) == len(names) or (2 * len(digits) > len(names) and not all(n.isdigit() for n in digits)):
        raise FileFormatError(
            f"{path} line {line}: the first line holds numbers ({digits[0]!r}, ...), so the header is missing. "
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


def _has_codes(cells: Sequence[str]) -> bool:
    return any(cell[:1] == "0" and cell.isdigit() and len(cell) > 1 for cell in map(str.strip, cells))


def _comma_decimals(cells: Sequence[str], likely: bool) -> bool:
    present = [cell.strip() for cell in cells if cell.strip() not in MISSING]
    return any("," in cell for cell in present) and numbers(present, comma=likely)[1] == "1.234,5"


def _numeric(cells: Sequence[str], comma: bool) -> bool:
    """Whether all cells are plain numbers or missing; with decimal commas a point is no decimal point."""
    present = [cell for cell in cells if cell.strip() not in MISSING]
    return (
        all(map(plain_number, present)) and not (comma and any("." in c for c in present)) and not _has_codes(present)
    )


# ---- the whole file


def _read(file: _File, target: str | None) -> pd.DataFrame:
    """One typed read; again as text if a cell further down is no number; slowly, to say where, if that fails too."""
    import pandas as pd

    reject_zero(file.path)
    kinds = dict(zip(file.names, ("float64" if n else "category" for n in file.numeric), strict=True))
    try:
        try:
            frame = _pandas(file, kinds, target)
        except ValueError as error:
            if isinstance(error, pd.errors.ParserError | UnicodeDecodeError):
                raise
            frame = _pandas(file, dict.fromkeys(kinds, "category"), target)
    except UnicodeDecodeError:
        reject_encoding(file.path, file.layout.encoding)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, OverflowError, ValueError) as error:
        reject_ragged(file.layout, len(file.names))
        reject_open_quote(file.layout, str(error))
        raise FileFormatError(f"{file.path}: it cannot be read as a table ({error}). Save it as CSV again.") from None
    _give_back(file.path.stat().st_size)
    if frame.empty:
        raise FileFormatError(
            f"{file.path}: a header of {len(file.names)} columns but no rows. At least one row is needed."
        )
    if frame.iloc[:, -1].isna().any() and not _evenly_filled(file, len(frame)):
        reject_ragged(file.layout, len(file.names))
    return frame


def _pandas(file: _File, kinds: dict[str, str], target: str | None) -> pd.DataFrame:
    import pandas as pd

    text = "str" if file.exact else "category"
    frame = pd.read_csv(
        file.path,
        sep=file.layout.delimiter,
        header=None,
        names=file.names,
        skiprows=file.records,
        dtype={name: text if kind == "category" else kind for name, kind in kinds.items()},  # type: ignore[arg-type]
        na_values={name: _ABSENT if name == target else MISSING for name in file.names},
        keep_default_na=False,
        encoding=file.layout.encoding,
    )
    as_levels = [name for name, kind in kinds.items() if kind == "category"] if file.exact else []
    return frame.astype(dict.fromkeys(as_levels, "category")) if as_levels else frame


def _give_back(size: int) -> None:
    """Hand freed memory back to the system: what the threads of pandas leave is as large as the file."""
    if size > LARGE and sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc has it
        if trim is not None:
            trim(0)


def _evenly_filled(file: _File, rows: int) -> bool:
    """Whether the number of delimiters alone says that no row is short; False where quotes make that unsure."""
    if file.layout.encoding != "utf-8":
        return False
    found, mark = -file.layout.head, ord(file.layout.delimiter)  # a line sep=; holds one too
    for block in blocks(file.path):
        if b'"' in block:
            return False
        found += int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == mark))  # faster than bytes.count
    return found == (rows + 1) * (len(file.names) - 1)


# ---- columns


def _features(file: _File, frame: pd.DataFrame, notes: list[str]) -> tuple[pd.DataFrame, Form]:
    """Every column as numbers, dates or levels."""
    import pandas as pd

    columns: dict[str, Any] = {}
    dates: dict[str, str] = {}
    for name, column in frame.items():
        found = Settled(column) if column.dtype == float else settle(column, file.form)
        columns[str(name)] = found.column
        dates |= {str(name): found.way} if found.way else {}
        if found.note:
            notes.append(found.note)
        if found.column.dtype == float:
            _reject_infinite(file, found.column)
    text = tuple(name for name, column in columns.items() if column.dtype == "category")
    return pd.DataFrame(columns, copy=False), Form(file.form.comma, dates, text)


def _reject_infinite(file: _File, column: pd.Series) -> None:
    values = column.to_numpy()
    if not math.isfinite(np.abs(values).max(initial=0.0, where=~np.isnan(values))):
        what = "holds {cell!r}; finite numbers are needed. Correct the cell or remove the row."
        reject_cells(file.layout, file.skip, file.names, str(column.name), np.isinf(values), what)


def _target(file: _File, column: pd.Series, required: bool, notes: list[str]) -> pd.Series | None:
    """Numbers or text; rows without one are left out; where it is not needed, there is no y unless all is well."""
    try:
        y = _checked_target(file, column, notes)
    except FileFormatError:
        if required:
            raise
        return None
    return y if required or len(y) == len(column) else None


def _checked_target(file: _File, column: pd.Series, notes: list[str]) -> pd.Series:
    name = str(column.name)
    found = Settled(column) if column.dtype == float else settle(column, file.form, strict=True, missing=_ABSENT)
    y = found.column
    if y.dtype.kind == "M":
        raise FileFormatError(f"{file.path}: the target {name!r} holds dates; numbers or classes are needed.")
    if y.dtype == float:
        _reject_infinite(file, y)
    else:
        _reject_words(file, column)
        y = y.astype(object)
    notes += [found.note] if found.note else []
    present: Any = y[y.notna()]
    if not len(present):
        raise FileFormatError(f"{file.path}: the target {name!r} has no values. Choose another column or fill it in.")
    if y.dtype == float:
        whole = (present == present.round()).all() and present.abs().max() < 2**53
        return present.astype(np.int64) if whole else present
    return present.map(str)


def _reject_words(file: _File, column: pd.Series) -> None:
    """A word among many different numbers is a mistake, not a class."""
    values = numbers([str(level) for level in column.cat.categories])[0]
    if np.isfinite(values).any() and task_of(values[np.isfinite(values)]) == "regression":
        words = np.isin(column.cat.codes.to_numpy(), np.flatnonzero(np.isnan(values)))
        what = f"holds text ({{cell!r}}), numbers needed ({{count}} of {len(column)} cells). Correct or empty them."
        reject_cells(file.layout, file.skip, file.names, str(column.name), words, what)
