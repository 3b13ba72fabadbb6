"""Pictures from a folder that holds a folder for each class, or a folder of pictures beside one of masks.

    pictures/cat/1.png, pictures/cat/2.png, pictures/dog/1.jpg, ...   ->   x, y (n,) "cat" or "dog"
    my_data/images/1.jpg, my_data/masks/1.png, ...                    ->   x, y (n, H, W), a class for every pixel
    read_images: x (n, H·W·C) uint8 in memory             open_images: x (n, C, H, W), decoded when it is needed

Some headers are looked at, and every picture is brought to the most common size (see `picture`). A mask is a PNG whose
gray values, or numbers of a palette, are the classes; it has the size of its picture, and its name but for the ending.
Shapes: n pictures, height H, width W, channels C = 3 for RGB, 1 for gray, where `read_images` has no axis of channels.
"""

import os
import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from pathlib import Path
from time import monotonic

import numpy as np

from ...errors import FileFormatError, InputError
from ..datasets import Dataset
from . import pictures
from .dataset import labeled
from .files import reject_bomb
from .pictures import Header, Listing, Pictures, Say, printable, read_files

MAX_RATIO, ALWAYS = 200, 64 << 20  # all pixels may take so many times the bytes of the files, and so many in any case
LOOK = 500  # headers that are read when a folder is opened
IMAGES, MASKS = "images", "masks"
MASK_MODES = ("1", "L", "P")  # of one number per pixel
NEAREST = 0  # of Pillow: no class lies between two


def read_images(path: str | Path, *, required: bool = True) -> Dataset:
    """PNG and JPEG pictures in memory as rows (n, H·W·C), brought to the most common size.

    Args:
        path: A folder with a folder of pictures for each class.
        required: Whether there must be classes; if not, pictures in the folder itself are read, and `y` is None.
    """
    if _is_masked(Path(path)):
        raise FileFormatError(f"{path}: {IMAGES} and {MASKS}, a class for every pixel. Use a model for that: unet.")
    found = open_images(path, required=required)
    listing = found.x.listing
    reject_bomb(listing.root, found.rows * prod(found.shape), int(listing.sizes.sum()), MAX_RATIO, ALWAYS)
    with warnings.catch_warnings(action="ignore"):
        x = np.asarray(found.x).transpose(0, 2, 3, 1).reshape(found.rows, -1)
    return replace(found, x=x)


def open_images(
    path: str | Path,
    *,
    size: tuple[int, int] | None = None,
    max_side: int | None = None,
    channels: int | None = None,
    skip_bad: bool = False,
    required: bool = True,
    say: Say = lambda text: None,
) -> Dataset:
    """PNG and JPEG pictures that are decoded when they are needed; `x` is `Pictures`, (n, C, H, W).

    A folder that holds `images` and `masks`, and no other folder, has a class for every pixel.

    Args:
        path: A folder with a folder of pictures for each class.
        size: H and W that every picture is brought to; None: the most common of those looked at.
        max_side: Where `size` is None, the longer side of that is at most so many pixels.
        channels: 1 for gray, 3 for RGB; None: 1 if all that were looked at are gray, else 3.
        skip_bad: Whether files that cannot be decoded are left out: all are decoded now; otherwise they are an error.
        required: Whether there must be classes; else pictures that lie in the folder itself are taken, and `y` is None.
        say: Called with the progress if that takes more than two seconds.
    """
    _check_wanted(size, channels)
    path, masked = Path(path), _is_masked(Path(path))
    listing, y, notes = _scan(path / IMAGES if masked else path, required and not masked, say)
    n = len(listing.names)
    look = range(n) if skip_bad else sorted(set(np.linspace(0, n - 1, LOOK).astype(int).tolist()))
    with warnings.catch_warnings(action="ignore"):
        path_of = f"{listing.root}{os.sep}{{}}".format
        headers, bad = read_files(listing, look, lambda name: pictures.header(path_of(name)), "headers", skip_bad, say)
    if not headers:
        raise FileFormatError(f"{listing.root}: none of the {n} files is a PNG or JPEG picture. Check the folder.")
    width, height = size[::-1] if size else Counter(h.size for h in headers.values()).most_common(1)[0][0]
    if size is None and max_side is not None and max(width, height) > max_side:
        width, height = (max(1, round(side * max_side / max(width, height))) for side in (width, height))
    channels = channels or (1 if all(h.mode in pictures.GREY for h in headers.values()) else 3)
    keep = np.array([i for i, name in enumerate(listing.names) if name not in bad])
    if masked:
        y, lost = _read_masks(listing, keep, (height, width), skip_bad, say)
        keep, bad = np.array([i for i in keep if listing.names[i] not in lost], int), bad | lost
        if not len(keep):
            raise FileFormatError(f"{path}: no picture has a mask that fits, e.g. {next(iter(lost.values()))}")
    elif y is not None:
        y = y[keep]
    x = Pictures(listing, keep, (height, width), channels, skip_bad=skip_bad)
    x.bad = bad
    if skip_bad:
        good = x.usable()
        x, y = x[good], None if y is None else y[good]
        if not len(good):
            raise FileFormatError(f"{listing.root}: none of the {n} pictures can be decoded. Check the folder.")
    notes += _changes(headers.values(), (width, height), channels)
    if bad:
        notes.append(f"left out as bad: {len(bad)} files, e.g. {next(iter(bad.values()))}")
    shape = (height, width) if channels == 1 else (height, width, 3)
    return labeled(path.resolve().name, x, y, (), notes, kind="image", shape=shape)


