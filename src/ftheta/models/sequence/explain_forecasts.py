"""How forecasts compare with what came: one step ahead and by free runs, where a free run leaves, which steps surprise.

    one step ahead:  ŷ_{t+1} = f(y_t, y_{t-1}, ...) at every t;      free run:  ŷ_{t+k} = f(ŷ_{t+k-1}, ...) from one t
    anomaly:  y_t outside the interval of its forecast one step ahead
Shapes: n steps.
"""

from typing import Any

import numpy as np
import pandas as pd

from ...check import Count, Share
from ...data.kinds.grid import Grid
from ...errors import InputError
from ...explain import explanation
from ...measure import Backtest
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend
from ...results import Result


class OneStep(Result):
    """Scores one step ahead beside those of free runs of the model's horizon."""

    one: Backtest
    free: Backtest

    @property
    def caption(self) -> str:
        return f"{self.one.caption} {self.free.caption}"

    def columns(self) -> dict[str, Any]:
        """A row for forecasts one step ahead, and one for free runs."""
        found = [{s.name: s.value for s in b.scores().scores} for b in (self.one, self.free)]
        mase, rmse, mae = (np.array([f[name] for f in found]) for name in ("MASE", "RMSE", "MAE"))
        kinds = ["one step ahead", f"free runs of up to {int(self.free.lead.max())} steps"]
        sizes = [len(self.one.y), len(self.free.y)]
        return {"forecasts": kinds, "n": sizes, "MASE": mase, "mean squared error": rmse**2, "MAE": mae}

    def figure(self) -> Figure:
        """Forecasts one step ahead against what came."""
        return self.one.figure()


class Path(Result):
    """Forecasts of consecutive steps of one column, with intervals, against what came: (n,) each."""

    time: np.ndarray  # stamps, or numbers of steps
    y: np.ndarray
    predicted: np.ndarray
    low: np.ndarray
    high: np.ndarray
    level: float
    free: bool  # one free run, else one step ahead each

    @property
    def outside(self) -> np.ndarray:
        """Numbers of the steps outside their interval."""
        return np.flatnonzero((self.y < self.low) | (self.y > self.high))

    @property
    def caption(self) -> str:
        n, out, share = len(self.y), self.outside, f"{100 * self.level:g} %"
        if not self.free:
            few = f"{n * (1 - self.level):.2g} are expected"
            return f"{len(out)} of {n} steps lie outside the {share} interval one step ahead; {few}."
        when = f"leaves the {share} interval at step {out[0] + 1}" if len(out) else f"stays in the {share} interval"
        return f"Free run of {n} steps: what came {when}; {len(out)} steps lie outside."

    def columns(self) -> dict[str, Any]:
        """One row per step of a free run, or per anomaly."""
        rows = np.arange(len(self.y)) if self.free else self.outside
        made = {"true": self.y, "forecast": self.predicted, "low": self.low, "high": self.high}
        start = {"step": rows + 1 if self.free else None, "time": pd.Index(self.time[rows]).astype(str)}
        return start | {name: values[rows] for name, values in made.items()}

    @drawn
    def figure(self) -> Figure:
        """What came, the forecast with its interval, and the steps outside."""
        figure, (axes,) = canvas(1, width=8.0, height=3.2)
        band = {"color": PALETTE[0], "alpha": 0.2, "lw": 0, "label": f"{100 * self.level:g} % interval"}
        axes.fill_between(self.time, self.low, self.high, **band)
        axes.plot(self.time, self.y, color=GREY, lw=1.6, label="what came")
        axes.plot(self.time, self.predicted, color=PALETTE[0], lw=1.6, ls="--", label="forecast")
        axes.plot(self.time[self.outside], self.y[self.outside], "o", ms=4, color=PALETTE[1], label="outside")
        title = "free run" if self.free else "one step ahead"
        axes.set(title=title, xlabel="step" if self.time.dtype.kind in "iu" else "time", ylabel="value")
        legend(figure)
        return figure


def _path(model: Any, X: Any, horizon: int, level: float, free: bool) -> Path:
    """Forecasts of the first column of the first series of X."""
    found = model.rolled(X, horizon, level)
    if found["low"] is None:
        raise InputError("There are no intervals: the series is too short, or calibration=0.")
    own = found["origin"] == found["origin"][0] if free else found["series"] == found["series"][0]
    columns = {k: found[k].reshape(len(own), -1)[own, 0] for k in ("y", "predicted", "low", "high")}
    time = Grid.from_facts(model.input_.facts).times(found["time"][own])
    return Path(time=np.asarray(time), **columns, level=level, free=free)


@explanation("one-step", fresh=True)
def one_step(model: Any, X: Any) -> OneStep:
    """Errors one step ahead, beside those of free runs: a model may be good at one and poor at the other."""
    return OneStep(*(Backtest.of(model.rolled(X, h), n) for h, n in ((1, "One-step"), (None, "Free-run"))))


@explanation("free-run", fresh=True)
def free_run(model: Any, X: Any, *, steps: Count = 1000, level: Share = 0.95) -> Path:
    """One free run through X from its first step, and where what came leaves the interval.

    Args:
        steps: At most so many.
        level: Of the interval.
    """
    return _path(model, X, min(steps, len(X)), level, free=True)


@explanation("anomalies", fresh=True)
def anomalies(model: Any, X: Any, *, level: Share = 0.99) -> Path:
    """Steps of X that lie outside the interval of their forecast one step ahead.

    Args:
        level: Of the interval; a share of 1 - level of usual steps lies outside.
    """
    return _path(model, X, 1, level, free=False)
