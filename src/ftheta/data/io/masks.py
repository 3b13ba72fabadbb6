"""A class for every pixel: a folder of pictures beside a folder of masks.

    my_data/images/1.jpg, my_data/masks/1.png, ...      ->      x (n, C, H, W), y (n, H, W)

A mask is a PNG whose gray values, or numbers of a palette, are the classes; it has the size of its picture, and its
name but for the ending. It is brought to (H, W) as the picture is, by the nearest pixel: no class lies between two.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from ...errors import FileFormatError
from .picture import center_box, header, header_of, open_picture, printable
from .pictures import Listing, read_files

__all__ = ["IMAGES", "MASKS", "is_masked", "read_masks"]

IMAGES, MASKS = "images", "masks"
PLAIN = ("1", "L", "P")  # modes of one number per pixel
NEAREST = 0  # of Pillow


def is_masked(path: Path) -> bool:
    """Whether a folder holds a folder of images and one of masks, and no other."""
    with suppress(OSError):
        return {e.name for e in os.scandir(path) if e.is_dir() and not e.name.startswith(".")} == {IMAGES, MASKS}
    return False


def read_masks(
    listing: Listing,
    rows: np.ndarray,
    size: tuple[int, int],
    *,
    skip_bad: bool = False,
    say: Callable[[str], object] = lambda text: None,
) -> tuple[np.ndarray, dict[str, str]]:
    """Classes (m, H, W) uint8 of the pixels of these pictures, and what is wrong with those that are left out.

    Args:
        listing: The pictures, in a folder beside that of the masks.
        rows: Numbers of pictures, (n,).
        size: H and W.
        skip_bad: Whether pictures without a mask that fits are left out; else they are an error.
        say: Called with the progress, if that takes more than two seconds.
    """
    folder = listing.root.parent / MASKS
    files = {Path(name).stem: folder / name for name in sorted(os.listdir(folder))}

    def read(name: str) -> np.ndarray:
        return _mask(files.get(Path(name).stem), listing.root / name, size)

    found, bad = read_files(listing, rows.tolist(), read, "masks", skip_bad, say)
    return np.array([*found.values()], np.uint8).reshape(-1, *size), bad


def _mask(file: Path | None, picture: Path, size: tuple[int, int]) -> np.ndarray:
    """The classes of the pixels of one picture: (H, W)."""
    from PIL.Image import fromarray

    if file is None:
        raise FileFormatError(f"{printable(picture)}: no mask of this name in {MASKS}. Add it, or move the picture.")
    with open_picture(file) as mask:
        if mask.format != "PNG" or mask.mode not in PLAIN:
            raise FileFormatError(
                f"{printable(file)}: a {mask.format} of mode {mask.mode}. A mask holds the number of a class in each "
                "pixel; save it as a gray PNG, or one with a palette."
            )
        (w, h), own = header_of(mask, file).size, header(picture).size
        if (w, h) != own:
            raise FileFormatError(
                f"{printable(file)}: {w}x{h} pixels, its picture has {own[0]}x{own[1]}. Bring both to one size."
            )
        plain, (height, width) = np.asarray(mask).astype(np.uint8), size  # of a palette its numbers
    if plain.shape == size:
        return plain
    box = center_box(own, width / height)
    return np.asarray(fromarray(plain).resize((width, height), NEAREST, box=box))  # pyright: ignore[reportArgumentType]
