"""What is done to one column of a table: a plan, learned from the training rows, applied to any rows.

    number:   z = (x - μ) / σ,  0 where x is missing,  and a second column that marks it if training had such cells
    levels:   one column for each level, 1 where it is the level; rare, missing and unseen levels
    date:     days as a number, and its place in the year, the week and the day as points on a circle
    text:     √W h / |h|,  h_j = Σ ±1 over the words whose hash is j: nothing is learned
    dropped:  nothing: identifiers, constants without a number, empty columns

Shapes: n rows; W columns of a text.
Reference: Weinberger et al., Feature Hashing for Large Scale Multitask Learning, ICML (2009).
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from annotated_types import Ge, Le

from ... import check
from ...check import Finite, Positive
from ...errors import FileFormatError
from .cells import date, days_of, numbers, places
from .cells import number as standardized

MAX_LEVELS = 100  # that have a column of their own, the most frequent first
RARE_COUNT, RARE_SHARE = 3, 0.001  # a level with fewer rows, or a smaller share of them, is rare
IDENTIFIER_ROWS = 20  # fewer rows cannot tell an identifier,
NAMED_ROWS = 5  # unless the column has no name of its own
IDENTIFIER_SHARE = 0.5  # of the rows that have a text of their own
TEXT_WORDS = 6  # in the mean; shorter texts are names
YEAR = 365.2425  # days
TAIL, TYPED = 0.005, 2  # share, and least number, of cells outside of a quantile where numbers are clipped
FIRST_NUMBER, NUMBERS_PER_ROW = 5, 3  # row numbers begin below the first and skip at most so many (rows held out)
_ID = re.compile(
    r"(?i:(^|[ _.-])(id|uuid|guid|nr|no|key|index|row|rownames?)$)|[a-z](Id|ID)$|(?i:(user|customer|client|patient|"
    r"student|product|order|item|person|employee|account|case|subject|record|member)id$)"
)
_ROW_NAMES = re.compile(r"(column 1$|unnamed|rownames?$)", re.IGNORECASE)  # of a first column without a name


class Plan:
    """Base: what is done to a column."""

    kind: ClassVar[str]
    name: str | None
    outputs: Any = ()  # names of the columns that it makes
    description: Any  # what is done to the column, in words

    def apply(self, column: pd.Series) -> np.ndarray:
        """The cells as numbers: (n,) -> (n, len(outputs))."""
        return np.empty((len(column), 0))

    @property
    def axes(self) -> list[tuple[str, float, float]]:
        """Name, shift and scale of each column that it makes: shift + scale z is in the user's units."""
        return [(name, 0.0, 1.0) for name in self.outputs]

    def new_row_note(self, column: pd.Series) -> str:
        """What new rows hold that training rows did not; empty if nothing."""
        return ""

    def state(self) -> dict[str, Any]:
        """As JSON values."""
        return {"kind": self.kind, **asdict(self)}  # type: ignore[call-overload]


@dataclass(frozen=True)
class Number(Plan):
    """A number, standardized."""

    name: str | None
    mean: Finite
    scale: Positive
    constant: bool
    missing: bool = False
    keep: bool = False  # whether missing cells stay missing, for models that take them
    ends: tuple[Finite, Finite] | None = None  # to which cells are clipped, for nets
    kind: ClassVar[str] = "number"

    @property
    def outputs(self) -> tuple[str, ...]:
        return (str(self.name), f"{self.name} missing") if self.missing and not self.keep else (str(self.name),)

    @property
    def description(self) -> str:
        if self.constant:
            return f"constant ({self.mean:.4g}): centered, not scaled"
        filled = "; missing cells take the mean, and a second column marks them"
        filled = ("; missing cells stay missing" if self.keep else filled) if self.missing else ""
        x = "x" if self.ends is None else f"x within [{self.ends[0]:.4g}, {self.ends[1]:.4g}]"
        return f"({x} - {self.mean:.4g}) / {self.scale:.4g}{filled}"

    @property
    def axes(self) -> list[tuple[str, float, float]]:
        return [(str(self.name), self.mean, self.scale), *super().axes[1:]]

    def apply(self, column: pd.Series) -> np.ndarray:
        if self.keep:
            return ((_numbers(column) - self.mean) / self.scale)[:, None]
        return standardized(_numbers(column), self.mean, self.scale, self.missing, self.ends)

    def new_row_note(self, column: pd.Series) -> str:
        gone = np.isnan(_numbers(column))
        words: Any = column[gone & column.notna().to_numpy()]
        if len(words):
            what = f"{len(words)} cells could not be read as numbers ({words.iloc[0]!r})"
            return f"column {self.name!r}: {what}, taken as missing"
        return _holes(self.name, 0 if self.missing or self.keep else int(gone.sum()), "the mean is taken")


