"""Is validation loss a steadier signal to stop by than validation accuracy?

Question: on handwritten digits, how much does either go back and forth from epoch to epoch, and what does stopping by
it give on new rows?

    relative variation:  mean |v_{t+1} - v_t| / (max v - min v)        accuracy = whole number / N_val

Cost: about 30 CPU-seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from ... import plots
from ...data import Batch, Rows, holdout
from ...data import load as load_data
from ...draw import Draw
from ...likelihoods import Categorical
from ...nn import MLP
from ...train import EarlyStopping, Loss, Supervised, Trainer, evaluate, iterate
from .._study import Evidence, Finding, give, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"B040": "corrected"}
SIGNALS = {"loss": "valid_loss", "accuracy": "valid_error"}


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: Name of the data set.
        train: Training rows; so few that the network overfits.
        valid: Validation rows; the others are the test set.
        hidden: Units of the hidden layer.
        epochs: Passes at most.
        patience: Epochs without improvement before training stops.
        skip: First epochs that the variation leaves out: both signals fall steeply there.
        seeds: Splits, each with its own start of the weights.
    """

    data: str = "digits"
    train: int = 300
    valid: int = 200
    hidden: int = 50
    epochs: int = 120
    patience: int = 10
    skip: int = 10
    seeds: int = 10


TINY = Config(train=60, valid=40, epochs=15, patience=3, skip=3, seeds=2)


class Watched(Supervised):
    """Also reports the share of wrong answers, which falls as a loss does."""

    def evaluate(self, batch: Batch, draw: Draw) -> Mapping[str, Loss]:
        """Loss, accuracy and error."""
        found = dict(super().evaluate(batch, draw))
        right = found["accuracy"]
        return {**found, "error": Loss(right.weight - right.total, right.weight)}


def measure(config: Config, run: Run | None = None) -> Evidence:
    """For each seed: the curves of all epochs, and what stopping by either signal gives."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    settings = {key: getattr(config, key) for key in ("valid", "skip", "patience")}
    return {key: np.array([one[key] for one in found]) for key in found[0]} | settings


def _seed(config: Config, seed: int) -> Evidence:
    data = load_data(config.data)
    x, y = torch.tensor(np.asarray(data.x) / 16, dtype=torch.float32), torch.tensor(data.y)
    rest, learn = holdout(len(x), config.train / len(x), Draw(seed).at("train"), split="stratified", y=data.y)
    test, valid = (rest[part] for part in holdout(len(rest), config.valid / len(rest), Draw(seed).at("valid")))
    parts = [Rows(x[i], y[i], batch_size=50, shuffle=i is learn) for i in (learn, valid, test)]
    full, _ = _train(config, seed, parts, None)
    stops = [_train(config, seed, parts, signal) for signal in SIGNALS.values()]
    return {
        "curves": np.array([[row["valid_loss"], row["valid_accuracy"]] for row in full]).T,  # (2, E)
        "stopped": np.array([len(history) for history, _ in stops]),
        "accuracy": np.array([found["accuracy"] for _, found in stops]),
        "test_loss": np.array([found["loss"] for _, found in stops]),
    }


def _train(config: Config, seed: int, parts: list[Rows], signal: str | None) -> tuple[list, dict[str, float]]:
    """History, and what the test rows give; the same start and order whatever is watched."""
    with Draw(seed).at("build").scope():
        net = MLP(parts[0].x.shape[1], 10, (config.hidden,))
    objective = Watched(net, Categorical())
    trainer = Trainer(objective, parts[0], validation=parts[1], seed=seed)
    stopping = [EarlyStopping(config.patience, monitor=signal)] if signal else []
    history = iterate(trainer, rounds=config.epochs, callbacks=stopping)
    draw = Draw(seed).at("test")
    with draw.scope():
        return history, evaluate(objective, parts[2], draw)


def _stop(values: np.ndarray, patience: int) -> int:
    """Epochs until none of the last `patience` was the best so far, by the curve alone."""
    best = 0
    for epoch, value in enumerate(values):
        best = epoch if value < values[best] else best
        if epoch - best >= patience:
            return epoch + 1
    return len(values)


def judge(evidence: Evidence) -> list[Finding]:
    """B040: the loss varies less, relative to its range and to its level, and accuracy moves in steps of 1/N_val."""
    stop, result, loss = evidence["stopped"], evidence["accuracy"], evidence["test_loss"]
    signs = np.array([1, -1])[:, None]
    due = [[_stop(curve, evidence["patience"]) for curve in seed * signs] for seed in evidence["curves"]]
    obeyed = np.array_equal(stop, due)
    curves = evidence["curves"][:, :, evidence["skip"] :]  # (S, 2, E)
    moves = np.abs(np.diff(curves)).mean(-1)  # (S, 2)
    by_range, by_level = moves / np.ptp(curves, axis=-1), moves / curves.mean(-1)
    smoother = float((by_range[:, 0] < by_range[:, 1]).mean())
    level = float((by_level[:, 0] < by_level[:, 1]).mean())
    whole = curves[:, 1] * evidence["valid"]
    steps = bool(np.abs(whole - whole.round()).max() < 1e-3)
    verdict = "not reproduced"
    if smoother <= 0.25:
        verdict = "refuted"
    elif smoother >= 0.75 and steps and obeyed:
        verdict = "confirmed" if level >= 0.75 else "corrected"
    why = (
        f"Relative to its range the loss varies less in {smoother:.0%} of seeds, relative to its level in {level:.0%}. "
        f"Steps of 1/{evidence['valid']}: {steps}; stops where the curves say: {obeyed}. By loss: "
        f"{give(stop[:, 0], '.0f')} epochs, test accuracy {give(result[:, 0], '.3f')}, test loss {give(loss[:, 0])}; "
        f"by accuracy: {give(stop[:, 1], '.0f')}, {give(result[:, 1], '.3f')}, {give(loss[:, 1])}."
    )
    mean, sd = by_range.mean(0).tolist(), by_range.std(0, ddof=1).tolist()
    return [Finding("B040", "loss < accuracy", mean, sd, verdict, why)]


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Both signals of the first seed, and the epochs at which either stopped, over seeds."""
    loss, accuracy = evidence["curves"][0]
    q = np.quantile(evidence["stopped"], [0, 0.25, 0.5, 0.75, 1], axis=0).T  # (2, 5)
    return {
        "loss": plots.curves({"validation loss": loss}, label="cross-entropy per row (nats)", title="By loss"),
        "accuracy": plots.curves({"validation accuracy": accuracy}, label="share of right rows", title="By accuracy"),
        "stops": plots.layers(list(SIGNALS), q, label="epochs until stopped", title="Quartiles over seeds"),
    }
