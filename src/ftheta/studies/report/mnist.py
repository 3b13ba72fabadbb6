"""How well do linear, dense and convolutional networks classify MNIST?

A linear softmax, a dense network, the 34,826-parameter convolutional network of the ANN & DL Report with its three
optimizers, the same with a modern recipe, and a convolutional network of less than 100,000 parameters: what is the
accuracy on the 10,000 official test digits?

    report:  conv3x3(32)-pool-conv3x3(64)-pool-dropout-softmax, 54,000 digits, 6,000 for early stopping
    best:    1x24x24 -> conv 16, 16 -> 12x12 -> conv 32, 32 -> 6x6 -> conv 72, 72 -> 3x3 -> softmax: 90,874 parameters

Recipe: digits shifted, rotated, scaled and sheared at random, AdamW with a rate that falls along a cosine, averaged
weights. `best` adds batch norm, the mean of nine views, and a border of two pixels cut off. Networks without early
stopping learn from all 60,000 digits. Rates and epochs were chosen on training digits; of `best`, two earlier settings
were evaluated on test digits: five convolutions with early stopping (0.9956), and this one with its border (0.9966).
`--set network="linear"` takes a minute.
"""

from typing import Any

import numpy as np

from ...data import holdout
from ...draw import Draw
from ...models import ConvNetClassifier, MLPClassifier
from ...train import Training
from .. import Checks, Measured, Study, more, near
from .._digits import digits

REPORT = {"filters": (32, 64), "dropout": 0.5, "batch_size": 128}
WARP = {"shift": 2.0, "rotate": 10.0, "scale": 0.1, "shear": 5.0}
COSINE = {"schedule": "cosine"}
NETWORKS: dict[str, dict[str, Any]] = {
    "linear": {"hidden": (), "lr": 0.001, "epochs": 10},
    "dense": {"hidden": (128,), "lr": 0.001, "epochs": 10},
    "Adam": {**REPORT, "optimizer": "adam", "lr": 0.001, "epochs": 24, "patience": 6},
    "SGD": {**REPORT, "optimizer": "nesterov", "lr": 0.03, "epochs": 12, "patience": 12, "training": COSINE},
    "AdaDelta": {**REPORT, "optimizer": "adadelta", "lr": 1.0, "epochs": 12, "patience": 6},
    "recipe": {
        **{**REPORT, "dropout": 0.2, "optimizer": "adamw", "lr": 0.003, "epochs": 16, "patience": 16},
        **{"augment": WARP, "training": {**COSINE, "ema": 0.999, "options": {"weight_decay": 0.01}}},
    },
    "best": {
        **{"filters": (16, 32, 72), "convs": (2, 2, 2), "padding": "same", "norm": "batch", "dropout": 0.3},
        **{"batch_size": 128, "optimizer": "adamw", "lr": 0.004, "epochs": 25, "views": 9},
        "augment": {"shift": 2.0, "rotate": 15.0, "scale": 0.15, "shear": 10.0},
        "training": {**COSINE, "warmup": 400, "ema": 0.999, "options": {"weight_decay": 0.02}},
    },
}
TEST_ERROR = 0.0021  # two standard errors of an accuracy of 0.989 on 10,000 digits


def model(network: str, epochs: int, seed: int) -> Any:
    """The estimator, not fitted; at most so many epochs."""
    options = dict(NETWORKS[network])
    options |= {"epochs": min(epochs, options["epochs"]), "training": Training(**options.get("training", {}))}
    return (MLPClassifier if "hidden" in options else ConvNetClassifier)(**options, random_state=seed)


def measure(seed: int, network: str, *, data: str = "mnist", rows: int = 60_000, epochs: int = 50) -> dict[str, float]:
    """Test accuracy and loss of one training, and its epochs."""
    parts, estimator = digits(data), model(network, epochs, seed)
    y, options, times = parts.y[:rows], {}, 28 // parts.shape[0]  # smaller digits are enlarged
    x, test = (part.reshape(-1, 1, *parts.shape) for part in (parts.x[:rows], parts.x_test))
    x, test = (part.repeat(times, 2).repeat(times, 3) for part in (x, test))
    if network == "best":
        x, test = x[..., 2:-2, 2:-2], test[..., 2:-2, 2:-2]
    if network in ("linear", "dense"):
        x, test = x.reshape(len(x), -1), test.reshape(len(test), -1)
    if "patience" in NETWORKS[network]:
        kept, aside = holdout(len(y), 0.1, Draw(0).at("validation"), split="stratified", y=y)
        x, y, options = x[kept], y[kept], {"X_val": x[aside], "y_val": y[aside]}
    p = estimator.fit(x, y, **options).predict_log_proba(test)  # (n, 10)
    loss = -p[np.arange(len(p)), parts.y_test].mean()
    return {"test accuracy": (p.argmax(1) == parts.y_test).mean(), "test loss": loss, "epochs": estimator.n_iter_}


TINY = {"seeds": 2, "data": "digits", "rows": 200, "epochs": 1}
study = Study(measure, {"network": tuple(NETWORKS)}, seeds=3, tiny=TINY)


def accuracy(m: Measured, network: str) -> np.ndarray:
    return m.at("test accuracy", network=network)


@study.claim("A012", says="hand-written digits are the usual example, trivial today", reference=[0.92, 0.975, 0.99])
def usual(m: Measured) -> Checks:
    yield more("a linear softmax classifies more than nine of ten digits correctly", accuracy(m, "linear"), 0.9)
    yield more("a dense network is better", accuracy(m, "dense"), accuracy(m, "linear"))
    yield more("a convolutional network is better still", accuracy(m, "Adam"), accuracy(m, "dense"))


@study.claim("B036", says="Adam: test accuracy 0.9929")
def adam(m: Measured) -> Checks:
    yield near("accuracy 0.9929, up to the error of the test", accuracy(m, "Adam"), 0.9929, slack=TEST_ERROR)


@study.claim("B037", says="SGD with a schedule: test accuracy 0.9909")
def sgd(m: Measured) -> Checks:
    yield near("accuracy 0.9909, up to the error of the test", accuracy(m, "SGD"), 0.9909, slack=TEST_ERROR)


@study.claim("B038", says="Adadelta with a tuned rate: test accuracy 0.9888")
def adadelta(m: Measured) -> Checks:
    yield near("accuracy 0.9888, up to the error of the test", accuracy(m, "AdaDelta"), 0.9888, slack=TEST_ERROR)
    yield more("Adam is better than SGD", accuracy(m, "Adam"), accuracy(m, "SGD"))
    yield more("SGD is better than AdaDelta", accuracy(m, "SGD"), accuracy(m, "AdaDelta"))


@study.claim("C185", says="image classification is an application of convolutional networks", reference=0.97)
def application(m: Measured) -> Checks:
    yield more("a small network classifies at least 97 % of the digits correctly", accuracy(m, "best"), 0.97)
