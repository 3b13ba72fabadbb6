"""What do a mean, linear models and kernel ridge regression reach on the Santa Fe laser?

Errors that networks of section 2.2 of the ANN & DL Report are to be compared with, by free runs over the 100 test
values and one step ahead.

    AR: ŷ_{k+1} = c + Σ_i a_i y_{k+1-i},      kernel ridge: f(x) = Σ_j α_j exp(-γ |x - x_j|²)
"""

from typing import Any

import numpy as np

from ...models import ARForecaster, KernelRidgeForecaster, NaiveForecaster
from .. import Checks, Measured, Study, holds
from .laser import FREE, ONE, continued, series

CLASSES = {"AR": ARForecaster, "kernel ridge": KernelRidgeForecaster, "last value": NaiveForecaster}
MODELS = ("mean", "last value 1", "AR 10", "AR 50", "AR 100", "kernel ridge 30", "kernel ridge 50")
KNOWN = {"mean": 3100.3, "AR 10": 2207.9, "AR 50": 2373.2, "AR 100": 2724.7}


def measure(seed: int, model: str, *, data: str = "santafe-laser") -> dict[str, Any]:
    """Errors of the test part."""
    (y, h), (kind, _, lags) = series(data), model.rpartition(" ")
    known, truth = y.to_numpy()[:-h], y.to_numpy()[-h:]
    shared: dict[str, Any] = {"log": False, "difference": 0, "calibration": 0}
    if kind:
        found = continued(CLASSES[kind](lags=int(lags), **shared), y, h)
        return {FREE: found[FREE], ONE: found[ONE]}
    return dict.fromkeys((FREE, ONE), np.mean((truth - known.mean()) ** 2))


study = Study(measure, {"model": MODELS}, seeds=1, tiny={"data": "iris", "model": ("mean", "AR 10")})


@study.claim("B073", says="lag 100 & 50 hidden units give the best performance (MSE 2462.667)", reference=KNOWN)
def linear(m: Measured) -> Checks:
    for model, value in KNOWN.items():
        if model in m.axes["model"]:
            found = m.at(FREE, model=model)[0]
            yield holds(f"{model}: {value}", abs(found - value) < 0.1, f"{found:.1f}")
    yield holds("2462.667 is below the error of an autoregression of 10 lags", m.at(FREE, model="AR 10")[0] > 2462.667)
