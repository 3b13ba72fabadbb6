"""Cells of a table as numbers: what the encoder and exported scripts share, without fθ and without torch."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

# ---- cells

PLAIN = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity)", re.IGNORECASE)  # -1234.5e3
COMMA = re.compile(r"[+-]?[$€£]?([1-9]\d{0,2}(\.\d{3})+|\d+)(,\d+)?([eE][+-]?\d+)?[%€$£]?")  # 1.234,5
POINT = re.compile(r"[+-]?[$€£]?([1-9]\d{0,2}(,\d{3})+|\d+)(\.\d+)?([eE][+-]?\d+)?[%€$£]?")  # 1,234.5
BLANKS = str.maketrans({**dict.fromkeys(" \u00a0\u202f'’", ""), "\u2212": "-"})
MISSING = (
    *("", "na", "NA", "Na", "nan", "NaN", "NAN", "n/a", "N/A", "n.a.", "null", "NULL", "Null", "none", "None", "NONE"),
    *("?", "-", "--", ".", "#N/A", "#NA", "<NA>", "#DIV/0!", "#VALUE!", "missing", "Missing"),
)


def numbers(cells: Sequence[str], *, comma: bool = False) -> tuple[np.ndarray, str]:
    """Each cell as a number, NaN for others, and how they are written: "", "1.234,5" or "1,234.5".

    Args:
        cells: Text.
        comma: Whether commas mark decimals where all cells fit both ways, as 1,250 does.

    Example:
        >>> numbers(["1.234,5", "7", "red"])
        (array([1234.5, 7. , nan]), '1.234,5')
        >>> numbers(["1,250", "(7)"])
        (array([1250., -7.]), '1,234.5')
    """
    bare = [re.sub(r"\((.*)\)", r"-\1", cell.translate(BLANKS)) for cell in cells]
    ways = {"": PLAIN, **dict(sorted({"1.234,5": COMMA, "1,234.5": POINT}.items(), reverse=comma))}
    fits = {way: [pattern.fullmatch(cell) is not None for cell in bare] for way, pattern in ways.items()}
    way = max(fits, key=lambda w: sum(fits[w]))  # the first of equals
    if comma and way == "" and any("." in cell for cell in bare) and all(fits["1.234,5"]):
        way = "1.234,5"  # 1.234 is a thousand and more
    found = [one_number(cell, way) if fit else np.nan for cell, fit in zip(bare, fits[way], strict=True)]
    return np.array(found, dtype=float), way if sum(fits[way]) else ""


def one_number(cell: str, way: str) -> float:
    """The number of a cell that is written in this way."""
    cell = re.sub("[$€£%]", "", cell)
    return float((cell.replace(".", "").replace(",", ".") if way == "1.234,5" else cell).replace(",", ""))


def number(x: np.ndarray, mean: float, scale: float, missing: bool, ends: Sequence[float] | None = None) -> np.ndarray:
    """(x - mean) / scale, x clipped to the ends; 0 for a missing cell, which a second column marks: (n, 1 or 2)."""
    z = ((x if ends is None else np.where(np.isinf(x), x, np.clip(x, ends[0], ends[1]))) - mean) / scale
    gone = np.isnan(z)
    z[gone] = 0.0
    return np.stack([z, gone], 1) if missing else z[:, None]


def places(cells: Iterable[str | None], levels: Sequence[str], rare: Sequence[str], missing: bool) -> np.ndarray:
    """The place of each cell among the levels; one for rare and new ones, one for None, if training had such; or -1."""
    place = {level: j for j, level in enumerate(levels)}
    other, gone = len(levels) if rare else -1, len(levels) + bool(rare) if missing else -1
    return np.array([gone if cell is None else place.get(cell, other) for cell in cells], dtype=np.int32)


def days_of(stamps: pd.Series) -> np.ndarray:
    """Days since 1970, NaN where there is no date."""
    seconds = stamps.to_numpy(dtype="datetime64[s]")
    return np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64) / 86400)


def date(days: np.ndarray, mean: float, scale: float, circles: Sequence[str], missing: bool) -> np.ndarray:
    """Days, standardized, and the place in year, week and day on a circle; 0 for a missing cell, which is marked."""
    turns = [2 * np.pi * days / {"year": 365.2425, "week": 7.0, "day": 1.0}[circle] for circle in circles]
    block = np.stack([(days - mean) / scale, *(f(turn) for turn in turns for f in (np.sin, np.cos))], 1)
    gone = np.isnan(days)
    block[gone] = 0.0
    return np.column_stack([block, gone]) if missing else block


def different_names(cells: Iterable[str]) -> list[str]:
    """Names of columns: one without a name is counted, and so is one whose name was there before.

    Example:
        >>> different_names(["a", "", "a", "a (2)"])
        ['a', 'column 2', 'a (3)', 'a (2)']
    """
    names = [str(cell).strip() for cell in cells]
    taken: dict[str, int] = {}
    for j, name in enumerate(names):
        new = name or f"column {j + 1}"
        taken[new] = taken.get(new, 0) + 1
        while taken[new] > 1 and f"{new} ({taken[new]})" in names:
            taken[new] += 1
        names[j] = new if taken[new] == 1 else f"{new} ({taken[new]})"
    return names
