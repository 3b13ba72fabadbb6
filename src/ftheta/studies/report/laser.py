"""How well can networks continue the Santa Fe laser, 1,000 values known and the next 100 asked for?

Section 2.2 of the ANN & DL Report. Nets learn one step from lags with noise (0.05 to 0.07 of the series), and run free
to forecast. The perceptron is chosen by the 1,000 values alone: each learns from the first 700, 800 and 900, and runs
free over the 100 after them; the smallest score wins. All LSTMs are reported, none is chosen.

    free run: ŷ_{k+1} = f(ŷ_k, ..., ŷ_{k-p+1}),    score: mean over seeds and over 700, 800, 900 of log MSE

Logarithms, since the error of a run that misses a collapse is a hundred times that of others and would decide alone.
Ensemble: mean of the free runs of all seeds. NMSE: MSE over the variance of the test values; 0.0273 won in 1991 (Wan
in Weigend and Gershenfeld, Time Series Prediction, 1993). Names: lags-hidden, and λ where it is not 1e-5.
"""

from typing import Any

import numpy as np
import pandas as pd

from ...data import load
from ...models import LSTMForecaster, MLPForecaster
from .. import Checks, Measured, Study, holds, less, missing, near
from ._laser import REGIME, chosen, ensemble, held_values, paths

MLPS = ("10-50", "30-20", "30-50", "30-50-0.001", "50-20", "50-50", "100-50")
NETS = (*(f"mlp {n}" for n in MLPS), "lstm 10-100", "lstm 50-50", "lstm 50-100", "lstm 50-200")
BEST = "mlp 100-50", "lstm 50-100"  # of the report
FREE, ONE, FOLD, PATH = "MSE of the free run", "MSE one step ahead", "log MSE of folds", "free run"


def series(data: str) -> tuple[pd.Series, int]:
    """Values, and how many of the last are the test part."""
    found = load(data)
    return pd.Series(np.asarray(found.x, float).ravel()), found.official or 10


def network(net: str, seed: int, epochs: int) -> Any:
    """An LSTM reads each window as a sequence with a target at each step, and needs fewer epochs."""
    kind, _, sizes = net.partition(" ")
    lags, hidden, *l2 = sizes.split("-", 2)
    cls, widths = (MLPForecaster, (int(hidden),)) if kind == "mlp" else (LSTMForecaster, int(hidden))
    given: dict[str, Any] = {"hidden": widths, "epochs": epochs if kind == "mlp" else -(-epochs // 5)}
    shared: dict[str, Any] = {"log": False, "difference": 0, "calibration": 0, "random_state": seed}
    model = cls(lags=int(lags), **given, **shared)
    return model.set_params(training__progress=False, **({"training__l2": float(l2[0])} if l2 else {}))


def continued(model: Any, y: pd.Series, h: int) -> dict[str, Any]:
    """Free run and steps of a model of all but the last h values."""
    model.fit(y.iloc[:-h])
    path, truth = model.predict(horizon=h), y.to_numpy()[-h:]
    ahead = model.rolled(y.iloc[-h:], 1)["predicted"]
    return {FREE: np.mean((path - truth) ** 2), ONE: np.mean((ahead - truth) ** 2), PATH: path}


def nets(seed: int, net: str, *, data: str = "santafe-laser", epochs: int = 200) -> dict[str, Any]:
    """Errors of the test part and of folds; log MSE of folds is NaN for an LSTM."""
    (y, h), folds = series(data), [np.nan]
    if net.startswith("mlp"):
        known = y.iloc[:-h]
        folds = [
            np.log(continued(network(net, seed, epochs), known.iloc[: len(known) - k * h], h)[FREE]) for k in range(3)
        ]
    return {FOLD: np.mean(folds), **continued(network(net, seed, epochs), y, h)}


study = Study(nets, {"net": NETS}, seeds=5, tiny={"data": "iris", "seeds": 2, "epochs": 1})


@study.claim("B072", says="poor with smaller lags; lags of 50 or 100 and 50 hidden units are better")
def longer(m: Measured) -> Checks:
    few, *errors = (np.log(m.at(FREE, net=f"mlp {n}-50")) for n in (10, 50, 100))
    yield less("50 and 100 lags are better than 10 (log MSE of the free run)", errors, [few, few])


@study.claim("B073", says="lag 100 & 50 hidden units give the best performance (MSE 2462.667)")
def perceptrons(m: Measured) -> Checks:
    net = chosen(m)
    found, mean, power = m.at(FREE, net=net), ensemble(m, net), held_values(m).var()
    yield near("MLP of 100 lags, 50 units: 2462.667", m.at(FREE, net=BEST[0]), 2462.667)
    yield missing(REGIME)
    yield holds(f"the chosen {net}: a median of at most 300", np.median(found) <= 300, found.round(1).tolist())
    yield holds("the mean of its free runs: at most 150", mean <= 150, f"{mean:.1f}; NMSE {mean / power:.4f}")


@study.claim("B074", says="the report does not say that its errors are of free runs")
def two_errors(m: Measured) -> Checks:
    ahead, far = (m.at(name, net="mlp 10-50") for name in (ONE, FREE))
    yield less("MLP of 10 lags: one step ahead below a tenth of the free run", ahead, far / 10)
    yield less("one step ahead it is below the smallest error of the report, 418.086", ahead, 418.086)
    yield missing("which of the two errors the report states")


@study.claim("B081", says="Figure 10: predictions of the best MLP (2462.667) and of the best LSTM (418.086)")
def titles(m: Measured) -> Checks:
    yield from (near(f"{n}: {v}", m.at(FREE, net=n), v) for n, v in zip(BEST, (2462.667, 418.086), strict=True))
    yield missing(REGIME)


@study.claim("B079", says="lag 50 & 100 hidden units 418.086, lag 10 & 100 1643.964; 50 or 200 units are worse")
def memories(m: Measured) -> Checks:
    for net, value in {"lstm 50-100": 418.086, "lstm 10-100": 1643.964}.items():
        yield near(f"{net}: {value}", m.at(FREE, net=net), value)
    few, some, many = (np.log(m.at(FREE, net=f"lstm 50-{n}")) for n in (50, 100, 200))
    yield less("100 units are better than 50 and than 200 (log MSE)", [some, some], [few, many])
    yield missing(REGIME)


@study.claim("B080", says="the LSTM clearly outperforms in performance and requirements for past data")
def sides(m: Measured) -> Checks:
    net, log = chosen(m), {n: np.log(m.at(FREE, net=n)) for n in NETS}
    for lstm in ("lstm 50-100", "lstm 10-100"):
        yield less(f"{lstm} is better than mlp 100-50 (log MSE)", log[lstm], log[BEST[0]])
        yield less(f"{lstm} is better than the chosen {net} (log MSE)", log[lstm], log[net])
    yield less(f"one step ahead {BEST[1]} is better than mlp 100-50", m.at(ONE, net=BEST[1]), m.at(ONE, net=BEST[0]))
    yield less("one step ahead so is lstm 10-100", m.at(ONE, net="lstm 10-100"), m.at(ONE, net=BEST[0]))
    yield missing(REGIME)


study.figures["Figure 10"] = lambda m: paths(m, [*BEST, chosen(m)])
