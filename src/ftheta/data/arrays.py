"""Arrays from files: NPY, NPZ and IDX, read by their own headers; nothing is ever unpickled.

    NPY   \\x93NUMPY, version, length, {'descr': '<f8', 'fortran_order': False, 'shape': (n, D), }, values
    NPZ   a zip archive of NPY files
    IDX   0, 0, type, d, then d sizes of 4 bytes, then values, all big-endian; often inside gzip

What a header says is compared with the bytes that are there before anything is allocated: headers can lie.
Shapes: (n, D) numbers are a table, (n, H, W) and (n, H, W, C) of uint8 are pictures.
Reference: numpy.lib.format (NPY, NPZ); LeCun, Cortes and Burges, The MNIST database of handwritten digits (IDX).
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..catalog import nearest
from ..errors import FileFormatError
from ..store.files import read_bytes, readable
from .datasets import Dataset
from .delimited import task_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_arrays", "read_idx", "read_idx_array"]

MAX_HEADER, MAX_COLUMNS, MAX_MEMBERS = 4096, 100_000, 1000
MAX_RATIO, ALWAYS = 200, 16 << 20  # what is packed may grow so many times, and to so many bytes in any case
FEATURES, TARGETS = ("X", "x", "data", "images"), ("y", "labels", "target")
IDX_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}

_SIZE = r"(?:0|[1-9]\d{0,18})"
_HEADER = re.compile(
    r"\{ *'descr': *'([<>|=]?(?:b1|[iu][1248]|f[248]|U[1-9]\d{0,5}))', *'fortran_order': *(True|False), *"
    rf"'shape': *\(((?:{_SIZE}, *)*{_SIZE}?)\) *,? *\}} *\n?"
)


def read_arrays(path: str | Path, target: str | None = None, *, required: bool = True) -> Dataset:
    """An NPY or NPZ file as a data set: a table with columns x0, x1, ..., or pictures.

    Args:
        path: The file. Of an NPZ file, X is the array X, x, data or images, or the only one with the most axes.
        target: Of an NPY file the column to predict, e.g. "x3"; of an NPZ file the array, "" or None: y, labels or
            target.
        required: Whether the file must have that target; else `y` is None where it has not.
    """
    path = Path(path)
    data = read_bytes(path)
    if data[:4] == b"PK\x03\x04":
        return _from_archive(path, data, target, required)
    x = _values(data, f"{path}: the array")
    if x.ndim != 2:
        if target is not None and required:
            raise FileFormatError(
                f"{path}: pictures without labels; the target {target!r} is not in it. "
                "Save both: np.savez('all.npz', X=pictures, y=labels)."
            )
        return _dataset(path, x)
    names = [f"x{j}" for j in range(x.shape[1])]
    if target is not None and target not in names and required:
        raise FileFormatError(f"{path}: {nearest('target column', target, names)}")
    if target not in names:
        return _dataset(path, x)
    j = names.index(target)
    rest = names[:j] + names[j + 1 :]
    return _dataset(path, np.delete(x, j, axis=1), x[:, j], required=required, names=rest)


# ---- NPY


class _Head(NamedTuple):
    """What the header of an NPY file says."""

    dtype: np.dtype
    shape: tuple[int, ...]
    order: str
    start: int

    @property
    def end(self) -> int:
        return self.start + prod(self.shape) * self.dtype.itemsize


def _head(data: bytes, where: str) -> _Head:
    version, start = data[6:8], 10 if data[6:7] == b"\1" else 12
    size = int.from_bytes(data[8:start], "little")
    if data[:6] != b"\x93NUMPY" or version not in (b"\1\0", b"\2\0", b"\3\0"):
        raise FileFormatError(f"{where} does not begin as NPY files do. Write it with np.save or np.savez.")
    text = data[start : start + size]
    if size > MAX_HEADER or len(text) < size:
        raise FileFormatError(
            f"{where} has a header of {size} bytes, expected at most {min(MAX_HEADER, len(data))}. "
            "The file is damaged or not a plain array; save it again."
        )
    found = _HEADER.fullmatch(text.decode("latin-1"))
    if found is None or (sizes := found[3]) and "," not in sizes:
        raise _refused(text, where)
    shape = tuple(int(size) for size in re.findall(r"\d+", sizes))
    if not 1 <= len(shape) <= 4 or not all(shape):
        raise FileFormatError(f"{where} has the shape {shape}; 1 to 4 axes, none of length 0, are needed.")
    return _Head(np.dtype(found[1]), shape, "F" if found[2] == "True" else "C", start + size)


def _refused(header: bytes, where: str) -> FileFormatError:
    if re.search(rb"'\|?O\d*'", header):
        return FileFormatError(f"{where} is a pickled object; fθ never unpickles. Save it as a plain array or JSON.")
    said = header.decode("latin-1").strip()
    return FileFormatError(
        f"{where} has the header {said[:80]!r}; expected numbers, booleans or text of fixed width. "
        "Save it as a plain array: np.save(path, np.asarray(x, dtype=float))."
    )


def _values(data: bytes, where: str) -> np.ndarray:
    head = _head(data[: 12 + MAX_HEADER], where)
    if head.end != len(data):
        raise _cut(where, head.shape, head.end - head.start, len(data) - head.start)
    array = np.frombuffer(data, head.dtype, offset=head.start)
    if head.dtype.kind == "b" and array.view("u1").max() > 1:
        raise FileFormatError(f"{where} holds a boolean that is neither 0 nor 1. The file is damaged; save it again.")
    if head.dtype.kind == "U":
        _reject_code_points(array.view(head.dtype.str[0] + "u4"), where)
    return array.reshape(head.shape, order="F" if head.order == "F" else "C").astype(
        head.dtype.newbyteorder("="), copy=False
    )


def _reject_code_points(points: np.ndarray, where: str) -> None:
    bad = (points > 0x10FFFF) | ((points >= 0xD800) & (points <= 0xDFFF))
    if bad.any():
        raise FileFormatError(f"{where} holds {points[bad][0]:#x}, which is no character. The file is damaged.")


def _cut(where: str, shape: tuple[int, ...], need: int, have: int) -> FileFormatError:
    why = "It was cut off: copy or download it again." if have < need else "It is damaged: use another copy."
    size = "x".join(map(str, shape))
    return FileFormatError(f"{where}: its header says {size} = {need} bytes, the file has {max(have, 0)}. {why}")


def _reject_bomb(where: str, size: int, packed: int) -> None:
    if size > max(ALWAYS, MAX_RATIO * packed):
        raise FileFormatError(
            f"{where} would unpack {readable(packed)} to {readable(size)}, more than {MAX_RATIO} times as much, as "
            "files made to fill the memory do. Unpack it yourself if you trust it."
        )


# ---- NPZ


def _from_archive(path: Path, data: bytes, target: str | None, required: bool) -> Dataset:
    try:
        with _archive(path, data) as archive:
            heads = _members(path, archive)
            wanted = next((name for name in ([target] if target else TARGETS) if name in heads), None)
            if wanted is None and required and target is not None:
                raise _no_target(path, target, heads)
            chosen = _choose(path, {name: head for name, head in heads.items() if name != wanted})
            x = _member(path, archive, chosen)
            y = None if wanted is None else _member(path, archive, wanted)
    except FileFormatError:
        raise
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise FileFormatError(f"{path}: a damaged NPZ file ({error}). Use another copy.") from None
    rest = [name for name in heads if name not in (chosen, wanted)]
    notes = (f"not used: the array{'s' * (len(rest) > 1)} {', '.join(map(repr, rest))}",) if rest else ()
    return _dataset(path, x, y, required=required, notes=notes)


def _no_target(path: Path, target: str, known: dict[str, _Head]) -> FileFormatError:
    if target:
        return FileFormatError(f"{path}: {nearest('target array', target, known)}")
    return FileFormatError(
        f"{path}: none of its arrays ({', '.join(known)}) is named y, labels or target. Say which one is the target."
    )


def _archive(path: Path, data: bytes) -> zipfile.ZipFile:
    """The archive, if its directory is small: opening one with a million entries takes seconds and gigabytes."""
    end = data[-22:]
    if end[:4] != b"PK\5\6" or end[20:] != b"\0\0" or data[-42:-38] == b"PK\6\7":
        raise FileFormatError(
            f"{path}: a zip archive that is cut off, has a comment or is larger than 4 GB. Write it with np.savez, or "
            "each array with np.save."
        )
    if int.from_bytes(end[12:16], "little") > MAX_MEMBERS * 400:
        raise FileFormatError(f"{path}: a zip archive of too many entries; at most {MAX_MEMBERS} arrays are read.")
    return zipfile.ZipFile(io.BytesIO(data))


def _members(path: Path, archive: zipfile.ZipFile) -> dict[str, _Head]:
    """Names and headers of all arrays, none of them read."""
    infos = sorted(archive.infolist(), key=lambda info: info.header_offset)
    ends = [*(info.header_offset for info in infos[1:]), archive.start_dir]
    heads = {}
    for info, end in zip(infos, ends, strict=False):
        name = info.filename.removesuffix(".npy")
        _reject_member(path, info, end)
        if name in heads:
            raise FileFormatError(f"{path}: two arrays are named {name!r}. Write it again with np.savez.")
        with archive.open(info) as file:
            heads[name] = _head(file.read(12 + MAX_HEADER), f"{path}: array {name!r}")
        if heads[name].end != info.file_size:
            need, have = heads[name].end - heads[name].start, info.file_size - heads[name].start
            raise _cut(f"{path}: array {name!r}", heads[name].shape, need, have)
    if not 0 < len(heads) <= MAX_MEMBERS:
        raise FileFormatError(f"{path}: {len(heads)} arrays; 1 to {MAX_MEMBERS} are read.")
    return heads


def _reject_member(path: Path, info: zipfile.ZipInfo, end: int) -> None:
    name = info.filename
    if name.endswith((".pkl", ".pickle")):
        raise FileFormatError(
            f"{path} holds a pickle ({name!r}) and could run code; fθ does not open it. Save the arrays with np.savez."
        )
    if not name.endswith(".npy"):
        raise FileFormatError(f"{path}: a zip archive with {name!r}, which is no NPY file. Write it with np.savez.")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 1:
        raise FileFormatError(f"{path}: {name!r} is encrypted or packed in another way than np.savez does.")
    if info.header_offset + 30 + info.compress_size > end:
        raise FileFormatError(f"{path}: {name!r} overlaps another entry of the archive, as no np.savez writes it.")
    _reject_bomb(f"{path}: {name!r}", info.file_size, info.compress_size)


def _choose(path: Path, heads: dict[str, _Head]) -> str:
    """The array of features."""
    for name in FEATURES:
        if name in heads:
            return name
    most = max((len(head.shape) for head in heads.values()), default=0)
    found = [name for name, head in heads.items() if len(head.shape) == most]
    if len(found) != 1:
        raise FileFormatError(
            f"{path}: which array holds the rows, {' or '.join(map(repr, found)) or 'none is left'}? Name it X."
        )
    return found[0]


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> np.ndarray:
    info = archive.getinfo(f"{name}.npy")
    with archive.open(info) as file:
        return _values(file.read(info.file_size + 1), f"{path}: array {name!r}")


# ---- IDX


def read_idx_array(path: str | Path) -> np.ndarray:
    """The array of an IDX file, also inside gzip; sizes are compared with the bytes there before it is made."""
    path = Path(path)
    data = read_bytes(path)
    packed = data[:2] == b"\x1f\x8b"
    head = _inflated(path, data, 4 + 4 * 255)[0] if packed else data
    dims = head[3] if len(head) > 3 else 0
    start = 4 + 4 * dims
    if head[:2] != b"\0\0" or not dims or len(head) < start or head[2] not in IDX_TYPES:
        raise FileFormatError(
            f"{path}: begins with 0x{head[:4].hex()}, not as IDX files do (0x00000803 for pictures, 0x00000801 for "
            "labels). Give another file."
        )
    dtype = np.dtype(IDX_TYPES[head[2]])
    shape = tuple(int.from_bytes(head[i : i + 4], "big") for i in range(4, start, 4))
    need = prod(shape) * dtype.itemsize  # a Python int: it cannot overflow
    whole = True
    if packed:
        _reject_bomb(str(path), need, len(data))
        data, whole = _inflated(path, data, start + need + 1)
    if len(data) - start != need or not need:
        raise _cut(str(path), shape, need, len(data) - start)
    if not whole:
        raise FileFormatError(f"{path}: the end of its gzip packing is missing or not its end. Download it again.")
    return np.frombuffer(data, dtype, offset=start).reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def _inflated(path: Path, data: bytes, most: int) -> tuple[bytes, bool]:
    """At most so many bytes of what gzip packed, and whether these are all, with a check sum that holds."""
    stream = zlib.decompressobj(31)
    try:
        return stream.decompress(data, most), stream.eof and not stream.unused_data
    except zlib.error as error:
        raise FileFormatError(f"{path}: damaged inside gzip ({error}). Download it again.") from None


def read_idx(path: str | Path, target: str | Path | None = None, *, required: bool = True) -> Dataset:
    """Pictures of an IDX file, with the labels of another.

    Args:
        path: The file of pictures, e.g. train-images-idx3-ubyte.gz.
        target: The file of labels; "" or None takes the one beside it that is named alike, with labels for images.
        required: Whether labels must be there; None as target never needs them.
    """
    path = Path(path)
    beside = path.with_name(path.name.replace("images", "labels").replace("idx3", "idx1"))
    labels = Path(target) if target else beside
    x = read_idx_array(path)
    if x.ndim == 1:
        raise FileFormatError(f"{path}: holds labels (one axis), not rows. Give the file of pictures.")
    if labels == path or not labels.exists():
        if required and target is not None:
            raise FileFormatError(f"{path}: no file of labels ({labels}). Put it there, or give its path as target.")
        return _dataset(path, x)
    return _dataset(path, x, read_idx_array(labels), required=required, notes=(f"labels from {labels.name}",))


# ---- arrays to data sets


def _dataset(
    path: Path,
    x: np.ndarray,
    y: np.ndarray | None = None,
    *,
    required: bool = True,
    names: list[str] | None = None,
    notes: tuple[str, ...] = (),
) -> Dataset:
    of_pixels = y is not None and y.ndim == 3 and y.shape == x.shape[:3] and y.dtype.kind in "iu"
    y = None if y is None else y.astype(np.int64) if of_pixels else _target(path, y, len(x), required)
    task = "none" if y is None else "segment" if of_pixels else task_of(y)
    classes = tuple(map(str, np.unique(y))) if y is not None and task != "regression" else ()
    if x.ndim == 2:
        frame = _frame(path, x, names)
        return Dataset(path.stem, frame, y, tuple(frame.columns), classes, task, notes=notes)
    shape = _picture_shape(path, x)
    return Dataset(path.stem, x.reshape(len(x), -1), y, (), classes, task, kind="image", shape=shape, notes=notes)


def _frame(path: Path, x: np.ndarray, names: list[str] | None) -> pd.DataFrame:
    """Columns of numbers; NaN is missing, infinity is refused."""
    import pandas as pd

    if x.dtype.kind == "U" or not 0 < x.shape[1] <= MAX_COLUMNS:
        raise FileFormatError(
            f"{path}: rows of shape {x.shape[1:]} and type {x.dtype}; 1 to {MAX_COLUMNS} columns of numbers are needed."
        )
    values = x.astype(np.float64)  # (n, D)
    infinite = np.isinf(values)
    if infinite.any():
        row, column = np.argwhere(infinite)[0]
        raise FileFormatError(f"{path} row {row}, column {column}: inf. Correct the value or remove the row.")
    return pd.DataFrame(values, columns=names or [f"x{j}" for j in range(x.shape[1])], copy=False)


def _picture_shape(path: Path, x: np.ndarray) -> tuple[int, ...]:
    """(H, W) or (H, W, C); one channel is none."""
    if x.dtype != np.uint8 or x.ndim not in (3, 4):
        raise FileFormatError(
            f"{path}: an array of shape {x.shape} and type {x.dtype}; (rows, columns) is a table and uint8 of "
            "(n, height, width) or (n, height, width, channels) are pictures. Reshape it, or x.astype('uint8')."
        )
    if x.ndim == 4 and x.shape[3] not in (1, 3, 4):
        raise FileFormatError(
            f"{path}: pictures of shape {x.shape[1:]}; (height, width, channels) with 1, 3 or 4 channels is needed, "
            "e.g. np.moveaxis(x, 1, 3)."
        )
    return x.shape[1:3] if x.shape[3:] in ((), (1,)) else x.shape[1:]


def _target(path: Path, y: np.ndarray, n: int, required: bool) -> np.ndarray | None:
    """One target for each row: whole numbers as int, booleans as text; None where some may be missing and are."""
    if y.shape not in ((n,), (n, 1)):
        raise FileFormatError(
            f"{path}: targets of shape {y.shape} for {n} rows; one for each row is needed (one-hot: y.argmax(1))."
        )
    y = y.reshape(n)
    if y.dtype.kind != "f":
        return y.astype(str) if y.dtype.kind == "b" else y
    y, bad = y.astype(np.float64), ~np.isfinite(y)
    if bad.any():
        if not required:
            return None
        raise FileFormatError(f"{path}: the target of row {np.argmax(bad)} is {y[bad][0]}. Remove such rows.")
    whole = (np.round(y) == y).all() and np.abs(y).max() < 2**53
    return y.astype(np.int64) if whole else y
