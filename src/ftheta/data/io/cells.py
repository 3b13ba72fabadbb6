"""What the cells of a text column hold: numbers as people write them, dates, or categories.

    "1.234,5" -> 1234.5     "1,234.5" -> 1234.5     "12 %" -> 12     "03.10.1990" -> a date     "red" -> a category

The work is done once for each distinct cell, not once per row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..encode.cells import MISSING, PLAIN, numbers

if TYPE_CHECKING:
    import pandas as pd

MAX_STRAY_WORDS = 3  # up to that many different words in a column of numbers are taken for missing values,
MAX_STRAY_SHARE = 0.1  # if they fill at most this share of its cells

CODE = re.compile(r"0\d+")  # 01003 is not a number


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


class CsvFormat(NamedTuple):
    """How the cells of a file are written; new rows are then read in the same way."""

    comma: bool = False  # whether commas mark decimals
    dates: Mapping[str, str] = {}  # columns of dates, and their formats
    text: tuple[str, ...] = ()  # columns of categories


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
    import pandas as pd

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
    import pandas as pd

    first = levels[0].strip()
    tried = [known] if known else []
    tried += next((formats for pattern, formats in _DATES.items() if pattern.match(first)), ())
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
    import pandas as pd

    clean = [" ".join(level.split()) for level in levels]
    if {level.lower() for level in clean} <= {"true", "false"}:
        clean = [level.capitalize() for level in clean]
    if len(set(clean)) == len(clean):
        return column.cat.rename_categories(clean)
    kept = list(dict.fromkeys(clean))
    code = np.append([kept.index(level) for level in clean], -1)
    merged = pd.Categorical.from_codes(code[column.cat.codes.to_numpy()], kept)
    return pd.Series(merged, index=column.index, name=column.name)
