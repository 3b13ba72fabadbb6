"""Pictures that stay in their files until they are needed; each is decoded by the same rules.

    turned as EXIF says -> 16 bits to 8 -> transparent parts over white -> gray or RGB -> the middle, resized to (H, W)

Of 16 bits the upper 8 are kept, as for colors by Pillow. Gray is 0.299 R + 0.587 G + 0.114 B. Where the sides have
another ratio, the largest part in the middle that has the right one is taken. JPEG files far larger than (H, W) are
decoded at a half, a quarter or an eighth of their size, except progressive ones.
A folder of 200,000 pictures is held as their names, sizes and times. What was decoded is kept in memory where all of it
would take at most a quarter of what is free.
Shapes: n pictures, channels C = 1 for gray or 3 for RGB, height H, width W.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from hashlib import sha256
from io import BytesIO
from math import prod
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from ...check import free_memory
from ...errors import FileFormatError, InputError

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 1 << 24  # of one picture, e.g. 4096 x 4096
MODES = {1: "L", 3: "RGB"}
GREY = ("1", "L", "LA", "La", "I", "I;16", "I;16B", "I;16L")
COLOUR = ("RGB", "RGBA", "RGBa", "P", "PA", "CMYK", "YCbCr")
SMALL = 1 << 16  # bytes of a file that is read at once: cheaper than a stream
BILINEAR = 2  # of Pillow, with the window widened where a picture shrinks
ORIENTATION = 0x0112  # the tag of EXIF
_TURNS = {2: "FLIP_LEFT_RIGHT", 3: "ROTATE_180", 4: "FLIP_TOP_BOTTOM", 5: "TRANSPOSE"}
_TURNS |= {6: "ROTATE_270", 7: "TRANSVERSE", 8: "ROTATE_90"}


class Header(NamedTuple):
    """What is known of a picture before it is decoded."""

    size: tuple[int, int]  # W, H as it is looked at
    mode: str
    turn: int  # as in EXIF: 1 where it lies as it is looked at, else 2 to 8
    transparent: bool


@contextmanager
def open_picture(file: str | Path) -> Iterator[Image]:
    """A picture of which only the header was read; whatever its decoder raises becomes one sentence."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise _error(file, "pictures need Pillow. Install it: pip install 'ftheta[data]'") from None
    try:
        with Image.open(_content(file), formats=("PNG", "JPEG")) as picture:
            yield picture
    except FileFormatError:
        raise
    except UnidentifiedImageError:
        what = "not a PNG or JPEG picture, or a damaged one. Convert it, replace it or remove it."
        raise _error(file, what) from None
    except Image.DecompressionBombError:  # what Pillow does not even open
        raise _error(file, f"too many pixels, at most {MAX_PIXELS} are read. Make it smaller.") from None
    except Exception as error:  # decoders raise many kinds
        if why := getattr(error, "strerror", None):
            raise _error(file, f"cannot be read ({why}). Check path and permissions.") from None
        why = str(error) or type(error).__name__
        raise _error(file, f"a damaged picture ({why}). Replace it or remove it.") from None


def _error(file: str | Path, what: str) -> FileFormatError:
    return FileFormatError(f"{printable(file)}: {what}")


def printable(file: str | Path) -> str:
    """A path as text that can be printed and kept, also where its bytes are not UTF-8."""
    return str(file).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _content(file: str | Path) -> BytesIO | str | Path:
    """The bytes of a small file, else its path; a pipe that nobody fills is empty."""
    handle = os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        content = os.read(handle, SMALL + 1)
    finally:
        os.close(handle)
    return BytesIO(content) if len(content) <= SMALL else file


def header(file: str | Path) -> Header:
    """Size and mode of a picture in a file, which is not decoded."""
    with open_picture(file) as picture:
        return header_of(picture, file)


def header_of(picture: Image, file: str | Path) -> Header:
    """Size and mode of an opened picture."""
    if picture.mode not in GREY + COLOUR:
        raise _error(file, f"pixels of mode {picture.mode}, which is not known here. Convert it to RGB.")
    _reject_large(picture, file)
    turn, (width, height) = _turn(picture), picture.size
    size = (height, width) if turn > 4 else (width, height)
    return Header(size, picture.mode, turn, picture.has_transparency_data)


def _reject_large(picture: Image, file: str | Path, *, drafted: bool = False) -> None:
    """Refuse what would fill the memory; before it is drafted, only what cannot be decoded at an eighth of its size."""
    complete = drafted or picture.format == "PNG" or "progressive" in picture.info
    if complete and prod(picture.size) > MAX_PIXELS:
        width, height = picture.size
        raise _error(file, f"{width}x{height} pixels, at most {MAX_PIXELS} are read. Make the pictures smaller.")


def decode(file: str | Path, size: tuple[int, int], channels: int) -> np.ndarray:
    """The picture of a file: (C, H, W) uint8, a view of (H, W, C)."""
    with open_picture(file) as picture:
        return pixels(picture, file, size, channels)


def pixels(picture: Image, file: str | Path, size: tuple[int, int], channels: int) -> np.ndarray:
    """An opened picture of any size and mode: (C, H, W) uint8, a view of (H, W, C)."""
    from PIL.Image import Transpose

    _reject_large(picture, file)
    (height, width), turn = size, _turn(picture)
    picture.draft(None, (height, width) if turn > 4 else (width, height))  # pyright: ignore[reportArgumentType]
    _reject_large(picture, file, drafted=True)
    turned = picture if turn == 1 else picture.transpose(Transpose[_TURNS[turn]])
    plain = _converted(turned, MODES[channels])
    if plain.size != (width, height):
        box = center_box(plain.size, width / height)
        plain = plain.resize((width, height), BILINEAR, box=box)  # pyright: ignore[reportArgumentType]
    return np.frombuffer(plain.tobytes(), np.uint8).reshape(height, width, channels).transpose(2, 0, 1)


def _turn(picture: Image) -> int:
    """How the picture is to be turned, 1 to 8: read here, because Pillow warns of damaged EXIF from any thread."""
    exif = picture.info.get("exif")
    tiff = exif.removeprefix(b"Exif\0\0") if isinstance(exif, bytes) else b""  # a text may have this name, too
    if not (order := {b"II": "<", b"MM": ">"}.get(tiff[:2])):
        return 1
    try:
        (start,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, start)
        entries = (struct.unpack_from(f"{order}HHIH", tiff, start + 2 + 12 * i) for i in range(count))
        return next((value for tag, _, _, value in entries if tag == ORIENTATION and value in _TURNS), 1)
    except struct.error:
        return 1


def _converted(picture: Image, mode: str) -> Image:
    """Of 16 bits the upper 8, over white, in this mode."""
    from PIL.Image import fromarray, new

    picture.load()  # transparency may be stated after the pixels
    if picture.mode.startswith("I"):
        deep = np.asarray(picture)
        upper = (deep >> 8).clip(0, 255).astype(np.uint8)
        upper[deep == picture.info.get("transparency", -1)] = 255  # one gray may stand for nothing
        picture = fromarray(upper)
    if picture.has_transparency_data:
        clear, picture = picture.convert("RGBA"), new("RGB", picture.size, "white")
        picture.paste(clear, mask=clear)
    return picture if picture.mode == mode else picture.convert(mode)


def center_box(size: tuple[int, int], ratio: float) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the largest part in the middle with this ratio of width to height."""
    width, height = min(size[0], size[1] * ratio), min(size[1], size[0] / ratio)
    left, top = (size[0] - width) / 2, (size[1] - height) / 2
    return left, top, left + width, top + height


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
