"""The convolutional network of 34,826 parameters: one epoch beside a plain PyTorch loop, a bare loop and Keras.

    conv3x3(32) - pool - conv3x3(64) - pool - dropout 0.5 - dense 10,     Adam at 0.001, batch 128, float32

The plain loop is what tutorials show: a DataLoader over a TensorDataset without workers, ReLU before pooling, tensors
as they come. The bare loop has our tricks: channels last, pooling before ReLU (the same function), batches by index, a
fused Adam, and nothing else: ours also draws dropout from shared bits and leaves out the pixels that reach no output.
Bars: 1.6 times the plain loop (2 is the aim); within 10 % of the bare loop.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from ftheta.models import ConvNetClassifier

from ._report import Line, Report
from ._timing import CORES, Settings, alternate, ratios, summarise, threads
from .mnist_size import WITHIN, images

__all__ = ["CONTESTANTS", "run"]

ASKED = {"plain PyTorch loop": 1.6, "bare loop": WITHIN}
BATCH, RATE = 128, 1e-3


def ours(x: np.ndarray, y: np.ndarray) -> None:
    """The estimator, from the array to the fitted model."""
    ConvNetClassifier(dropout=0.5, epochs=1, batch_size=BATCH, lr=RATE, random_state=0).fit(x, y)


def net(*, pool_first: bool) -> nn.Sequential:
    """The network; both orders are the same function."""

    def end() -> list[nn.Module]:
        both: list[nn.Module] = [nn.MaxPool2d(2), nn.ReLU()]
        return both if pool_first else both[::-1]

    return nn.Sequential(
        *(nn.Conv2d(1, 32, 3), *end(), nn.Conv2d(32, 64, 3), *end()), nn.Flatten(), nn.Dropout(0.5), nn.Linear(1600, 10)
    )


def plain(x: np.ndarray, y: np.ndarray) -> None:
    """What tutorials show."""
    data = TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
    model = net(pool_first=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    for rows, labels in DataLoader(data, batch_size=BATCH, shuffle=True):
        optimizer.zero_grad()
        F.cross_entropy(model(rows), labels).backward()
        optimizer.step()


def bare(x: np.ndarray, y: np.ndarray) -> None:
    """The same arithmetic as ours, and nothing around it."""
    rows, labels, model = torch.from_numpy(x), torch.from_numpy(y), net(pool_first=True)
    model.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)
    for index in torch.randperm(len(rows)).split(BATCH):
        optimizer.zero_grad()
        F.cross_entropy(model(rows[index]), labels[index]).backward()
        optimizer.step()


def keras_on_torch() -> Callable[[np.ndarray, np.ndarray], None]:
    """Keras with torch below it, as its users write it."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    os.environ.setdefault("KERAS_HOME", tempfile.mkdtemp(prefix="keras-"))
    import keras

    def fit(x: np.ndarray, y: np.ndarray) -> None:
        conv = {"kernel_size": 3, "activation": "relu"}
        model = keras.Sequential(
            [
                keras.Input((28, 28, 1)),
                *(keras.layers.Conv2D(32, **conv), keras.layers.MaxPooling2D()),
                *(keras.layers.Conv2D(64, **conv), keras.layers.MaxPooling2D()),
                *(keras.layers.Flatten(), keras.layers.Dropout(0.5), keras.layers.Dense(10)),
            ]
        )
        model.compile(keras.optimizers.Adam(RATE), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(x.transpose(0, 2, 3, 1), y, batch_size=BATCH, epochs=1, verbose=0)

    return fit


CONTESTANTS: dict[str, Callable[[np.ndarray, np.ndarray], None]] = {
    "ours": ours,
    "plain PyTorch loop": plain,
    "bare loop": bare,
}


def run(settings: Settings) -> Report:
    """One epoch over 12,800 digits."""
    n = 256 if settings.quick else 12_800
    x, y, name = images(n)
    x, y = x.reshape(-1, 1, 28, 28).astype(np.float32), y.astype(np.int64)
    fits = dict(CONTESTANTS)
    if not settings.quick:
        fits["keras on torch"] = keras_on_torch()
    with threads(CORES):
        for fit in fits.values():
            fit(x[:256], y[:256])  # warm up
        runs = {who: lambda _, f=fit: f(x, y) for who, fit in fits.items()}
        times = alternate(runs, settings.repetitions)
    report = Report(
        "convnet", f"34,826-parameter network, one epoch of {n:,} rows of {name}", "an epoch", dtype="float32"
    )
    report.lines = [
        Line(who, summarise(t), CORES, None if who == "ours" else ratios(t, times["ours"]), ASKED.get(who))
        for who, t in times.items()
    ]
    report.notes = ["All learn from float32 in [0, 1] and give no accuracy here; the studies of the report do."]
    return report
