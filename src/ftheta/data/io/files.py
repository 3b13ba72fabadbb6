"""Data from files: the content says what a file is, never its name, and nothing is ever unpickled."""

from __future__ import annotations

import codecs
import zlib
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import FileFormatError
from ...store.files import read_bytes, readable
from ..datasets import Dataset

if TYPE_CHECKING:
    from .dataset import CsvFormat

HEAD = 2**16  # bytes that tell the format
MAX_RATIO, ALWAYS = 200, 16 << 20  # packed bytes may grow by this factor, or to this size
FORMATS = {  # what it is, and the function that reads it
    "csv": ("text", "csv:read_csv"),
    "json": ("JSON", "tables:read_json"),
    "excel": ("a spreadsheet", "tables:read_excel"),
    "arrays": ("a NumPy file (.npy, .npz)", "tables:read_arrays"),
    "parquet": ("a Parquet file", "tables:read_parquet"),
    "idx": ("an IDX file", "tables:read_idx"),
    "images": ("a folder", "folders:read_images"),
}
_STARTS = {b"\x93NUMPY": "arrays", b"PAR1": "parquet", b"\xd0\xcf\x11\xe0": "excel"}
_REFUSED = {
    b"\x80": "a pickle (.pkl, .pt, .joblib), which can run code when it is opened",
    b"PK\x03\x04": "a zip archive (as .pt files are)",
    b"\x1f\x8b": "a gzip archive",
    b"ARROW1": "an Arrow file",
    b"\x89PNG": "one PNG image",
    b"\xff\xd8\xff": "one JPEG image",
    b"GIF8": "one GIF image",
    b"%PDF": "a PDF",
    b"\x89HDF": "an HDF5 file",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"SQLite": "an SQLite database",
}
_MARKUP = {"<!": "HTML", "<html": "HTML", "<?xml": "XML"}
_JSON = ('{"', "{\n", "{\r", "{ ", "[{", "[\n", "[\r", "[ ", "[[")


def read(
    path: str | Path,
    target: str | None = None,
    *,
    required: bool = True,
    encoding: str = "utf-8",
    csv_format: CsvFormat | None = None,
) -> Dataset:
    """A data set from a file or a folder of images.

    Args:
        path: A CSV, JSON, Excel, Parquet, NPY, NPZ, IDX or text file, or a folder with one folder per class.
        target: What is to be predicted: a column, an array of an NPZ file, or the file of labels beside an IDX file.
        required: Whether there must be a target; if not, `y` is None where it is missing.
        encoding: Of the characters of a CSV file.
        csv_format: The `csv_format` of the training data, for new rows of a CSV file.
    """
    path, options = Path(path), {"required": required}
    kind = format_of(path)
    module, name = FORMATS[kind][1].split(":")
    reader: Any = import_module(f".{module}", __package__)
    if kind == "csv":
        named = not {".csv", ".tsv"}.isdisjoint(map(str.lower, path.suffixes))
        if target is None and not named and not reader.looks_like_table(path, encoding):
            return read_text(path)
        options: dict[str, Any] = options | {"encoding": encoding, "csv_format": csv_format}
    return getattr(reader, name)(path, *([] if kind == "images" else [target or None]), **options)


def is_picture(path: Path) -> bool:
    """Whether a file begins like a PNG or JPEG image."""
    return path.is_file() and first_bytes(path, 4).startswith((b"\x89PNG", b"\xff\xd8\xff"))


