"""Tables from spreadsheets (.xlsx, .xls, .ods): the first sheet, whose first row names the columns."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

from ...errors import FileFormatError
from ...store.files import read_bytes
from ..datasets import Dataset
from .content import reject_bomb
from .csv import column_names
from .dataset import as_dataset, known_target

__all__ = ["read_excel"]


def read_excel(path: str | Path, target: str | None = None, *, required: bool = True) -> Dataset:
    """The first sheet of a spreadsheet as a data set.

    Args:
        path: The file.
        target: Name of the column to predict; None leaves all columns as features.
        required: Whether rows must have a target; if not, `y` is None where the column or a cell of it is missing.
    """
    path = Path(path)
    sheets = _sheets(path, read_bytes(path))
    name, frame = next(iter(sheets.items()))
    frame = frame.dropna(how="all").dropna(how="all", axis=1)
    if len(frame) < 2:
        raise FileFormatError(f"{path}: sheet {name!r} has {len(frame)} rows. A header and one row are needed.")
    notes = [f"read from sheet {name!r}; not used: {', '.join(list(sheets)[1:])}"] if len(sheets) > 1 else []
    header = ["" if cell != cell else str(cell).strip() for cell in frame.iloc[0]]
    names = column_names(f"{path} row {frame.index[0] + 1}", header, notes)
    frame = frame.iloc[1:].reset_index(drop=True).set_axis(names, axis=1).infer_objects()
    return as_dataset(path, frame, known_target(path, target, names, required), required=required, notes=notes)


def _sheets(path: Path, data: bytes) -> dict[str, Any]:
    import pandas as pd

    try:
        import python_calamine  # noqa: F401
    except ImportError:
        raise FileFormatError(
            f"{path}: spreadsheets need python-calamine. Install it: pip install 'ftheta[data]', or save it as CSV."
        ) from None
    try:
        if data[:2] == b"PK":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                reject_bomb(path, sum(info.file_size for info in archive.infolist()), len(data))
        return pd.read_excel(io.BytesIO(data), sheet_name=None, header=None, engine="calamine")
    except (FileFormatError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of calamine is not an Exception
        why = " ".join(str(error).split())[:150]
        raise FileFormatError(f"{path}: a damaged spreadsheet ({why}). Save it again, or as CSV.") from None
