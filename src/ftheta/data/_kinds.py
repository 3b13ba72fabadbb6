"""What a file is, told by its first bytes."""

from __future__ import annotations

import zlib
from pathlib import Path

from ..errors import FileFormatError

__all__ = ["WORDS", "is_picture", "kind_of"]

HEAD = 2**16  # bytes that are looked at
WORDS = {
    "arrays": "a NumPy file (.npy, .npz)",
    "parquet": "a Parquet file",
    "idx": "an IDX file",
    "images": "a folder",
}
_REFUSED = {
    b"\x80": "a pickle (.pkl, .pt, .joblib), which can run code when it is opened",
    b"ARROW1": "an Arrow file",
    b"\x89PNG": "one PNG image",
    b"\xff\xd8\xff": "one JPEG image",
    b"GIF8": "one GIF image",
    b"%PDF": "a PDF",
    b"\x89HDF": "an HDF5 file",
    b"BZh": "a bzip2 archive",
    b"\xfd7zXZ": "an xz archive",
    b"SQLite": "an SQLite database",
    b"\xd0\xcf\x11\xe0": "an old Excel file (.xls)",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}
_MARKUP = {"<!": "HTML", "<html": "HTML", "<?xml": "XML", '{"': "JSON", "{\n": "JSON", "[{": "JSON", "[[": "JSON"}
_ADVICE: dict[str, str] = dict.fromkeys(
    ("one PNG image", "one JPEG image", "one GIF image"),
    "Give the folder that has a folder of images for each class.",
)


def is_picture(path: Path) -> bool:
    """Whether a file begins like a PNG or JPEG image."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        return stream.read(4).startswith((b"\x89PNG", b"\xff\xd8\xff"))


def kind_of(path: Path) -> str:
    """characters, parquet, arrays, idx or images (a folder); `FileFormatError` for whatever else it is."""
    if not path.exists():
        raise FileFormatError(f"{path}: no such file. Check the path; the working folder is {Path.cwd()}.")
    if path.is_dir():
        return "images"
    if not path.is_file():
        raise FileFormatError(f"{path}: a device, not a file. Give the path of a data file.")
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD)
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror}). Check its permissions.") from None
    if not head.strip(b"\xef\xbb\xbf \t\r\n"):
        raise FileFormatError(
            f"{path}: the file is empty ({len(head)} bytes). A header line and at least one row are needed."
        )
    return _binary(path, head) or _characters(path, head)


def _binary(path: Path, head: bytes) -> str:
    """The kind of a binary file, nothing for text."""
    if head.startswith(b"\x93NUMPY") or (head.startswith(b"PK\x03\x04") and _is_npz(head)):
        return "arrays"
    if head.startswith(b"PAR1") and not _is_text(head):
        return "parquet"
    if _is_idx(_unzipped(head)):
        return "idx"
    kinds = {b"PK\x03\x04": "a zip archive (as .xlsx and .pt files are)", b"\x1f\x8b": "a gzip archive", **_REFUSED}
    for start, kind in kinds.items():
        if head.startswith(start) and not (len(start) == 1 and _is_text(head)):
            advice = _ADVICE.get(kind, "Save the table as CSV in UTF-8.")
            raise FileFormatError(f"{path}: its content is {kind}; fθ does not open it. {advice}")
    return ""


def _is_npz(head: bytes) -> bool:
    """Whether the first member of a zip archive is an array."""
    size = int.from_bytes(head[26:28], "little")
    return head[30 : 30 + size].endswith(b".npy")


def _unzipped(head: bytes) -> bytes:
    """The first bytes of a file that may be compressed with gzip."""
    if not head.startswith(b"\x1f\x8b"):
        return head[:4]
    try:
        return zlib.decompressobj(wbits=31).decompress(head, 4)
    except zlib.error:
        return b""


def _is_idx(head: bytes) -> bool:
    return len(head) == 4 and head[:2] == b"\0\0" and head[2] in (8, 9, 11, 12, 13, 14) and 1 <= head[3] <= 4


def _is_text(head: bytes) -> bool:
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return len(head) == HEAD and error.start > HEAD - 4  # a character cut in two
    return b"\0" not in head


def _characters(path: Path, head: bytes) -> str:
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:8].lower().decode("latin-1")
    for mark, kind in _MARKUP.items():
        if start.startswith(mark):
            raise FileFormatError(f"{path}: its content is {kind}, not CSV. Save the table as CSV, one row a line.")
    return "characters"
