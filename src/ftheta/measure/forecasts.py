"""Forecasts: errors by steps ahead, in units of the seasonal naive forecast, with what their intervals hold.

    MASE = mean |y - ŷ| / mean |y_t - y_{t-m}|,  the latter in the past        1: as good as repeating the last season
    CRPS = E|Y - y| - E|Y - Y'|/2 of the forecast Y, normal with the width of its interval

Errors of steps after one origin belong together: intervals are those of a bootstrap of origins.
Shapes: n forecasts of single steps, from N origins.
References: Hyndman and Koehler, Another look at measures of forecast accuracy, International Journal of Forecasting 22
(2006); Gneiting and Raftery, Strictly proper scoring rules, JASA 102 (2007).
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from ..errors import InputError
from ..plots import GREY, PALETTE, Figure, canvas, drawn, legend
from ..results import Result, percent
from .intervals import Bootstrap
from .scores import Score, Scores

LEVEL = 0.95  # of the intervals of forecasts
MIN_ORIGINS = 5  # fewer have no confidence interval


def each(a: np.ndarray) -> np.ndarray:
    """(n,) or (n, D) as (n, D)."""
    return a.reshape(len(a), -1)


def crps_normal(y: Any, mean: Any, sd: Any) -> np.ndarray:
    """CRPS of normal forecasts, (n,).

    Example:
        >>> crps_normal([0.0], [0.0], [1.0]).round(4).tolist()
        [0.2337]
    """
    y, mean, sd = (np.asarray(v, float) for v in (y, mean, sd))
    z = (y - mean) / sd
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return sd * (z * (2 * ndtr(z) - 1) + 2 * density - 1 / np.sqrt(np.pi))


class Backtest(Result):
    """Forecasts for steps whose values are known: (n,) or (n, D) each."""

    y: np.ndarray
    predicted: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None
    naive: np.ndarray  # seasonal naive forecasts of the same steps
    scale: np.ndarray  # (n,) or (n, D): the naive forecast's mean error in the past
    lead: np.ndarray  # (n,) steps ahead
    origin: np.ndarray  # (n,)
    time: np.ndarray | None = None
    series: np.ndarray | None = None  # (n,) number of the series; None: there is one
    name: str = "forecast"
    level: float = field(default=LEVEL, repr=False)

    @classmethod
    def of(cls, made: Mapping[str, Any], name: str = "forecast") -> Self:
        """From arrays by name."""
        wanted = ("y", "predicted", "low", "high", "naive", "scale", "lead", "origin", "time", "series")
        found: dict[str, Any] = {key: made.get(key) for key in wanted}
        return cls(**found, name=name)

    def _columns(self) -> dict[str, np.ndarray]:
        """Of each step: errors, scaled errors, those of the naive forecast, CRPS, hits and widths."""
        error = np.abs(each(self.y) - each(self.predicted))
        scaled = (error / each(self.scale)).mean(1)
        naive = np.abs(each(self.y) - each(self.naive))
        found = {"absolute": error.mean(1), "squared": (error**2).mean(1), "scaled": scaled}
        found |= {"naive": naive.mean(1), "scaled naive": (naive / each(self.scale)).mean(1)}
        if self.low is not None and self.high is not None:
            low, high = each(self.low), each(self.high)
            sd = np.maximum((high - low) / (2 * ndtri((1 + self.level) / 2)), 1e-12)
            found["crps"] = crps_normal(each(self.y), (low + high) / 2, sd).mean(1)
            found["hit"] = ((each(self.y) >= low) & (each(self.y) <= high)).mean(1)
            found["width"] = (high - low).mean(1)
        return found

    def scores(self, *, level: float = 0.95, seed: int = 0) -> Scores:
        """MASE, RMSE, MAE; with intervals also CRPS, coverage and mean width."""
        found = self._columns()
        origins, place = np.unique(self.origin, return_inverse=True)
        n = len(origins)
        boot = Bootstrap(n, level, seed=seed)
        counts = np.bincount(place, minlength=n).astype(float)

        def score(name: str, key: str, f: Callable[[np.ndarray], np.ndarray] = lambda m: m) -> Score:
            sums = np.bincount(place, found[key], minlength=n)
            value = float(f(np.asarray(found[key].mean())))
            ends = boot.interval((counts, sums), lambda s: f(s[..., 1] / s[..., 0])) if n >= MIN_ORIGINS else None
            return Score.of(name, value, ends, "bootstrap of origins")

        made = [score("MASE", "scaled"), score("RMSE", "squared", np.sqrt), score("MAE", "absolute")]
        if "hit" in found:
            made += [score("CRPS", "crps"), score("coverage", "hit"), score("mean width", "width")]
        return Scores(len(self.y), level, tuple(made))

    def columns(self) -> Mapping[str, Any]:
        """One row per number of steps ahead."""
        steps: Any = pd.DataFrame(self._columns()).groupby(self.lead)
        means = steps.mean()
        made = {
            "steps ahead": means.index,
            "forecasts": steps.size(),
            "MASE": means["scaled"],
            "RMSE": np.sqrt(means["squared"]),
            "MAE": means["absolute"],
            "MAE of seasonal naive": means["naive"],
            "coverage": means.get("hit"),
        }
        return {name: np.asarray(v) for name, v in made.items() if v is not None}

    @property
    def how(self) -> str:
        """What kind of forecasts they are."""
        n, h = len(np.unique(self.origin)), int(self.lead.max())
        kind = "one step ahead" if h == 1 else f"free runs of up to {h} steps"
        return f"{kind} from {n} origin{'s' * (n != 1)}"

    @property
    def caption(self) -> str:
        found = {name: v.mean() for name, v in self._columns().items()}
        held = f"; the {percent(self.level)} intervals hold {percent(found['hit'])}" if "hit" in found else ""
        errors = f"MASE {found['scaled']:.3g}, seasonal naive {found['scaled naive']:.3g}"
        return f"{self.name}: {self.how}: {errors}{held}."

    @drawn
    def figure(self) -> Figure:
        """The first column of the first series against what came, and the error by steps ahead."""
        table = self.columns()
        leads = table["steps ahead"]
        many = len(leads) > 1  # else there is nothing to draw by steps ahead
        grid: dict[str, Any] = {"across": 2, "width": 5.2, "width_ratios": [1.6, 1]} if many else {"width": 7.2}
        figure, (left, *others) = canvas(1 + many, height=3.4, **grid)
        own = np.full(len(self.y), True) if self.series is None else self.series == self.series[0]
        y, predicted, low, high = (
            None if v is None else each(v)[own, 0] for v in (self.y, self.predicted, self.low, self.high)
        )
        at = np.arange(own.sum()) if self.time is None or len(np.unique(self.time[own])) < own.sum() else self.time[own]
        if low is not None and high is not None:
            look = {"color": PALETTE[0], "alpha": 0.2, "lw": 0, "label": f"{percent(self.level)} interval"}
            left.fill_between(at, low, high, **look)
        left.plot(at, y, color=GREY, lw=1.6, ls="-", label="what came")
        left.plot(at, predicted, color=PALETTE[0], lw=1.6, ls="--", label="forecast")
        for start in at[np.flatnonzero(np.diff(self.origin[own], prepend=self.origin[0] - 1))][: 60 * many]:
            left.axvline(start, color=GREY, lw=0.5, ls=":", zorder=0)
        what = "step" if at.dtype.kind in "iu" else "time"
        left.set(title=self.name, xlabel=f"{what} (dotted: origins)" if many else what, ylabel="value")
        for right in others:
            marker = "o" if len(leads) < 30 else ""
            for key, label in (("MAE", "the forecast"), ("MAE of seasonal naive", "seasonal naive")):
                right.plot(leads, table[key], marker=marker, ms=3, label=f"error of {label}")
            right.set(title="by steps ahead", xlabel="steps ahead", ylabel="mean absolute error", ylim=(0, None))
        legend(figure)
        return figure


def forecast_tests(y: Any, a: Any, b: Any, origin: Any) -> tuple[np.ndarray, np.ndarray]:
    """Root mean squared errors of two forecasts by origin, (N,) each: what a paired test compares."""
    y, a, b = (each(np.asarray(v, float)) for v in (y, a, b))
    if not len(y) == len(a) == len(b) == len(origin):
        raise InputError(f"y, a and b have {len(y)}, {len(a)} and {len(b)} rows; they must be the same steps.")
    place = np.unique(origin, return_inverse=True)[1]
    counts = np.bincount(place)
    return tuple(np.sqrt(np.bincount(place, ((y - v) ** 2).mean(1)) / counts) for v in (a, b))  # type: ignore[return-value]
