"""Free runs from origins: where they start, what is known there, and what comes of them row by row.

    v_t = z_t + v_{t-d}:  differences summed up after the last values

Shapes: N origins, h steps ahead, T steps of a series, D columns that are forecast, K columns known ahead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...data.kinds.grid import Track
from ...data.kinds.panel import Panel, filled


class Origin(NamedTuple):
    """Where a forecast starts: a series, and the number of its rows that are known."""

    track: Track
    at: int


class Steps(NamedTuple):
    """Forecasts of h steps from N origins."""

    names: tuple[str, ...]
    times: list[pd.Index]  # of the steps
    predicted: np.ndarray  # (N, h, targets)
    low: np.ndarray | None
    high: np.ndarray | None
    level: np.ndarray  # (N, h, D), with logarithms
    scale: np.ndarray  # (N, 1, D)

    def columns(self) -> dict[str, Any]:
        """As the columns of a table."""
        n, h, d = self.predicted.shape
        found: dict[str, Any] = {"series": np.repeat(self.names, h)} if len(set(self.names)) > 1 else {}
        found["step"] = np.tile(np.arange(1, h + 1), n)
        if self.times[0].dtype.kind == "M":
            found["time"] = np.concatenate([t.astype(str) for t in self.times])
        for k in range(d):
            for name, values in (("prediction", self.predicted), ("low", self.low), ("high", self.high)):
                if values is not None:
                    found[name if d == 1 else f"{name} {k + 1}"] = values[..., k].ravel()
        return found


def shaped(a: np.ndarray) -> np.ndarray:
    """(G, h, D) without axes of length 1 for series and columns."""
    a = a[..., 0] if a.shape[-1] == 1 else a
    return a[0] if len(a) == 1 else a


def seen(panel: Panel, origins: Sequence[Origin]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Inputs and levels up to each origin; a gap is filled from what was known there."""
    complete: dict[int, Any] = {}
    for track, at in origins:
        if not np.isfinite(track.values[:at, : panel.n_forecast]).all():
            cut = Track(track.name, track.time[:at], track.values[:at], np.zeros(at, np.int64))
            yield panel.inputs(cut), panel.level(cut)
            continue
        if (key := id(track.values)) not in complete:
            complete[key] = panel.inputs(track), panel.level(track)
        x, level = complete[key]
        yield x[:at], level[:at]


def extended(track: Track, rows: int, n: int) -> Track:
    """With rows up to a number; after the last row that is given, the columns from n on keep their last value."""
    rows = max(rows, len(track.time))
    values = np.pad(track.values, ((0, rows - len(track.time)), (0, 0)), constant_values=np.nan)
    values[track.end :, n:] = filled(values[:, n:])[track.end :]
    place = np.pad(track.place, (0, rows - len(track.time)), constant_values=-1)
    return track._replace(values=values, time=track.time[0] + np.arange(rows), place=place)


def summed(z: np.ndarray, before: np.ndarray) -> np.ndarray:
    """v_t = z_t + v_{t-d}: differences (N, h, D) after the last d values (N, d, D)."""
    d, v = before.shape[1], np.concatenate([before, z], 1)
    for k in range(d):
        v[:, k::d] = v[:, k::d].cumsum(1)
    return v[:, d:]


def last_windows(pasts: Sequence[np.ndarray], window: int) -> np.ndarray:
    """The last L steps of each past (N, L, D), with zeros before one that is shorter."""
    last = [past[max(0, len(past) - window) :] for past in pasts]
    return np.stack([np.pad(v, ((window - len(v), 0), (0, 0))) for v in last])


def run_windows(
    pasts: Sequence[np.ndarray], ahead: np.ndarray, n: int, window: int, f: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Free runs (N, h, D) of f: rows of L lags, the oldest first, and known columns -> next values."""
    state, made = last_windows([past[:, :n] for past in pasts], window), list[np.ndarray]()
    for known in ahead.swapaxes(0, 1):
        made.append(f(np.concatenate([state.reshape(len(state), window * n), known], 1)))
        state = np.concatenate([state, made[-1][:, None]], 1)[:, 1:]
    return np.stack(made, 1)


def by_row(panel: Panel, origins: Sequence[Origin], ran: Steps, h: int, rows: pd.MultiIndex) -> dict[str, Any]:
    """Forecasts in the order of the rows of X; `kept` are the numbers of the rows that have one."""
    found = joined(list(forecasts(panel, origins, ran, h)))
    made = pd.MultiIndex.from_arrays([found.pop("which"), found["time"]])
    place = made.get_indexer(rows)
    kept = np.flatnonzero(place >= 0)
    return {name: None if v is None else v[place[kept]] for name, v in found.items()} | {"kept": kept}


def joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Forecasts below each other; (n,) where there is one column."""
    known = [name for name, v in parts[0].items() if v is not None]
    found = {name: np.concatenate([p[name] for p in parts]) for name in known}
    return dict.fromkeys(parts[0]) | {name: v[:, 0] if v.shape[1:] == (1,) else v for name, v in found.items()}


def forecasts(panel: Panel, origins: Sequence[Origin], ran: Steps, h: int) -> Iterator[dict[str, Any]]:
    """Of each origin: forecasts of the steps whose values are known, and what they are judged by."""
    number = {t.name: i for i, t in enumerate(panel.tracks)}
    n, season = panel.n_targets, int(panel.spec.facts["season"])
    past = {t.name: t for t in (*panel.tracks, *panel.past)}  # of fit where it was seen there
    scales = {t.name: _naive_error(past[t.name].values[:, :n], season) for t in panel.tracks}
    for i, (track, at) in enumerate(origins):
        k = max(0, min(h, track.end - at))
        y, lead = track.values[at : at + k, :n], np.arange(1, k + 1)
        kept = np.isfinite(y).all(1)
        before = filled(track.values[:at, :n])[-season if at >= season else -1 :]
        known = {"y": y, "naive": before[(lead - 1) % len(before)], "lead": lead, "time": track.time[at : at + k]}
        parts = (("predicted", ran.predicted), ("low", ran.low), ("high", ran.high))
        known |= {name: v if v is None else v[i, :k] for name, v in parts}
        same = {"scale": scales[track.name], "series": number[track.name], "which": track.name}
        same |= {"origin": track.time[at] * len(panel.tracks) + number[track.name]}
        of_all = {name: np.repeat(np.asarray(v)[None], kept.sum(), 0) for name, v in same.items()}
        yield {name: None if v is None else v[kept] for name, v in known.items()} | of_all


def _naive_error(y: np.ndarray, season: int) -> np.ndarray:
    """Mean absolute error (D,) of the seasonal naive forecast in the past: the unit of MASE; 1 where it has none."""
    season = season if len(y) > season else 1
    gaps = np.abs(y[season:] - y[:-season])
    known = np.isfinite(gaps)
    found = np.where(known, gaps, 0.0).sum(0) / np.maximum(known.sum(0), 1)
    return np.where(found > 0, found, 1.0)
