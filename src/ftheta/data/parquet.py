"""Tables from Parquet files: numbers, text, booleans and dates.

What the file says of its size is compared with its bytes before a page is unpacked, and the rows are counted as they
come. Nested columns are no table.

Reference: https://parquet.apache.org/docs/file-format/
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..catalog import nearest
from ..errors import FileFormatError
from ..store.files import read_bytes, readable
from .datasets import Dataset
from .delimited import task_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_parquet"]

MAX_COLUMNS, MAX_THRIFT = 100_000, 16 << 20
MAX_RATIO, ALWAYS = (
    1000,
    64 << 20,
)  # runs of one value pack far better than text, and so many bytes are read in any case
INDEX = "__index_level_"  # what pandas names an index without a name


def read_parquet(path: str | Path, target: str | None = None, *, required: bool = True) -> Dataset:
    """A Parquet file as a data set: numbers as float64, text and booleans as categories, dates as datetime64.

    Args:
        path: The file.
        target: Name of the column to predict; None leaves all columns as features.
        required: Whether rows must have a target; else `y` is None where the column or a cell of it is missing.
    """
    path = Path(path)
    table = _table(path, read_bytes(path))
    names, notes = table.column_names, []
    if target is not None and target not in names:
        if required:
            raise FileFormatError(f"{path}: {nearest('target column', target, names)}")
        target = None
    columns = {name: _column(path, name, table[name]) for name in names if not name.startswith(INDEX)}
    if len(columns) < len(names):
        notes.append("the index that pandas wrote was left out")
    y = None if target is None else _target(path, columns.pop(target), required)
    return _dataset(path, columns, y, notes)


def _dataset(path: Path, columns: dict[str, Any], y: Any, notes: list[str]) -> Dataset:
    import pandas as pd

    if not columns:
        raise FileFormatError(f"{path}: no column is left for features; at least one is needed.")
    frame = pd.DataFrame(columns, copy=False)
    if y is not None and len(y) < len(frame):
        notes.append(f"{(n := len(frame) - len(y))} row{'s' * (n > 1)} without {y.name!r} left out")
        frame = frame.loc[y.index].reset_index(drop=True)
    labels = None if y is None else y.to_numpy()
    task = "none" if labels is None else task_of(labels)
    classes = tuple(map(str, np.unique(labels))) if labels is not None and task != "regression" else ()
    return Dataset(path.stem, frame, labels, tuple(frame.columns), classes, task, notes=tuple(notes))


# ---- bytes to a table of Arrow


def _table(path: Path, data: bytes) -> Any:
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise FileFormatError(f"{path}: Parquet needs pyarrow. Install it: pip install 'ftheta[data]'") from None
    if data[:4] != b"PAR1":
        raise FileFormatError(f"{path}: does not begin as Parquet files do. Give another file.")
    limits: dict[str, Any] = {"thrift_string_size_limit": MAX_THRIFT, "thrift_container_size_limit": MAX_THRIFT}
    try:
        with ParquetFile(pa.BufferReader(data), pre_buffer=False, **limits) as file:
            texts = _reject_layout(path, file, len(data))
        with ParquetFile(pa.BufferReader(data), pre_buffer=False, read_dictionary=texts, **limits) as file:
            table = file.read(use_threads=False)
            table.validate(full=True)
            return table
    except FileFormatError:
        raise
    except Exception as error:  # Arrow raises many kinds
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileFormatError(f"{path}: a damaged Parquet file ({said}). Use another copy.") from None


def _reject_layout(path: Path, file: Any, size: int) -> list[str]:
    """Names of the columns of text, after all that the file says of itself was found possible."""
    schema, meta = file.schema_arrow, file.metadata
    names, rows = schema.names, meta.num_rows
    for name, kind in zip(names, schema.types, strict=True):
        if _sort(kind) is None:
            what = "holds lists or records" if kind.num_fields else f"is of type {kind}"
            raise FileFormatError(f"{path}: column {name!r} {what}; numbers, text, dates or booleans are needed.")
    if len(set(names)) < len(names) or "" in names or not 0 < len(names) <= MAX_COLUMNS:
        raise FileFormatError(f"{path}: {len(names)} columns; 1 to {MAX_COLUMNS}, each with a name of its own, needed.")
    groups = [meta.row_group(i) for i in range(meta.num_row_groups)]
    if rows < 1 or sum(group.num_rows for group in groups) != rows:
        raise FileFormatError(f"{path}: {rows} rows in its head and other parts of it differ, or there are none.")
    need = max(8 * rows * len(names), sum(group.total_byte_size for group in groups))
    if need > max(ALWAYS, MAX_RATIO * size):
        raise FileFormatError(
            f"{path}: {readable(size)} would unpack to {readable(need)}, more than {MAX_RATIO} times as much, as files "
            "made to fill the memory do. Read it in parts and save them as CSV if you trust it."
        )
    return [name for name, kind in zip(names, schema.types, strict=True) if _sort(kind) == "text"]


def _sort(kind: Any) -> str | None:
    """number, text, truth or date; None for what is no cell of a table."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return _sort(kind.value_type)
    tests = {
        "number": (types.is_integer, types.is_floating, types.is_decimal, types.is_null),
        "text": (types.is_string, types.is_large_string, types.is_string_view),
        "truth": (types.is_boolean,),
        "date": (types.is_timestamp, types.is_date),
    }
    return next((sort for sort, asked in tests.items() if any(test(kind) for test in asked)), None)


# ---- columns


def _column(path: Path, name: str, column: Any) -> pd.Series:
    """A column of Arrow as float64, category of str, or datetime64."""
    import pandas as pd
    import pyarrow as pa

    sort = _sort(column.type)
    if sort == "text":
        return pd.Series(_levels(column), name=name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if sort == "truth":
        codes = column.cast(pa.int8()).fill_null(-1).to_numpy()
        return pd.Series(pd.Categorical.from_codes(codes, ["False", "True"]), name=name)
    if sort == "date":
        return pd.Series(column.cast(pa.timestamp("s"), safe=False).to_numpy(), name=name)
    values = column.cast(pa.float64(), safe=False).to_numpy()
    infinite = np.isinf(values)
    if infinite.any():
        raise FileFormatError(
            f"{path} row {np.argmax(infinite)}, column {name!r}: inf. Correct the value or remove the row."
        )
    return pd.Series(values, name=name)


def _levels(column: Any) -> pd.Categorical:
    """Text as categories, those that occur, sorted."""
    import pandas as pd
    import pyarrow as pa

    column = column.cast(pa.string()) if not pa.types.is_dictionary(column.type) else column
    array = column.unify_dictionaries().combine_chunks() if pa.types.is_dictionary(column.type) else column
    found = pd.Categorical(array.to_pandas()).remove_unused_categories()
    return found.reorder_categories(sorted(found.categories))


def _target(path: Path, column: Any, required: bool) -> Any:
    """Numbers or text of the rows that have one; None where some may be missing and are."""
    if column.dtype.kind == "M":
        raise FileFormatError(f"{path}: the target {column.name!r} holds dates; numbers or classes are needed.")
    present = column[column.notna()]
    if not required and len(present) < len(column):
        return None
    if not len(present):
        raise FileFormatError(f"{path}: the target {column.name!r} has no values. Choose another column.")
    if present.dtype != float:
        return present.astype(object).map(str)
    whole = (present == present.round()).all() and present.abs().max() < 2**53
    return present.astype(np.int64) if whole else present