@dataclass(frozen=True)
class Levels(Plan):
    """Text as one column per level."""

    name: str | None
    levels: tuple[str, ...]
    rare: tuple[str, ...]  # levels that share one column, which new levels take too
    missing: bool
    kind: ClassVar[str] = "levels"

    @property
    def outputs(self) -> tuple[str, ...]:
        more = [word for word, there in (("rare", bool(self.rare)), ("missing", self.missing)) if there]
        return (*(f"{self.name}={level}" for level in self.levels), *(f"{self.name} {word}" for word in more))

    @property
    def description(self) -> str:
        first = ", ".join(self.levels[:3]) + (", ..." if len(self.levels) > 3 else "")
        text = f"one 0/1 column for each of {len(self.levels)} levels ({first})"
        text += f"; one for {len(self.rare)} rare and all new levels" if self.rare else ""
        return text + ("; one for missing cells" if self.missing else "")

    def apply(self, column: pd.Series) -> np.ndarray:
        width = len(self.outputs)
        return np.eye(width + 1, width, dtype=np.float32)[self.places(column)]  # the last row: no level

    def places(self, column: pd.Series) -> np.ndarray:
        """Which of the outputs is 1, or -1 for none: (n,)."""
        cells = _text_levels(column)
        table = places([*map(str, cells.cat.categories), None], self.levels, self.rare, self.missing)
        return table[cells.cat.codes.to_numpy()]

    def new_row_note(self, column: pd.Series) -> str:
        counts = _text_levels(column).value_counts()
        known = {*self.levels, *self.rare}
        new = [str(level) for level, n in counts.items() if n and str(level) not in known]
        holes = 0 if self.missing else int(column.isna().sum())
        if not new:
            return _holes(self.name, holes, "no level is taken")
        rows, first = int(counts[new].sum()), ", ".join(map(repr, new[:3])) + (", ..." if len(new) > 3 else "")
        what = f"{rows} row{'s' * (rows != 1)} with levels not seen in training ({first})"
        return f"column {self.name!r}: {what}, taken as {'rare' if self.rare else 'none of the levels'}"


@dataclass(frozen=True)
class Codes(Levels):
    """Text as the place of its level; missing cells and new levels stay missing, for models that take them."""

    keep: ClassVar[bool] = True
    kind: ClassVar[str] = "codes"

    @property
    def outputs(self) -> tuple[str, ...]:
        return (str(self.name),)

    @property
    def description(self) -> str:
        return f"one of {len(self.levels) + bool(self.rare)} categories, as they are"

    def apply(self, column: pd.Series) -> np.ndarray:
        found = replace(self, missing=False).places(column).astype(float)
        return np.where(found < 0, np.nan, found)[:, None]


@dataclass(frozen=True)
class Date(Plan):
    """A date as days, and as places on circles."""

    name: str | None
    mean: Finite
    scale: Positive
    circles: tuple[Literal["year", "week", "day"], ...]
    missing: bool = False
    keep: bool = False  # whether missing cells stay missing
    kind: ClassVar[str] = "date"

    @property
    def outputs(self) -> tuple[str, ...]:
        turns = [f"{self.name} {part} of {circle}" for circle in self.circles for part in ("sin", "cos")]
        return (str(self.name), *turns, *([f"{self.name} missing"] if self.missing and not self.keep else []))

    @property
    def description(self) -> str:
        circles = f", and its place in the {' and the '.join(self.circles)} as sine and cosine" if self.circles else ""
        missing = f"; missing cells {'stay missing' if self.keep else 'marked'}" if self.missing else ""
        return f"days since 1970, standardized{circles}{missing}"

    @property
    def axes(self) -> list[tuple[str, float, float]]:
        return [(f"{self.name} (year)", 1970 + self.mean / YEAR, self.scale / YEAR), *super().axes[1:]]

    def new_row_note(self, column: pd.Series) -> str:
        gone = 0 if self.missing or self.keep else int(np.isnan(_days(column)).sum())
        return _holes(self.name, gone, "the mean is taken")

    def apply(self, column: pd.Series) -> np.ndarray:
        days = _days(column)
        found = date(days, self.mean, self.scale, self.circles, self.missing and not self.keep)
        return np.where(np.isnan(days)[:, None], np.nan, found) if self.keep else found