def format_of(path: Path) -> str:
    """One of `FORMATS`; `FileFormatError` for whatever else it is."""
    if path.is_dir():
        return "images"
    head = first_bytes(path, HEAD)
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise FileFormatError(f"{path}: the file is empty ({len(head)} bytes). A header and one row are needed.")
    inside = _start_of_packed(head) if head.startswith(b"\x1f\x8b") else head
    if inside[:2] in (b"\xff\xfe", b"\xfe\xff"):
        inside = inside[: len(inside) // 2 * 2].decode("utf-16", "ignore").encode()
    if found := _binary(inside, packed=inside is not head):
        return found
    for start, kind in _REFUSED.items():
        if inside.startswith(start) and not (len(start) == 1 and _is_text(inside)):
            advice = "Use a folder with one folder per class." if "image" in kind else "Save the table as CSV."
            raise FileFormatError(f"{path}: its content is {kind}; fθ does not open it. {advice}")
    start = inside.removeprefix(b"\xef\xbb\xbf").lstrip()[:8].lower().decode("latin-1")
    for mark, kind in _MARKUP.items():
        if start.startswith(mark):
            raise FileFormatError(f"{path}: its content is {kind}, not a table. Save the table as CSV.")
    return "json" if start.startswith(_JSON) else "csv"


def _binary(head: bytes, *, packed: bool) -> str:
    """The format of a binary file, empty for text; inside gzip only IDX is read."""
    if len(head) > 3 and head[:2] == b"\0\0" and head[2] in (8, 9, 11, 12, 13, 14) and 1 <= head[3] <= 4:
        return "idx"
    if packed:
        return ""
    if head.startswith(b"PK\x03\x04"):
        first = head[30 : 30 + int.from_bytes(head[26:28], "little")]  # the name of its first member
        sheets = (b"[Content_Types].xml", b"xl/", b"_rels/", b"docProps/", b"mimetype")
        return "arrays" if first.endswith(b".npy") else "excel" if first.startswith(sheets) else ""
    return next((kind for start, kind in _STARTS.items() if head.startswith(start) and not _is_text(head)), "")


def _start_of_packed(head: bytes) -> bytes:
    """The first bytes of what gzip packed; the bytes themselves where it did not."""
    try:
        return zlib.decompressobj(wbits=31).decompress(head, HEAD) or head
    except zlib.error:
        return head


def _is_text(head: bytes) -> bool:
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return len(head) == HEAD and error.start > HEAD - 4  # a character cut in two
    return b"\0" not in head


def first_bytes(path: Path, n: int) -> bytes:
    if not path.exists():
        raise FileFormatError(f"{path}: no such file. Check the path; the working folder is {Path.cwd()}.")
    if not path.is_file():
        raise FileFormatError(f"{path}: a folder or a device, not a file. Use the path of a data file.")
    try:
        with path.open("rb") as stream:
            return stream.read(n)
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror}). Check its permissions.") from None


def content_of(path: Path) -> bytes:
    """The bytes of a file of text: UTF-8, where they begin with a byte-order mark, or an encoding of one byte each."""
    data = read_bytes(path)
    data = unpacked(path, data) if data[:2] == b"\x1f\x8b" else data
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            return codecs.BOM_UTF8 + data.decode("utf-16").encode()
        except UnicodeError as error:
            raise FileFormatError(f"{path}: not UTF-16 text ({error}). Save it as UTF-8.") from None
    return data


def unpacked(path: Path, data: bytes) -> bytes:
    """What gzip packed."""
    stream = zlib.decompressobj(31)
    try:
        found = stream.decompress(data, max(ALWAYS, MAX_RATIO * len(data)) + 1)
    except zlib.error as error:
        raise FileFormatError(f"{path}: damaged inside gzip ({error}). Download it again.") from None
    reject_bomb(path, len(found), len(data))
    if not stream.eof or stream.unused_data:
        raise FileFormatError(f"{path}: the end of the gzip data is missing or is not the end. Download it again.")
    return found


def reject_bomb(path: Path, size: int, packed: int, ratio: int = MAX_RATIO, always: int = ALWAYS) -> None:
    """Raise where a small file, or a folder of them, would fill the memory."""
    if size > max(always, ratio * packed):
        raise FileFormatError(
            f"{path} would unpack {readable(packed)} to {readable(size)} or more, over {ratio} times as much, which "
            "looks like a decompression bomb. Make it smaller, or unpack it yourself if you trust it."
        )


def read_text(path: str | Path) -> Dataset:
    """A text file in UTF-8 as a data set of kind text; `FileFormatError` with path and byte for any other.

    A byte-order mark is dropped, and line ends of Windows become those of other systems, with a note.
    """
    path = Path(path)
    text = decode_text(path, content_of(path))
    plain = text.replace("\r\n", "\n")
    if not plain.strip():
        raise FileFormatError(f"{path}: the file holds no text ({len(text)} characters). Choose another file.")
    size = f"{len(plain)} characters, {len(plain.splitlines())} lines, {len(set(plain))} distinct characters"
    notes = (size,) if plain == text else (size, r"line ends \r\n were read as \n")
    return Dataset(path.stem, plain, None, (), (), "none", kind="text", notes=notes)


def decode_text(path: Path, data: bytes) -> str:
    """Bytes in UTF-8 as text."""
    zero = data.find(b"\0")
    if zero >= 0:
        raise FileFormatError(f"{path} byte {zero}: a zero byte, so this is not text. Use a text file in UTF-8.")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line, bad = data.count(b"\n", 0, error.start) + 1, data[error.start]
        place = f"{path} line {line}, byte {error.start}"
        raise FileFormatError(f"{place}: not UTF-8 (0x{bad:02x}). Save it as UTF-8.") from None
