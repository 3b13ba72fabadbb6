"""What all forecasters share: the series they continue, free runs from any origin, intervals, rolling origins.

    free run:   ŷ_{t+1} = f(y_t, y_{t-1}, ...),   ŷ_{t+2} = f(ŷ_{t+1}, y_t, ...),   ...
    interval:   ŷ_{t+k} ± q t s_k,   s_k: root mean squared error k steps ahead of a model fitted to the steps before;
                q: quantile of the errors over s_k;  t: quantile of Student's t over the normal one, with as many
                degrees of freedom as runs of k steps fit one after the other into those that were measured

Shapes: N origins, h steps ahead, T steps of a series, D columns that are forecast, K columns known ahead.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from annotated_types import Ge
from scipy.special import ndtri, stdtrit
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...check import Count, Share
from ...data import InputSpec, TargetSpec
from ...data.kinds.grid import Grid, Track, widest
from ...data.kinds.panel import Panel, logged
from ...data.kinds.series import Series
from ...errors import InputError
from ...measure import Backtest
from ...store import Tree
from ...tasks import Forecast
from ._origins import Origin, Steps, by_row, extended, forecasts, joined, seen, shaped, summed

REFITS = 5  # of models whose fit is cheap, to measure errors
ORIGINS = 40  # at most, of free runs between two fits
LONG = 24  # steps ahead up to which errors are measured at least, where the series is long enough


@dataclass(kw_only=True, eq=False, repr=False)
class Forecaster:
    """Continues a series (T,) or (T, D), or several: a data frame with an index of name and time.

    Args:
        horizon: Steps that `predict` gives unless asked otherwise.
        lags: Steps of the past that a prediction looks at; "auto": one more than a season, else 24.
        season: Steps of a cycle; 0: that of the time stamps, e.g. 12 for months.
        target: Columns to forecast; empty: all that are not known ahead. Other columns are forecast along.
        known_ahead: Columns whose values are known for the steps to come, such as prices, holidays or a control input.
        log: Whether logarithms are modeled; "auto": where the spread grows with the level.
        difference: Differences over so many steps are modeled; "season"; "auto": what an autoregression predicts best.
        calibration: Share of the series whose errors give the intervals; the final fit learns from it too.
    """

    horizon: Count = 1
    lags: Count | Literal["auto"] = "auto"
    season: Annotated[int, Ge(0)] = 0
    target: str | tuple[str, ...] = ()
    known_ahead: tuple[str, ...] = ()
    log: bool | Literal["auto"] = "auto"
    difference: Annotated[int, Ge(0)] | Literal["auto", "season"] = "auto"
    calibration: Share = 0.25

    in_folds: ClassVar[Mapping[str, Any]] = {"calibration": 0.0}  # parameters of fits whose intervals nobody sees
    each: ClassVar[bool] = False  # whether a net predicts at each step of a window
    needs_lags: ClassVar[bool] = True

    def kind(self: Any) -> Series:
        target = tuple(filter(None, (self.target,))) if isinstance(self.target, str) else tuple(self.target)
        window = 0 if self.lags == "auto" else self.lags
        return Series(window, target, tuple(self.known_ahead), self.season, self.log, self.difference, self.each)

    def task(self: Any) -> Forecast:
        return Forecast(
            horizon=self.horizon,
            n_columns=int(self.input_.facts["forecast"]),
            n_targets=int(self.input_.facts["targets"]),
        )

    @abstractmethod
    def free_run(self, pasts: Sequence[np.ndarray], ahead: np.ndarray, h: int) -> np.ndarray:
        """Standardized forecasts (N, h, D) after each of N pasts (T_i, D + K), with known columns ahead (N, h, K)."""

    # ---- forecasts

    def predict(self: Any, X: Any = None, horizon: int | None = None) -> np.ndarray:
        """The next steps by free run: (h,), (h, D), or (G, h[, D]) of G series.

        Args:
            X: The past, with rows of known columns after its last value; None: the series of fit.
            horizon: h; None: the estimator's own.
        """
        return shaped(self.forecast(X, horizon).predicted)

    def predict_interval(self: Any, X: Any = None, level: float = 0.95, horizon: int | None = None) -> np.ndarray:
        """Interval of each step that holds it with this probability, by errors of the past: (..., 2)."""
        if not 0 < level < 1:
            raise InputError(f"level={level}; it must lie between 0 and 1, e.g. 0.95.")
        found = self.forecast(X, horizon, level)
        if found.low is None:
            raise InputError("There are no intervals: the series is too short, or calibration=0.")
        return np.stack([shaped(found.low), shaped(found.high)], -1)

    def forecast(self: Any, X: Any = None, horizon: int | None = None, level: float = 0.95) -> Steps:
        """The next steps with times and intervals."""
        check_is_fitted(self)
        panel, h = self.panel(X), self.horizon if horizon is None else int(horizon)
        if h < 1:
            raise InputError(f"horizon={horizon}; it must be at least 1.")
        return self.paths(panel, [Origin(t, t.end) for t in panel.tracks], h, level)

    def panel(self: Any, X: Any = None) -> Panel:
        """Checked X, or the series of fit."""
        kind = self.kind()
        if X is None:
            made = Panel((), self.input_, kind, Grid.from_facts(self.input_.facts))
            return replace(made, tracks=made.past)
        return kind.check(X, self, self.input_)

    def paths(self: Any, panel: Panel, origins: Sequence[Origin], h: int, level: float = 0.95) -> Steps:
        """Free runs of h steps from each origin, in the units of the series."""
        v = self.levels(panel, origins, h)
        scale = np.stack([panel.units(o.track)[1][: panel.n_forecast] for o in origins])[:, None]
        half = self._half_widths(h, level)
        low, high = (None, None) if half is None else (v - half * scale, v + half * scale)
        ends = (None if a is None else self._restored(panel, a)[..., : panel.n_targets] for a in (v, low, high))
        times = [panel.grid.times(o.track.time[0] + o.at + np.arange(h)) for o in origins]
        return Steps(tuple(o.track.name for o in origins), times, *ends, v, scale)  # type: ignore[arg-type]

    def levels(self: Any, panel: Panel, origins: Sequence[Origin], h: int) -> np.ndarray:
        """Free runs (N, h, D) without scales and differences; of logarithms where those are modeled."""
        n, d = panel.n_forecast, int(panel.spec.facts["difference"])
        if short := [o for o in origins if o.at < d + 1]:
            name = f" {short[0].track.name!r}" * (len(panel.tracks) > 1)
            raise InputError(f"The series{name} has {short[0].at} steps; forecasts need {d + 1} at least. Pass more.")
        known, units = list(seen(panel, origins)), [panel.units(o.track) for o in origins]
        z = self.free_run([x[d:] for x, _ in known], self._ahead(panel, origins, h), h)
        mean, scale = (np.stack([u[k][:n] for u in units])[:, None] for k in (0, 1))
        v = z * scale + mean
        return summed(v, np.stack([level[-d:] for _, level in known])) if d else v

    @staticmethod
    def _restored(panel: Panel, v: np.ndarray) -> np.ndarray:
        """Levels in the units of the series."""
        log = np.asarray(panel.spec.facts["log"], bool)
        return np.where(log, np.exp(np.minimum(v, 700)), v)

    def _ahead(self: Any, panel: Panel, origins: Sequence[Origin], h: int) -> np.ndarray:
        """Known columns of the h steps after each origin, standardized: (N, h, K)."""
        n, c = panel.n_forecast, panel.spec.shape[0]
        if n == c:
            return np.zeros((len(origins), h, 0))
        found, tracks = [], {id(track.values): track for track, _ in origins}
        inputs = {key: panel.inputs(track) for key, track in tracks.items()}
        for track, at in origins:
            known = np.flatnonzero(np.isfinite(track.values[at : at + h, n:]).all(1))
            given = int(known[-1]) + 1 if len(known) else 0  # a gap before is filled with a line
            if given < h:
                names = ", ".join(map(str, panel.spec.facts["columns"][n:]))
                raise InputError(
                    f"horizon={h}, but the columns known ahead ({names}) are given for {given} steps after the "
                    "last value. Add rows that have them and leave the target empty, or forecast fewer steps."
                )
            found.append(inputs[id(track.values)][at : at + h, n:])
        return np.stack(found)

    # ---- intervals

    def measured(self: Any, panel: Panel, begin: int, stop: int) -> np.ndarray:
        """Errors of free runs from origins between two rows (in the order of time), over the scale: (N, h, D), NaN
        where nothing is known."""
        block = replace(panel.take(slice(begin, stop)), spec=self.input_)
        origins = [Origin(t, at) for t in block.tracks for at in range(t.begin, t.end)]
        origins = origins[:: -(-len(origins) // ORIGINS)]
        n, log, season = panel.n_forecast, panel.spec.facts["log"], int(panel.spec.facts["season"])
        if not origins:
            return np.empty((0, 1, n))
        most = max(self.horizon, min(LONG, 2 * season) if season > 1 else 12)
        h = min(most, max(t.end - t.begin for t in block.tracks))
        level = logged(self._restored(block, self.paths_of(block, origins, h).level), log)
        found = np.full(level.shape, np.nan)
        for i, (track, at) in enumerate(origins):
            truth = logged(track.values[at : min(at + h, track.end), :n], log)
            found[i, : len(truth)] = (truth - level[i, : len(truth)]) / panel.units(track)[1][:n]
        return found

    def blocks(self: Any, panel: Panel, parts: int) -> list[tuple[Panel, int, int]]:
        """Rows to fit to, and those after them whose errors are measured; so often, or never in too short a series."""
        n = len(panel)
        count = int(n * self.calibration)
        if count < 2 * len(panel.tracks) or n - count < 4 * len(panel.tracks):
            return []
        ends = np.linspace(n - count, n, min(parts, count) + 1).astype(int)
        with suppress(InputError):  # differences over more steps than the first rows have
            found = [(panel.before(begin), begin, stop) for begin, stop in pairwise(ends)]
            return found if not self.needs_lags or all(part.able for part, _, _ in found) else []
        return []

    def rehearse(self: Any) -> None:
        """A forecast of two steps, so that what came from a file fits together, or an error says so."""
        with suppress(InputError), np.errstate(all="ignore"):
            self.forecast(horizon=2)

    def forget_errors(self) -> None:
        """Errors of an earlier fit."""
        for name in ("spread_", "ratios_", "runs_"):
            vars(self).pop(name, None)

    def keep_errors(self: Any, found: Sequence[np.ndarray], steps: int) -> None:
        """Learn from errors what intervals need: s_k, never smaller than nearer to the origin, errors over it, and how
        many runs of k steps fit one after the other into the measured steps."""
        h = max((e.shape[1] for e in found), default=0)
        padded = [np.pad(e, ((0, 0), (0, h - e.shape[1]), (0, 0)), constant_values=np.nan) for e in found]
        errors = np.concatenate(padded) if padded else np.empty((0, 0, 1))
        known = np.asarray(np.isfinite(errors).all(2))  # (N, H)
        if not known.any():
            return
        count = known.sum(0)
        s = np.sqrt(np.where(known[..., None], errors**2, 0.0).sum(0) / np.maximum(count, 1)[:, None])
        s = np.maximum.accumulate(np.where((count >= min(5, len(errors)))[:, None], s, 0.0), axis=0)
        self.spread_, self.runs_ = np.maximum(s, 1e-12), np.maximum(1.0, steps / np.arange(1, h + 1))
        self.ratios_ = np.sort(np.abs(errors / self.spread_)[known], axis=0)

    def _half_widths(self: Any, h: int, level: float) -> np.ndarray | None:
        """Half the width of the interval of each step ahead, over the scale: (h, D)."""
        if not hasattr(self, "ratios_"):
            return None
        s, n = self.spread_, len(self.ratios_)
        rank, upper = min(n, int(np.ceil((n + 1) * level))), (1 + level) / 2
        s = s * (stdtrit(self.runs_, upper) / ndtri(upper))[:, None]
        steps = np.arange(1, h + 1)
        beyond = np.sqrt(np.maximum(steps / len(s), 1.0))[:, None]  # as errors of a random walk, where they grow
        return self.ratios_[rank - 1] * s[np.minimum(steps, len(s)) - 1] * np.where(s[-1] > 1.5 * s[0], beyond, 1.0)

    # ---- rolling origins

    def rolled(self: Any, X: Any, horizon: int | None = None, level: float = 0.95) -> dict[str, np.ndarray]:
        """A forecast for each row of X from what precedes it, in X or in the series of fit.

        There is a new origin every `horizon` steps. `lead` is the number of steps ahead, `naive` the seasonal naive
        forecast, `scale` its mean error in the series of fit; `kept` are the rows of X that have a forecast.
        """
        check_is_fitted(self)
        h = self.horizon if horizon is None else int(horizon)
        panel = self.panel(X)
        panel = replace(panel, tracks=tuple(self._after_past(panel, t) for t in panel.tracks))
        origins = [Origin(t, at) for t in panel.tracks for at in range(max(t.begin, self._least(panel)), t.end, h)]
        if not origins:
            raise InputError("X is too short for a forecast: no row has enough steps before it. Pass a longer series.")
        ran = self.paths_of(panel, origins, h, level)
        return by_row(panel, origins, ran, h, panel.grid.places(X))

    def paths_of(self: Any, panel: Panel, origins: Sequence[Origin], h: int, level: float = 0.95) -> Steps:
        """`paths`, where the last origins have fewer steps to come."""
        longest = {id(o.track): extended(o.track, o.track.end + h, panel.n_forecast) for o in origins}
        return self.paths(panel, [o._replace(track=longest[id(o.track)]) for o in origins], h, level)

    def _least(self: Any, panel: Panel) -> int:
        """Rows before the first origin."""
        return int(panel.spec.facts["difference"]) + (panel.window if self.needs_lags else 1)

    def _after_past(self: Any, panel: Panel, track: Track) -> Track:
        """A series of X with the rows of fit before it."""
        past = next((t for t in panel.past if t.name == track.name), None)
        first = track.time[0]
        if past is None or first <= past.time[0] or first - past.time[-1] > widest(len(past.time)):
            return track
        kept, before = past.time < first, first - past.time[0]
        gap = np.full((before, track.values.shape[1]), np.nan)
        gap[past.time[kept] - past.time[0]] = past.values[kept]
        place = np.concatenate([np.zeros(before, np.int64), np.where(track.place >= 0, 1, -1)])
        time = np.arange(past.time[0], track.time[-1] + 1)
        return Track(track.name, time, np.concatenate([gap, track.values]), place, before)

    def backtest(
        self: Any,
        X: Any,
        *,
        origins: int = 5,
        horizon: int | None = None,
        stride: int | None = None,
        refit: bool = True,
    ) -> Backtest:
        """Forecasts from rolling origins at the end of X, each by a model fitted to the rows before it.

        Args:
            X: One series.
            origins: How many.
            horizon: Steps of each forecast; None: the estimator's own.
            stride: Steps between origins; None: the horizon.
            refit: Whether it is fitted anew at each origin; else once, before the first.
        """
        h = self.horizon if horizon is None else horizon
        step = h if stride is None else stride
        whole = self.kind().check(X, clone(self))
        if len(whole.tracks) > 1:
            raise InputError(f"X holds {len(whole.tracks)} series; backtest takes one. Pass them one by one.")
        frame, n = whole.frame(), whole.tracks[0].end
        first = n - h - step * (origins - 1)
        if first < 4:
            raise InputError(f"{origins} origins of {h} steps need more than {n} steps. Use fewer, or a longer series.")
        parts, model = list[dict[str, Any]](), self
        for at in range(first, first + origins * step, step):
            if refit or not parts:
                fresh: Any = clone(self)
                model = fresh.fit(frame.iloc[:at])
            panel = model.panel(frame.iloc[: at + h])
            start = [Origin(panel.tracks[0], at)]
            parts += forecasts(panel, start, model.paths_of(panel, start, h), h)
        return Backtest.of(joined(parts), name=type(self).__name__)

    def score(self: Any, X: Any, y: Any = None) -> float:
        """R² of the forecasts of all rows of X one step ahead."""
        found = self.rolled(X, 1)
        known = np.isfinite(found["y"]).reshape(len(found["y"]), -1).all(1)
        truth, error = found["y"][known], (found["y"] - found["predicted"])[known]
        return float(1 - (error**2).sum() / ((truth - truth.mean(0)) ** 2).sum())


class PlainForecaster(Forecaster, Estimator):
    """A forecaster that is not trained in steps."""

    n_features_in_: ClassVar[int]

    @abstractmethod
    def learn(self, panel: Panel) -> None:
        """Fit to checked series."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from a series; y is not used.

        Args:
            X: A series (T,) or (T, D), or a data frame with an index of time.
            y: Ignored.
        """
        self._check_parameters()
        panel = self.kind().check(X, self)
        self.input_, self.target_ = panel.spec, TargetSpec("forecast", panel.n_forecast)
        found, blocks = [], self.blocks(panel, REFITS)
        for part, begin, stop in blocks:
            self.input_ = part.spec
            self.learn(part)
            found.append(self.measured(panel, begin, stop))
        self.forget_errors()
        self.input_ = panel.spec
        self.learn(panel)
        self.keep_errors(found, sum(stop - begin for _, begin, stop in blocks))
        return self

    def get_state(self) -> dict[str, Tree]:
        return {k: list(v) if k in ("input_", "target_") else v for k, v in super().get_state().items()}

    def set_state(self, state: Mapping[str, Tree]) -> None:
        super().set_state(state)
        self.input_ = InputSpec(tuple(self.input_[0]), self.input_[1])
        self.target_ = TargetSpec(*self.target_)
        self.kind().verify(self.input_)
        self.rehearse()
