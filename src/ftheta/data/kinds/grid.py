"""Regular grids of time: periods of a calendar or numbers of rows, and series laid on them.

Daily stamps of working days only, months with a gap, quarters, half hours: the coarsest grid on which all stamps of a
series are apart is taken, and what is missing on it is a row of empty cells.
Shapes: T steps of a series, C columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ... import check
from ...errors import InputError, InputTypeError

RESAMPLE = "Bring them to a grid, e.g. with pandas' resample('D').mean()."
SEASONS = {"Y": 1, "Q": 4, "M": 12, "W": 52, "B": 5, "D": 7, "h": 24, "min": 1440, "s": 60}  # steps of a usual cycle


class Track(NamedTuple):
    """One series on its grid."""

    name: str
    time: np.ndarray  # (T,) int64: numbers of the steps of the grid
    values: np.ndarray  # (T, D + K) float64, NaN where missing; rows after the last value of D are of the future
    place: np.ndarray  # (T,) number of each row among the rows of all series
    begin: int = 0  # rows before are only looked back at

    @property
    def end(self) -> int:
        """Rows up to the last known value."""
        return int(self.known_rows[-1]) + 1 if len(self.known_rows) else 0

    @property
    def known_rows(self) -> np.ndarray:
        return np.flatnonzero(self.place >= 0)


class Grid(NamedTuple):
    """Numbers of equal steps: row numbers, or periods of a calendar."""

    freq: str = ""  # of pandas' periods; B: working days; empty: plain numbers
    step: int = 1
    phase: int = 0  # the period of a step, modulo `step`
    offset: int = 0  # nanoseconds from the start of a period to its time stamp; below 0: from its end

    @classmethod
    def of(cls, index: pd.Index) -> Grid:
        """The coarsest grid on which all time stamps of each series are apart."""
        times, names = levels_of(index)
        if times.dtype.kind != "M":
            numbers = np.asarray(times)
            return cls("", _usual_step([numbers[names == n] for n in pd.unique(names)]))._phased(times, numbers)
        dates = pd.DatetimeIndex(times)
        for freq in SEASONS:
            if freq == "B" and (dates.day_of_week >= 5).any():
                continue
            number = cls(freq).raw(dates)
            parts = [number[names == n] for n in pd.unique(names)]
            if all(len(np.unique(p)) == len(p) for p in parts):
                return cls(freq, _usual_step(parts))._phased(times, number)
        raise _duplicate(dates, names)

    def _phased(self, times: pd.Index, raw: np.ndarray) -> Grid:
        """With the phase and the offset of these stamps, whose periods are `raw`."""
        found = self._replace(phase=int(raw[0]) % self.step, offset=0)
        if not self.freq:
            return found
        since = [(pd.DatetimeIndex(times) - found._starts(raw + k)).as_unit("ns").asi8 for k in (0, 1)]
        return found._replace(offset=next((int(s[0]) for s in since if (s == s[0]).all()), 0))

    def raw(self, dates: pd.DatetimeIndex) -> np.ndarray:
        """Numbers of the periods."""
        if self.freq == "B":
            days = dates.to_numpy().astype("datetime64[D]")
            return np.busday_count(np.datetime64("1970-01-01"), np.busday_offset(days, 0, roll="backward"))
        return dates.to_period(self.freq).asi8

    def numbers(self, times: Any) -> np.ndarray:
        """Steps of the grid, (T,) int64."""
        raw = self.raw(pd.DatetimeIndex(times)) if self.freq else np.asarray(times)
        if ((raw - self.phase) % self.step).any():
            uneven = "The time stamps are not evenly spaced, and not only because some are missing"
            raise InputError(f"{uneven}. {RESAMPLE}")
        return (raw // self.step).astype(np.int64)

    def times(self, numbers: np.ndarray) -> pd.Index:
        """Time stamps of steps."""
        raw = np.asarray(numbers, np.int64) * self.step + self.phase
        if not self.freq:
            return pd.Index(raw)
        return self._starts(raw + (self.offset < 0)) + pd.Timedelta(self.offset, "ns")

    def _starts(self, raw: np.ndarray) -> pd.DatetimeIndex:
        if self.freq == "B":
            return pd.DatetimeIndex(np.busday_offset(np.datetime64("1970-01-01"), raw, roll="forward"))
        return pd.PeriodIndex.from_ordinals(raw, freq=self.freq).to_timestamp()

    def places(self, X: Any) -> pd.MultiIndex:
        """Name and step of each row of X."""
        times, names = levels_of(frame_of(X, "X").index)
        return pd.MultiIndex.from_arrays([names, self.numbers(times)])

    @property
    def season(self) -> int:
        """Steps of the usual cycle; 1 where there is none."""
        cycle = SEASONS.get(self.freq, 1)
        return cycle // self.step if cycle % self.step == 0 and cycle > self.step else 1

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Grid:
        freq, step, phase, offset = str(facts["freq"]), *(int(facts[name]) for name in cls._fields[1:])
        if (freq and freq not in SEASONS) or not 0 <= phase < step:
            raise ValueError(f"a grid of {freq!r}, {step}, {phase}")
        return cls(freq, step, phase, offset)

    def fitting(self, index: pd.Index) -> Grid:
        """This grid, if the index has such stamps."""
        times, _ = levels_of(index)
        if (times.dtype.kind == "M") != bool(self.freq):
            found = "time stamps" if times.dtype.kind == "M" else "plain numbers"
            raise InputError(f"The index of X holds {found}, unlike that of the series of fit. Use the same kind.")
        return self._phased(times, self.raw(pd.DatetimeIndex(times)) if self.freq else np.asarray(times))


def stamps(column: Any) -> pd.Index:
    """A column of time as an index: dates (20240131 and 202401 too), numbers of steps, or years such as 1960.25."""
    values = pd.Index(column)
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.dtype.categories.dtype)
    if values.hasnans:
        raise InputError(f"{int(values.isna().sum())} rows have no time stamp. Drop those rows, or fill them in.")
    if values.dtype.kind == "f":
        gaps = np.diff(np.unique(values))
        per_year = round(1 / float(np.median(gaps))) if len(gaps) else 1
        if per_year in (4, 12) and float(np.min(np.asarray(values))) > 1000:  # years with a fraction
            months = np.rint(np.asarray(values) * per_year).astype(int) * (12 // per_year)
            return pd.PeriodIndex.from_ordinals(months - 1970 * 12, freq="M").to_timestamp()
        if (np.asarray(values) == np.rint(values)).all():
            values = values.astype(np.int64)
    if values.dtype.kind in "iu":
        return _written(values)
    if values.dtype.kind == "O":
        if len({str(getattr(v, "tzinfo", None)) for v in values}) > 1:
            one = "Convert them to one, e.g. pd.to_datetime(..., utc=True)."
            raise InputError(f"The time stamps have several time zones. {one}")
        dates = pd.Index(pd.to_datetime(values, format="mixed", errors="coerce", utc=True))
        if dates.hasnans:
            raise InputError(f"{str(values[dates.isna()][0])!r} is not a time stamp. Write dates as 2024-01-31.")
        return dates
    return values


def _written(values: pd.Index) -> pd.Index:
    """Dates that are written as numbers, 20240131 or 202401; other numbers as they are."""
    for least, most, form in ((19000101, 21001231, "%Y%m%d"), (190001, 210012, "%Y%m")):
        if bool(np.all((values >= least) & (values <= most))):
            dates = pd.to_datetime(values.astype(str), format=form, errors="coerce")
            return values if dates.hasnans else dates
    return values


def frame_of(X: Any, owner: str) -> pd.DataFrame:
    """X as a frame of floats with an index of time."""
    if isinstance(X, str | bytes | Mapping) or not hasattr(X, "__len__"):
        raise InputTypeError(f"X is {X!r:.40}; {owner} takes a series: an array (T,) or (T, D), or a data frame.")
    frame = X.to_frame("y" if X.name is None else X.name) if isinstance(X, pd.Series) else X
    if not isinstance(frame, pd.DataFrame):
        try:
            array = np.asarray(check.plain(X), dtype=float)
        except (TypeError, ValueError) as error:
            raise InputTypeError(f"X must be a series of numbers: {error}.") from None
        if array.ndim not in (1, 2) or not array.size:
            raise InputError(f"X has shape {array.shape}; {owner} takes a series (T,) or (T, D) with T >= 1.")
        array = array.reshape(len(array), -1)
        frame = pd.DataFrame(array, columns=["y"] if array.shape[1] == 1 else None)
    if not len(frame) or not frame.shape[1]:
        raise InputError(f"X is empty; {owner} takes a series of at least one step.")
    texts = [c for c in frame.columns if frame[c].dtype.kind not in "fiub"]
    if texts:
        raise InputTypeError(f"Column {str(texts[0])!r} does not hold numbers. A series is made of numbers; drop it.")
    values = frame.astype(float)
    if np.isinf(values.to_numpy()).any():
        raise InputError("X contains inf. A missing value is NaN.")
    return values


def levels_of(index: pd.Index) -> tuple[pd.Index, np.ndarray]:
    """Time and name of each row."""
    if isinstance(index, pd.MultiIndex):
        if index.nlevels != 2:
            raise InputError(f"The index has {index.nlevels} levels; several series have two: name and time.")
        return _plain_times(index.get_level_values(1)), np.asarray(index.get_level_values(0).astype(str))
    return _plain_times(index), np.zeros(len(index), int).astype(str)


def _plain_times(index: pd.Index) -> pd.Index:
    if isinstance(index, pd.PeriodIndex):
        index = index.to_timestamp()
    elif index.dtype.kind in "fO" or index.hasnans:
        index = stamps(index)
    if isinstance(index, pd.DatetimeIndex) and index.tz is not None:  # days of the place, hours of the world
        index = index.tz_localize(None) if (index == index.normalize()).all() else index.tz_convert(None)
    if index.dtype.kind not in "iuM":
        raise InputError(f"The index of X holds {index.dtype}; time is a date, a period or a row number.")
    return index


def _usual_step(parts: Sequence[np.ndarray]) -> int:
    gaps = np.concatenate([np.diff(np.sort(p)) for p in parts])
    values, counts = np.unique(gaps[gaps > 0], return_counts=True)
    return int(values[np.argmax(counts)]) if len(values) else 1


def _duplicate(times: pd.Index, names: np.ndarray) -> InputError:
    twice = pd.MultiIndex.from_arrays([names, times]).duplicated()
    if not twice.any():
        close = "Some time stamps lie closer than the steps of the series of fit, or than a second"
        return InputError(f"{close}. {RESAMPLE}")
    example = f"The time stamp {times[int(np.argmax(twice))]} is there more than once"
    advice = "If there are several series, name them with --group COLUMN (an index of two levels in Python)"
    return InputError(f"{example}. {advice}; else keep one row per time.")


def widest(n: int) -> int:
    """Steps over which n rows may be spread."""
    return 50 * n + 1000


def tracks_of(frame: pd.DataFrame, grid: Grid, n_targets: int) -> tuple[Track, ...]:
    """Each series on the grid, in the order of their first rows; it ends with its last target."""
    times, names = levels_of(frame.index)
    number, found, cells = grid.numbers(times), [], frame.to_numpy(float)
    for name in pd.unique(names):
        own = np.flatnonzero(names == name)
        own = own[np.argsort(number[own], kind="stable")]
        at = number[own]
        if (np.diff(at) == 0).any():
            raise _duplicate(times, names)
        if at[-1] - at[0] > widest(len(at)):
            raise InputError(f"{len(at)} time stamps span {at[-1] - at[0] + 1} steps of the grid. Resample them first.")
        values = np.full((at[-1] - at[0] + 1, cells.shape[1]), np.nan)
        values[at - at[0]] = cells[own]
        known = np.flatnonzero(np.isfinite(values[:, :n_targets]).any(1))
        place = np.full(len(values), -1)
        place[: known[-1] + 1 if len(known) else 0] = 0
        found.append(Track(str(name), np.arange(at[0], at[-1] + 1), values, place))
    return _placed(found)


def _placed(tracks: Sequence[Track]) -> tuple[Track, ...]:
    """Rows numbered over all series by their time."""
    known = [t.time[t.place >= 0] for t in tracks]
    rank = np.argsort(np.argsort(np.concatenate(known), kind="stable"))
    parts = np.split(rank, np.cumsum([len(time) for time in known])[:-1])
    rest = (np.full(len(t.time) - len(part), -1) for t, part in zip(tracks, parts, strict=True))
    return tuple(t._replace(place=np.append(p, r)) for t, p, r in zip(tracks, parts, rest, strict=True))