def read_picture(path: str | Path, shape: Sequence[int], channels: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """One picture of H, W = `shape` as a net takes it, (C, H, W) uint8, and what had to be done to it."""
    height, width = shape
    _check_wanted((height, width), channels)
    with warnings.catch_warnings(action="ignore"), pictures.open_picture(path) as picture:
        about = pictures.header_of(picture, path)
        x = np.ascontiguousarray(pictures.pixels(picture, path, (height, width), channels))
    return x, tuple(_changes_of_one(about, (width, height), channels))


def _scan(path: Path, required: bool, say: Say) -> tuple[Listing, np.ndarray | None, list[str]]:
    """The files in sorted order, their classes, and what was left out."""
    if not path.is_dir():
        raise FileFormatError(f"{path}: not a folder. Use a folder that holds one folder of pictures per class.")
    skipped: list[str] = []
    folders = [entry.name for entry in _entries(path, skipped, folders=True)]
    flat = not folders and not required
    if flat:
        skipped.clear()  # no files without a class: all have none
    for folder in folders:
        if (shown := printable(folder)) != folder:
            raise FileFormatError(f"{path}/{shown}: the name of this class is not UTF-8 text. Rename the folder.")
    begin, found, y, empty = monotonic(), [], [], []
    for folder in [""] if flat else folders:
        before = len(found)
        for entry in _entries(path / folder, skipped):
            with suppress(FileNotFoundError):  # gone since it was listed
                about = entry.stat(follow_symlinks=False)
                name = f"{folder}/{entry.name}" if folder else entry.name
                found.append((name, about.st_size, about.st_mtime_ns))
        y += [folder] * (len(found) - before)
        empty += [folder] if len(found) == before else []
        if monotonic() - begin > pictures.WAIT:
            say(f"{len(found):,} files found")
    if not found:
        advice = "Put those of each class into a folder named like it."
        raise FileFormatError(f"{path}: no pictures in folders of their classes. {advice}")
    names, *numbers = zip(*found, strict=True)
    listing = Listing(path.resolve(), list(names), *(np.array(column, np.int64) for column in numbers))
    notes = [f"no class of its own: {len(empty)} folders without pictures, e.g. {empty[0]}"] if empty else []
    if skipped:
        what = f"left out: {len(skipped)} links, hidden files or files that are not in a folder of a class"
        notes.insert(0, f"{what}, e.g. {printable(Path(skipped[0]).relative_to(path))}")
    return listing, None if flat else np.array(y), notes


def _entries(folder: Path, skipped: list[str], *, folders: bool = False) -> list[os.DirEntry[str]]:
    """Folders or files in sorted order; what is hidden, a link or of the other kind goes to `skipped`."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise FileFormatError(f"{folder}: cannot be read ({error.strerror}). Check its permissions.") from None
    fits = os.DirEntry.is_dir if folders else os.DirEntry.is_file
    good = [fits(entry, follow_symlinks=False) and not entry.name.startswith(".") for entry in found]
    skipped += [entry.path for entry, fine in zip(found, good, strict=True) if not fine]
    return [entry for entry, fine in zip(found, good, strict=True) if fine]


def _changes(headers: Collection[Header], size: tuple[int, int], channels: int) -> list[str]:
    """What has to be done to pictures of other sizes and modes; sizes are W, H."""
    notes, of = [], f" of the {len(headers)} looked at"
    if other := sum(header.size != size for header in headers):
        notes.append(f"resized to {size[0]}x{size[1]}, the middle where the sides have another ratio: {other}{of}")
    modes, mode = Counter(header.mode for header in headers), pictures.MODES[channels]
    if odd := [f"{n} of mode {name}" for name, n in sorted(modes.items()) if name != mode]:
        notes.append(f"converted to {mode}: {', '.join(odd)}{of}")
    return notes


def _changes_of_one(found: Header, size: tuple[int, int], channels: int) -> list[str]:
    (w, h), (width, height) = found.size, size
    cut = "" if w * height == h * width else ", the middle of it, since the sides have another ratio"
    changes = {
        "turned as its EXIF entry says": found.turn > 1,
        "reduced from 16 bits to 8": found.mode.startswith("I"),
        "transparent parts became white": found.transparent,
        "colors became gray": channels == 1 and found.mode not in pictures.GREY,
        "gray became RGB of three equal channels": channels == 3 and found.mode in pictures.GREY,
        f"resized from {w}x{h} to {width}x{height}{cut}": found.size != size,
    }
    return [text for text, holds in changes.items() if holds]


def _check_wanted(size: Sequence[int] | None, channels: int | None) -> None:
    if size is not None and not (len(size) == 2 and min(size) >= 1 and prod(size) <= pictures.MAX_PIXELS):
        most = pictures.MAX_PIXELS
        raise InputError(f"size is {size}; (H, W) with at least 1 and together at most {most} pixels is needed.")
    if channels not in (None, 1, 3):
        raise InputError(f"channels is {channels!r}; 1 for gray or 3 for RGB is needed.")


def _is_masked(path: Path) -> bool:
    """Whether a folder holds a folder of images and one of masks, and no other."""
    with suppress(OSError):
        return {e.name for e in os.scandir(path) if e.is_dir() and not e.name.startswith(".")} == {IMAGES, MASKS}
    return False


def _read_masks(
    listing: Listing, rows: np.ndarray, size: tuple[int, int], skip_bad: bool, say: Say
) -> tuple[np.ndarray, dict[str, str]]:
    """Classes (m, H, W) uint8 of the pixels of these pictures, and what is wrong with those that are left out."""
    folder = listing.root.parent / MASKS
    files = {Path(name).stem: folder / name for name in sorted(os.listdir(folder))}
    read = lambda name: _mask(files.get(Path(name).stem), listing.root / name, size)  # noqa: E731
    found, bad = read_files(listing, rows.tolist(), read, "masks", skip_bad, say)
    return np.array([*found.values()], np.uint8).reshape(-1, *size), bad


def _mask(file: Path | None, picture: Path, size: tuple[int, int]) -> np.ndarray:
    """The classes of the pixels of one picture: (H, W)."""
    from PIL.Image import fromarray

    if file is None:
        raise FileFormatError(f"{printable(picture)}: no mask of this name in {MASKS}. Add it, or move the picture.")
    with pictures.open_picture(file) as mask:
        if mask.format != "PNG" or mask.mode not in MASK_MODES:
            advice = "A mask holds the number of a class in each pixel; save it as a gray PNG, or one with a palette."
            raise FileFormatError(f"{printable(file)}: a {mask.format} of mode {mask.mode}. {advice}")
        (w, h), own = pictures.header_of(mask, file).size, pictures.header(picture).size
        if (w, h) != own:
            sizes = f"{w}x{h} pixels, its picture has {own[0]}x{own[1]}"
            raise FileFormatError(f"{printable(file)}: {sizes}. Bring both to one size.")
        plain, (height, width) = np.asarray(mask).astype(np.uint8), size  # of a palette its numbers
    if plain.shape == size:
        return plain
    box = pictures.center_box(own, width / height)
    return np.asarray(fromarray(plain).resize((width, height), NEAREST, box=box))  # pyright: ignore[reportArgumentType]
