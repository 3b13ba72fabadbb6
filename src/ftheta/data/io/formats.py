"""What a file is, by its first bytes; never by its name."""

from __future__ import annotations

import zlib
from pathlib import Path

from ...errors import FileFormatError
from .content import first_bytes

__all__ = ["FORMATS", "format_of", "is_picture"]

HEAD = 2**16  # bytes that are looked at
FORMATS = {
    "csv": "text",
    "json": "JSON",
    "excel": "a spreadsheet",
    "arrays": "a NumPy file (.npy, .npz)",
    "parquet": "a Parquet file",
    "idx": "an IDX file",
    "images": "a folder",
}
_STARTS = {  # -> format
    b"\x93NUMPY": "arrays",
    b"PAR1": "parquet",
    b"\xd0\xcf\x11\xe0": "excel",
}
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


def is_picture(path: Path) -> bool:
    """Whether a file begins like a PNG or JPEG image."""
    return path.is_file() and first_bytes(path, 4).startswith((b"\x89PNG", b"\xff\xd8\xff"))


def format_of(path: Path) -> str:
    """One of `FORMATS`; `FileFormatError` for whatever else it is."""
    if path.is_dir():
        return "images"
    head = first_bytes(path, HEAD)
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise FileFormatError(
            f"{path}: the file is empty ({len(head)} bytes). A header line and at least one row are needed."
        )
    inside = _unpacked(head) if head.startswith(b"\x1f\x8b") else head
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


def _unpacked(head: bytes) -> bytes:
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
