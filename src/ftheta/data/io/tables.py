"""Tables and arrays from files: spreadsheets, JSON, Parquet, NPY, NPZ and IDX; nothing is ever unpickled.

    IDX   0, 0, type, d, then d sizes of 4 bytes, then values, all big-endian; often inside gzip

Of a spreadsheet (.xlsx, .xls, .ods) one sheet is read, whose first row names the columns; JSON is a list of objects,
one object per line, one object with a list per column, or what pandas writes.
What a Parquet file states of its size is compared with its bytes before a page is unpacked. Arguments as in `read`.
Shapes: (n, D) numbers are a table, (n, H, W) and (n, H, W, C) of uint8 are pictures.
Reference: numpy.lib.format (NPY, NPZ); LeCun, Cortes and Burges, The MNIST database of handwritten digits (IDX).
"""

import io
import json
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...catalog import nearest
from ...errors import FileFormatError
from ...store.files import read_bytes
from ..datasets import Dataset
from .csv import column_names
from .dataset import MAX_COLUMNS, as_dataset, labeled
from .files import archive_of, content_of, decode_text, plain_bytes, reject_bomb
from .sequences import from_arrays

PARQUET_RATIO, PARQUET_ALWAYS = 1000, 64 << 20  # runs of one value pack far better than text
LIMITS = {"thrift_string_size_limit": 16 << 20, "thrift_container_size_limit": 16 << 20}


def read_excel(
    path: str | Path, target: str | None = None, *, required: bool = True, sheet: str = "", skip_rows: int = 0
) -> Dataset:
    """A sheet of a spreadsheet as a data set, the first where none is named; formulas are their stored values."""
    path = Path(path)
    sheets = _sheets(path, read_bytes(path))
    place = int(sheet) - 1 if sheet.isdecimal() and sheet not in sheets else 0
    if (sheet and sheet not in sheets and not sheet.isdecimal()) or not 0 <= place < len(sheets):
        raise FileFormatError(f"{path}: {nearest('sheet', sheet, sheets)}")
    name = sheet if sheet in sheets else list(sheets)[place]
    frame = sheets.pop(name).iloc[skip_rows:]
    frame = frame.dropna(how="all").dropna(how="all", axis=1)
    if len(frame) < 2:
        raise FileFormatError(f"{path}: sheet {name!r} has {len(frame)} rows. A header and one row are needed.")
    notes = [f"read from sheet {name!r}; not used: {', '.join(sheets)}"] if sheets else []
    header = ["" if cell != cell else str(cell) for cell in frame.iloc[0]]
    names = column_names(f"{path} row {frame.index[0] + 1}", header, notes)
    frame = frame.iloc[1:].reset_index(drop=True).set_axis(names, axis=1).infer_objects()
    return as_dataset(path, frame, target, required=required, notes=notes)


def _sheets(path: Path, data: bytes) -> dict[str, Any]:
    try:
        if data[:2] == b"PK":
            with archive_of(data) as archive:
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


def read_json(path: str | Path, target: str | None = None, *, required: bool = True, sheet: str = "") -> Dataset:
    """A JSON or JSON Lines file as a data set."""
    path, notes = Path(path), list[str]()
    rows = _rows(_parsed(path, decode_text(path, content_of(path, sheet, notes))))
    if not isinstance(rows, dict) and not (isinstance(rows, list) and rows and all(isinstance(r, dict) for r in rows)):
        raise FileFormatError(f'{path}: not a table. Write one object per row, e.g. [{{"size": 1, "color": "red"}}].')
    try:
        frame = pd.DataFrame(rows)
    except ValueError as error:
        raise FileFormatError(f"{path}: the columns are not lists of equal length ({error}). Correct them.") from None
    if not frame.size:
        raise FileFormatError(f"{path}: a table of {len(frame)} rows and {frame.shape[1]} columns. Fill it in.")
    frame = frame.reset_index(drop=True)
    frame.columns = column_names(str(path), [str(name) for name in frame], notes)
    for name, column in frame.items():
        if column.dtype == object and column.map(lambda cell: isinstance(cell, dict | list)).any():
            raise FileFormatError(f"{path}: column {name!r} holds lists or objects; numbers or text are needed.")
    return as_dataset(path, frame, target, required=required, notes=notes)