@dataclass(frozen=True)
class Text(Plan):
    """Texts of several words as a fixed number of columns, by the hashes of its words."""

    name: str | None
    width: Annotated[int, Ge(1), Le(2**12)]
    kind: ClassVar[str] = "text"

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(f"{self.name} words {j}" for j in range(self.width))

    @property
    def description(self) -> str:
        return f"free text: its words as {self.width} columns, by their hashes"

    def apply(self, column: pd.Series) -> np.ndarray:
        from sklearn.feature_extraction.text import HashingVectorizer

        cells = _text_levels(column)
        words = HashingVectorizer(n_features=self.width)
        levels: Any = cells.cat.categories.astype(str)
        codes = cells.cat.codes.to_numpy()  # -1 where a cell is missing: no words
        table: Any = words.transform([*levels, ""])
        return np.sqrt(self.width) * table[codes].toarray()


@dataclass(frozen=True)
class Dropped(Plan):
    """A column that is left out, and why."""

    name: str | None
    why: str
    kind: ClassVar[str] = "dropped"

    @property
    def description(self) -> str:
        return f"left out: {self.why}"


def _holes(name: str | None, n: int, taken: str) -> str:
    return f"column {name!r}: {n} missing cell{'s' * (n > 1)}, none in training; {taken}" if n else ""


def learn(column: pd.Series, name: str | None, clip: bool = False) -> Plan:
    """The plan for a column of a frame, by its values; `clip`: numbers are kept within `fences`."""
    if column.isna().all():
        return Dropped(name, "it is empty")
    if column.dtype.kind in "biuf":
        values = _floats(column)
        why = "an identifier: it numbers the rows"
        return Dropped(name, why) if _counts_rows(values, name) else number(values, name, clip)
    return _learn_date(column, name) if column.dtype.kind == "M" else _learn_levels(_text_levels(column), name)


def number(values: np.ndarray, name: str | None, clip: bool = False) -> Number:
    """Mean and scale of a column of numbers that may have holes."""
    gone = np.isnan(values)
    there = values[~gone] if gone.any() else values
    ends = fences(there) if clip else None
    there = there if ends is None else np.clip(there, *ends)
    return Number(name, *moments(there), bool(gone.any()), ends=ends)


def fences(values: np.ndarray) -> tuple[float, float] | None:
    """Where numbers are clipped: the quantiles TAIL and 1 - TAIL, moved outward by half of their distance.

    Two cells lie outside of the quantiles of a short column, too, so that one or two mistyped ones move nothing. None
    where the quantiles are equal, or not finite.
    """
    tail = min(max(TAIL, (TYPED + 0.5) / len(values)), 0.25)
    low, high = np.quantile(values, [tail, 1 - tail]).tolist()
    room = (high - low) / 2
    return (low - room, high + room) if 0 < room < np.inf else None


def is_identifier(name: str) -> bool:
    """Whether a column is named as one that names rows, or has no name, as those that a data frame numbers rows with.

    Example:
        >>> [name for name in ("id", "customer_id", "orderID", "Unnamed: 0", "paid", "area") if is_identifier(name)]
        ['id', 'customer_id', 'orderID', 'Unnamed: 0']
    """
    return bool(_ROW_NAMES.match(name) or _ID.search(name))


def _counts_rows(values: np.ndarray, name: str | None) -> bool:
    """Different integers that are named as an identifier, or that rise from about 0 by about one per row."""
    least = NAMED_ROWS if _ROW_NAMES.match(name or "") else IDENTIFIER_ROWS
    if len(values) < least or name is None or not (values == np.round(values)).all():
        return False
    if is_identifier(name):
        return len(np.unique(values)) == len(values)
    rising = (np.diff(values) > 0).all() and values[-1] <= NUMBERS_PER_ROW * len(values)
    return bool(rising and 0 <= values[0] < FIRST_NUMBER)


