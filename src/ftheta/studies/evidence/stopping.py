"""Is validation loss a steadier signal to stop by than validation accuracy?

On 300 handwritten digits, how much does either go back and forth from epoch to epoch, and what does stopping by it give
on new rows? Training is so short of rows that the network overfits.

    relative variation = mean |v_{t+1} - v_t| / (max v - min v)   after the first 10 epochs, where both change steeply
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from ...data import Batch, Rows, holdout
from ...data import load as load_data
from ...draw import Draw
from ...likelihoods import Categorical
from ...nn import MLP
from ...train import EarlyStopping, Loss, Supervised, Trainer, evaluate, iterate
from .. import Checks, Measured, Study, holds, less


class Watched(Supervised):
    """Also reports the share of errors, which falls as a loss does."""

    def evaluate(self, batch: Batch, draw: Draw) -> Mapping[str, Loss]:
        """Loss, accuracy and error."""
        found = dict(super().evaluate(batch, draw))
        right = found["accuracy"]
        return {**found, "error": Loss(right.weight - right.total, right.weight)}


def digits(seed: int, train: int, valid: int) -> list[Rows]:
    """Training, validation and test rows."""
    data = load_data("digits")
    x, y = torch.tensor(np.asarray(data.x) / 16, dtype=torch.float32), torch.tensor(data.y)
    rest, learn = holdout(len(x), train / len(x), Draw(seed).at("train"), split="stratified", y=data.y)
    test, watch = (rest[part] for part in holdout(len(rest), valid / len(rest), Draw(seed).at("valid")))
    return [Rows(x[i], y[i], batch_size=50, shuffle=i is learn) for i in (learn, watch, test)]


def measure(
    seed: int,
    signal: str,
    *,
    train: int = 300,
    valid: int = 200,
    hidden: int = 50,
    epochs: int = 120,
    patience: int = 10,
    skip: int = 10,
) -> dict[str, Any]:
    """The signal in all epochs, and what stopping by it gives."""
    parts = digits(seed, train, valid)

    def run(*callbacks: EarlyStopping) -> tuple[Watched, list[dict[str, Any]]]:
        with Draw(seed).at("build").scope():
            objective = Watched(MLP(parts[0].x.shape[1], 10, (hidden,)), Categorical())
        trainer = Trainer(objective, parts[0], validation=parts[1], seed=seed)
        return objective, iterate(trainer, rounds=epochs, callbacks=list(callbacks))

    curve = np.array([row[f"valid_{signal}"] for row in run()[1]])
    stopped, history = run(EarlyStopping(patience, monitor=f"valid_{signal}"))
    draw, late = Draw(seed).at("test"), curve[skip:]
    with draw.scope():
        found = evaluate(stopped, parts[2], draw)
    return {
        "variation": np.abs(np.diff(late)).mean() / np.ptp(late),
        "epochs": len(history),
        "test accuracy": found["accuracy"],
        "test loss": found["loss"],
        "steps": curve * valid,
        "validation": curve,
    }


TINY = {"seeds": 2, "train": 60, "valid": 40, "epochs": 15, "patience": 3, "skip": 3}
study = Study(measure, {"signal": ("loss", "error")}, seeds=10, tiny=TINY)


@study.claim("B040", says="the loss decreases more smoothly and is a more stable signal than discrete accuracy")
def smoother(m: Measured) -> Checks:
    loss, error = m["variation"]
    yield less("the loss varies less than the accuracy, relative to its range", loss, error)
    off = np.abs(m["steps"] - m["steps"].round()).max((1, 2))
    yield holds("accuracy has steps of one row, the loss has none", off[1] < 1e-3 < off[0])
