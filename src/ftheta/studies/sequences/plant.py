"""What is it worth to know the physics of a plant that is to be identified?

A tank has an inflow u, and drains through a hole. 200 noisy levels, one per second, are all that is measured. Models
that know the physics, a part of it, or nothing are simulated on fresh inflows from their input alone: how far are they
from the true levels, where the inflow is as in training, and where it is larger?

    white box   A dh/dt = u - c √h                                   A and c by least squares through the simulation
    gray box    A dh/dt = u - f(h),   f a cubic polynomial           A and its coefficients in the same way
    black box   h_{t+1} = f(h_t, h_{t-1}, u_{t+1}, u_t), f a net     trained as it is simulated, in parallel (NOE)
    linear      B(q) / F(q) u_t, around the means                    an output-error model of order 2, for comparison

The black box is given the true levels of the first 20 seconds, which count for no model.

Reference: Ljung, System Identification: Theory for the User (1999).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from ...models import NARXForecaster, identify
from .. import Checks, Measured, Study, less, more

AREA, HOLE = 4.0, 1.2
EULER = 10  # steps of the simulation in a second
FIRST = 20  # seconds that do not count
INFLOW = {"as in training": (0.5, 2.0), "larger": (2.0, 3.0)}
NET: dict[str, Any] = {
    **{"order": 2, "input_order": 2, "hidden": (16,), "parallel": True, "horizon": FIRST, "lags": FIRST},
    **{"calibration": 0.0, "log": False, "difference": 0, "noise": 0.0},
}

Law = Callable[[float], float]  # level -> outflow


def inflow(n: int, between: tuple[float, float], rng: np.random.Generator) -> np.ndarray:
    """A new value every 10 seconds: (n,)."""
    return np.repeat(rng.uniform(*between, n // 10 + 1), 10)[:n]


def level(u: np.ndarray, area: float, law: Law) -> np.ndarray:
    """The tank after each second, from 1, by Euler's rule: (n,)."""
    h, levels = 1.0, np.empty(len(u))
    for t, flow in enumerate(u):
        for _ in range(EULER):
            h = min(max(h + (flow - law(h)) / area / EULER, 0.0), 100.0)
        levels[t] = h
    return levels


def white(p: np.ndarray) -> Law:
    return lambda h: p[0] * h**0.5


TRUE = white(np.array([HOLE]))


def gray(p: np.ndarray) -> Law:
    return lambda h: h * (p[0] + h * (p[1] + h * p[2]))


def fitted(law: Callable[[np.ndarray], Law], n: int, u: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The area and n coefficients of the law whose simulation is nearest to y."""
    start = np.array([1.0, 1.0, *[0.0] * (n - 1)])
    return least_squares(lambda p: level(u, p[0], law(p[1:])) - y, start).x


def measure(seed: int, flow: str, *, rows: int = 200, noise: float = 0.05, epochs: int = 200) -> dict[str, Any]:
    """Root mean squared errors of each model, and what the white box finds."""
    rng = np.random.default_rng(seed)
    u = inflow(rows, INFLOW["as in training"], rng)
    y = level(u, AREA, TRUE) + noise * rng.standard_normal(rows)
    known, part, means = fitted(white, 1, u, y), fitted(gray, 3, u, y), (u.mean(), y.mean())
    linear = identify(u - means[0], y - means[1], "oe", orders=(2, 2), delay=0)
    net = NARXForecaster(target="y", known_ahead=("u",), epochs=epochs, random_state=seed, **NET)
    net.fit(pd.DataFrame({"y": y, "u": u}))
    u = inflow(rows, INFLOW[flow], rng)
    true = level(u, AREA, TRUE)
    begun = pd.DataFrame({"y": np.where(np.arange(rows) < FIRST, true, np.nan), "u": u})
    runs = {
        "white box": level(u, known[0], white(known[1:]))[FIRST:],
        "gray box": level(u, part[0], gray(part[1:]))[FIRST:],
        "black box": net.predict(begun, horizon=rows - FIRST),
        "linear": (means[1] + linear.simulate(u - means[0]))[FIRST:],
    }
    errors = {name: float(np.sqrt(np.mean((run - true[FIRST:]) ** 2))) for name, run in runs.items()}
    return {**errors, "A": known[0], "c": known[1]}


study = Study(measure, {"flow": tuple(INFLOW)}, seeds=10, tiny={"seeds": 2, "rows": 60, "epochs": 1})


@study.claim("B258", says="white box: parameters with a physical meaning; black box: none; gray box: aspects of both")
def boxes(m: Measured) -> Checks:
    names = ("white box", "gray box", "black box", "linear")
    usual, larger = (np.stack([m.at(name, flow=flow) for name in names]) for flow in INFLOW)  # (model, S)
    yield less("the white box finds A within 5 %", abs(m["A"][0] / AREA - 1), 0.05)
    yield less("and c within 1 %", abs(m["c"][0] / HOLE - 1), 0.01)
    for k in (1, 2):
        yield more(f"inflow as in training: {names[k]} behind {names[k - 1]}", usual[k], usual[k - 1])
    far = 10 * larger[0]
    yield more("larger inflow: the others are at least 10 times as far away as the white box", larger[1:], far)
