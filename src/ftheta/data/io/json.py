"""Tables from JSON: a list of objects, one object per line, or one object with a list per column."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...errors import FileFormatError
from ..datasets import Dataset
from .content import content_of
from .csv import column_names
from .dataset import as_dataset, known_target
from .text import decode_text

__all__ = ["read_json"]


def read_json(path: str | Path, target: str | None = None, *, required: bool = True) -> Dataset:
    """A JSON or JSON Lines file as a data set.

    Args:
        path: The file, which may be packed by gzip.
        target: Name of the column to predict; None leaves all columns as features.
        required: Whether rows must have a target; if not, `y` is None where the column or a cell of it is missing.
    """
    import pandas as pd

    path = Path(path)
    found = _parsed(path, decode_text(path, content_of(path).read()))
    by_column = isinstance(found, dict) and any(isinstance(value, list) for value in found.values())
    rows = [found] if isinstance(found, dict) and not by_column else found
    if not by_column and not (isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows)):
        raise FileFormatError(f'{path}: not a table. Write one object per row, e.g. [{{"size": 1, "color": "red"}}].')
    try:
        frame = pd.DataFrame(rows)
    except ValueError as error:
        raise FileFormatError(f"{path}: the columns are not lists of equal length ({error}). Correct them.") from None
    if not frame.size:
        raise FileFormatError(f"{path}: a table of {len(frame)} rows and {frame.shape[1]} columns. Fill it in.")
    notes: list[str] = []
    frame.columns = column_names(str(path), [str(name).strip() for name in frame], notes)
    for name, column in frame.items():
        if column.dtype == object and column.map(lambda cell: isinstance(cell, dict | list)).any():
            raise FileFormatError(f"{path}: column {name!r} holds lists or objects; numbers or text are needed.")
    return as_dataset(path, frame, known_target(path, target, frame, required), required=required, notes=notes)


def _parsed(path: Path, text: str) -> Any:
    try:
        try:
            return json.loads(text)
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Extra data"):
                raise
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: not JSON ({error}). Correct it, or save the table as CSV.") from None
