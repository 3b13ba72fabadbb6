"""What the cells of a text column are: numbers as people write them, dates, or levels.

    "1.234,5" -> 1234.5     "1,234.5" -> 1234.5     "12 %" -> 12     "03.10.1990" -> a date     "red" -> a level

A column is what all of its distinct cells are; the work is done once for each distinct cell, not once a row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .encode._exported import MISSING, PLAIN, numbers

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MISSING", "Form", "Settled", "numbers", "plain_number", "settle"]

STRAY = 3  # so many different words in a column of numbers are taken for missing values,
STRAY_CELLS = 0.1  # if no larger share of its cells is one of them

_CODE = re.compile(r"0\d+")  # a number in form only: 01003


def _with_times(*days: str) -> tuple[str, ...]:
    return tuple(day + time for time in ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p") for day in days)


_DATES = {  # what it looks like -> how it may be read, the first that reads all cells
    re.compile(r"\d{4}-\d{1,2}-\d{1,2}"): ("ISO8601",),
    re.compile(r"\d{4}/\d{1,2}/\d{1,2}"): _with_times("%Y/%m/%d"),
    re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}"): _with_times("%d.%m.%Y"),
    re.compile(r"\d{1,2}\.\d{1,2}\.\d{2}"): _with_times("%d.%m.%y"),
    re.compile(r"\d{1,2}/\d{1,2}/\d{4}"): _with_times("%m/%d/%Y", "%d/%m/%Y"),
    re.compile(r"\d{1,2}/\d{1,2}/\d{2}"): _with_times("%m/%d/%y", "%d/%m/%y"),
    re.compile(r"\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{4}"): ("%d %b %Y", "%d-%b-%Y", "%d %B %Y"),
    re.compile(r"[A-Za-z]{3,9} \d{1,2}, \d{4}"): ("%b %d, %Y", "%B %d, %Y"),
}


class Form(NamedTuple):
    """How the cells of a file were read; a later file of the same kind is read alike, whatever its few rows suggest."""

    comma: bool = False
    """Whether commas mark decimals."""
    dates: Mapping[str, str] = {}
    """Columns of dates, and how those are written."""
    text: tuple[str, ...] = ()
    """Columns of levels."""


class Settled(NamedTuple):
    """A column as what it is, a sentence where that was a decision, and how dates are written."""

    column: pd.Series
    note: str = ""
    way: str = ""


def plain_number(cell: str) -> bool:
    """Whether a cell is a number as programs write it.

    Example:
        >>> [plain_number(cell) for cell in ("-1.5e3", " 7 ", "1,5", "1_0", "x")]
        [True, True, False, False, False]
    """
    return PLAIN.fullmatch(cell.strip()) is not None


def settle(column: pd.Series, form: Form, *, strict: bool = False, missing: Sequence[str] = MISSING) -> Settled:
    """A column of text as numbers, dates or levels.

    Args:
        column: Category dtype over text; missing cells are missing.
        form: What is known of it; where commas mark decimals in the file, 1.234 is a thousand and more.
        strict: Whether a word among numbers makes the column text; else a few words are missing values.
        missing: What stands for a missing cell, blanks around it or not.
    """
    column = column.cat.remove_categories([c for c in column.cat.categories if str(c).strip() in missing])
    levels = [str(level) for level in column.cat.categories]
    known = form.dates.get(str(column.name))
    if column.name in form.text:
        return Settled(_merged(column, levels))
    if not levels:
        return Settled(column.astype(float))
    if known and (dates := _as_dates(column, levels, known)):
        return dates
    if any(map(_CODE.fullmatch, levels)):
        return Settled(_merged(column, levels), f"column {column.name!r}: codes with leading zeros, kept as text")
    values, way = numbers(levels, comma=form.comma)
    found = _as_numbers(column, levels, values, way, strict)
    return found or _as_dates(column, levels) or Settled(_merged(column, levels))


def _as_numbers(column: pd.Series, levels: list[str], values: np.ndarray, way: str, strict: bool) -> Settled | None:
    import pandas as pd

    codes = column.cat.codes.to_numpy()
    words = np.flatnonzero(np.isnan(values))
    note = f"column {column.name!r}: numbers written as {way}" if way and any("," in level for level in levels) else ""
    if len(words):
        cells = np.isin(codes, words).sum()
        if strict or not _few(column, words):
            return None
        said = ", ".join(repr(levels[i]) for i in words)
        note = f"column {column.name!r}: {said} ({cells} cell{'s' * int(cells != 1)}) among numbers, taken as missing"
    table = np.append(values, np.nan)  # code -1 is missing
    return Settled(pd.Series(table[codes], index=column.index, name=column.name), note)


def _as_dates(column: pd.Series, levels: list[str], known: str = "") -> Settled | None:
    """Read in the way that reads most cells, the known one before others; without one, all but a few must be dates."""
    import pandas as pd

    first = levels[0].strip()
    tried = [known] if known else []
    tried += next((ways for look, ways in _DATES.items() if look.match(first)), ())
    text = pd.Series(levels).str.strip()
    read = {way: pd.to_datetime(text, format=way, errors="coerce", utc=True) for way in tried}
    way = min(read, key=lambda w: int(read[w].isna().sum()), default="")  # the first of equals
    if not way or read[way].isna().all() or not (known or _few(column, np.flatnonzero(read[way].isna()))):
        return None
    table = np.append(read[way].dt.tz_localize(None).to_numpy("datetime64[s]"), np.datetime64("NaT"))
    dates = pd.Series(table[column.cat.codes.to_numpy()], index=column.index, name=column.name)
    lost = int(dates.isna().sum() - column.isna().sum())
    note = f"column {column.name!r}: dates, read as {way}" + (
        f"; {lost} cells are none, taken as missing" if lost else ""
    )
    return Settled(dates, note, way)


def _few(column: pd.Series, words: np.ndarray) -> bool:
    """Whether these levels are few enough, in few enough cells, to be mistakes."""
    codes = column.cat.codes.to_numpy()
    return len(words) <= STRAY and np.isin(codes, words).sum() <= STRAY_CELLS * (codes >= 0).sum()


def _merged(column: pd.Series, levels: list[str]) -> pd.Series:
    """Levels without blanks around them, truth as Python writes it; those that then agree are one."""
    clean = [" ".join(level.split()) for level in levels]
    if {level.lower() for level in clean} <= {"true", "false"}:
        clean = [level.capitalize() for level in clean]
    return column.cat.rename_categories(clean) if len(set(clean)) == len(clean) else _renamed(column, clean)


def _renamed(column: pd.Series, clean: list[str]) -> pd.Series:
    import pandas as pd

    kept = list(dict.fromkeys(clean))
    code = np.append([kept.index(level) for level in clean], -1)
    merged = pd.Categorical.from_codes(code[column.cat.codes.to_numpy()], kept)
    return pd.Series(merged, index=column.index, name=column.name)
