"""Tables from spreadsheets, JSON and Parquet files: a library reads, `as_dataset` ends.

Of a spreadsheet (.xlsx, .xls, .ods) the first sheet is read, whose first row names the columns; JSON is a list of
objects, one object per line, or one object with a list per column. What a Parquet file states of its size is compared
with its bytes before a page is unpacked. Arguments as in `read`.
"""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from ...errors import FileFormatError
from ...store.files import read_bytes
from ..datasets import Dataset
from .csv import column_names
from .dataset import MAX_COLUMNS, as_dataset
from .files import content_of, decode_text, reject_bomb

PARQUET_RATIO, PARQUET_ALWAYS = 1000, 64 << 20  # runs of one value pack far better than text
LIMITS = {"thrift_string_size_limit": 16 << 20, "thrift_container_size_limit": 16 << 20}


# ---- spreadsheets


def read_excel(path: str | Path, target: str | None = None, *, required: bool = True) -> Dataset:
    """The first sheet of a spreadsheet as a data set."""
    path = Path(path)
    sheets = _sheets(path, read_bytes(path))
    name, frame = next(iter(sheets.items()))
    frame = frame.dropna(how="all").dropna(how="all", axis=1)
    if len(frame) < 2:
        raise FileFormatError(f"{path}: sheet {name!r} has {len(frame)} rows. A header and one row are needed.")
    notes = [f"read from sheet {name!r}; not used: {', '.join(list(sheets)[1:])}"] if len(sheets) > 1 else []
    header = ["" if cell != cell else str(cell).strip() for cell in frame.iloc[0]]
    names = column_names(f"{path} row {frame.index[0] + 1}", header, notes)
    frame = frame.iloc[1:].reset_index(drop=True).set_axis(names, axis=1).infer_objects()
    return as_dataset(path, frame, target, required=required, notes=notes)


def _sheets(path: Path, data: bytes) -> dict[str, Any]:
    import pandas as pd

    try:
        if data[:2] == b"PK":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                reject_bomb(path, sum(info.file_size for info in archive.infolist()), len(data))
        return pd.read_excel(io.BytesIO(data), sheet_name=None, header=None, engine="calamine")
    except (FileFormatError, KeyboardInterrupt, SystemExit):
        raise
    except ImportError:
        need = "spreadsheets need python-calamine. Install it: pip install 'ftheta[data]', or save it as CSV."
        raise FileFormatError(f"{path}: {need}") from None
    except BaseException as error:  # a panic of calamine is not an Exception
        why = " ".join(str(error).split())[:150]
        raise FileFormatError(f"{path}: a damaged spreadsheet ({why}). Save it again, or as CSV.") from None


# ---- JSON


def read_json(path: str | Path, target: str | None = None, *, required: bool = True) -> Dataset:
    """A JSON or JSON Lines file as a data set."""
    import pandas as pd

    path = Path(path)
    found = _parsed(path, decode_text(path, content_of(path)))
    by_column = isinstance(found, dict) and any(isinstance(value, list) for value in found.values())
    rows = [found] if isinstance(found, dict) and not by_column else found
    if not by_column and not (isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows)):
        raise FileFormatError(f'{path}: not a table. Write one object per row, e.g. [{{"size": 1, "color": "red"}}].')
    try:
        frame = pd.DataFrame(rows)
    except ValueError as error:
        raise FileFormatError(f"{path}: the columns are not lists of equal length ({error}). Correct them.") from None
    if not frame.size:
        raise FileFormatError(f"{path}: a table of {len(frame)} rows and {frame.shape[1]} columns. Fill it in.")
    notes: list[str] = []
    frame.columns = column_names(str(path), [str(name).strip() for name in frame], notes)
    for name, column in frame.items():
        if column.dtype == object and column.map(lambda cell: isinstance(cell, dict | list)).any():
            raise FileFormatError(f"{path}: column {name!r} holds lists or objects; numbers or text are needed.")
    return as_dataset(path, frame, target, required=required, notes=notes)


