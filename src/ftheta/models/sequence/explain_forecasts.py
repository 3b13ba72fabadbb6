"""How forecasts compare with what came: one step ahead and by free runs, which steps surprise, and what errors tell.

    one step ahead:  ŷ_{t+1} = f(y_t, y_{t-1}, ...) at every t;      free run:  ŷ_{t+k} = f(ŷ_{t+k-1}, ...) from one t
    anomaly:  y_t outside the interval of its forecast one step ahead

Errors e one step ahead should be white, and know nothing of the inputs u:

    r(k) = Σ_t e_t e_{t+k} / Σ_t e_t²,     c(k) = Σ_t e_t u_{t-k} / sqrt(Σ e² Σ u²)     95 of 100 are below 1.96 / √T
    Ljung-Box:  Q = T (T + 2) Σ_k r(k)² / (T - k)  ~  χ²(K)

Shapes: n steps, T errors, K lags.
References: Ljung and Box, On a measure of lack of fit in time series models, Biometrika 65 (1978); Ljung, System
Identification (1999), section 16.6.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import chi2

from ...check import Count, Share
from ...data.kinds.grid import Grid
from ...errors import InputError
from ...explain import explanation
from ...measure import Backtest
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend
from ...results import Result, counted


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
        lie = "lies" if len(out) == 1 else "lie"
        return f"Free run of {n} steps: what came {when}; {counted(len(out), 'step')} {lie} outside."

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
    return Path(time=_times(model, found["time"][own]), **columns, level=level, free=free)


def _times(model: Any, steps: np.ndarray) -> np.ndarray:
    return np.asarray(Grid.from_facts(model.input_.facts).times(steps))


@explanation("one-step", fresh=True)
def one_step(model: Any, X: Any) -> OneStep:
    """Errors one step ahead, beside those of free runs: a model may be good at one and poor at the other."""
    found = ((model.rolled(X, h), name) for h, name in ((1, "One-step"), (None, "Free-run")))
    return OneStep(*(Backtest.of(made | {"time": _times(model, made["time"])}, name) for made, name in found))


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


class ResidualTests(Result):
    """Autocorrelation of errors, and their correlation with earlier inputs."""

    n: int  # errors
    auto: np.ndarray  # (K,) lags 1 ... K
    cross: dict[str, np.ndarray]  # of each input (K + 1,), lags 0 ... K

    @classmethod
    def of(cls, errors: ArrayLike, inputs: Mapping[str, Any] | None = None, *, lags: int = 20) -> Self:
        """Tests of errors (T,) and of inputs by their names, each (T,).

        Example:
            >>> bool(ResidualTests.of(np.random.default_rng(0).normal(size=500)).p > 0.05)
            True
        """
        e = np.asarray(errors, float)
        if e.ndim != 1 or len(e) < 10 or not np.isfinite(e).all():
            raise InputError(f"errors has shape {e.shape}; at least 10 finite numbers (T,) are needed.")
        e, k = e - e.mean(), min(lags, len(e) // 4)
        total = float(e @ e) or 1.0
        auto = np.array([e[:-lag] @ e[lag:] for lag in range(1, k + 1)]) / total
        cross = {}
        for name, values in (inputs or {}).items():
            u = np.asarray(values, float) - np.mean(values)
            scale = np.sqrt(total * float(u @ u)) or 1.0
            cross[name] = np.array([e[lag:] @ u[: len(u) - lag] for lag in range(k + 1)]) / scale
        return cls(n=len(e), auto=auto, cross=cross)

    @property
    def band(self) -> float:
        """Correlations of white errors stay below this in 95 of 100 cases."""
        return 1.96 / np.sqrt(self.n)

    @property
    def p(self) -> float:
        """Of the test of Ljung and Box that the errors are white."""
        k = np.arange(1, len(self.auto) + 1)
        return float(chi2.sf(self.n * (self.n + 2) * (self.auto**2 / (self.n - k)).sum(), len(k)))

    @property
    def caption(self) -> str:
        said = "look white" if self.p > 0.05 else "are not white: the model misses something"
        known = [name for name, c in self.cross.items() if (np.abs(c) > self.band).mean() > 0.1]
        more = f"; they depend on {', '.join(known)}" if known else ""
        return f"{self.n} errors one step ahead {said} (Ljung-Box p = {self.p:.2g}){more}."

    def columns(self) -> dict[str, Any]:
        """One row per lag."""
        cross = {f"correlation with {name}": c for name, c in self.cross.items()}
        return {"lag": range(len(self.auto) + 1), "autocorrelation": np.r_[1.0, self.auto], **cross}

    @drawn
    def figure(self) -> Figure:
        """A panel per correlation, with the band of white errors."""
        panels = {"errors and earlier errors": (np.arange(1, len(self.auto) + 1), self.auto)}
        panels |= {f"errors and earlier {name}": (np.arange(len(c)), c) for name, c in self.cross.items()}
        figure, grid = canvas(len(panels), across=2, width=4.6, height=2.8)
        for axes, (title, (lags, values)) in zip(grid, panels.items(), strict=True):
            axes.axhspan(-self.band, self.band, color=GREY, alpha=0.25, lw=0)
            axes.vlines(lags, 0, values, color=PALETTE[0], lw=2)
            axes.plot(lags, values, "o", ms=3, color=PALETTE[0])
            most = max(1.2 * float(np.abs(values).max()), 2 * self.band)
            axes.set(title=title, xlabel="lag (steps)", ylabel="correlation", ylim=(-most, most))
            axes.xaxis.get_major_locator().set_params(integer=True)
        return figure


@explanation("residual-tests")
def residual_tests(model: Any, X: Any, *, lags: int = 20) -> ResidualTests:
    """Tests of the errors of a forecaster one step ahead, on the first column of X.

    Args:
        model: A fitted forecaster.
        X: A series.
        lags: How far correlations are computed.
    """
    found = model.rolled(X, 1)
    error = (found["y"] - found["predicted"]).reshape(len(found["y"]), -1)[:, 0]
    known = {name: np.asarray(X[name])[found["kept"]] for name in model.known_ahead if hasattr(X, "columns")}
    return ResidualTests.of(error, known, lags=lags)
