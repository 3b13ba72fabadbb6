"""What is done to one column of a table: a plan, learned from the training rows, applied to any rows.

    number:   z = (x - μ) / σ,  0 where x is missing,  and a second column that says so where that happened in training
    levels:   one column for each level, 1 where it is the level; rare, missing and unseen levels
    date:     days as a number, and its place in the year, the week and the day as points on a circle
    dropped:  nothing: identifiers, constants without a number, empty columns

Shapes: n rows.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from .. import check
from ..check import Finite, Positive
from ..errors import FileFormatError
from .encode._exported import date, days_of, numbers, places
from .encode._exported import number as standardized

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Date", "Dropped", "Levels", "Number", "Plan", "alike", "learn", "plan_of"]

MOST_LEVELS = 100  # that have a column of their own, the most frequent first
RARE_COUNT, RARE_SHARE = 3, 0.001  # a level with fewer rows, or a smaller share of them, is rare
IDENTIFIER_ROWS = 20  # from so many rows on a column can be recognised as an identifier
IDENTIFIER_SHARE = 0.5  # of the rows that have a text of their own
_IDENTIFIER = re.compile(r"(^|[ _.-])(id|uuid|guid|nr|no|key|index|row|rownames)$|^unnamed|[a-z]Id$", re.IGNORECASE)
_DAY = 86400.0
Values = np.ndarray


class Plan(ABC):
    """Base: a column by name; what it says is JSON."""

    kind: ClassVar[str]
    name: str | None

    @property
    @abstractmethod
    def outputs(self) -> tuple[str, ...]:
        """Names of the columns that it makes."""

    @abstractmethod
    def did(self) -> str:
        """What is done to the column, in words."""

    @abstractmethod
    def read(self, column: pd.Series) -> Values:
        """The cells as numbers: (n,)."""

    @abstractmethod
    def write(self, values: Values, out: np.ndarray) -> None:
        """Fill `out` (n, len(outputs)), which holds zeros."""

    def surprise(self, column: pd.Series) -> str:
        """What new rows hold that training did not have; nothing where there is none of it."""
        return ""

    def state(self) -> dict[str, Any]:
        """As JSON values."""
        return {"kind": self.kind, **asdict(self)}  # type: ignore[call-overload]


@dataclass(frozen=True)
class Number(Plan):
    """A number, standardised."""

    name: str | None
    mean: Finite
    scale: Positive
    constant: bool
    missing: bool = False
    kind: ClassVar[str] = "number"

    @property
    def outputs(self) -> tuple[str, ...]:
        return (str(self.name), f"{self.name} missing") if self.missing else (str(self.name),)

    def did(self) -> str:
        if self.constant:
            return f"constant ({self.mean:.4g}): centred, not scaled"
        filled = "; missing cells take the mean, and a second column marks them" if self.missing else ""
        return f"(x - {self.mean:.4g}) / {self.scale:.4g}{filled}"

    def read(self, column: pd.Series) -> Values:
        if column.dtype.kind in "biuf":
            return _floats(column)
        cells = _text_levels(column)
        values = np.append(numbers([str(level) for level in cells.cat.categories])[0], np.nan)
        return values[cells.cat.codes.to_numpy()]

    def write(self, values: Values, out: np.ndarray) -> None:
        out[:] = standardized(values, self.mean, self.scale, self.missing)

    def surprise(self, column: pd.Series) -> str:
        gone = np.isnan(self.read(column))
        words: Any = column[gone & column.notna().to_numpy()]
        if len(words):
            return f"column {self.name!r}: {len(words)} cells are no numbers ({words.iloc[0]!r}), taken as missing"
        holes = 0 if self.missing else int(gone.sum())
        if not holes:
            return ""
        return f"column {self.name!r}: {holes} missing cell{'s' * (holes > 1)}, none in training; the mean is taken"


@dataclass(frozen=True)
class Levels(Plan):
    """Text as one column a level."""

    name: str | None
    levels: tuple[str, ...]
    rare: tuple[str, ...]
    """Levels that share one column, which new levels take too."""
    missing: bool
    kind: ClassVar[str] = "levels"

    @property
    def outputs(self) -> tuple[str, ...]:
        more = [word for word, there in (("rare", bool(self.rare)), ("missing", self.missing)) if there]
        return (*(f"{self.name}={level}" for level in self.levels), *(f"{self.name} {word}" for word in more))

    def did(self) -> str:
        first = ", ".join(self.levels[:3]) + (", ..." if len(self.levels) > 3 else "")
        said = f"one 0/1 column for each of {len(self.levels)} levels ({first})"
        said += f"; one for {len(self.rare)} rare and all new levels" if self.rare else ""
        return said + ("; one for missing cells" if self.missing else "")

    def read(self, column: pd.Series) -> Values:
        """The column of `outputs` of each cell, -1 for none."""
        cells = _text_levels(column)
        table = places([*map(str, cells.cat.categories), None], self.levels, self.rare, self.missing)
        return table[cells.cat.codes.to_numpy()]

    def write(self, values: Values, out: np.ndarray) -> None:
        here = np.flatnonzero(values >= 0)
        out[here, values[here]] = 1.0

    def surprise(self, column: pd.Series) -> str:
        counts = _text_levels(column).value_counts()
        known = {*self.levels, *self.rare}
        new = [str(level) for level, n in counts.items() if n and str(level) not in known]
        holes = 0 if self.missing else int(column.isna().sum())
        if not new and holes:
            return f"column {self.name!r}: {holes} missing cell{'s' * (holes > 1)}, none in training; no level is taken"
        if not new:
            return ""
        rows, first = int(counts[new].sum()), ", ".join(map(repr, new[:3])) + (", ..." if len(new) > 3 else "")
        what = f"{rows} row{'s' * (rows != 1)} with levels not seen in training ({first})"
        return f"column {self.name!r}: {what}, taken as {'rare' if self.rare else 'none of the levels'}"


@dataclass(frozen=True)
class Date(Plan):
    """A date as days, and as places on circles."""

    name: str | None
    mean: Finite
    scale: Positive
    circles: tuple[Literal["year", "week", "day"], ...]
    missing: bool = False
    kind: ClassVar[str] = "date"

    @property
    def outputs(self) -> tuple[str, ...]:
        turns = [f"{self.name} {part} of {circle}" for circle in self.circles for part in ("sin", "cos")]
        return (str(self.name), *turns, *([f"{self.name} missing"] if self.missing else []))

    def did(self) -> str:
        circles = f", and its place in the {' and the '.join(self.circles)} as sine and cosine" if self.circles else ""
        return f"days since 1970, standardised{circles}" + ("; missing cells marked" if self.missing else "")

    def read(self, column: pd.Series) -> Values:
        return _days(column)

    def surprise(self, column: pd.Series) -> str:
        holes = 0 if self.missing else int(np.isnan(_days(column)).sum())
        return (
            f"column {self.name!r}: {holes} cells without a date, none in training; the mean is taken" if holes else ""
        )

    def write(self, values: Values, out: np.ndarray) -> None:
        out[:] = date(values, self.mean, self.scale, self.circles, self.missing)


@dataclass(frozen=True)
class Dropped(Plan):
    """A column that is left out, and why."""

    name: str | None
    why: str
    kind: ClassVar[str] = "dropped"

    @property
    def outputs(self) -> tuple[str, ...]:
        return ()

    def did(self) -> str:
        return f"left out: {self.why}"

    def read(self, column: pd.Series) -> Values:
        return np.zeros(len(column))

    def write(self, values: Values, out: np.ndarray) -> None:
        pass


# ---- learning


def learn(column: pd.Series, name: str | None) -> Plan:
    """The plan for a column of a frame, by its values."""
    if column.isna().all():
        return Dropped(name, "it is empty")
    if column.dtype.kind in "biuf":
        return _learn_number(_floats(column), name)
    return _learn_date(column, name) if column.dtype.kind == "M" else _learn_levels(_text_levels(column), name)


def number(values: np.ndarray, name: str | None) -> Number:
    """Mean and scale of a column of numbers that may have holes."""
    gone = np.isnan(values)
    there = values[~gone] if gone.any() else values
    mean, scale, constant = (float(m[0]) for m in moments(there[:, None]))
    return Number(name, mean, scale, bool(constant), bool(gone.any()))


def _learn_number(values: np.ndarray, name: str | None) -> Plan:
    return Dropped(name, "an identifier: it numbers the rows") if _counts_rows(values, name) else number(values, name)


def _counts_rows(values: np.ndarray, name: str | None) -> bool:
    """Whole numbers, all different, that rise or fall by about one a row, or are called an identifier."""
    if len(values) < IDENTIFIER_ROWS or name is None or not (values[:99] == np.round(values[:99])).all():
        return False
    steps = np.diff(values)
    one_way = (steps > 0).all() or (steps < 0).all()
    if one_way and np.abs(values[-1] - values[0]) <= 3 * len(values) and (values == np.round(values)).all():
        return True
    return (
        bool(_IDENTIFIER.search(name)) and (values == np.round(values)).all() and len(np.unique(values)) == len(values)
    )


def _learn_levels(cells: pd.Series, name: str | None) -> Plan:
    counts: Any = cells.value_counts()
    counts = counts[counts > 0]
    n, there = len(cells), int(counts.sum())
    if len(counts) > IDENTIFIER_SHARE * there and there >= IDENTIFIER_ROWS:
        return Dropped(name, f"an identifier or free text: {len(counts)} different values in {there} rows")
    missing = there < n
    if len(counts) == 1 and not missing:
        return Dropped(name, f"every row holds {str(counts.index[0])!r}")
    frequent = counts[counts >= max(RARE_COUNT, RARE_SHARE * n)].index[:MOST_LEVELS]
    kept = counts.index[:2] if len(counts) <= 2 else frequent
    rare = tuple(sorted(map(str, counts.index.difference(kept, sort=False))))
    return Levels(name, tuple(sorted(map(str, kept))), rare, missing)


def _learn_date(column: pd.Series, name: str | None) -> Plan:
    days = _days(column)
    there = days[~np.isnan(days)]
    mean, scale, _ = (float(m[0]) for m in moments(there[:, None]))
    span = float(np.ptp(there))
    there_is: dict[str, Callable[[], bool]] = {
        "year": lambda: span >= 180,
        "week": lambda: span >= 7,
        "day": lambda: bool((there != np.floor(there)).any()),
    }
    circles: Any = tuple(circle for circle, found in there_is.items() if found())
    return Date(name, mean, scale, circles, len(there) < len(days))


def _floats(column: pd.Series) -> np.ndarray:
    """The column itself where it holds float64 already."""
    return column.to_numpy() if column.dtype == np.float64 else column.to_numpy(dtype=np.float64, na_value=np.nan)


def alike(column: pd.Series, training: pd.Series) -> pd.Series:
    """A column as what the same column was in training: numbers, dates or levels."""
    import pandas as pd

    if training.dtype.kind in "biuf":
        values: Any = number(np.zeros(1), None).read(column)
    elif training.dtype.kind == "M":
        values = (_days(column) * _DAY).astype("datetime64[s]") if column.dtype.kind != "M" else column.to_numpy()
    else:
        return _text_levels(column)
    return pd.Series(values, index=column.index, name=column.name)


def _text_levels(column: pd.Series) -> pd.Series:
    """A column of category dtype over text."""
    if column.dtype == "category":
        return column
    if column.dtype.kind == "f":
        column = column.map(lambda v: v if v != v else f"{v:.0f}" if v == round(v) else str(v)).astype(object)
    return column.where(column.isna(), column.astype(str)).astype("category")


def _days(column: pd.Series) -> np.ndarray:
    import pandas as pd

    if column.dtype.kind in "biuf":  # a number is no date
        return np.full(len(column), np.nan)
    stamps = pd.to_datetime(column.astype(object) if column.dtype == "category" else column, errors="coerce")
    return days_of(stamps)


def moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, standard deviation and whether it is only rounding, of each column: (n, D) -> (D,), (D,), (D,)."""
    _, power = np.frexp(np.abs(x).max(0))
    u = np.ldexp(x, -power)  # (n, D), exactly x / 2^power in [-1, 1]: squares neither overflow nor vanish
    mean = u.mean(0)
    mean += (u - mean).mean(0)  # what the first pass lost
    scale = np.sqrt(((u - mean) ** 2).mean(0))
    constant = scale <= 8 * np.finfo(float).eps * np.abs(mean)
    return np.where(constant, x[0], np.ldexp(mean, power)), np.where(constant, 1.0, np.ldexp(scale, power)), constant


# ---- from files


def plan_of(state: Mapping[str, Any]) -> Plan:
    """The plan that `state` described."""
    kinds: dict[str, type[Any]] = {cls.kind: cls for cls in (Number, Levels, Date, Dropped)}
    given = dict(state)
    kind = given.pop("kind")
    if kind not in kinds:
        raise FileFormatError(
            f"Column {given.get('name')!r} is of kind {kind!r}; this version of fθ knows {', '.join(kinds)}. "
            "Install the version that wrote it, or newer."
        )
    check.parameters(kind, check.constraints(kinds[kind], [f.name for f in fields(kinds[kind])]), given)
    return kinds[kind](**{key: tuple(value) if isinstance(value, list) else value for key, value in given.items()})
