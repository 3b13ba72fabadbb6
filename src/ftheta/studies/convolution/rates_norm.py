"""Does batch norm allow larger rates, tolerate poor initial weights, and regularize?

One network of six layers learns digits by SGD over a grid of rates and of scales of the initial weights, with and
without batch norm. Which cells train, up to which rate, and which network is better on the test set?

    a cell trains:  the training accuracy is at least 90 % at the end, in evaluation mode
    gap:            test loss - training loss at the end, of the best rate at the scale that fits

(Networks and scales: see `_nets`.) A network that diverged has accuracy 0.
"""

from typing import Any

import numpy as np

from .. import Checks, Measured, Study, less, more
from ._nets import deep, digits, fit, loss_and_accuracy

TRAINED = 0.9


def measure(
    seed: int,
    norm: str,
    scale: float,
    lr: float,
    *,
    rows: int = 768,
    depth: int = 6,
    width: int = 32,
    epochs: int = 30,
    batch: int = 64,
) -> dict[str, Any]:
    """Accuracies and losses on training and test rows at the end."""
    train, test = digits(rows, seed)
    net = deep(train[0].shape[1], 10, depth, width, normed=norm, scale=scale, seed=seed)
    history = fit(net, train, rule="sgd", lr=lr, epochs=epochs, batch=batch, seed=seed)
    (loss, own), (other, new) = loss_and_accuracy(net, train), loss_and_accuracy(net, test)
    if len(history) < epochs or not np.isfinite(loss + other):
        own, new, loss, other = 0.0, 0.0, np.inf, np.inf
    return {"training accuracy": own, "test accuracy": new, "training loss": loss, "test loss": other}


TINY = {"seeds": 2, "scale": (0.5, 1.0), "lr": (0.01, 0.1), "rows": 64, "depth": 3, "width": 8, "epochs": 1}
SCALES, RATES = (0.25, 0.5, 1.0, 2.0, 4.0), (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
study = Study(measure, {"norm": ("none", "batch"), "scale": SCALES, "lr": RATES}, seeds=5, tiny=TINY)


def largest_rate(m: Measured) -> np.ndarray:
    """Decades of the largest rate that trains at the scale that fits, -4 where none does: (norm, seed)."""
    trains = m.at("training accuracy", scale=1.0) >= TRAINED  # (norm, lr, seed)
    return np.where(trains, np.log10(m.axes["lr"])[:, None], -4.0).max(1)


@study.claim("C217", says="batch norm allows higher learning rates")
def higher(m: Measured) -> Checks:
    without, batch = largest_rate(m)
    yield more("the largest rate that trains is higher with batch norm (decades)", batch, without)


@study.claim(
    "B328", says="batch norm allows higher rates, appears to regularise, and is more robust to initialisation and rate"
)
def three(m: Measured) -> Checks:
    yield from higher(m)
    without, batch = (m["training accuracy"] >= TRAINED).mean((1, 2))
    yield more("it trains in more cells of scale and rate (share)", batch, without)
    loss, test = m.at("training loss", scale=1.0), m.at("test loss", scale=1.0)  # (norm, lr, seed)
    best = loss.mean(-1).argmin(-1)
    right = [m.at("test accuracy", scale=1.0)[n, best[n]] for n in range(2)]
    gap = [test[n, best[n]] - loss[n, best[n]] for n in range(2)]
    yield more("at its best rate it has the higher test accuracy", right[1], right[0])
    yield less("and the smaller gap of losses", gap[1], gap[0])
