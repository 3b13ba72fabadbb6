"""Pictures that stay in their files until they are asked for.

    Pictures: n files, (n, C, H, W) uint8 when decoded;      x[rows] are Pictures, np.asarray(x[rows]) decodes them

A folder of 200,000 pictures is held as their names, sizes and times. What is decoded is kept in a cache on disk.
Shapes: n pictures, channels C = 1 or 3, height H, width W.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from math import prod
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..errors import FileFormatError, InputError
from ._decode import decode
from ._picture_cache import LIMIT, PictureCache, key_of

__all__ = ["Pictures"]

ADVICE = "Or leave bad files out: skip_bad=True, on the command line --skip-bad."
WAIT = 2.0  # seconds after which progress is told
T = TypeVar("T")
RULES = 1  # a number for the rules of _decode; the cache of others is not used


class Listing(NamedTuple):
    """The files of a folder."""

    root: Path
    names: list[str]
    """Below the root, e.g. "cat/1.png"."""
    sizes: np.ndarray
    times: np.ndarray
    """Of the last change of the content, in nanoseconds, as the file says."""
    changed: np.ndarray | None = None
    """Of the last change of any kind, which no program can set."""


def each(
    listing: Listing,
    rows: Iterable[int],
    read: Callable[[str], T],
    what: str,
    skip_bad: bool,
    say: Callable[[str], object],
) -> tuple[dict[str, T], dict[str, str]]:
    """What is read of some files by name, and what is wrong with the others of them; `what` is named in progress."""
    found, bad, last = {}, {}, monotonic() + WAIT
    for i in rows:
        name = listing.names[i]
        try:
            found[name] = read(name)
        except FileFormatError as error:
            if not skip_bad:
                raise FileFormatError(f"{error} {ADVICE}") from None
            bad[name] = str(error)
        if monotonic() > last:
            last = monotonic() + WAIT
            say(f"{len(found) + len(bad):,} of {len(listing.names):,} {what} read")
    return found, bad


class Pictures:
    """Pictures in files, decoded when they are asked for: an array (n, C, H, W) of uint8 that takes no memory.

    A slice, an array of row numbers or a mask gives Pictures of those rows, one row number a decoded picture (C, H, W).

    Args:
        listing: The files, which subsets share.
        index: Rows: numbers of files, (n,).
        size: H and W.
        channels: 1 or 3.
        skip_bad: Whether a source leaves out what cannot be decoded; else that is an error.
        cache: Whether decoded pictures are kept in the user's cache folder, or how many bytes it may take.
    """

    dtype = np.dtype(np.uint8)
    ndim = 4

    def __init__(
        self,
        listing: Listing,
        index: np.ndarray,
        size: tuple[int, int],
        channels: int,
        *,
        skip_bad: bool = False,
        cache: bool | int = True,
    ) -> None:
        self.listing, self.index, self.skip_bad, self.cache = listing, index, skip_bad, cache
        self.bad: dict[str, str] = {}
        """File -> why it cannot be decoded, of all that were left out so far; subsets share it."""
        self._picture = (channels, *size)

    def __repr__(self) -> str:
        return f"Pictures({self.listing.root}, {' x '.join(map(str, self.shape))})"

    def __len__(self) -> int:
        return len(self.index)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """n, C, H, W."""
        return (len(self), *self._picture)

    @property
    def paths(self) -> list[Path]:
        """Files, one a row."""
        return [self.listing.root / self.listing.names[i] for i in self.index.tolist()]

    def __getitem__(self, rows: Any) -> Any:
        rows = rows[0] if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis else rows
        try:
            index = self.index[np.asarray(rows) if isinstance(rows, list) and rows else rows]
        except IndexError as error:
            raise IndexError(f"{rows!r} of {len(self)} pictures: {error}") from None
        if np.ndim(index) > 1:
            raise InputError(f"Pictures are taken by one row number, a slice, or an array (m,); got {rows!r}.")
        one = np.ndim(index) == 0
        taken = Pictures(
            self.listing,
            np.atleast_1d(index),
            self._picture[1:],
            self._picture[0],
            skip_bad=self.skip_bad,
            cache=self.cache,
        )
        taken.bad = self.bad
        return np.asarray(taken)[0] if one else taken

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        x = np.empty(self.shape, np.uint8)
        with self.reader() as reader:
            for row in range(len(self)):
                x[row] = reader.picture(row)
        return x if dtype is None else x.astype(dtype, copy=False)

    def usable(self) -> np.ndarray:
        """Numbers of the rows that can be decoded, (m,); the others are in `bad` afterwards."""
        with self.reader() as reader:
            return np.array([row for row in range(len(self)) if reader.attempt(row) is not None], np.int64)

    def digest(self) -> str:
        """SHA-256 of shape, names, sizes and times of the rows; the files are not read."""
        names, index = self.listing.names, self.index
        found = sha256(repr((self.shape, [names[i] for i in index.tolist()])).encode("utf-8", "surrogateescape"))
        found.update(self.listing.sizes[index].tobytes() + self.listing.times[index].tobytes())
        return found.hexdigest()

    @contextmanager
    def reader(self, cache: bool | int | None = None) -> Iterator[Reader]:
        """What decodes, with the cache open; for one thread."""
        limit = self.cache if cache is None else cache
        reader = Reader(self, LIMIT if limit is True else int(limit))
        try:
            yield reader
        finally:
            reader.cache.close()


class Reader:
    """Decodes the rows of Pictures, from the cache where they are in it."""

    def __init__(self, pictures: Pictures, limit: int) -> None:
        import PIL

        listing, shape = pictures.listing, pictures.shape[1:]
        about = f"{listing.root}\0{shape}\0{RULES}\0{PIL.__version__}"
        self.pictures, self.listing, self.shape = pictures, listing, shape
        self.index, self.names, self.root = pictures.index, listing.names, f"{listing.root}{os.sep}"
        self.times = [times for times in (listing.times, listing.changed) if times is not None]
        self.cache = PictureCache(about, len(listing.names), prod(shape), limit)

    def picture(self, row: int) -> np.ndarray:
        """One picture (C, H, W), or one sentence of what is wrong with its file."""
        i = int(self.index[row])
        name = self.names[i]
        key = key_of(name, int(self.listing.sizes[i]), *(int(times[i]) for times in self.times))
        if (known := self.cache.get(i, key)) is not None:
            return np.frombuffer(known, np.uint8).reshape(self.shape)
        found = decode(self.root + name, self.shape[1:], self.shape[0])
        self.cache.put(i, key, found.tobytes())
        return found

    def attempt(self, row: int) -> np.ndarray | None:
        """One picture, or None and an entry in `bad`."""
        name = self.names[self.index[row]]
        if name in self.pictures.bad:
            return None
        try:
            return self.picture(row)
        except FileFormatError as error:
            self.pictures.bad[name] = str(error)
            return None

    def read(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pictures (m, C, H, W) and their rows (m,), without those that are bad where these are skipped."""
        x, kept = np.empty((len(rows), *self.shape), np.uint8), []
        for row in rows.tolist():
            if (found := self.attempt(row)) is not None:
                x[len(kept)] = found
                kept.append(row)
            elif not self.pictures.skip_bad:
                raise FileFormatError(f"{self.pictures.bad.pop(self.names[self.index[row]])} {ADVICE}")
        return x[: len(kept)], np.array(kept, np.int64)
