"""One picture file as bytes, always by the same rules.

    turned as EXIF says -> 16 bits to 8 -> transparent parts over white -> gray or RGB -> the middle, resized to (H, W)

Of 16 bits the upper 8 are kept, as for colors by Pillow. Gray is 0.299 R + 0.587 G + 0.114 B. Where the sides have
another ratio, the largest part in the middle that has the right one is taken: nothing is distorted, and no border is
added. JPEG files far larger than (H, W) are decoded at a half, a quarter or an eighth of their size, except progressive
ones, which may be as large as a PNG.
Shapes: height H, width W, channels C = 1 for gray or 3 for RGB.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import FileFormatError

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
    if not isinstance(exif, bytes):  # a text may have this name, too
        return 1
    tiff = exif.removeprefix(b"Exif\0\0")
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None:
        return 1
    try:
        (start,) = struct.unpack_from(f"{order}I", tiff, 4)
        (count,) = struct.unpack_from(f"{order}H", tiff, start)
        entries = (struct.unpack_from(f"{order}HHIH", tiff, start + 2 + 12 * i) for i in range(count))
        return next((value for tag, _, _, value in entries if tag == ORIENTATION and value in _TURNS), 1)
    except struct.error:
        return 1


def _converted(picture: Image, mode: str) -> Image:
    picture.load()  # transparency may be stated after the pixels
    if picture.mode.startswith("I"):
        picture = _eight_bits(picture)
    if picture.has_transparency_data:
        return _over_white(picture, mode)
    return picture if picture.mode == mode else picture.convert(mode)


def _eight_bits(picture: Image) -> Image:
    from PIL.Image import fromarray

    deep = np.asarray(picture)
    upper = (deep >> 8).clip(0, 255).astype(np.uint8)
    upper[deep == picture.info.get("transparency", -1)] = 255  # one gray may stand for nothing
    return fromarray(upper)


def _over_white(picture: Image, mode: str) -> Image:
    from PIL.Image import new

    picture = picture if picture.mode == "RGBA" else picture.convert("RGBA")
    white = new("RGB", picture.size, "white")
    white.paste(picture, mask=picture)
    return white if mode == "RGB" else white.convert(mode)


def center_box(size: tuple[int, int], ratio: float) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the largest part in the middle with this ratio of width to height."""
    width, height = min(size[0], size[1] * ratio), min(size[1], size[0] / ratio)
    left, top = (size[0] - width) / 2, (size[1] - height) / 2
    return left, top, left + width, top + height
