"""Text from a file, as one string of Unicode characters."""

from __future__ import annotations

from pathlib import Path

from ...errors import FileFormatError
from ..datasets import Dataset
from .content import content_of

__all__ = ["read_text"]


def read_text(path: str | Path) -> Dataset:
    """A text file in UTF-8 as a data set of kind text; `FileFormatError` with path and byte for any other.

    A byte-order mark is dropped, and line ends of Windows become those of other systems, with a note.
    """
    path = Path(path)
    text = decode_text(path, content_of(path).read())
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
        line = data.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{path} line {line}, byte {error.start}: not UTF-8 (0x{data[error.start]:02x}). Save it as UTF-8."
        ) from None
