"""Decoded pictures on disk, so that later epochs only read bytes.

    record i of a file = key (8 bytes) | CRC-32 of key and pixels (4) | pixels (C·H·W),    key = hash(name, size, times)

One file for a folder of pictures and a shape. A record is believed only if its key and its checksum fit: a picture that
was changed, a hole, a half-written record and one that two processes wrote at once are all misses. Files that were used
least recently go when all together pass the bound. Whatever fails here (a full disk, no permission), training goes on
without.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from zlib import crc32

from .real import cache_folder

__all__ = ["LIMIT", "PictureCache", "key_of"]

LIMIT = 1 << 32  # bytes of all files together
HEAD = 12
SUFFIX = ".pixels"


def key_of(name: str, size: int, *times: int) -> bytes:
    """Eight bytes that change with the file."""
    return blake2b(f"{name}\0{size}\0{times}".encode("utf-8", "surrogateescape"), digest_size=8).digest()


class PictureCache:
    """The records of one folder of pictures.

    Args:
        about: What the pixels depend on beside the files: the folder and the shape, as text.
        records: Pictures in the folder.
        size: Bytes of one decoded picture.
        limit: Bytes that all files of the cache may take; 0 switches it off.
    """

    def __init__(self, about: str, records: int, size: int, limit: int = LIMIT) -> None:
        self.step, self.writing = HEAD + size, False
        self.records, self._handle = 0, None
        if limit >= self.step:
            name = blake2b(about.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest() + SUFFIX
            with suppress(OSError, RuntimeError):  # RuntimeError: there is no home
                self._open(cache_folder() / "pictures" / name, records, limit)

    def _open(self, path: Path, records: int, limit: int) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._handle = os.open(path, flags, 0o600)
        os.utime(path)
        there = os.fstat(self._handle).st_size
        room = min(limit, there + shutil.disk_usage(path.parent).free // 2)
        wanted = min(records, room // self.step) * self.step
        if there < wanted:
            _evict(path, limit - wanted)
            os.truncate(self._handle if os.truncate in os.supports_fd else path, wanted)
        self.records, self.writing = max(there, wanted) // self.step, True

    def get(self, i: int, key: bytes) -> bytes | None:
        """The pixels of picture i, None where they are not known."""
        if self._handle is None or i >= self.records:
            return None
        try:
            os.lseek(self._handle, i * self.step, os.SEEK_SET)
            record = os.read(self._handle, self.step)
        except OSError:
            return None
        whole = len(record) == self.step and record[:8] == key
        return record[HEAD:] if whole and record[8:HEAD] == _sum(key, record[HEAD:]) else None

    def put(self, i: int, key: bytes, pixels: bytes) -> None:
        """Keep the pixels of picture i; after a first failure nothing more is written."""
        if self._handle is None or i >= self.records or not self.writing:
            return
        try:
            os.lseek(self._handle, i * self.step, os.SEEK_SET)
            self.writing = os.write(self._handle, key + _sum(key, pixels) + pixels) == self.step
        except OSError:
            self.writing = False

    def close(self) -> None:
        """Let the file go."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)


def _sum(key: bytes, pixels: bytes) -> bytes:
    return crc32(pixels, crc32(key)).to_bytes(4, "little")


def _evict(keep: Path, room: int) -> None:
    """Remove the files used least recently until the others take at most `room` bytes."""
    others = [entry for entry in os.scandir(keep.parent) if entry.name.endswith(SUFFIX) and entry.name != keep.name]
    found = sorted(((entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in others), reverse=True)
    for _, size, path in found:
        room -= size
        if room < 0:
            with suppress(OSError):  # another process has it open, on Windows
                os.unlink(path)
