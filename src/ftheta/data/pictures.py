"""Pictures from a folder that holds a folder for each class.

    pictures/cat/1.png, pictures/cat/2.png, pictures/dog/1.jpg, ...   ->   x (n, H·W·C) uint8, y (n,) "cat" or "dog"

Sizes are read from the headers of all files before the first is decoded. The kind of a file is told by its content.
Shapes: n pictures, height H, width W, channels C = 3 for RGB; grey pictures have no axis of channels.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import FileFormatError
from ..store.files import readable
from .datasets import Dataset
from .delimited import task_of

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["read_images"]

MAX_PIXELS = 1 << 24  # of one picture, e.g. 4096 x 4096
MAX_RATIO, ALWAYS = 200, 64 << 20  # all pixels may take so many times the bytes of the files, and so many in any case
GREY, COLOUR = ("1", "L"), ("RGB", "RGBA", "P", "LA", "PA", "CMYK", "YCbCr")


class _Header(NamedTuple):
    size: tuple[int, int]  # W, H
    mode: str
    bytes: int


def read_images(path: str | Path, *, required: bool = True) -> Dataset:
    """PNG and JPEG pictures of one size, with the names of their folders as classes, in sorted order.

    Args:
        path: A folder with a folder of pictures for each class.
        required: Whether there must be classes; else pictures that lie in the folder itself are read, and `y` is None.
    """
    path, skipped = Path(path), []
    if not path.is_dir():
        raise FileFormatError(f"{path}: not a folder. Give a folder that holds a folder of pictures for each class.")
    folders = _entries(path, skipped, folders=True)
    flat = not folders and not required
    files = _entries(path, []) if flat else [file for folder in folders for file in _entries(folder, skipped)]
    if not files:
        raise FileFormatError(
            f"{path}: no pictures in folders of their classes. Put those of each class into a folder named like it."
        )
    headers = {file: _header(file) for file in files}
    mode, notes = _common(headers)
    width, height = headers[files[0]].size
    shape = (height, width) if mode == "L" else (height, width, 3)
    _reject_total(path, headers, shape)
    x = np.empty((len(files), prod(shape)), np.uint8)
    for row, file in zip(x, files, strict=True):
        row[:] = _pixels(file, mode, shape)
    y = None if flat else np.array([file.parent.name for file in files])
    if skipped:
        notes.append(
            f"left out: {len(skipped)} links, hidden files or files that are not in a folder of a class, "
            f"e.g. {skipped[0].relative_to(path)}"
        )
    classes, task = ((), "none") if y is None else (tuple(map(str, np.unique(y))), task_of(y))
    return Dataset(path.resolve().name, x, y, (), classes, task, kind="image", shape=shape, notes=tuple(notes))


def _entries(folder: Path, skipped: list[Path], *, folders: bool = False) -> list[Path]:
    """Folders or files in sorted order; what is hidden, a link or of the other kind goes to `skipped`."""
    try:
        found = sorted(folder.iterdir())
    except OSError as error:
        raise FileFormatError(f"{folder}: cannot be read ({error.strerror}). Check its permissions.") from None
    fits = Path.is_dir if folders else Path.is_file
    good = [entry for entry in found if fits(entry) and not entry.is_symlink() and not entry.name.startswith(".")]
    skipped += [entry for entry in found if entry not in good]
    return good


@contextmanager
def _opened(file: Path) -> Iterator[Image]:
    """A picture of which only the header was read; whatever its decoder raises becomes one sentence."""
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise FileFormatError(f"{file}: pictures need Pillow. Install it: pip install 'ftheta[data]'") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(file, formats=("PNG", "JPEG")) as picture:
                yield picture
    except FileFormatError:
        raise
    except UnidentifiedImageError:
        raise FileFormatError(
            f"{file}: no PNG or JPEG picture, or a damaged one. Convert it, replace it or move it elsewhere."
        ) from None
    except Exception as error:  # decoders raise many kinds
        raise FileFormatError(f"{file}: a damaged picture ({error}). Replace it or remove it.") from None


def _header(file: Path) -> _Header:
    with _opened(file) as picture:
        size, mode = picture.size, picture.mode
    if prod(size) > MAX_PIXELS:
        raise FileFormatError(
            f"{file}: {size[0]}x{size[1]} pixels, at most {MAX_PIXELS} are read. Make the pictures smaller."
        )
    if mode not in GREY + COLOUR:
        raise FileFormatError(f"{file}: pixels of mode {mode}; 8 bits a channel are needed. Convert the picture.")
    return _Header(size, mode, file.stat().st_size)


def _common(headers: dict[Path, _Header]) -> tuple[str, list[str]]:
    """L if all pictures are grey, else RGB, and what has to be converted; all must have one size."""
    (first, start), *rest = headers.items()
    for file, header in rest:
        if header.size != start.size:
            sizes = f"{start.size[0]}x{start.size[1]}", f"{header.size[0]}x{header.size[1]}"
            raise FileFormatError(
                f"{file} has {sizes[1]} pixels, {first} has {sizes[0]}. Bring all pictures to one size first."
            )
    modes = Counter(header.mode for header in headers.values())
    mode = "L" if set(modes) <= set(GREY) else "RGB"
    other = [f"{n} of mode {name}" for name, n in sorted(modes.items()) if name != mode]
    return mode, [f"converted to {mode}: {', '.join(other)}"] if other else []


def _reject_total(path: Path, headers: dict[Path, _Header], shape: tuple[int, ...]) -> None:
    size, packed = len(headers) * prod(shape), sum(header.bytes for header in headers.values())
    if size > max(ALWAYS, MAX_RATIO * packed):
        raise FileFormatError(
            f"{path}: {readable(packed)} of files would become {readable(size)} of pixels, more than {MAX_RATIO} "
            "times as much, as pictures made to fill the memory do. Make them smaller."
        )


def _pixels(file: Path, mode: str, shape: tuple[int, ...]) -> Any:
    with _opened(file) as picture:
        pixels = np.asarray(picture.convert(mode))
    if pixels.shape != shape:
        raise FileFormatError(f"{file}: it was changed while it was read. Try again.")
    return pixels.reshape(-1)
