"""Data from files: the content tells what a file is, never its name, and nothing is ever unpickled."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .csv import looks_like_table
from .formats import format_of
from .text import read_text

if TYPE_CHECKING:
    from ..datasets import Dataset
    from .cells import CsvFormat

__all__ = ["read"]

_READERS = {
    "csv": "csv:read_csv",
    "json": "tables:read_json",
    "excel": "tables:read_excel",
    "parquet": "tables:read_parquet",
    "arrays": "arrays:read_arrays",
    "idx": "arrays:read_idx",
    "images": "folders:read_images",
}


def read(
    path: str | Path,
    target: str | None = None,
    *,
    required: bool = True,
    encoding: str = "utf-8",
    csv_format: CsvFormat | None = None,
) -> Dataset:
    """A data set from a file or a folder of images.

    Args:
        path: A CSV, JSON, Excel, Parquet, NPY, NPZ, IDX or text file, or a folder with one folder per class.
        target: What is to be predicted: a column, an array of an NPZ file, or the file of labels beside an IDX file.
        required: Whether there must be a target; if not, `y` is None where it is missing.
        encoding: Of the characters of a CSV file.
        csv_format: The `csv_format` of the training data, for new rows of a CSV file.
    """
    path = Path(path)
    kind = format_of(path)
    options: dict[str, Any] = {"required": required}
    if kind == "csv":
        named = not {".csv", ".tsv"}.isdisjoint(map(str.lower, path.suffixes))
        if target is None and not named and not looks_like_table(path, encoding):
            return read_text(path)
        options |= {"encoding": encoding, "csv_format": csv_format}
    module, name = _READERS[kind].split(":")
    reader = getattr(import_module(f".{module}", __package__), name)
    return reader(path, **options) if kind == "images" else reader(path, target or None, **options)
