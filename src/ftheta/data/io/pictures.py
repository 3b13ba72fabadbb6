"""Pictures that stay in their files until they are needed.

    Pictures: n files, (n, C, H, W) uint8 when decoded;      x[rows] are Pictures, np.asarray(x[rows]) decodes them

A folder of 200,000 pictures is held as their names, sizes and times. What was decoded is kept in memory where all of it
would take at most a quarter of what is free.
Shapes: n pictures, channels C = 1 or 3, height H, width W.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from copy import copy
from hashlib import sha256
from math import prod
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ...check import free_memory
from ...errors import FileFormatError, InputError
from .picture import decode

ADVICE = "Or leave bad files out: skip_bad=True, on the command line --skip-bad."
WAIT = 2.0  # seconds after which progress is reported
ALWAYS = 1 << 26  # bytes of decoded pictures that are kept whatever is free
Say = Callable[[str], object]
T = TypeVar("T")


class Listing(NamedTuple):
    """The files of a folder."""

    root: Path
    names: list[str]  # below the root, e.g. "cat/1.png"
    sizes: np.ndarray
    times: np.ndarray  # of the last change of the content, in nanoseconds


def read_files(
    listing: Listing, rows: Iterable[int], read: Callable[[str], T], what: str, skip_bad: bool, say: Say
) -> tuple[dict[str, T], dict[str, str]]:
    """What is read from some files by name, and what is wrong with the others."""
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
    """Pictures in files, decoded when they are needed: like an array (n, C, H, W) of uint8.

    A slice, an array of row numbers or a mask gives Pictures of those rows; one row number a decoded picture (C, H, W).
    """

    dtype = np.dtype(np.uint8)
    ndim = 4

    def __init__(
        self, listing: Listing, index: np.ndarray, size: tuple[int, int], channels: int, *, skip_bad: bool = False
    ) -> None:
        self.listing, self.index = listing, index  # all files, and the numbers of those that are rows, (n,)
        self.skip_bad = skip_bad  # whether files that cannot be decoded were left out
        self.bad: dict[str, str] = {}  # file -> why it cannot be decoded; subsets share it
        self._picture = (channels, *size)
        self._kept = _Kept(len(listing.names), self._picture)  # subsets share it

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
        """Files, one per row."""
        return [self.listing.root / self.listing.names[i] for i in self.index.tolist()]

    def __getitem__(self, rows: Any) -> Any:
        rows = rows[0] if isinstance(rows, tuple) and len(rows) == 2 and rows[1] is Ellipsis else rows
        try:
            index = self.index[np.asarray(rows) if isinstance(rows, list) and rows else rows]
        except IndexError as error:
            raise IndexError(f"{rows!r} of {len(self)} pictures: {error}") from None
        if np.ndim(index) > 1:
            raise InputError(f"Pictures are taken by one row number, a slice, or an array (m,); got {rows!r}.")
        taken = copy(self)
        taken.index = np.atleast_1d(index)
        return np.asarray(taken)[0] if np.ndim(index) == 0 else taken

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        x = np.empty(self.shape, np.uint8)
        for row, i in enumerate(self.index.tolist()):
            x[row] = self._decoded(i)
        return x if dtype is None else x.astype(dtype, copy=False)

    def _decoded(self, i: int) -> np.ndarray:
        found = self._kept.get(i)
        if found is None:
            channels, height, width = self._picture
            try:
                found = decode(f"{self.listing.root}{os.sep}{self.listing.names[i]}", (height, width), channels)
            except FileFormatError as error:
                raise FileFormatError(f"{error} {ADVICE}") from None
            self._kept.put(i, found)
        return found

    def usable(self) -> np.ndarray:
        """Numbers of the rows that can be decoded, (m,); the others are in `bad` afterwards."""
        good = []
        for row, i in enumerate(self.index.tolist()):
            try:
                self._decoded(i)
                good.append(row)
            except FileFormatError as error:
                self.bad[self.listing.names[i]] = str(error).removesuffix(f" {ADVICE}")
        return np.array(good, np.int64)

    def digest(self) -> str:
        """SHA-256 of shape, names, sizes and times of the rows; the files are not read."""
        names, index = self.listing.names, self.index
        found = sha256(repr((self.shape, [names[i] for i in index.tolist()])).encode("utf-8", "surrogateescape"))
        found.update(self.listing.sizes[index].tobytes() + self.listing.times[index].tobytes())
        return found.hexdigest()


class _Kept(dict[int, np.ndarray]):
    """Decoded pictures by number, if all of them fit; it stays behind when it is pickled."""

    def __init__(self, n: int, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.n, self.shape = n, shape
        self.fits: bool | None = None  # decided when the first is decoded

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.n, self.shape)

    def put(self, i: int, picture: np.ndarray) -> None:
        if self.fits is None:
            self.fits = self.n * prod(self.shape) <= max(ALWAYS, (free_memory() or 0) // 4)
        if self.fits:
            self[i] = picture