def _parsed(path: Path, text: str) -> Any:
    try:
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Extra data"):
                raise
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: not JSON ({error}). Correct it, or save the table as CSV.") from None


# ---- Parquet


def read_parquet(path: str | Path, target: str | None = None, *, required: bool = True) -> Dataset:
    """A Parquet file as a data set: numbers as float64, text and booleans as categories, dates as datetime64."""
    path = Path(path)
    frame = _frame(path, read_bytes(path))
    index = [name for name in frame if str(name).startswith("__index_level_")]  # what pandas names an index without one
    notes = ["the index that pandas wrote was left out"] if index else []
    return as_dataset(path, frame.drop(columns=index), target, required=required, typed=True, notes=notes)


def _frame(path: Path, data: bytes) -> Any:
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise FileFormatError(f"{path}: Parquet needs pyarrow. Install it: pip install 'ftheta[data]'") from None
    try:
        with ParquetFile(pa.BufferReader(data), pre_buffer=False, **LIMITS) as file:  # type: ignore[arg-type]
            texts = _reject_layout(path, file, len(data))
        options: dict[str, Any] = {"read_dictionary": texts, **LIMITS}  # a text that is repeated is kept once
        with ParquetFile(pa.BufferReader(data), pre_buffer=False, **options) as file:
            table = file.read(use_threads=False)
        table.validate(full=True)
        table = pa.table({name: _plain(pa, table[name]) for name in table.column_names})
        frame = table.to_pandas(ignore_metadata=True, date_as_object=False)
        for name in frame.select_dtypes("category"):
            used = frame[name].cat.remove_unused_categories()
            frame[name] = used.cat.reorder_categories(sorted(used.cat.categories))
        return frame
    except FileFormatError:
        raise
    except Exception as error:  # Arrow raises many kinds
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileFormatError(f"{path}: a damaged Parquet file ({why}). Use another copy.") from None


def _plain(pa: Any, column: Any) -> Any:
    """Numbers as floats, booleans as text, times without a zone: what pandas has one type for."""
    if pa.types.is_dictionary(column.type) and pa.types.is_string(column.type.value_type):
        return column.unify_dictionaries()
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    column = column.cast(kind) if pa.types.is_dictionary(column.type) else column
    if pa.types.is_boolean(kind):
        return pa.compute.if_else(column, "True", "False")
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        return column.cast(pa.float64(), safe=False)
    return column.cast(pa.timestamp("s"), safe=False) if pa.types.is_temporal(kind) else column.cast(pa.string())


def _reject_layout(path: Path, file: Any, size: int) -> list[str]:
    """Names of the columns of text; raise where what the file states of itself is not possible, or not a table."""
    from pyarrow import types

    schema, meta = file.schema_arrow, file.metadata
    names, rows = schema.names, meta.num_rows
    known = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, types.is_null, types.is_date)
    known += (types.is_timestamp, types.is_string, types.is_large_string, types.is_string_view)
    for name, kind in zip(names, schema.types, strict=True):
        plain = kind.value_type if types.is_dictionary(kind) else kind
        if not any(is_kind(plain) for is_kind in known):
            what = "holds lists or records" if kind.num_fields else f"is of type {kind}"
            raise FileFormatError(f"{path}: column {name!r} {what}; numbers, text, dates or booleans are needed.")
    if len(set(names)) < len(names) or "" in names or not 0 < len(names) <= MAX_COLUMNS:
        raise FileFormatError(f"{path}: {len(names)} columns; 1 to {MAX_COLUMNS}, each with a name of its own, needed.")
    groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
    if rows < 1 or sum(group.num_rows for group in groups) != rows:
        raise FileFormatError(f"{path}: it states {rows} rows and its parts differ, or there are none.")
    need = max(8 * rows * len(names), sum(group.total_byte_size for group in groups))
    reject_bomb(path, need, size, PARQUET_RATIO, PARQUET_ALWAYS)
    return [name for name, kind in zip(names, schema.types, strict=True) if types.is_string(kind)]
