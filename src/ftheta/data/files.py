"""Tables from files: a numeric CSV with a header, or one sentence that says what is wrong and where.

UTF-8 with or without a byte-order mark, commas, one header line. Features are numbers; the target may be class labels.
The kind of a file is told by its content, never by its name, and nothing is ever unpickled.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import numpy as np

from ..catalog import nearest
from ..errors import FileFormatError
from .datasets import Dataset

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_csv", "task_of"]

_FEW = 20  # so many different whole numbers are still classes
_MISSING = {"", "na", "nan", "n/a", "null", "none", "?", "-", "."}
_BINARY = {
    b"PK\x03\x04": "a zip archive (as .xlsx, .npz and .pt files are)",
    b"\x80": "a pickle (.pkl, .pt, .joblib), which can run code when it is opened",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF",
    b"\x93NUMPY": "a NumPy .npy file",
    b"\x89HDF": "an HDF5 file",
    b"\x1f\x8b": "a gzip archive",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"SQLite": "an SQLite database",
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls)",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}
_MARKUP = {"<!": "HTML", "<html": "HTML", "<?xml": "XML", '{"': "JSON", "{\n": "JSON", "[{": "JSON", "[[": "JSON"}


def read_csv(path: str | Path, target: str | None = None, *, required: bool = True) -> Dataset:
    """A numeric CSV file with a header as a data set; `FileFormatError` with path, line and column for any other.

    Args:
        path: The file.
        target: Name of the column to predict; None leaves all columns as features.
        required: Whether the file must have that column; else `y` is None where it has not.
    """
    path = Path(path)
    text = _text(path)
    file = _File(path, text, _header(path, text))
    if target is not None and target not in file.header:
        if required:
            raise FileFormatError(f"{path}: {nearest('target column', target, file.header)}")
        target = None
    frame = _parse(file)
    y = None if target is None else _target(file, frame.pop(target))
    if not frame.shape[1]:
        raise FileFormatError(f"{path}: {target!r} is the only column; at least one column of features is needed.")
    x = _features(file, frame)
    task = "none" if y is None else task_of(y)
    classes = tuple(map(str, np.unique(y))) if y is not None and task != "regression" else ()
    return Dataset(path.stem, x, y, tuple(x.columns), classes, task)


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


# ---- bytes to text


def _text(path: Path) -> str:
    if not path.exists():
        raise FileFormatError(f"{path}: no such file. Check the path; the working folder is {Path.cwd()}.")
    if not path.is_file():
        raise FileFormatError(
            f"{path}: a {'folder' if path.is_dir() else 'device'}, not a file. Give the path of a CSV file."
        )
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror}). Check its permissions.") from None
    text = _decode(path, data)
    head = text.lstrip()[:8].lower()
    if not head:
        raise FileFormatError(
            f"{path}: the file is empty ({len(data)} bytes). A header line and at least one row are needed."
        )
    for start, kind in _MARKUP.items():
        if head.startswith(start):
            raise FileFormatError(f"{path}: its content is {kind}, not CSV. Save the table as CSV, one row a line.")
    return text


def _decode(path: Path, data: bytes) -> str:
    zero = data.find(b"\0")
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        _reject_binary(path, data)
        line = data.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{path} line {line}, byte {error.start}: not UTF-8 (0x{data[error.start]:02x}). "
            "Save it as UTF-8 (in Excel: 'CSV UTF-8')."
        ) from None
    if zero >= 0:
        _reject_binary(path, data)
        raise FileFormatError(
            f"{path} byte {zero}: a zero byte, so the file is binary or damaged. Give a CSV file in UTF-8."
        )
    return text


def _reject_binary(path: Path, data: bytes) -> None:
    for start, kind in _BINARY.items():
        if data.startswith(start):
            raise FileFormatError(
                f"{path}: its content is {kind}; fθ does not open it. Save the table as CSV in UTF-8."
            )


# ---- text to records


class _File(NamedTuple):
    path: Path
    text: str
    header: list[str]


def _records(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every record that is not blank."""
    reader, start = csv.reader(io.StringIO(text, newline="")), 1
    try:
        for fields in reader:
            if fields and not (len(fields) == 1 and fields[0].isspace()):
                yield start, fields
            start = reader.line_num + 1
    except csv.Error as error:
        raise FileFormatError(f'{path} line {start}: {error}. Is a quote (") opened there and never closed?') from None


def _header(path: Path, text: str) -> list[str]:
    line, fields = next(_records(path, text), (1, [""]))
    names = [name.strip() for name in fields]
    if len(names) == 1 and any(mark in names[0] for mark in ";\t"):
        mark = "semicolons" if ";" in names[0] else "tabs"
        raise FileFormatError(
            f"{path} line {line}: {mark} between the columns; commas are needed. Save it with commas."
        )
    _reject_numbers(path, line, names)
    for j, name in enumerate(names):
        if not name:
            raise FileFormatError(
                f"{path} line {line}: column {j + 1} has no name. Name it, or drop it (pandas: to_csv(index=False))."
            )
        if name in names[:j]:
            raise FileFormatError(
                f"{path} line {line}: columns {names.index(name) + 1} and {j + 1} are both named {name!r}. Rename one."
            )
    return names


