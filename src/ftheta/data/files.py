"""Data from files: what a file is, is told by its content, never by its name, and nothing is ever unpickled."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ._cells import Form
from ._kinds import kind_of
from .delimited import looks_like_table, read_csv

if TYPE_CHECKING:
    from .datasets import Dataset

__all__ = ["read"]


def read(
    path: str | Path,
    target: str | None = None,
    *,
    required: bool = True,
    encoding: str = "utf-8",
    form: Form | None = None,
) -> Dataset:
    """A data set from a file or a folder of images.

    Args:
        path: A CSV, Parquet, NPY, NPZ, IDX or text file, or a folder with a folder of images for each class.
        target: What is to be predicted: a column, an array of an NPZ file, or the file of labels beside an IDX file.
        required: Whether there must be a target; else `y` is None where it is missing.
        encoding: Of the characters of a CSV file.
        form: The `form` of the data set that the rows of a CSV file are to be read like.
    """
    path = Path(path)
    kind = kind_of(path)
    named = target is not None or path.suffix.lower() in (".csv", ".tsv")
    if kind == "characters" and (named or looks_like_table(path, encoding)):
        return read_csv(path, target, required=required, encoding=encoding, form=form)
    if kind == "parquet":
        from .parquet import read_parquet

        return read_parquet(path, target, required=required)
    if kind == "images":
        from .pictures import read_images

        return read_images(path, required=required)
    if kind == "characters":
        from .textfile import read_text

        return read_text(path)
    from .arrays import read_arrays, read_idx

    return (read_idx if kind == "idx" else read_arrays)(path, target or None, required=required)
