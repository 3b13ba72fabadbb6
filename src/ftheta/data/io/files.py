"""Data from files, also packed: the content says what a file is, never its name, and nothing is ever unpickled."""

from __future__ import annotations

import codecs
import io
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...catalog import nearest
from ...errors import FileFormatError
from ...store.files import read_bytes, readable
from ..datasets import Dataset

if TYPE_CHECKING:
    from .dataset import CsvFormat

HEAD = 2**16  # bytes that tell the format
MAX_RATIO, ALWAYS = 200, 16 << 20  # packed bytes may grow by this factor, or to this size
MAX_DIRECTORY = 1 << 20  # bytes of the directory of a zip archive: a million entries take seconds and gigabytes to open
ZIP, GZIP = b"PK\x03\x04", b"\x1f\x8b"
_TABLES = ((".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson"), (".txt", ".dat", ".data"))  # the first kind there is
FORMATS = {  # what it is, and the function that reads it
    "csv": ("text", "csv:read_csv"),
    "json": ("JSON", "tables:read_json"),
    "excel": ("a spreadsheet", "tables:read_excel"),
    "arrays": ("a NumPy file (.npy, .npz)", "tables:read_arrays"),
    "parquet": ("a Parquet file", "tables:read_parquet"),
    "idx": ("an IDX file", "tables:read_idx"),
    "images": ("a folder", "folders:read_images"),
    "sequences": ("a folder of tables", "sequences:read_sequences"),
}
_STARTS = {b"\x93NUMPY": "arrays", b"PAR1": "parquet", b"\xd0\xcf\x11\xe0": "excel"}
_REFUSED = {
    b"\x80": "a pickle (.pkl, .pt, .joblib), which can run code when it is opened",
    b"PK\x03\x04": "an archive inside an archive",
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
    sheet: str = "",
    skip_rows: int = 0,
) -> Dataset:
    """A data set from a file or a folder of images.

    Args:
        path: A CSV, JSON, Excel, Parquet, NPY, NPZ, IDX or text file, one table inside gzip or zip, or a folder with
            one folder per class.
        target: What is to be predicted: a column, an array of an NPZ file, or the file of labels beside an IDX file.
        required: Whether there must be a target; if not, `y` is None where it is missing.
        encoding: Of the characters of a CSV file.
        csv_format: The `csv_format` of the training data, for new rows of a CSV file.
        sheet: The name or number of a sheet of a spreadsheet, or the name of a table in a zip archive; default: the
            first sheet, or the only table.
        skip_rows: Lines above the header of a CSV file, or rows above that of a spreadsheet.
    """
    path = Path(path)
    kind = format_of(path, sheet)
    layout = _layout(path, kind, sheet, skip_rows)
    module, name = FORMATS[kind][1].split(":")
    reader: Any = import_module(f".{module}", __package__)
    if kind == "csv" and target is None and {".csv", ".tsv"}.isdisjoint(map(str.lower, path.suffixes)):
        if not reader.looks_like_table(path, encoding, **layout):
            return read_text(path, **layout)
    options: dict[str, Any] = {"required": required, **layout}
    options |= {"encoding": encoding, "csv_format": csv_format} if kind in ("csv", "sequences") else {}
    return getattr(reader, name)(path, *([] if kind == "images" else [target or None]), **options)


def _layout(path: Path, kind: str, sheet: str, skip_rows: int) -> Mapping[str, Any]:
    """Where the table is in the file, as its reader takes it."""
    if skip_rows and kind not in ("csv", "excel"):
        raise FileFormatError(f"{path}: rows are skipped in CSV files and spreadsheets; this is {FORMATS[kind][0]}.")
    if sheet and kind != "excel" and not (path.is_file() and first_bytes(path, 4) == ZIP):
        raise FileFormatError(f"{path}: there is no sheet {sheet!r}: this is {FORMATS[kind][0]}.")
    return {name: value for name, value in (("sheet", sheet), ("skip_rows", skip_rows)) if value}


def is_picture(path: Path) -> bool:
    """Whether a file begins like a PNG or JPEG image."""
    return path.is_file() and first_bytes(path, 4).startswith((b"\x89PNG", b"\xff\xd8\xff"))