def _reject_numbers(path: Path, line: int, names: Sequence[str]) -> None:
    """A first line of numbers is a row; whole numbers beside names may be names."""
    numbers = [name for name in names if _is_number(name)]
    if len(numbers) == len(names) or (2 * len(numbers) > len(names) and not all(n.isdigit() for n in numbers)):
        raise FileFormatError(
            f"{path} line {line}: the first line holds numbers ({numbers[0]!r}, ...), so the header is missing. "
            "Put the names of the columns there."
        )


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _parse(file: _File) -> pd.DataFrame:
    """Fast for good files; whatever looks odd is then read record by record to say where."""
    import pandas as pd

    if any(len(fields) != len(file.header) for _, fields in islice(_records(file.path, file.text), 2)):
        _reject_ragged(file)  # pandas would take a longer first row for one with an index
    try:
        frame = pd.read_csv(io.BytesIO(file.text.encode()), low_memory=False, keep_default_na=False, na_values=[""])
    except pd.errors.ParserError:
        _reject_ragged(file)
        line = max(n for n, _ in _records(file.path, file.text))
        raise FileFormatError(f'{file.path} line {line}: a quote (") is opened and never closed. Close it.') from None
    if frame.isna().to_numpy().any():
        _reject_ragged(file)
    if frame.empty:
        raise FileFormatError(
            f"{file.path}: a header of {len(file.header)} columns but no rows. At least one row is needed."
        )
    return frame.set_axis(file.header, axis=1)


def _reject_ragged(file: _File) -> None:
    records, expected = _records(file.path, file.text), len(file.header)
    for line, fields in records:
        if len(fields) == expected:
            continue
        place = f"{file.path} line {line}: {len(fields)} field{'s' * (len(fields) != 1)}, expected {expected} (header)."
        if len(fields) > expected:
            raise FileFormatError(f"{place} {_quote_hint(fields)}")
        if next(records, None) is None and not file.text.endswith(("\n", "\r")):
            raise FileFormatError(
                f"{place} The last line is cut off: the file is truncated. Copy or download it again."
            )
        raise FileFormatError(f"{place} Fill in the missing cells or remove the line.")


def _quote_hint(fields: Sequence[str]) -> str:
    for left, right in zip(fields, fields[1:], strict=False):
        if left and right and not (_is_number(left) or _is_number(right)):
            return f"Quote the comma in {left + ',' + right!r}?"
    return "Is there a comma inside a value? Quote the value, or remove the extra field."


# ---- records to columns


def _features(file: _File, frame: pd.DataFrame) -> pd.DataFrame:
    """All columns as float64, or a sentence for the first cell that is not a finite number."""
    import pandas as pd

    columns = {name: _numbers(column).astype(float) for name, column in frame.items()}
    for name, column in columns.items():
        bad = ~np.isfinite(column)
        if bad.any():
            _reject_cells(file, str(name), bad)
    return pd.DataFrame(columns)


def _target(file: _File, column: pd.Series) -> np.ndarray:
    """Numbers if all cells are, else text; never a hole, and no text among many numbers."""
    numbers = _numbers(column)
    bad = ~np.isfinite(numbers)
    if not bad.any():
        return numbers
    mixed = not bad.all() and task_of(numbers[~bad]) == "regression"
    holes = bad if mixed else column.isna().to_numpy()
    if holes.any():
        _reject_cells(file, str(column.name), holes)
    return column.astype(str).str.strip().to_numpy(dtype=str)


def _numbers(column: pd.Series) -> np.ndarray:
    import pandas as pd

    return np.asarray(pd.to_numeric(column, errors="coerce"))


def _reject_cells(file: _File, name: str, bad: np.ndarray) -> NoReturn:
    j, row, count = file.header.index(name), int(np.argmax(bad)), int(bad.sum())
    line, fields = next(islice(_records(file.path, file.text), row + 1, None), (row + 2, file.header))
    cell = fields[j]
    if cell.strip().lower() in _MISSING:
        what = (
            f"has {count} missing cell{'s' * (count > 1)}, here the first ({cell!r}). Fill them in or remove the rows"
        )
    elif _is_number(cell) and not math.isfinite(float(cell)):
        what = f"holds {cell!r}; finite numbers are needed. Correct the cell or remove the row"
    else:
        what = f"holds text ({cell!r}), numbers needed ({count} of {len(bad)} cells). Encode or drop the column"
    raise FileFormatError(f"{file.path} line {line}: column {name!r} ({j + 1}) {what}.")
