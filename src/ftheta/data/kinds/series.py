"""Series: one or several on a regular grid of time; a missing row is a row of empty cells.

    v = log y where values only grow and their spread grows with them, else y
    z_t = (v_t - v_{t-d} - m) / s,      d = 0, 1 or a season;  m, s of each series:      what models see

Shapes: T steps of a series, D columns that are forecast, K columns known ahead, L steps of a window.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd

from ...catalog import nearest
from ...errors import InputError
from ...formulas.autoregression import aicc, autoregression
from ...results import Table, counted
from ..datasets import Dataset
from ..specs import InputSpec
from .base import Kind
from .grid import Grid, Track, frame_of, levels_of, stamps, tracks_of
from .panel import Panel, filled, logged

MAX_ORDER = 24  # lags of the autoregression that decides about differences
_MOMENTS = (np.ma.mean, np.ma.std)
UNIT_ROOT = 6.0  # by how much it must be better without, as in the test of Dickey and Fuller at 5 %


@dataclass(frozen=True)
class Series(Kind):
    """A series (T,) or (T, D), or a data frame with an index of time; one with two levels, of name and time, holds
    several series. Columns that are neither `target` nor `known_ahead` are forecast along."""

    window: int = 0  # L; 0: a cycle and one step more, or 24
    target: tuple[str, ...] = ()  # columns to forecast; empty: all that are not known ahead
    known_ahead: tuple[str, ...] = ()  # columns whose future values are given
    season: int = 0  # steps of a cycle; 0: as usual for such time stamps
    log: bool | Literal["auto"] = "auto"
    difference: int | Literal["auto", "season"] = "auto"  # d
    each: bool = False  # whether each step of a window has a target, or only the one after it

    name: ClassVar[str] = "series"
    split: ClassVar[str] = "chronological"
    unit: ClassVar[str] = "steps"
    new: ClassVar[str] = "--horizon 10"
    has_targets: ClassVar[bool] = True

    def check(self, X: Any, owner: Any, spec: InputSpec | None = None) -> Panel:
        """X on a regular grid."""
        frame: Any = frame_of(X, type(owner).__name__)
        order = self._columns(frame, spec)
        facts: dict[str, Any] = {} if spec is None else dict(spec.facts)
        grid = Grid.of(frame.index) if spec is None else Grid.from_facts(facts).fitting(frame.index)
        n = sum(str(c) not in self.known_ahead for c in order)
        wanted = len(self.target) if self.target else n
        tracks = tracks_of(frame[order], grid, wanted)
        if not any(t.end for t in tracks):
            raise InputError("No row has a value of the target. A series has at least one.")
        owner.n_features_in_ = len(order)
        if spec is not None:
            return Panel(tracks, spec, self, grid)
        facts = {"columns": np.array([str(c) for c in order]), "targets": wanted, "forecast": n, **grid._asdict()}
        made = Panel(tracks, InputSpec((len(order),), facts), self, grid)
        return replace(made, spec=self.learn(made))

    def _columns(self, frame: pd.DataFrame, spec: InputSpec | None) -> list[Any]:
        """Columns in the order targets, forecast along, known ahead."""
        names = {str(c): c for c in frame.columns}
        if spec is not None:
            wanted = [str(c) for c in spec.facts["columns"]]
            missing = [c for c in wanted if c not in names]
            if missing and len(names) == len(wanted) and not isinstance(frame.columns[0], str):
                return list(frame.columns)
            if missing:
                raise InputError(f"Column {missing[0]!r} of the series is missing; it has {', '.join(names)}.")
            return [names[c] for c in wanted]
        for option, chosen in (("target", self.target), ("known_ahead", self.known_ahead)):
            for c in chosen:
                if c not in names:
                    raise InputError(f"{option}: there is no column {c!r}; the series has {', '.join(names)}.")
        others = [c for c in names if c not in self.target and c not in self.known_ahead]
        if not self.target and not others:
            raise InputError("Every column is known ahead, so nothing is left to forecast. Leave one out of it.")
        return [names[c] for c in (*self.target, *others, *self.known_ahead)]

    def learn(self, inputs: Panel) -> InputSpec:
        """Season, logarithm, difference, mean and scale, from the rows that count; and all values up to their end."""
        facts, tracks, n = dict(inputs.spec.facts), inputs.tracks, inputs.n_forecast
        longest = max(inputs.tracks, key=lambda t: t.end)
        season = self.season or inputs.grid.season
        facts["season"] = season if season < longest.end / 2 else 1
        usual = facts["season"] + 1 if facts["season"] > 1 else 24
        facts["window"] = self.window or max(1, min(usual, longest.end // 4))
        raw = [filled(t.values[: t.end, :n]) for t in tracks]
        moves = facts["season"] > 1 or _difference(filled(longest.values[: longest.end, : inputs.n_targets]), 1) > 0
        log = _spread_grows(raw, facts["season"]) & moves if self.log == "auto" else np.full(n, self.log)
        if self.log is True and min(v.min(initial=1.0) for v in raw) <= 0:
            raise InputError("log=True needs values above 0. Use log=False, or shift the series.")
        facts["log"] = log.astype(np.int64)
        level = filled(logged(longest.values[: longest.end, :n], log))
        if self.difference not in ("auto", "season") and int(self.difference) >= longest.end:
            many = f"difference={self.difference}, and the series has {longest.end} steps"
            raise InputError(f"{many}. Use a smaller one.")
        chosen = facts["season"] if self.difference == "season" else self.difference
        chosen = _difference(level[:, : inputs.n_targets], facts["season"]) if self.difference == "auto" else chosen
        facts |= {"difference": chosen, "names": np.array([t.name for t in tracks])}
        units = {"mean": np.zeros((len(tracks), 1)), "scale": np.ones((len(tracks), 1))}
        plain = replace(inputs, spec=InputSpec(inputs.spec.shape, facts | units))
        z = [np.ma.masked_invalid(plain.standardized(t)[: t.end]) for t in tracks]
        mean, scale = (np.stack([f(v, 0).filled(0.0) if len(v) else np.zeros(v.shape[1]) for v in z]) for f in _MOMENTS)
        facts |= {"mean": mean, "scale": np.where(scale > 1e-12 * (1 + np.abs(mean)), scale, 1.0)}
        return InputSpec((inputs.spec.shape[0],), facts | _past(tracks))

    def verify(self, spec: InputSpec) -> None:
        """Facts of the right shapes."""
        f, c = spec.facts, spec.shape[0]
        g, n = len(f["names"]), int(f["forecast"])
        shapes = {"columns": (c,), "mean": (g, c), "scale": (g, c), "log": (n,), "lengths": (g,), "season": ()}
        found = {name: np.shape(f[name]) for name in shapes}
        steps = int(np.sum(f["lengths"]))
        rows = [np.shape(f[name]) for name in ("values", "missing", "time")]
        if found != shapes or rows != [(steps, c), (steps, c), (steps,)]:
            raise ValueError(f"a series of {c} columns with facts of shapes {found}")
        window, season, d = (operator.index(f[name]) for name in ("window", "season", "difference"))
        learnable = 0 <= d < steps and 1 <= window <= steps and 1 <= season <= steps
        if not learnable or not 0 < int(f["targets"]) <= n <= c:
            raise ValueError("a series that is forecast from nothing")
        kinds = dict.fromkeys(("mean", "scale", "values"), "f") | dict.fromkeys(("time", "lengths", "log"), "iu")
        if any(np.asarray(f[name]).dtype.kind not in kind for name, kind in (kinds | {"missing": "iub"}).items()):
            raise ValueError("a series whose facts are not numbers")
        Grid.from_facts(f)

    # ---- data sets of this kind, for jobs

    @classmethod
    def convert(cls, data: Dataset, roles: Mapping[str, Any] = {}) -> Dataset:
        if data.kind == cls.name:
            x = data.x if hasattr(data.x, "columns") else frame_of(data.x, data.name).rename(columns={0: "y"})
            return _made(data, x, roles, ())
        frame, target = data.x.copy(), roles.get("target") or "y"
        if data.y is not None:
            frame.insert(0, target, np.asarray(data.y))
        names = data.groups if data.groups is not None else None
        if names is None and roles.get("group"):
            names = _column(frame, "--group", roles["group"]).astype(str).to_numpy()
        time = roles.get("time_column") or next(_dates(frame), "")
        index: Any = stamps(_column(frame, "--time-column", time)) if time else pd.RangeIndex(len(frame))
        for c in roles.get("known_ahead", ()):
            _column(frame, "--known-ahead", c, keep=True)
        if roles.get("target") and _column(frame, "--target", target, keep=True).dtype.kind not in "fiub":
            raise InputError(f"The target {target!r} holds text or dates; a series is made of numbers.")
        numbers = frame.select_dtypes(["number", "bool"]).astype(float)
        if not len(numbers.columns):
            raise InputError(f"{data.name} has no column of numbers to forecast.")
        numbers.index = index if names is None else pd.MultiIndex.from_arrays([np.asarray(names), index])
        numbers = numbers.iloc[np.argsort(np.asarray(index), kind="stable")]
        lost = [f"column {str(c)!r} holds text and is left out" for c in frame.columns.difference(numbers.columns)]
        return _made(replace(data, kind=cls.name, groups=None), numbers, roles, lost)

    @classmethod
    def settings(cls, data: Dataset, roles: Mapping[str, Any]) -> dict[str, Any]:
        known = tuple(roles.get("known_ahead") or ())
        one = getattr(data.y, "ndim", 0) == 1
        target = roles.get("target") or (data.feature_names[0] if one else "")
        share = {} if roles.get("validation", "auto") == "auto" else {"validation": roles["validation"]}
        return {"target": target, "known_ahead": known, **share}

    @classmethod
    def pack(cls, data: Dataset) -> dict[str, Any] | None:
        x = data.x if data.ahead is None else pd.concat([data.x, data.ahead])
        times, names = levels_of(x.index)
        stamped = times.dtype.kind == "M"
        number = pd.DatetimeIndex(times).as_unit("ns").asi8 if stamped else np.asarray(times, np.int64)
        names = [str(n) for n in names] if isinstance(x.index, pd.MultiIndex) else []
        facts = {"stamped": stamped, "columns": [str(c) for c in x.columns], "names": names}
        return {"values": x.to_numpy(float), "time": number, **facts}

    @classmethod
    def unpack(cls, tree: Mapping[str, Any]) -> Any:
        time: Any = pd.DatetimeIndex(tree["time"]) if tree["stamped"] else pd.Index(tree["time"])
        names = list(tree["names"])
        index = pd.MultiIndex.from_arrays([names, time]) if names else time
        return pd.DataFrame(tree["values"], index=index, columns=list(tree["columns"]))

    @classmethod
    def content(cls, x: Any) -> bytes:
        if not hasattr(x, "iloc"):
            return super().content(x)
        return np.ascontiguousarray(x.to_numpy(float)).tobytes() + "\n".join(map(str, x.index)).encode()

    @classmethod
    def size(cls, data: Dataset) -> str:
        return counted(data.columns, "column")

    @classmethod
    def first(cls, data: Dataset, rows: int) -> Table:
        if not hasattr(data.x, "columns"):
            return Table({"first values": np.asarray(data.x)[:rows].tolist()})
        head = data.x.head(rows)
        return Table({"time": [str(i) for i in head.index], **{str(c): head[c].tolist() for c in head}}, "first steps")


def _dates(frame: pd.DataFrame) -> Iterator[str]:
    """Columns of dates, then those of texts that are dates, such as 2024-01."""
    yield from map(str, frame.select_dtypes(["datetime", "datetimetz"]))
    for c in frame.select_dtypes(["object", "string", "category"]):
        if pd.to_datetime(frame[c].astype(str), format="ISO8601", errors="coerce", utc=True).notna().all():
            yield str(c)


def _column(frame: pd.DataFrame, option: str, name: str, keep: bool = False) -> Any:
    """A column, which is taken out of the frame; one that is not there is answered with the nearest."""
    if name not in frame:
        raise InputError(f"{option}: {nearest('column', name, [str(c) for c in frame.columns])}")
    return frame[name] if keep else frame.pop(name)


def _made(data: Dataset, x: Any, roles: Mapping[str, Any], notes: Sequence[str]) -> Dataset:
    """A data set of a series; to learn from, rows without a target are left out, which are gaps then."""
    names = tuple(map(str, x.columns))
    known = roles.get("known_ahead", ())
    own = [roles["target"]] if roles.get("target") else [c for c in names if c not in known]
    y = x.set_axis(names, axis=1)[own].to_numpy(float)
    ahead = None
    if roles.get("train"):
        kept = np.isfinite(y).any(1)
        x, y, ahead = (x, y, None) if kept.all() else (x[kept], y[kept], x[~kept])
    y = y[:, 0] if len(own) == 1 else y
    about: dict[str, Any] = {"feature_names": names, "target_names": (), "task": "regression"}
    return replace(data, x=x, y=y, ahead=ahead, notes=(*data.notes, *notes), **about)


def _spread_grows(raw: Sequence[np.ndarray], season: int) -> np.ndarray:
    """Columns above 0 whose changes over a season grow with their level: their logarithm is more even."""
    found = []
    for values in zip(*(v.T for v in raw), strict=True):  # of one column
        positive = all(len(v) and v.min() > 0 for v in values)
        slopes = [s for v in values if positive and (s := _slope(v, max(season, 8))) is not None]
        found.append(bool(slopes) and float(np.median(slopes)) > 0.5)
    return np.array(found)


def _slope(v: np.ndarray, block: int) -> float | None:
    """How the logarithm of the spread in blocks grows with that of their mean; None where levels hardly differ."""
    parts = v[len(v) % block :].reshape(-1, block)
    if len(parts) < 4:
        return None
    level = np.log(parts.mean(1))
    detrended = parts - np.linspace(-0.5, 0.5, block) * (parts[:, -1:] - parts[:, :1])
    spread = np.log(detrended.std(1) + 1e-12 * parts.mean())
    if level.max() - level.min() < 0.4:
        return None
    return float(np.polyfit(level, spread, 1)[0])


def _difference(v: np.ndarray, season: int) -> int:
    """0, 1 or the season: with which autoregressions of the columns predict the next values best."""
    v = v[:, np.ptp(v, axis=0) > 0]
    if not v.size or len(v) < 12:
        return 0
    most = int(min(MAX_ORDER, season + 1 if season > 1 else 12, (len(v) - season) // 4))
    scores = {}
    for d in dict.fromkeys((0, 1, season)):
        z = v[d:] - v[: len(v) - d] if d else v
        skip = season + most - d  # the same steps are predicted
        for p in range(0 if d else 1, most + 1):
            residuals = [autoregression(one[:, None], p)[1][max(0, skip - p) :] for one in z.T]
            scores[d, p] = sum(aicc(r, 1 + p) + (UNIT_ROOT if d == 0 else 0.0) for r in residuals)
    return min(scores, key=lambda key: scores[key])[0] if scores else 0


def _past(tracks: Sequence[Track]) -> dict[str, Any]:
    """All values up to the end of each series: forecasts start from there."""
    ends = [t.end for t in tracks]
    values = np.concatenate([t.values[:e] for t, e in zip(tracks, ends, strict=True)])
    return {
        "values": np.nan_to_num(values),  # a file of numbers that are not finite would be refused
        "missing": np.isnan(values),
        "time": np.concatenate([t.time[:e] for t, e in zip(tracks, ends, strict=True)]),
        "lengths": np.array(ends, np.int64),
    }