def format_of(path: Path, sheet: str = "") -> str:
    """One of `FORMATS`; `FileFormatError` for whatever else it is. `sheet` names a table in a zip archive."""
    if path.is_dir():
        return "sequences" if tables_in(path) else "images"
    head = first_bytes(path, HEAD)
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise FileFormatError(f"{path}: the file is empty ({len(head)} bytes). A header and one row are needed.")
    if found := _binary(head):
        return found
    inside = plain_bytes(path, sheet, HEAD) if head.startswith(ZIP) else head
    if head.startswith(GZIP):
        with suppress(zlib.error):
            inside = zlib.decompressobj(wbits=31).decompress(head, HEAD) or head
    if codec := utf16(inside):
        inside = inside[: len(inside) // 2 * 2].decode(codec, "ignore").encode()
    if inside is not head and _is_idx(inside):
        return "idx"
    for start, kind in _REFUSED.items():
        if inside.startswith(start) and not (len(start) == 1 and _is_text(inside)):
            advice = "Use a folder with one folder per class." if "image" in kind else "Save the table as CSV."
            raise FileFormatError(f"{path}: its content is {kind}; fθ does not open it. {advice}")
    start = inside.removeprefix(b"\xef\xbb\xbf").lstrip()[:8].lower().decode("latin-1")
    for mark, kind in _MARKUP.items():
        if start.startswith(mark):
            raise FileFormatError(f"{path}: its content is {kind}, not a table. Save the table as CSV.")
    return "json" if start.startswith(_JSON) else "csv"


def tables_in(folder: Path) -> list[Path]:
    """The CSV files of a folder and of its folders, if most files are such."""
    files = [p for pattern in ("*", "*/*") for p in folder.glob(pattern) if p.suffix and not p.name.startswith(".")]
    found = sorted(p for p in files if p.suffix.lower() in (".csv", ".tsv") and p.is_file())
    return found if 2 * len(found) > len(files) else []


def _binary(head: bytes) -> str:
    """The format of a binary file, empty for text and for what is packed."""
    if head.startswith(ZIP):
        first = head[30 : 30 + int.from_bytes(head[26:28], "little")]  # the name of its first member
        sheets = (b"[Content_Types].xml", b"xl/", b"_rels/", b"docProps/", b"mimetype")
        return "arrays" if first.endswith(b".npy") else "excel" if first.startswith(sheets) else ""
    if _is_idx(head):
        return "idx"
    return next((kind for start, kind in _STARTS.items() if head.startswith(start) and not _is_text(head)), "")


def _is_idx(head: bytes) -> bool:
    return len(head) > 3 and head[:2] == b"\0\0" and head[2] in (8, 9, 11, 12, 13, 14) and 1 <= head[3] <= 4


def utf16(data: bytes) -> str:
    """The codec of text in UTF-16, by its mark or by every second byte being zero; empty for anything else."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    even, odd = data[:400:2], data[1:400:2]
    for codec, zeros, others in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if len(zeros) > 1 and 0 not in others and zeros.count(0) > 0.7 * len(zeros):
            return codec
    return ""


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


def content_of(path: Path, sheet: str = "", notes: list[str] | None = None) -> bytes:
    """The bytes of a file of text: UTF-8, where they begin with a byte-order mark, or an encoding of one byte each."""
    data = plain_bytes(path, sheet)
    if not (codec := utf16(data)):
        return data
    if notes is not None:
        notes.append("read as UTF-16")
    try:
        return codecs.BOM_UTF8 + data.decode(codec).encode()
    except UnicodeError as error:
        raise FileFormatError(f"{path}: not UTF-16 text ({error}). Save it as UTF-8.") from None


def read_text(path: str | Path, *, sheet: str = "", skip_rows: int = 0) -> Dataset:
    """A text file in UTF-8 as a data set of kind text; `FileFormatError` with path and byte for any other.

    A byte-order mark is dropped, and line ends of Windows become those of other systems, with a note. Arguments as in
    `read`.
    """
    path = Path(path)
    text = "".join(decode_text(path, content_of(path, sheet)).splitlines(keepends=True)[skip_rows:])
    plain = text.replace("\r\n", "\n")
    if not plain.strip():
        raise FileFormatError(f"{path}: the file holds no text ({len(text)} characters). Choose another file.")
    size = f"{len(plain)} characters, {len(plain.splitlines())} lines, {len(set(plain))} distinct characters"
    notes = (size,) if plain == text else (size, r"line ends \r\n were read as \n")
    return Dataset(path.stem, plain, None, (), (), "none", kind="text", notes=notes)


def decode_text(path: Path, data: bytes) -> str:
    """Bytes in UTF-8 as text."""
    if (zero := data.find(b"\0")) >= 0:
        raise FileFormatError(f"{path} byte {zero}: a zero byte, so this is not text. Use a text file in UTF-8.")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line, bad = data.count(b"\n", 0, error.start) + 1, data[error.start]
        place = f"{path} line {line}, byte {error.start}"
        raise FileFormatError(f"{place}: not UTF-8 (0x{bad:02x}). Save it as UTF-8.") from None


# ---- what is packed: a file inside gzip, or one table inside a zip archive; neither may fill the memory


def plain_bytes(path: Path, sheet: str = "", size: int = -1) -> bytes:
    """The bytes of a file, unpacked; of an archive those of its only table, or of the one named `sheet`.

    Args:
        path: The file.
        sheet: A name in a zip archive.
        size: Only so many bytes of a table in a zip archive; -1: all.
    """
    data = read_bytes(path)
    if data.startswith(ZIP):
        return _from_zip(path, data, sheet, size)
    return _from_gzip(path, data) if data.startswith(GZIP) else data


def _from_gzip(path: Path, data: bytes) -> bytes:
    stream = zlib.decompressobj(31)
    try:
        found = stream.decompress(data, max(ALWAYS, MAX_RATIO * len(data)) + 1)
    except zlib.error as error:
        raise FileFormatError(f"{path}: damaged inside gzip ({error}). Download it again.") from None
    reject_bomb(path, len(found), len(data))
    if not stream.eof or stream.unused_data:
        raise FileFormatError(f"{path}: the end of the gzip data is missing or is not the end. Download it again.")
    return found


def archive_of(data: bytes) -> zipfile.ZipFile:
    """A zip archive; ValueError where its directory is too long to be opened."""
    end = data.rfind(b"PK\x05\x06")
    if end >= 0 and int.from_bytes(data[end + 12 : end + 16], "little") > MAX_DIRECTORY:
        raise ValueError("an archive of too many files")
    return zipfile.ZipFile(io.BytesIO(data))


def _from_zip(path: Path, data: bytes, sheet: str, size: int) -> bytes:
    try:
        with archive_of(data) as archive:
            table = _table(path, archive.infolist(), sheet)
            reject_bomb(path, table.file_size, len(data))  # no more than the stated size is ever unpacked
            with archive.open(table) as stream:
                return stream.read(size)
    except FileFormatError:
        raise
    except Exception as error:  # zipfile raises many kinds
        why = " ".join(str(error).split())[:150]
        raise FileFormatError(f"{path}: a damaged zip archive ({why}). Download it again.") from None


def _table(path: Path, members: list[zipfile.ZipInfo], sheet: str) -> zipfile.ZipInfo:
    """The only table of an archive, or the one that is named."""
    files = {m.filename: m for m in members if not (m.is_dir() or m.filename.startswith("__MACOSX/"))}
    kinds = [[name for name in files if name.lower().endswith(ends)] for ends in _TABLES]
    tables = [sheet] if sheet in files else next(filter(None, kinds), [])
    if sheet and sheet not in files:
        raise FileFormatError(f"{path}: {nearest('file in the archive', sheet, files)}")
    if not tables:
        what = "a zip archive without a table (as .pt files are); fθ does not open it"
        raise FileFormatError(f"{path}: its content is {what}. Unpack it, or save the table as CSV.")
    if len(tables) > 1:
        first = ", ".join(tables[:8]) + (", ..." if len(tables) > 8 else "")
        raise FileFormatError(f"{path}: {len(tables)} tables ({first}). Choose one, e.g. --sheet {tables[0]}.")
    found = files[tables[0]]
    if found.flag_bits & 1 or found.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        how = "encrypted" if found.flag_bits & 1 else f"packed by method {found.compress_type}"
        raise FileFormatError(f"{path}: {found.filename} is {how}. Unpack it yourself.")
    return found


def reject_bomb(path: Path, size: int, packed: int, ratio: int = MAX_RATIO, always: int = ALWAYS) -> None:
    """Raise where a small file, or a folder of them, would fill the memory."""
    if size > max(always, ratio * packed):
        much = f"{readable(packed)} to {readable(size)} or more, over {ratio} times as much"
        advice = "Make it smaller, or unpack it yourself if you trust it."
        raise FileFormatError(f"{path} would unpack {much}, which looks like a decompression bomb. {advice}")
