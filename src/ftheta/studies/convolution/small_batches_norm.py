"""Which norm works with small batches?

One network of three layers learns digits by Adam with batch norm and with layer norm, in batches of 1 to 256 rows, as
many epochs for each, the rate chosen on a seed of its own. What are loss and error on the test set? Batches of one row
are refused with batch norm: its output is β whatever the row is. (Networks: see `_nets`.)
"""

from functools import cache
from typing import Any

import numpy as np

from ...errors import InputError
from .. import Checks, Measured, Study, holds, less, more, same
from ._nets import deep, digits, fit, loss_and_accuracy

RATES = (0.01, 0.003, 0.001)
TUNING = 1000  # the seed on which rates are chosen


def train(
    seed: int, norm: str, batch: int, lr: float, rows: int, epochs: int, width: int
) -> tuple[float, float, float]:
    """Loss on the training rows, loss and error on the test rows."""
    own, new = digits(rows, seed)
    net = deep(own[0].shape[1], 10, 3, width, normed=norm, seed=seed)
    fit(net, own, rule="adam", lr=lr, epochs=epochs, batch=batch, seed=seed)
    (loss, _), (other, right) = loss_and_accuracy(net, own), loss_and_accuracy(net, new)
    return loss, other, 1 - right


@cache
def best_rate(norm: str, batch: int, rows: int, epochs: int, width: int) -> float:
    """The rate with the lowest training loss on another seed."""
    return min(RATES, key=lambda lr: train(TUNING, norm, batch, lr, rows, epochs, width)[0])


def measure(seed: int, norm: str, batch: int, *, rows: int = 768, epochs: int = 10, width: int = 32) -> dict[str, Any]:
    """One training; NaN where the trainer refuses it."""
    try:
        rate = best_rate(norm, batch, rows, epochs, width)
        loss, other, error = train(seed, norm, batch, rate, rows, epochs, width)
    except InputError:
        rate = loss = other = error = np.nan
    return {"rate": rate, "training loss": loss, "test loss": other, "test error": error}


TINY = {"seeds": 2, "batch": (1, 2, 4, 16), "rows": 32, "epochs": 1, "width": 8}
study = Study(measure, {"norm": ("batch", "layer"), "batch": (1, 2, 4, 16, 64, 256)}, seeds=5, tiny=TINY)


def losses(m: Measured, norm: str, batch: int) -> np.ndarray:
    """Logarithm of the test losses: (seed,)."""
    return np.log(m.at("test loss", norm=norm, batch=batch))


@study.claim("A146", says="layer norm for small batches")
def preferred(m: Measured) -> Checks:
    yield holds("batches of one row cannot be trained with batch norm", np.isnan(m["test loss"][0, 0]).all())
    for size in (2, 4):
        batch, layer = losses(m, "batch", size), losses(m, "layer", size)
        yield less(f"layer norm has the lower test loss in batches of {size} (log ratio)", layer, batch)


@study.claim("C221", says="batch norm degrades with small batch sizes, layer norm is independent of them")
def degrades(m: Measured) -> Checks:
    batch, layer = ((losses(m, norm, 2), losses(m, norm, 16)) for norm in ("batch", "layer"))
    yield more("batch norm is worse in batches of 2 than of 16 (log ratio)", batch[0], batch[1])
    yield same("layer norm is as good (log ratio)", layer[0], layer[1], within=np.log(1.25))
