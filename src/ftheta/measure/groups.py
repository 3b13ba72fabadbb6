"""Where a model errs: the mean error of rows that share a level, a quarter or a missing cell of a column.

    z = (mean of the group - mean of all rows) / (S √(1/m - 1/n)),      S²: variance of all errors, divisor n - 1

S √(1/m - 1/n) is the standard deviation of the mean of m of the n rows drawn at random. A group stands out where the
normal probability of a larger z is below 0.05 divided by the number of groups. Intervals are Wilson's where errors are
0 or 1, else Student's t.
Shapes: n rows, m of them in a group, G groups.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from .. import plots
from ..errors import InputError
from ..plots import Figure
from ..results import Result
from ._rows import numbers
from .intervals import wilson

MIN_ROWS, MAX_LEVELS, MAX_COLUMNS = 10, 8, 100  # fewer rows are left out; more levels become quarters
LEVEL, SHOWN, SAID = 0.95, 12, 3  # of intervals; groups of a figure; sentences


class ErrorGroups(Result):
    """Mean errors of groups of rows, the largest deviation first."""

    groups: tuple[tuple[str, str], ...]  # column, and which rows: G
    rows: np.ndarray  # (G,)
    mean: np.ndarray  # (G,)
    low: np.ndarray  # (G,)
    high: np.ndarray  # (G,)
    z: np.ndarray  # (G,)
    overall: float  # mean of all rows
    n: int
    name: str  # what the errors are
    share: bool  # whether they are 0 or 1

    def columns(self) -> Mapping[str, Any]:
        """One row per group, with the interval of its mean and its deviation."""
        column, which = zip(*self.groups, strict=True) if self.groups else ((), ())
        ends = {self.name: self.mean, "low": self.low, "high": self.high, "z": self.z}
        return {"column": list(column), "rows where it is": list(which), "rows": self.rows, **ends}

    def figure(self) -> Figure:
        """The groups that deviate most, beside the mean of all rows."""
        if not self.groups:
            raise InputError(f"No column has {MIN_ROWS} rows of one kind and {MIN_ROWS} others; there is no figure.")
        rows = [
            (f"{column}: {which.removeprefix('from ')}", float(m), float(a), float(b))
            for (column, which), m, a, b in zip(self.groups, self.mean, self.low, self.high, strict=True)
        ]
        title = "Where it errs (line: all rows)"
        return plots.whiskers({self.name: rows[:SHOWN]}, title=title, at=self.overall, letters=40)

    @property
    def standing_out(self) -> list[int]:
        """Of each column the group with the largest error, if chance would seldom make it so large."""
        limit = ndtri(1 - (1 - LEVEL) / max(len(self.groups), 1))
        first = {self.groups[i][0]: i for i in np.flatnonzero(self.z > limit)[::-1].tolist()}
        return sorted(first.values())

    @property
    def sentences(self) -> list[str]:
        """The three groups with the largest deviations, if chance would seldom make them."""
        return [self._sentence(i) for i in self.standing_out[:SAID]]

    def _sentence(self, i: int) -> str:
        (column, which), m = self.groups[i], int(self.rows[i])
        others = (self.overall * self.n - self.mean[i] * m) / (self.n - m)
        mean, low, high, rest = (
            f"{100 * v:.0f} %" if self.share else f"{v:#.3g}".rstrip(".")
            for v in (self.mean[i], self.low[i], self.high[i], others)
        )
        rows = f"without {column}" if which == "missing" else f"with {column} {which}"
        return f"Rows {rows} ({m:,} of {self.n:,}): {self.name} {mean} [{low}, {high}], of the others {rest}."

    @property
    def caption(self) -> str:
        if self.sentences:
            return " ".join(self.sentences)
        return f"No level, quarter or missing cell of a column has errors that stand out ({len(self.groups)} groups)."


def error_groups(x: Any, error: Any, *, name: str = "mean error") -> ErrorGroups:
    """Compare the errors of rows that share something with those of all rows.

    Args:
        x: Features before anything was encoded: a frame or an array, (n, D); the first 100 columns are looked at.
        error: The error of each row, 0 and 1 or a size: (n,).
        name: What their mean is, with its unit.

    Example:
        >>> city = ["Oslo"] * 20 + ["Rome"] * 80
        >>> wrong = [1] * 15 + [0] * 5 + [1] * 8 + [0] * 72
        >>> print(*error_groups({"city": city}, wrong, name="wrong").sentences)
        Rows with city Oslo (20 of 100): wrong 75 % [53 %, 89 %], of the others 10 %.
    """
    frame = pd.DataFrame(x)
    (error,) = numbers(error=error)
    n = len(error)
    if len(frame) != n:
        raise InputError(f"x has {len(frame)} rows but error has {n}; they must be the same rows in order.")
    share, spread = bool(np.isin(error, (0, 1)).all()), error.std(ddof=1) if n > 1 else 0.0
    found = []
    for j, column in enumerate(frame.columns[:MAX_COLUMNS]):
        for which, rows in _groups(frame.iloc[:, j]):
            m, own = int(rows.sum()), error[rows]
            if min(m, n - m) >= MIN_ROWS:
                z = (own.mean() - error.mean()) / (spread * np.sqrt(1 / m - 1 / n)) if spread else 0.0
                found.append(((str(column), which), m, own.mean(), *_interval(own, share), z))
    found.sort(key=lambda group: -group[-1])
    groups, m, *rest = zip(*found, strict=True) if found else ((),) * 6
    mean, low, high, z = (np.array(column, float) for column in rest)
    return ErrorGroups(groups, np.array(m, int), mean, low, high, z, float(error.mean()), n, name, share)


def _interval(error: np.ndarray, share: bool) -> tuple[float, float]:
    m = len(error)
    if share:
        return wilson(int(error.sum()), m, LEVEL)
    half = float(stdtrit(m - 1, (1 + LEVEL) / 2) * error.std(ddof=1) / np.sqrt(m))
    return float(error.mean() - half), float(error.mean() + half)


def _groups(column: pd.Series) -> Iterator[tuple[str, np.ndarray]]:
    """Rows where it is missing; of few values, or of words, the most frequent; else four quarters."""
    missing = column.isna().to_numpy()
    yield "missing", missing
    counts = column.value_counts()
    if column.dtype.kind in "iufM" and len(counts) > MAX_LEVELS:
        quarter = (4 * (column.rank(method="min") - 1) // (~missing).sum()).to_numpy(float)  # equal values in the same
        for k in np.unique(quarter[~missing]):
            inside = column[quarter == k]
            yield f"from {_cell(inside.min())} to {_cell(inside.max())}", quarter == k
    else:
        for value in counts.index[:MAX_LEVELS]:
            yield _cell(value), (column == value).to_numpy()


def _cell(value: Any) -> str:
    """A date without its time at midnight, a number in four digits."""
    if isinstance(value, str) or not isinstance(value, int | float | np.number):
        return str(value).removesuffix(" 00:00:00")
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"
