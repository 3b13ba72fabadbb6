"""A data frame as a data set: every reader of tables ends here.

columns of pandas -> numbers (float64), dates (datetime64) or categories of text;  one of them is the target
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...catalog import nearest
from ...errors import FileFormatError
from ..datasets import Dataset
from .cells import MISSING, CsvFormat, Inferred, infer_column, numbers

if TYPE_CHECKING:
    import pandas as pd

MAX_COLUMNS = 100_000
MAX_CLASSES = 20  # that many different integers are still classes
NO_TARGET = ("", "NA", "N/A", "n/a", "nan", "NaN", "null", "NULL", "?")  # "none" may be a class
Reject = Callable[[str, np.ndarray, str], Any]


def task_of(y: np.ndarray) -> str:
    """Text and up to 20 different integers are classes, other numbers regression.

    Example:
        >>> task_of(np.array(["b", "a", "b"])), task_of(np.array([0, 1, 2])), task_of(np.array([0.5, 1.0]))
        ('binary', 'multiclass', 'regression')
    """
    values = np.unique(y)
    if values.dtype.kind in "iuf" and (len(values) > MAX_CLASSES or (values != np.round(values)).any()):
        return "regression"
    return "binary" if len(values) <= 2 else "multiclass"


def known_target(path: Path, target: str | None, names: Iterable[str], required: bool) -> str | None:
    """The target if the file has it; otherwise None, or an error if it is required."""
    names = list(names)
    if required and target is not None and target not in names:
        raise FileFormatError(f"{path}: {nearest('target column', target, names)}")
    return target if target in names else None


def as_dataset(
    path: Path,
    frame: pd.DataFrame,
    target: str | None = None,
    *,
    required: bool = True,
    typed: bool = False,
    csv_format: CsvFormat | None = None,
    notes: Iterable[str] = (),
    reject: Reject | None = None,
) -> Dataset:
    """Infer what each column holds and leave out rows without a target.

    Args:
        path: The file.
        frame: Columns as pandas read them.
        target: The column to predict.
        required: Whether rows must have a target; if not, y is None where the column or a cell of it is missing.
        typed: Whether the file states the types of its columns: text stays text.
        csv_format: How the cells of the training data were written.
        notes: What the reader noticed.
        reject: Raises for bad cells of a column, with their place in the file.
    """
    import pandas as pd

    target = known_target(path, target, frame, required)
    csv_format, notes = csv_format or CsvFormat(), list(notes)
    reject = reject or partial(_reject, path, frame.copy(deep=False))
    infer = partial(_inferred, csv_format, typed, reject)
    y = None if target is None else _target(path, frame.pop(target), required, infer, notes)
    if not frame.shape[1]:
        raise FileFormatError(f"{path}: {target!r} is the only column; at least one column of features is needed.")
    found = {str(name): infer(column) for name, column in frame.items()}
    notes += [column.note for column in found.values() if column.note]
    x = pd.DataFrame({name: column.values for name, column in found.items()}, copy=False)
    if y is not None and len(y) < len(x):
        n = len(x) - len(y)
        notes.append(f"{n} row{'s' * (n > 1)} without {target!r} {'were' if n > 1 else 'was'} left out")
        x = x.loc[y.index].reset_index(drop=True)
    text = tuple(name for name, column in found.items() if column.values.dtype == "category")
    dates = {name: column.format for name, column in found.items() if column.format}
    labels = None if y is None else y.to_numpy()
    return labeled(path.stem, x, labels, tuple(x.columns), notes, csv_format=CsvFormat(csv_format.comma, dates, text))


def labeled(name: str, x: Any, y: np.ndarray | None, columns: tuple[str, ...], notes: Any, **more: Any) -> Dataset:
    """A data set whose task and classes follow from y."""
    task = "none" if y is None else "segment" if y.ndim == 3 else task_of(y)
    classes = () if y is None or task == "regression" else tuple(map(str, np.unique(y)))
    return Dataset(name, x, y, columns, classes, task, notes=tuple(notes), **more)


def _inferred(csv_format: CsvFormat, typed: bool, reject: Reject, column: pd.Series, target: bool = False) -> Inferred:
    """A column as numbers, dates or categories; refuses infinite numbers, and words among the numbers of a target."""
    if column.dtype.kind in "iuf":
        found = Inferred(column.astype(float))
    elif column.dtype.kind == "M":
        return Inferred(column.dt.tz_localize(None).astype("datetime64[s]"))
    else:
        words = column if column.dtype == "category" else column.astype("str").astype("category")
        missing = NO_TARGET if target else MISSING
        found = Inferred(words) if typed else infer_column(words, csv_format, strict=target, missing=missing)
    if found.values.dtype == float and np.isinf(found.values).any():
        what = "holds {cell!r}; finite numbers are needed. Correct the cell or remove the row."
        reject(str(column.name), np.isinf(found.values.to_numpy()), what)
    if target and found.values.dtype == "category" and not typed:
        _reject_words(found.values, reject)
    return found


def _target(path: Path, column: pd.Series, required: bool, infer: Any, notes: list[str]) -> Any:
    """Numbers or text of the rows that have a target, or None."""
    try:
        found = infer(column, target=True)
        y = found.values
        if y.dtype.kind == "M":
            raise FileFormatError(f"{path}: the target {column.name!r} holds dates; numbers or classes are needed.")
        present: Any = y[y.notna()]
        if not len(present):
            raise FileFormatError(f"{path}: the target {column.name!r} has no values. Fill it in or choose another.")
    except FileFormatError:
        if required:
            raise
        return None
    if not required and len(present) < len(y):
        return None
    notes += [found.note] if found.note else []
    if y.dtype != float:
        return present.astype(object).map(str)
    is_integer = (present == present.round()).all() and present.abs().max() < 2**53
    return present.astype(np.int64) if is_integer else present


def _reject_words(y: pd.Series, reject: Reject) -> None:
    """A word among many different numbers is a mistake, not a class."""
    values = numbers([str(level) for level in y.cat.categories])[0]
    if np.isfinite(values).any() and task_of(values[np.isfinite(values)]) == "regression":
        words = np.isin(y.cat.codes.to_numpy(), np.flatnonzero(np.isnan(values)))
        what = f"holds text ({{cell!r}}), numbers needed ({{count}} of {len(y)} cells). Correct or empty them."
        reject(str(y.name), words, what)


def _reject(path: Path, frame: pd.DataFrame, name: str, bad: np.ndarray, what: str) -> None:
    row = int(np.argmax(bad))
    message = what.format(cell=str(frame[name].iloc[row]), count=int(bad.sum()))
    raise FileFormatError(f"{path} row {row}, column {name!r} {message}")
