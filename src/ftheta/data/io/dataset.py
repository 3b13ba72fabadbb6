"""A data frame as a data set: every reader of tables ends here. Cells are read as people write them.

    "1.234,5" -> 1234.5     "1,234.5" -> 1234.5     "12 %" -> 12     "03.10.1990" -> a date     "red" -> a category

Columns become numbers (float64), dates (datetime64) or categories; one of them is the target. The work is done once for
each distinct cell, not once per row.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...catalog import nearest
from ...errors import FileFormatError
from ..datasets import Dataset
from ..encode.cells import MISSING, PLAIN, numbers

MAX_STRAY_WORDS = 3  # up to that many different words in a column of numbers are taken for missing values,
MAX_STRAY_SHARE = 0.1  # if they fill at most this share of its cells

CODE = re.compile(r"0\d+")  # 01003 is not a number


_DATES = {  # what it looks like -> how its day may be read, the first that reads all cells
    r"\d{4}-\d{1,2}-\d{1,2}": ("ISO8601",),
    r"\d{4}/\d{1,2}/\d{1,2}": ("%Y/%m/%d",),
    r"\d{1,2}\.\d{1,2}\.\d{4}": ("%d.%m.%Y",),
    r"\d{1,2}\.\d{1,2}\.\d{2}": ("%d.%m.%y",),
    r"\d{1,2}/\d{1,2}/\d{4}": ("%m/%d/%Y", "%d/%m/%Y"),
    r"\d{1,2}/\d{1,2}/\d{2}": ("%m/%d/%y", "%d/%m/%y"),
    r"\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{4}": ("%d %b %Y", "%d-%b-%Y", "%d %B %Y"),
    r"[A-Za-z]{3,9} \d{1,2}, \d{4}": ("%b %d, %Y", "%B %d, %Y"),
}
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")  # behind a day in digits


class CsvFormat(NamedTuple):
    """How the cells of a file are written; new rows are then read in the same way."""

    comma: bool = False  # whether commas mark decimals
    dates: Mapping[str, str] = {}  # columns of dates, and their formats
    text: tuple[str, ...] = ()  # columns of categories
    units: Mapping[str, str] = {}  # columns whose numbers have a unit, as 70 m2


class Inferred(NamedTuple):
    """A column, a note where that took a decision, and the format of its dates."""

    values: pd.Series
    note: str = ""
    format: str = ""


def plain_number(cell: str) -> bool:
    """Whether a cell is a number as programs write it."""
    return PLAIN.fullmatch(cell.strip()) is not None


def infer_column(
    column: pd.Series, csv_format: CsvFormat, *, strict: bool = False, missing: Sequence[str] = MISSING
) -> Inferred:
    """A column of text (category dtype) as numbers, dates or categories.

    Where commas mark decimals, 1.234 is more than a thousand. If `strict`, a word among numbers makes the column text;
    otherwise a few words are missing values, as the cells in `missing` are.
    """
    column = column.cat.remove_categories([c for c in column.cat.categories if str(c).strip() in missing])
    levels = [str(level) for level in column.cat.categories]
    known = csv_format.dates.get(str(column.name))
    if column.name in csv_format.text:
        return Inferred(_merged(column, levels))
    if not levels:
        return Inferred(column.astype(float))
    if known and (dates := _as_dates(column, levels, known)):
        return dates
    if any(map(CODE.fullmatch, levels)):
        return Inferred(_merged(column, levels), f"column {column.name!r}: codes with leading zeros, kept as text")
    found = _as_numbers(column, levels, csv_format.comma, strict)
    return found or _as_dates(column, levels) or Inferred(_merged(column, levels))


def _as_numbers(column: pd.Series, levels: list[str], comma: bool, strict: bool) -> Inferred | None:
    values, style = numbers(levels, comma=comma)
    codes, words = column.cat.codes.to_numpy(), np.flatnonzero(np.isnan(values))
    commas = style and any("," in level for level in levels)
    note = f"column {column.name!r}: numbers written as {style}" if commas else ""
    if len(words):
        if strict or not _are_few(column, words):
            return None
        cells, which = int(np.isin(codes, words).sum()), ", ".join(repr(levels[i]) for i in words)
        note = f"column {column.name!r}: {which} ({cells} cell{'s' * (cells != 1)}) among numbers, taken as missing"
    table = np.append(values, np.nan)  # code -1 is missing
    return Inferred(pd.Series(table[codes], index=column.index, name=column.name), note)


def _as_dates(column: pd.Series, levels: list[str], known: str = "") -> Inferred | None:
    """Dates in the format that reads most cells, the known one first; without one, all but a few must be dates."""
    first = levels[0].strip()
    days = next((days for pattern, days in _DATES.items() if re.match(pattern, first)), ())
    times = _TIMES if {"/", "."} & set("".join(days)) else ("",)
    tried = [*filter(None, [known]), *(day + time for time in times for day in days)]
    text = pd.Series(levels).str.strip()
    read = {f: pd.to_datetime(text, format=f, errors="coerce", utc=True) for f in tried}
    best = min(read, key=lambda f: int(read[f].isna().sum()), default="")  # the first of equals
    if not best or read[best].isna().all() or not (known or _are_few(column, np.flatnonzero(read[best].isna()))):
        return None
    table = np.append(read[best].dt.tz_localize(None).to_numpy("datetime64[s]"), np.datetime64("NaT"))
    dates = pd.Series(table[column.cat.codes.to_numpy()], index=column.index, name=column.name)
    lost = int(dates.isna().sum() - column.isna().sum())
    more = f"; {lost} cell{'s' * (lost != 1)} could not be parsed, taken as missing" if lost else ""
    return Inferred(dates, f"column {column.name!r}: dates, read as {best}{more}", best)


def _are_few(column: pd.Series, words: np.ndarray) -> bool:
    """Whether these levels are few enough, in few enough cells, to be mistakes."""
    codes = column.cat.codes.to_numpy()
    return len(words) <= MAX_STRAY_WORDS and np.isin(codes, words).sum() <= MAX_STRAY_SHARE * (codes >= 0).sum()


def _merged(column: pd.Series, levels: list[str]) -> pd.Series:
    """Levels without blanks around them, True and False as Python writes them; those that then agree are one."""
    clean = [" ".join(level.split()) for level in levels]
    if {level.lower() for level in clean} <= {"true", "false"}:
        clean = [level.capitalize() for level in clean]
    if len(set(clean)) == len(clean):
        return column.cat.rename_categories(clean)
    code, kept = pd.factorize(np.array(clean, object))
    merged = pd.Categorical.from_codes(np.append(code, -1)[column.cat.codes.to_numpy()], kept)
    return pd.Series(merged, index=column.index, name=column.name)


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
    target = known_target(path, target, frame, required)
    csv_format, notes, units = csv_format or CsvFormat(), list(notes), {}
    reject = reject or partial(_reject, path, frame.copy(deep=False))
    if not typed:
        frame, units = clean(frame, csv_format.units, notes)
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
    labels, form = None if y is None else y.to_numpy(), CsvFormat(csv_format.comma, dates, text, units)
    return labeled(path.stem, x, labels, tuple(x.columns), notes, csv_format=form)


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
    if target and found.values.dtype == "category" and not typed:  # a word among many different numbers is not a class
        y, values = found.values, numbers([str(level) for level in found.values.cat.categories])[0]
        if np.isfinite(values).any() and task_of(values[np.isfinite(values)]) == "regression":
            words = np.isin(y.cat.codes.to_numpy(), np.flatnonzero(np.isnan(values)))
            what = f"holds text ({{cell!r}}), numbers needed ({{count}} of {len(y)} cells). Correct or empty them."
            reject(str(y.name), words, what)
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


def _reject(path: Path, frame: pd.DataFrame, name: str, bad: np.ndarray, what: str) -> None:
    row = int(np.argmax(bad))
    message = what.format(cell=str(frame[name].iloc[row]), count=int(bad.sum()))
    raise FileFormatError(f"{path} row {row}, column {name!r} {message}")


# ---- what people write beside the data: "70 m2" is 70 in m2; a row of totals at the end is left out

_FOOTER = re.compile(r"(grand |sub-?)?(totals?|totale?s?|sums?|summe|gesamt(summe)?|insgesamt|somme):?", re.IGNORECASE)
_NUMBER = r"[+-]?\d[\d.,'\u00a0\u202f]*"
_WORD = r"[^\W\d_][^\s\d,;:]*[23]?|[%°]\w?"  # behind a blank any word is a unit, else the usual ones are
_USUAL = "[kcmµ]?m[²³23]?|[kmµ]?g|[kmg]?[wv]|kwh|[mc]?l|ha|ms|min|[shwd]|[kmg]?hz|[kmgt]b|°[cfk]?|eur|usd|chf|gbp"
_CURRENCY = "USD|EUR|GBP|CHF|CAD|AUD|INR|JPY"
_UNIT = re.compile(
    rf"(?P<n>{_NUMBER}|[+-]?\.\d+)([ \u00a0\u202f]+(?P<a>{_WORD})|(?P<b>(?i:{_USUAL})))"
    rf"|(?P<c>{_CURRENCY})[ \u00a0\u202f]*(?P<m>{_NUMBER})"
)


def without_units(column: pd.Series, known: str = "") -> tuple[pd.Series, str]:
    """A column of text without the one unit that its cells have, and the unit; as it is where there is not just one.

    Args:
        column: The cells.
        known: The unit of the training data: cells in another one stay text.
    """
    if column.dtype.kind in "biufM":
        return column, ""
    text = column if column.dtype == "category" else column.astype("str").astype("category")
    levels, units = {str(level): str(level).strip() for level in text.cat.categories}, set[str]()
    for old, cell in levels.items():
        if found := _UNIT.fullmatch(cell):
            units.add(_unit(found))
            levels[old] = found["n"] or found["m"] if not known or _unit(found) == known else cell
        elif not (known or cell in MISSING or re.fullmatch(_NUMBER, cell)):
            return column, ""
    if len(units) != 1 and not known or known and known not in units:
        return column, ""
    return text.astype(object).map(levels, na_action="ignore").astype("category"), known or units.pop()


def _unit(found: re.Match[str]) -> str:
    return found["a"] or found["b"] or found["c"]


def without_footer(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """A table without a last row whose first cell is a word for the sum, and that word."""
    place = next((j for j, cell in enumerate(frame.iloc[-1]) if not pd.isna(cell) and str(cell).strip()), 0)
    word = str(frame.iloc[-1, place]).strip()
    if len(frame) < 3 or not _FOOTER.fullmatch(word):
        return frame, ""
    above = frame.iloc[:-1].copy()
    if (above.iloc[:, place].astype("str").str.strip() == word).any():  # a category like others
        return frame, ""
    for name in above.select_dtypes("category"):
        above[name] = above[name].cat.remove_unused_categories()
    return above, word


def clean(frame: pd.DataFrame, units: Mapping[str, str], notes: list[str]) -> tuple[pd.DataFrame, dict[str, str]]:
    """A table without units and totals, what was done in notes, and the unit of each column that has one."""
    frame, word = without_footer(frame)
    if word:
        notes.append(f"the last row ({word!r}) was left out: it holds totals")
    found = {name: without_units(column, units.get(str(name), "")) for name, column in frame.items()}
    used = {str(name): unit for name, (_, unit) in found.items() if unit}
    notes += [f"column {name!r}: numbers in {unit}" for name, unit in used.items()]
    return frame.assign(**{name: column for name, (column, unit) in found.items() if unit}), used  # type: ignore[misc]