def _rows(found: Any) -> Any:
    """Rows, or columns by name, out of what programs write around them."""
    if not isinstance(found, dict):
        return found
    inner = [value for value in found.values() if isinstance(value, list) and value and isinstance(value[0], dict)]
    if len(inner) == 1 and not any(isinstance(v, list) for v in found.values() if v is not inner[0]):
        return inner[0]  # {"data": [{"size": 1}, ...]}
    columns, rows = found.get("columns"), found.get("data")
    if isinstance(columns, list) and isinstance(rows, list) and all(isinstance(row, list) for row in rows):
        return [dict(zip(map(str, columns), row, strict=False)) for row in rows]  # pandas, orient="split"
    by_column = any(isinstance(v, list) for v in found.values()) or all(isinstance(v, dict) for v in found.values())
    return found if by_column else [found]


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


FEATURES, TARGETS = ("X", "x", "data", "images", "values"), ("y", "labels", "target")
IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}


def read_arrays(path: str | Path, target: str | None = None, *, required: bool = True) -> Dataset:
    """An NPY or NPZ file as a data set: a table with columns x0, x1, ..., or pictures.

    Of an NPZ file, X is the array X, x, data, images or values, or the only one with the most axes, and the default
    target y, labels or target; with an array `lengths`, X holds the steps of sequences one after the other. Of an NPY
    file the target is a column, e.g. "x3". Arguments as in `read`.
    """
    path = Path(path)
    found = _arrays(path)
    if isinstance(found, np.ndarray):
        if target is not None and required and found.ndim != 2:
            both = "Save both: np.savez('all.npz', X=pictures, y=labels)."
            raise FileFormatError(f"{path}: pictures without labels; the target {target!r} is not in it. {both}")
        return _dataset(path, found, column=target, required=required)
    wanted = next((name for name in ([target] if target else TARGETS) if name in found), None)
    if wanted is None and required and target is not None:
        raise FileFormatError(f"{path}: {nearest('target array', target, found)}")
    y = found.pop(wanted) if wanted else None
    lengths = found.pop("lengths", None)
    x = found.pop(_choose(path, found))
    notes = [f"not used: the array{'s' * (len(found) > 1)} {', '.join(map(repr, found))}"] if found else []
    if lengths is not None:
        return from_arrays(path, x, lengths, y, required=required, notes=notes)
    return _dataset(path, x, y, required=required, notes=notes)


def _arrays(path: Path) -> np.ndarray | dict[str, np.ndarray]:
    """The array of an NPY file, or those of an NPZ file by name."""
    data = read_bytes(path)
    try:
        if data[:4] == b"PK\x03\x04":
            with archive_of(data) as archive:
                reject_bomb(path, sum(info.file_size for info in archive.infolist()), len(data))
        stream = io.BytesIO(data)
        found: Any = np.load(stream, allow_pickle=False)
        if isinstance(found, np.ndarray):
            if stream.read(1):
                raise ValueError("there are more bytes than its header states")
            return found
        with found:
            return {name: np.asarray(found[name]) for name in found}
    except FileFormatError:
        raise
    except Exception as error:  # also for a pickle, a false header and bytes that are cut off
        why = " ".join(str(error).split())[:150]
        never = "fθ never unpickles. Use np.save or np.savez."
        raise FileFormatError(f"{path}: not a plain array, or a damaged one ({why}). {never}") from None


def _choose(path: Path, arrays: dict[str, np.ndarray]) -> str:
    """The array of features."""
    most = max((a.ndim for a in arrays.values()), default=0)
    found = [n for n in FEATURES if n in arrays][:1] or [n for n, a in arrays.items() if a.ndim == most]
    if len(found) != 1:
        which = " or ".join(map(repr, found)) or "none is left"
        raise FileFormatError(f"{path}: which array holds the rows, {which}? Name it X.")
    return found[0]


