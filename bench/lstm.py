"""A training step of an LSTM: the estimator beside bare loops of torch.nn.LSTM and Keras.

    (B, T, 1) -> LSTM(100) -> the state after the last step -> a number,     T = 50, batch 64, Adam, float32

All but Keras clip the gradient. The bare loop has the fused Adam and batches by index, and nothing beside; ours checks
and scales, orders sequences by length, holds the padding of a batch apart and guards the numbers. The last two lines
have sequences of 25 to 50 steps, which the bare loop packs. Bars: within 10 % of the bare loop, twice as fast as Keras.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from ftheta.models import LSTMRegressor

from ._report import Line, Report
from ._timing import Settings, alternate, ratios, summarise, threads
from .mnist_size import WITHIN

__all__ = ["bare", "ours", "run"]

HIDDEN, LENGTH, BATCH, RATE, EPOCHS = 100, 50, 64, 1e-3, 4
KERAS = 2.0


def ours(x: list[np.ndarray], y: np.ndarray) -> None:
    """The estimator, from the list of arrays to the fitted model."""
    LSTMRegressor(hidden=HIDDEN, epochs=EPOCHS, batch_size=BATCH, lr=RATE, random_state=0).fit(x, y)


class Bare(nn.Module):
    """torch's layer and a line."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.out = nn.LSTM(1, HIDDEN, batch_first=True), nn.Linear(HIDDEN, 1)

    def forward(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        given = x if lengths is None else pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return self.out(self.lstm(given)[1][0][0])[:, 0]


def bare(x: list[np.ndarray], y: np.ndarray) -> None:
    """The loop itself; sequences of unequal length are padded once and packed."""
    lengths = torch.tensor([len(row) for row in x])
    rows = nn.utils.rnn.pad_sequence([torch.from_numpy(row) for row in x], batch_first=True)
    equal, targets, model = bool((lengths == lengths[0]).all()), torch.from_numpy(y), Bare()
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)
    for i in (i for _ in range(EPOCHS) for i in torch.randperm(len(rows)).split(BATCH)):
        optimizer.zero_grad()
        (model(rows[i], None if equal else lengths[i]) - targets[i]).square().mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def keras_on_torch() -> Callable[[list[np.ndarray], np.ndarray], None]:
    """Keras with torch below it, as its users write it."""
    os.environ.setdefault("KERAS_BACKEND", "torch")
    os.environ.setdefault("KERAS_HOME", tempfile.mkdtemp(prefix="keras-"))
    import keras

    def fit(x: list[np.ndarray], y: np.ndarray) -> None:
        layers = [keras.Input((LENGTH, 1)), keras.layers.LSTM(HIDDEN), keras.layers.Dense(1)]
        model = keras.Sequential(layers)
        model.compile(keras.optimizers.Adam(RATE), "mse")
        model.fit(np.stack(x), y, batch_size=BATCH, epochs=EPOCHS, verbose=0)  # pyright: ignore[reportArgumentType]

    return fit


def run(settings: Settings) -> Report:
    """100 steps with sequences of equal length, and as many with sequences of 25 to 50 steps."""
    n = 64 if settings.quick else 1600
    rng = np.random.default_rng(0)
    x = list(rng.normal(size=(n, LENGTH, 1)).astype(np.float32))
    cut = [row[:k] for row, k in zip(x, rng.integers(LENGTH // 2, LENGTH + 1, n), strict=True)]
    y = rng.normal(size=n).astype(np.float32)
    fits = {"ours": lambda: ours(x, y), "bare loop": lambda: bare(x, y)}
    if not settings.quick:
        keras = keras_on_torch()
        fits["keras on torch"] = lambda: keras(x, y)
    fits |= {"ours, unequal lengths": lambda: ours(cut, y), "bare loop, packed": lambda: bare(cut, y)}
    with threads(1):
        times = alternate({who: lambda _, f=f: f() for who, f in fits.items()}, settings.repetitions)
    report = Report("lstm", f"LSTM of {HIDDEN} units, {LENGTH} steps, {EPOCHS} epochs of {n:,} sequences", "a fit")
    asked = {"bare loop": WITHIN, "keras on torch": KERAS}
    for who, t in times.items():
        base = "ours, unequal lengths" if who == "bare loop, packed" else "ours"
        ratio = None if who.startswith("ours") else ratios(t, times[base])
        report.lines.append(Line(who, summarise(t), 1, ratio, asked.get(who)))
    return report
