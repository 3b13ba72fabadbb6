"""Checked series, with what was learned of them: standardized values, and batches of windows.

    z_t = (v_t - v_{t-d} - m) / s,   v = log y or y;      x = z_{t-L} ... z_{t-1} and what is known ahead,  y = z_t

Shapes: T steps of a series, D columns that are forecast, K columns known ahead, L steps of a window, B windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ...errors import InputError
from ..specs import InputSpec
from .base import on_device
from .grid import Grid, Track

if TYPE_CHECKING:
    import torch

    from ..sources import Source


def filled(values: np.ndarray) -> np.ndarray:
    """Missing values on a line between their neighbors; at the ends the nearest one; 0 where there is none."""
    made = values.copy()
    for column in made.T:
        known = np.flatnonzero(np.isfinite(column))
        column[:] = np.interp(np.arange(len(column)), known, column[known]) if len(known) else 0.0
    return made


def logged(values: np.ndarray, log: np.ndarray) -> np.ndarray:
    """Logarithms of the columns (..., D) where `log` is not 0; values at or below 0 have none: NaN."""
    log = np.asarray(log, bool)
    return np.where(log, np.log(np.where(log & (values > 0), values, np.nan)), values)


@dataclass(frozen=True)
class Panel:
    """Checked series, batched by windows of steps whose next step is the target."""

    tracks: tuple[Track, ...]
    spec: InputSpec
    kind: Any  # Series, with its settings
    grid: Grid

    @property
    def n_forecast(self) -> int:
        return int(self.spec.facts["forecast"])

    @property
    def n_targets(self) -> int:
        return int(self.spec.facts["targets"])

    @property
    def window(self) -> int:
        """L: steps of a window."""
        return int(self.spec.facts["window"])

    def __len__(self) -> int:
        return sum(t.end - t.begin for t in self.tracks)

    def take(self, index: Any) -> Panel:
        """A part without gaps in the order of time; rows before it can still be looked back at."""
        index = np.arange(len(self))[index]
        if len(index) and index[-1] - index[0] + 1 != len(index):
            raise InputError("Steps that follow each other cannot be taken apart at random: take a contiguous part.")
        rows = np.sort(np.concatenate([t.place[t.begin : t.end] for t in self.tracks]))
        first, last = rows[index[[0, -1]]] if len(index) else (0, -1)
        made = []
        for t in self.tracks:
            end = int(np.searchsorted(t.place[: t.end], last, "right"))
            begin = min(max(t.begin, int(np.searchsorted(t.place[: t.end], first))), end)
            made.append(Track(t.name, t.time[:end], t.values[:end], t.place[:end], begin))
        return replace(self, tracks=tuple(made))

    def before(self, stop: int) -> Panel:
        """The first rows, with what is learned of them alone; a forecast still starts at the end of all."""
        part = self.take(slice(0, stop))
        past = {name: self.spec.facts[name] for name in ("values", "missing", "time", "lengths")}
        return replace(part, spec=InputSpec(self.spec.shape, {**self.kind.learn(part).facts, **past}))

    def content(self) -> Sequence[np.ndarray]:
        """Values and steps of each series."""
        return [a for t in self.tracks for a in (np.nan_to_num(t.values, nan=1e300), t.time)]

    @cached_property
    def past(self) -> tuple[Track, ...]:
        """The series of fit."""
        f = self.spec.facts
        ends = np.cumsum(f["lengths"])
        values = np.where(f["missing"], np.nan, f["values"])
        parts = zip(f["names"], np.split(f["time"], ends[:-1]), np.split(values, ends[:-1]), strict=True)
        return tuple(Track(str(n), time, values, np.zeros(len(time), np.int64)) for n, time, values in parts)

    def units(self, t: Track) -> tuple[np.ndarray, np.ndarray]:
        """Mean and scale (C,) of a series; of one that fit did not see, those of the others on average."""
        f = self.spec.facts
        own = [i for i, name in enumerate(f["names"]) if str(name) == t.name][:1] or slice(None)
        return f["mean"][own].mean(0), f["scale"][own].mean(0)

    def frame(self) -> pd.DataFrame:
        """The series as a data frame that `check` reads in the same way."""
        parts = [pd.DataFrame(t.values, self.grid.times(t.time)) for t in self.tracks]
        names = [t.name for t in self.tracks]
        made = pd.concat(parts, keys=names) if len(parts) > 1 else parts[0]
        made.columns = [str(c) for c in self.spec.facts["columns"]]
        return made

    def level(self, t: Track) -> np.ndarray:
        """Values (T, D) with logarithms, filled."""
        return filled(logged(t.values[: t.end, : self.n_forecast], self.spec.facts["log"]))

    def _missing(self, t: Track) -> np.ndarray:
        """Which values (T, D) are not known."""
        return ~np.isfinite(logged(t.values[: t.end, : self.n_forecast], self.spec.facts["log"]))

    def inputs(self, t: Track) -> np.ndarray:
        """What models look back at, differences and scales without gaps, 0 in the first d rows: (T, D + K)."""
        n, d, (mean, scale) = self.n_forecast, int(self.spec.facts["difference"]), self.units(t)
        v, z = self.level(t), np.full(t.values.shape, np.nan)
        z[d : t.end, :n] = v[d:] - v[: max(0, len(v) - d)] if d else v
        z[:, n:] = filled(t.values[:, n:])
        z = (z - mean) / scale
        z[: min(d, t.end), :n] = 0.0
        return z

    def standardized(self, t: Track) -> np.ndarray:
        """z (T, D + K): the inputs, but NaN where a value is missing, and in the first d rows."""
        d, z, missing = int(self.spec.facts["difference"]), self.inputs(t), self._missing(t)
        missing[d:] |= missing[: max(0, len(missing) - d)].copy()
        missing[:d] = True
        z[: t.end, : self.n_forecast][missing] = np.nan
        return z

    def source(self, y: Any, weight: Any, *, batch_size: int, shuffle: bool, dtype: torch.dtype, device: Any) -> Source:
        """Batches of windows: x (B, L, D + K), each row with the inputs known for the step after it; y (B, D), or
        (B, L, D) where each step has a target; weights 0 where a value is missing."""
        import torch

        from ..batch import Batch
        from ..sources import Indexed

        x, targets, rows = self._stacked()
        if not len(rows):
            raise self.too_short()
        x, targets, rows = *(on_device(a, dtype, device) for a in (x, targets)), torch.from_numpy(rows)
        known = targets.isfinite().all(1)
        gaps, targets = not bool(known.all()), targets.nan_to_num()
        back = torch.arange(-self.window, 0)

        def get(index: Any, draw: Any) -> Batch:
            last = rows[index]
            window = last[:, None] + back
            at = (window + 1 if self.kind.each else last).to(device)
            return Batch(x[window.to(device)], targets[at], known[at].to(dtype) if gaps else None, index)

        return Indexed(len(rows), get, batch_size=batch_size, shuffle=shuffle)

    def _stacked(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All series below each other: inputs with known columns one step ahead, targets, and rows to predict.

        A step that follows a gap is left out as a target: the gap was filled with a line that leads to it.
        """
        n, d, window = self.n_forecast, int(self.spec.facts["difference"]), self.window
        xs, ys, rows, start = [], [], [], 0
        for t in self.tracks:
            z, x = self.standardized(t)[: t.end, :n], self.inputs(t)
            ahead = np.concatenate([x[1:, n:], x[-1:, n:]])
            xs.append(np.concatenate([x[: t.end, :n], ahead[: t.end]], 1))
            z[1:][self._missing(t)[:-1].any(1)] = np.nan
            ys.append(z)
            usable = np.arange(max(t.begin, window + d), t.end)
            rows.append(start + (usable if self.kind.each else usable[np.isfinite(z[usable]).all(1)]))
            start += t.end
        return np.concatenate(xs), np.concatenate(ys), np.concatenate(rows)

    @property
    def able(self) -> bool:
        """Whether there is a step to learn from."""
        return bool(len(self._stacked()[2]))

    def too_short(self) -> InputError:
        """Why there is nothing to learn from."""
        d, longest = int(self.spec.facts["difference"]), max((t.end for t in self.tracks), default=0)
        have, least = f"The series has {longest} steps", self.window + d + 1
        if longest >= least:
            none = f"no step that is known follows {self.window} others that are"
            more = "Fill in missing values, use fewer lags, or drop the columns that are rarely known."
            return InputError(f"{have}, but {none}. {more}")
        lags = f"lags={self.window}{f' of differences over {d} steps' if d else ''}"
        return InputError(f"{have}; with {lags} at least {least} are needed. Pass a longer series, or use fewer lags.")
