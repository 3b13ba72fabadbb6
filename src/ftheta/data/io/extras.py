"""What people write into tables beside the data: a unit behind each number, a row of totals at the end.

"70 m2", "81 m2"  ->  "70", "81", in m2          "Total", 151, ...  ->  left out
"""

import re
from collections.abc import Mapping

import pandas as pd

from ..encode.cells import MISSING

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
