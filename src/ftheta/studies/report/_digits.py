"""Digits in three parts, and a convolutional network trained on them: what the studies of this chapter share.

Training and validation digits are 54,000 and 6,000 of the 60,000 of MNIST, stratified, the same for all seeds; the
10,000 official test digits are looked at once, when a network is finished.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...data import holdout, load
from ...draw import Draw
from ...models import ConvNetClassifier
from ...train import Training

__all__ = ["Parts", "digits", "fitted", "network", "trained"]


class Parts(NamedTuple):
    """Images (n, 1, H, W) and labels of the three parts."""

    x: np.ndarray
    y: np.ndarray
    x_valid: np.ndarray
    y_valid: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


@cache
def digits(name: str, most: int = 0) -> Parts:
    """The parts of a data set of digits; `most` training digits, 0 for all."""
    data = load(name)
    x, y, draw = np.asarray(data.x).reshape(-1, 1, *data.shape), np.asarray(data.y), Draw(0)
    x = x if x.dtype == np.uint8 else (x / x.max()).astype(np.float32)
    rest, test = np.split(np.arange(len(y)), [len(y) - data.official])
    if not data.official:
        rest, test = holdout(len(y), 0.2, draw.at("test"), split="stratified", y=y)
    kept, aside = holdout(len(rest), 0.1, draw.at("validation"), split="stratified", y=y[rest])
    train, valid = rest[kept][: most or None], rest[aside]
    return Parts(x[train], y[train], x[valid], y[valid], x[test], y[test])


def network(arm: Mapping[str, Any], seed: int) -> ConvNetClassifier:
    """One with these settings, those below "training" being knobs of Training, to be fitted."""
    knobs = dict(arm)
    training = Training(**knobs.pop("training", {}))
    return ConvNetClassifier(**knobs, training=training, random_state=seed)


def fitted(parts: Parts, arm: Mapping[str, Any], seed: int) -> ConvNetClassifier:
    """A network that validation digits watch; with patience, the best epoch is kept."""
    return network(arm, seed).fit(parts.x, parts.y, X_val=parts.x_valid, y_val=parts.y_valid)


def trained(data: str, arm: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """What came of it: test answers and loss, what validation said, epochs and seconds."""
    parts, begin = digits(data), time.process_time()
    model = fitted(parts, arm, seed)
    spent = time.process_time() - begin
    p = model.predict_log_proba(parts.x_test)
    valid = [row["valid_loss"] for row in model.history_]
    return {
        "predicted": p.argmax(1).astype(np.uint8),
        "loss": float(-p[np.arange(len(p)), parts.y_test].mean()),
        "valid_accuracy": float(model.score(parts.x_valid, parts.y_valid)),
        "curve": np.array([[row["loss"], row["valid_loss"], row["valid_accuracy"]] for row in model.history_]),
        "epochs": len(valid),
        "best": int(np.argmin(valid)) + 1,
        "cpu": spent,
        "seconds": float(model.history_[-1]["seconds"]),
        "parameters": sum(p.numel() for p in model.module_.parameters()),
    }