def read_idx_array(path: str | Path) -> np.ndarray:
    """The array of an IDX file, also inside gzip; its stated size is compared with the bytes before it is made."""
    path = Path(path)
    data = plain_bytes(path)
    start = 4 + 4 * (data[3] if len(data) > 3 else 0)
    if data[:2] != b"\0\0" or start == 4 or len(data) < start or data[2] not in IDX_TYPES:
        usual = "0x00000803 for pictures, 0x00000801 for labels"
        raise FileFormatError(f"{path}: begins with 0x{data[:4].hex()}, not as IDX files do ({usual}).")
    dtype, shape = np.dtype(IDX_TYPES[data[2]]), tuple(np.frombuffer(data[4:start], ">u4").tolist())
    need, have = prod(shape) * dtype.itemsize, len(data) - start  # Python integers cannot overflow
    if have != need or not need:
        stated = f"its header states {'x'.join(map(str, shape))} = {need} bytes"
        raise FileFormatError(f"{path}: {stated}, the file has {have}. Download it again.")
    return np.frombuffer(data, dtype, offset=start).reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def read_idx(path: str | Path, target: str | Path | None = None, *, required: bool = True) -> Dataset:
    """Pictures of an IDX file, with the labels of another.

    The target is the file of labels; by default the one in the same folder that has "labels" for "images".
    """
    path = Path(path)
    beside = path.with_name(path.name.replace("images", "labels").replace("idx3", "idx1"))
    labels = Path(target) if target else beside
    x = read_idx_array(path)
    if x.ndim == 1:
        raise FileFormatError(f"{path}: holds labels (one axis), not rows. Use the file of pictures.")
    if labels == path or not labels.exists():
        if required and target is not None:
            raise FileFormatError(f"{path}: no file of labels ({labels}). Put it there, or pass its path as target.")
        return _dataset(path, x)
    return _dataset(path, x, read_idx_array(labels), required=required, notes=[f"labels from {labels.name}"])


def _dataset(
    path: Path, x: np.ndarray, y: Any = None, *, column: str | None = None, required: bool = True, notes: Any = ()
) -> Dataset:
    """A table, or pictures with one label each or one for every pixel."""
    if x.ndim == 2:
        return _table(path, x, y, column, required, notes)
    shape = _picture_shape(path, x)
    if y is not None and y.ndim == 3 and y.shape == x.shape[:3] and y.dtype.kind in "iu":
        y = y.astype(np.int64)
    elif y is not None:
        y = _table(path, x[:, 0, :1].reshape(len(x), -1), y, None, required, ()).y
    return labeled(path.stem, x.reshape(len(x), -1), y, (), notes, kind="image", shape=shape)


def _table(path: Path, x: np.ndarray, y: Any, target: str | None, required: bool, notes: Any) -> Dataset:
    if x.dtype.kind not in "biuf" or not 0 < x.shape[1] <= MAX_COLUMNS or not len(x):
        needed = f"at least one row of 1 to {MAX_COLUMNS} numbers is needed"
        raise FileFormatError(f"{path}: {len(x)} rows of shape {x.shape[1:]} and type {x.dtype}; {needed}.")
    frame = pd.DataFrame(x.astype(float), columns=[f"x{j}" for j in range(x.shape[1])], copy=False)
    if y is not None:
        if y.shape not in ((len(x),), (len(x), 1)) or y.dtype.kind not in "biufU":
            needed = "one number or text per row is needed (one-hot: y.argmax(1))"
            raise FileFormatError(f"{path}: {len(x)} rows, but targets of shape {y.shape}, type {y.dtype}; {needed}.")
        frame, target = frame.assign(y=y.reshape(-1)), "y"
    return as_dataset(path, frame, target, required=required, typed=True, notes=notes)


def _picture_shape(path: Path, x: np.ndarray) -> tuple[int, ...]:
    """(H, W) or (H, W, C); a single channel has no axis."""
    if x.dtype != np.uint8 or x.ndim not in (3, 4) or not x.size:
        what = f"an array of shape {x.shape} and type {x.dtype}; (rows, columns) is a table and uint8 of"
        shapes = "(n, height, width) or (n, height, width, channels)"
        raise FileFormatError(f"{path}: {what} {shapes} are pictures. Reshape it, or x.astype('uint8').")
    if x.ndim == 4 and x.shape[3] not in (1, 3, 4):
        rest = "(height, width, channels) with 1, 3 or 4 channels is needed, e.g. np.moveaxis(x, 1, 3)."
        raise FileFormatError(f"{path}: pictures of shape {x.shape[1:]}; {rest}")
    return x.shape[1:3] if x.shape[3:] in ((), (1,)) else x.shape[1:]
