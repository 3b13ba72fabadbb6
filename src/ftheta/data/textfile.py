"""Text from a file, as one string of Unicode characters.

Reference: The Unicode Standard, section 3.9 (UTF-8).
"""

from __future__ import annotations

from pathlib import Path

from ..errors import FileFormatError
from ..store.files import read_bytes
from .datasets import Dataset

__all__ = ["read_text"]


def read_text(path: str | Path) -> Dataset:
    """A text file in UTF-8 as a data set of kind text; `FileFormatError` with path and byte for any other.

    A byte-order mark is dropped, and the line ends of Windows become those of other systems; a note says so.
    """
    path = Path(path)
    text = _decode(path, read_bytes(path))
    plain = text.replace("\r\n", "\n")
    if not plain.strip():
        raise FileFormatError(f"{path}: the file holds no text ({len(text)} characters). Give another file.")
    size = f"{len(plain)} characters, {len(plain.splitlines())} lines, {len(set(plain))} distinct characters"
    notes = (size,) if plain == text else (size, r"line ends \r\n were read as \n")
    return Dataset(path.stem, plain, None, (), (), "none", kind="text", notes=notes)


def _decode(path: Path, data: bytes) -> str:
    zero = data.find(b"\0")
    if zero >= 0:
        raise FileFormatError(f"{path} byte {zero}: a zero byte, so this is no text. Give a text file in UTF-8.")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{path} line {line}, byte {error.start}: not UTF-8 (0x{data[error.start]:02x}). Save it as UTF-8."
        ) from None
