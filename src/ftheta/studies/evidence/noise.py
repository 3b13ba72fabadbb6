"""Does a network that predicts a distribution know how sure it is?

Fitted to the same 400 rows, what do a point prediction, one learned variance and a variance that depends on x say of
new rows?

    y = sin(2πx) + σ(x) ε,   σ(x) = 0.05 + 0.4 x,   x ~ U[0, 1],   ε ~ N(0, 1)
    best possible:  E log σ(x) + ½ log 2πe = -0.105 nats;     with one variance:  ½ log(2πe E σ²) = 0.129

Rows and hidden units are those of the worked example; a seed is a data set.
"""

from typing import Any

import numpy as np
import torch

from ... import plots
from ...data import make_dataset
from ...errors import InputError
from ...models import MLPRegressor
from ...plots import Figure
from .. import Checks, Measured, Study, holds, less, more, same

MODELS = {"none": "gaussian", "constant": "gaussian-learned", "varying": "gaussian-heteroscedastic"}
GRID = np.linspace(0, 1, 201)
PLACES = [20, 100, 180]  # of x = 0.1, 0.5, 0.9 in the grid


def scaled(x: Any) -> np.ndarray:
    """x as the networks see it: mean 0, variance 1."""
    return (np.asarray(x, dtype=float).reshape(-1, 1) - 0.5) * np.sqrt(12)


def output(model: MLPRegressor) -> np.ndarray:
    """The network's first output on the grid, in the units of y."""
    with torch.no_grad():
        raw = model.module_(torch.tensor(scaled(GRID), dtype=torch.float32))[:, 0].numpy()
    return raw * model.target_.facts["scale"] + model.target_.facts["mean"]


def measure(
    seed: int, noise: str, *, n: int = 400, test: int = 2000, hidden: int = 40, epochs: int = 200
) -> dict[str, Any]:
    """One fit: its losses, how many new rows its 95 % intervals cover (NaN: it gives none), mean and sd on a grid."""
    rows, new = (make_dataset("heteroscedastic", n=k, seed=2 * seed + i) for i, k in enumerate((n, test)))
    loop = {"epochs": epochs, "batch_size": 50, "random_state": seed}
    model = MLPRegressor(hidden=(hidden,), likelihood=MODELS[noise], **loop).fit(scaled(rows.x), rows.y)  # type: ignore[arg-type]
    x = new.x.to_numpy()[:, 0]
    try:
        low, high = model.predict_interval(scaled(x), level=0.95).T
        sd = model.predict_distribution(scaled(GRID)).stddev.numpy().ravel()
        inside = ((low <= new.y) & (new.y <= high)).astype(float)
    except InputError:
        sd, inside = np.full(len(GRID), np.nan), np.full(len(x), np.nan)
    mean = model.predict(scaled(GRID))
    return {
        "train loss": model.evaluate(scaled(rows.x), rows.y)["loss"],
        "test loss": model.evaluate(scaled(new.x), new.y)["loss"],
        "covered": inside.mean(),
        "covered where x > 2/3": inside[x > 2 / 3].mean(),
        "residual": np.sqrt(np.mean((model.predict(scaled(rows.x)) - rows.y) ** 2)),
        "off the output": np.abs(output(model) - mean).max(),
        "mean": mean,
        "sd": sd,
        "rows": np.stack([rows.x.to_numpy()[:, 0], np.asarray(rows.y)]),
    }


study = Study(measure, {"noise": tuple(MODELS)}, seeds=20, tiny={"seeds": 2, "n": 100, "test": 100, "epochs": 5})


@study.claim("C011", says="deterministic: no quantification of uncertainty; probabilistic: aware of it", reference=0.95)
def covered(m: Measured) -> Checks:
    none, _, varying = m["covered"]
    yield holds("a point prediction gives no interval", np.isnan(none).all())
    yield same("with the right noise model 95 % intervals cover 93 to 97 % of new rows", varying, 0.95, within=0.02)


@study.claim("C036", says="the prediction is f(x); the variance can be learned from the loss", reference=[0.162, 0.284])
def learned(m: Measured) -> Checks:
    off, sd = m["off the output"][1], m["sd"][1, :, 0]
    yield holds("the prediction is the network's output", (off < 1e-4).all(), f"{off.max():.1g}")
    yield same("the learned sd is that of the residuals (log ratio)", np.log(sd / m["residual"][1]), within=0.1)


@study.claim(
    "C038",
    says="mean and variance are functions of x, σ² = f₂², squared to ensure positivity",
    reference=[0.091, 0.251, 0.403],
)
def tracks(m: Measured) -> Checks:
    sd = m["sd"][2][:, PLACES].T  # (place, seed)
    yield more("the learned sd grows from x = 0.1 to 0.5 and to 0.9, as the true one does", sd[1:], sd[:-1])
    yield less("new rows are likelier than with one variance (nats)", m["test loss"][2], m["test loss"][1])
    yield holds("the square is positive unless f₂ is exactly 0", (np.array([-1, -1e-3, 1e-3, 1]) ** 2 > 0).all())


@study.claim("C039", says="univariate (homoscedastic) vs multivariate (heteroscedastic)", right="independent notions")
def drawn(m: Measured) -> Checks:
    one, varying = np.ptp(m["sd"], axis=-1)[1:]
    yield holds("the homoscedastic fit has one sd, the heteroscedastic one has not", one.max() < 1e-6 < varying.min())
    yield holds("heteroscedastic regression is multivariate", False, "both fits have one target")


def bands(m: Measured) -> Figure:
    titles = {"point prediction: no band": None, "one learned sd": m["sd"][1, 0], "sd of x": m["sd"][2, 0]}
    fits = {title: (m["mean"][k, 0], sd) for k, (title, sd) in enumerate(titles.items())}
    truth = np.sin(2 * np.pi * GRID), 0.05 + 0.4 * GRID
    return plots.bands(tuple(m["rows"][0, 0]), GRID, fits, truth, label="target y", title="Three fits")


study.figures["Three fits"] = bands
