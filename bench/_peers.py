"""The same net by other libraries: the same rows, widths, batch, rule, rate and epochs, and nothing beside.

A maker imports its library and returns fit(rows, seed, epochs) -> predict. What its users would have to switch off to
be fast is off: validation, logging, checkpoints, progress, metrics.
"""

from __future__ import annotations

import logging
import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from . import bare

__all__ = ["PEERS", "Fit", "Predict", "Rows", "Shape", "bare_loop", "ours"]


class Rows(NamedTuple):
    """Training rows in both precisions, and test rows."""

    x: np.ndarray  # (n, D) float64
    narrow: np.ndarray  # the same in float32
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray

    @staticmethod
    def split(x: np.ndarray, y: np.ndarray, n: int, seed: int) -> Rows:
        """n rows to train on, the others to test with, drawn by a seed."""
        order = np.random.default_rng(seed).permutation(len(x))
        x, y = x[order].astype(np.float64), y[order].astype(np.int64)
        return Rows(x[:n], x[:n].astype(np.float32), y[:n], x[n:], y[n:])


@dataclass(frozen=True)
class Shape:
    """What is trained, and how.

    Args:
        widths: From inputs to classes.
        batch_size: Rows of a step.
        lr: Learning rate of Adam.
        init: Where ours starts: as scikit-learn and Keras do, so that equal accuracy is asked of equal nets.
    """

    widths: tuple[int, ...]
    batch_size: int
    lr: float = 1e-3
    init: str = "glorot"


Predict = Callable[[np.ndarray], np.ndarray]
Fit = Callable[[Rows, int, int], Predict]


def ours(shape: Shape) -> Fit:
    from ftheta.models import MLPClassifier

    def fit(rows: Rows, seed: int, epochs: int) -> Predict:
        net = MLPClassifier(
            hidden=shape.widths[1:-1],
            init=shape.init,
            batch_size=shape.batch_size,
            lr=shape.lr,
            epochs=epochs,
            random_state=seed,
        )
        return net.fit(rows.x, rows.y).predict

    return fit


def bare_loop(shape: Shape, kernel: str) -> Fit:
    def fit(rows: Rows, seed: int, epochs: int) -> Predict:
        torch.manual_seed(seed)
        x, y = torch.tensor(rows.x, dtype=torch.float32), torch.tensor(rows.y)
        return _predict(bare.fit(x, y, shape.widths, shape.batch_size, epochs, shape.lr, kernel))

    return fit


def _scikit_learn(shape: Shape, *, narrow: bool) -> Fit:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPClassifier

    def fit(rows: Rows, seed: int, epochs: int) -> Predict:
        net = MLPClassifier(
            hidden_layer_sizes=shape.widths[1:-1],
            batch_size=shape.batch_size,
            learning_rate_init=shape.lr,
            max_iter=epochs,
            alpha=0.0,
            tol=0.0,
            n_iter_no_change=epochs + 1,
            random_state=seed,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            net.fit(rows.narrow if narrow else rows.x, rows.y)
        return net.predict

    return fit


def _skorch(shape: Shape, *, fused: bool) -> Fit:
    from skorch import NeuralNetClassifier

    def fit(rows: Rows, seed: int, epochs: int) -> Predict:
        torch.manual_seed(seed)
        net = NeuralNetClassifier(
            bare.net(shape.widths),
            criterion=nn.CrossEntropyLoss,
            optimizer=torch.optim.Adam,
            optimizer__fused=fused,
            lr=shape.lr,
            batch_size=shape.batch_size,
            max_epochs=epochs,
            iterator_train__shuffle=True,
            train_split=None,
            verbose=0,
        )
        net.fit(rows.narrow, rows.y)
        return lambda x: net.predict(x.astype(np.float32))

    return fit


def _keras(shape: Shape) -> Fit:
    os.environ.setdefault("KERAS_BACKEND", "torch")
    os.environ.setdefault("KERAS_HOME", tempfile.mkdtemp(prefix="keras-"))
    import keras

    if keras.backend.backend() != "torch":
        raise ModuleNotFoundError(f"Keras runs on {keras.backend.backend()}; set KERAS_BACKEND=torch.")

    def fit(rows: Rows, seed: int, epochs: int) -> Predict:
        keras.utils.set_random_seed(seed)
        *hidden, last = shape.widths[1:]
        layers = [*(keras.layers.Dense(width, activation="relu") for width in hidden), keras.layers.Dense(last)]
        net = keras.Sequential([keras.Input(shape.widths[:1]), *layers])
        net.compile(keras.optimizers.Adam(shape.lr), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        net.fit(rows.narrow, rows.y, batch_size=shape.batch_size, epochs=epochs, verbose=0)
        return lambda x: net.predict(x.astype(np.float32), verbose=0).argmax(1)

    return fit


def _lightning(shape: Shape) -> Fit:
    import lightning
    from torch.utils.data import DataLoader, TensorDataset

    class Classifier(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = bare.net(shape.widths)

        def training_step(self, batch: Any, index: int) -> torch.Tensor:
            return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.Adam(self.parameters(), lr=shape.lr)

    def fit(rows: Rows, seed: int, epochs: int) -> Predict:
        torch.manual_seed(seed)
        data = TensorDataset(torch.from_numpy(rows.narrow), torch.from_numpy(rows.y))
        model = Classifier()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about workers and logging, which are left out on purpose
            trainer = lightning.Trainer(max_epochs=epochs, accelerator="cpu", devices=1, barebones=True)
            trainer.fit(model, DataLoader(data, shape.batch_size, shuffle=True))
        return _predict(model.net)

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    return fit


def _predict(net: nn.Module) -> Predict:
    def predict(x: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return net(torch.tensor(x, dtype=torch.float32)).argmax(1).numpy()

    return predict


PEERS: dict[str, Callable[[Shape], Fit]] = {
    "scikit-learn float64": lambda shape: _scikit_learn(shape, narrow=False),
    "scikit-learn float32": lambda shape: _scikit_learn(shape, narrow=True),
    "skorch": lambda shape: _skorch(shape, fused=False),  # as it comes
    "skorch, fused Adam": lambda shape: _skorch(shape, fused=True),
    "keras on torch": _keras,
    "lightning": _lightning,
}