def _learn_levels(cells: pd.Series, name: str | None) -> Plan:
    counts: Any = cells.value_counts()
    counts = counts[counts > 0]
    n, there = len(cells), int(counts.sum())
    many = len(counts) > min(MAX_LEVELS, IDENTIFIER_SHARE * there) and there >= IDENTIFIER_ROWS
    if many and np.mean([len(str(level).split()) for level in counts.index]) >= TEXT_WORDS:
        return Text(name, 512)
    if len(counts) > IDENTIFIER_SHARE * there and there >= IDENTIFIER_ROWS:
        return Dropped(name, f"an identifier or free text: {len(counts)} different values in {there} rows")
    missing = there < n
    if len(counts) == 1 and not missing:
        return Dropped(name, f"every row holds {str(counts.index[0])!r}")
    frequent = counts[counts >= max(RARE_COUNT, RARE_SHARE * n)].index[:MAX_LEVELS]
    kept = counts.index[:2] if len(counts) <= 2 else frequent
    rare = tuple(sorted(map(str, counts.index.difference(kept, sort=False))))
    return Levels(name, tuple(sorted(map(str, kept))), rare, missing)


def _learn_date(column: pd.Series, name: str | None) -> Plan:
    days = _days(column)
    there = days[~np.isnan(days)]
    mean, scale, _ = moments(there)
    span = float(np.ptp(there))
    wanted = {"year": span >= 180, "week": span >= 7, "day": (there != np.floor(there)).any()}
    circles: Any = tuple(circle for circle, used in wanted.items() if used)
    return Date(name, mean, scale, circles, len(there) < len(days))


def _floats(column: pd.Series) -> np.ndarray:
    """The column itself where it holds float64 already."""
    return column.to_numpy() if column.dtype == np.float64 else column.to_numpy(dtype=np.float64, na_value=np.nan)


def _numbers(column: pd.Series) -> np.ndarray:
    """Cells as numbers, also where they are text: NaN for those that cannot be read as one."""
    if column.dtype.kind in "biuf":
        return _floats(column)
    cells = _text_levels(column)
    values = np.append(numbers([str(level) for level in cells.cat.categories])[0], np.nan)
    return values[cells.cat.codes.to_numpy()]


def _text_levels(column: pd.Series) -> pd.Series:
    """A column of category dtype over text."""
    if column.dtype == "category":
        return column
    if column.dtype.kind == "f":
        column = column.map(lambda v: v if v != v else f"{v:.0f}" if v == round(v) else str(v)).astype(object)
    return column.where(column.isna(), column.astype(str)).astype("category")


def _days(column: pd.Series) -> np.ndarray:
    if column.dtype.kind in "biuf":  # a number is not a date
        return np.full(len(column), np.nan)
    stamps = pd.to_datetime(column.astype(object) if column.dtype == "category" else column, errors="coerce")
    return days_of(stamps)


def moments(x: np.ndarray) -> tuple[float, float, bool]:
    """Mean, standard deviation, and whether the values are constant up to rounding."""
    mean, scale = float(x.mean()), float(x.std())
    constant = scale <= 8 * np.finfo(float).eps * abs(mean)
    return (float(x[0]), 1.0, True) if constant else (mean, scale, False)


def plan_of(state: Mapping[str, Any]) -> Plan:
    """The plan whose `state` this is."""
    kinds: dict[str, type[Any]] = {cls.kind: cls for cls in (Number, Levels, Codes, Date, Text, Dropped)}
    given = dict(state)
    kind = given.pop("kind")
    if kind not in kinds:
        known = f"this version of fθ knows {', '.join(kinds)}. Install the version that wrote it, or newer."
        raise FileFormatError(f"Column {given.get('name')!r} is of kind {kind!r}; {known}")
    check.parameters(kind, check.constraints(kinds[kind], [f.name for f in fields(kinds[kind])]), given)
    return kinds[kind](**{key: tuple(value) if isinstance(value, list) else value for key, value in given.items()})
