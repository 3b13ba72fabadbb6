"""The bytes of a file as they are to be read: unpacked where gzip packed them, UTF-16 as UTF-8."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ...errors import FileFormatError
from ...store.files import read_bytes, readable

__all__ = ["BLOCK", "Content", "content_of", "first_bytes", "reject_bomb", "unpacked"]

BLOCK = 2**22  # bytes read at once
MAX_RATIO, ALWAYS = 200, 16 << 20  # packed bytes may grow by this factor, or to this size


class Content(NamedTuple):
    """A file of text: on disk, or in memory if it had to be unpacked."""

    path: Path
    data: bytes | None = None

    def open(self) -> BinaryIO:
        return self.path.open("rb") if self.data is None else io.BytesIO(self.data)

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.data is None else len(self.data)

    def read(self) -> bytes:
        return read_bytes(self.path) if self.data is None else self.data

    def blocks(self) -> Iterator[bytes]:
        with self.open() as stream:
            while block := stream.read(BLOCK):
                yield block


def first_bytes(path: Path, n: int) -> bytes:
    """The beginning of a file."""
    if not path.exists():
        raise FileFormatError(f"{path}: no such file. Check the path; the working folder is {Path.cwd()}.")
    if not path.is_file():
        raise FileFormatError(f"{path}: a folder or a device, not a file. Use the path of a data file.")
    try:
        with path.open("rb") as stream:
            return stream.read(n)
    except OSError as error:
        raise FileFormatError(f"{path}: cannot be read ({error.strerror}). Check its permissions.") from None


def content_of(path: Path) -> Content:
    """The text of a file, in UTF-8 or an encoding of one byte per character."""
    head = first_bytes(path, 2)
    if head not in (b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff"):
        return Content(path)
    data = read_bytes(path)
    data = unpacked(path, data) if head == b"\x1f\x8b" else data
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            data = data.decode("utf-16").encode()
        except UnicodeError as error:
            raise FileFormatError(f"{path}: not UTF-16 text ({error}). Save it as UTF-8.") from None
    return Content(path, data)


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
    """Raise where a small file would fill the memory."""
    if size > max(always, ratio * packed):
        raise FileFormatError(
            f"{path} would unpack {readable(packed)} to {readable(size)} or more, over {ratio} times as much, which "
            "looks like a decompression bomb. Unpack it yourself if you trust it."
        )
