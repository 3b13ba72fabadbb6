"""Forecasts by nets: of the lags in a window, or step by step, with a prediction of the next value after each.

    perceptron   ŷ_{t+1} = f(y_t, ..., y_{t-L+1}, u_{t+1})
    recurrent    s_t, h_t = cell(s_{t-1}, (z_t, u_{t+1})),    ẑ_{t+1} = W h_t + b;      free run: z_{t+1} = ẑ_{t+1}

A free run carries the state, so that a step costs the same however long the window is. Noise on the lags makes a free
run, whose inputs are its own outputs, stay near the series.
Shapes: B windows, L steps, D columns, K columns known ahead, H units.
References: Lapedes and Farber, Nonlinear signal processing using neural networks (1987); Bishop, Training with noise is
equivalent to Tikhonov regularization, Neural Computation 7 (1995); Hochreiter and Schmidhuber, Long short-term memory,
Neural Computation 9 (1997); Bai, Kolter and Koltun, An empirical evaluation of generic convolutional and recurrent
networks for sequence modeling (2018).
"""

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from ...check import Count, Share, Widths
from ...data import InputSpec, TargetSpec
from ...nn import MLP, Recurrent
from ...selection import Range, Space
from ._neural import NeuralForecaster
from .kernel_ridge import flat
from .rows import Celled


class Lagged(nn.Module):
    """A net of windows: (B, L, D + K) -> (B, D)."""

    def __init__(self, net: nn.Module, n: int) -> None:
        super().__init__()
        self.net, self.n = net, n

    def forward(self, x: Tensor) -> Tensor:
        return self.net(flat(x, self.n))


class MLPForecaster(NeuralForecaster):
    """A multi-layer perceptron on lags; free runs feed its forecasts back.

    Args:
        hidden: Widths of the hidden layers.
        activation: Name of the activation.
    """

    hidden: Widths = (64,)
    activation: str = "tanh"

    space: ClassVar[Space] = {
        "hidden": [(16,), (32,), (64,), (64, 64)],
        "lr": Range(1e-3, 3e-2, log=True),
        "noise": Range(0.0, 0.2),
        "training.l2": Range(1e-7, 1e-2, log=True),
    }

    def build(self, x: InputSpec, y: TargetSpec) -> Lagged:
        n, window = y.n, int(x.facts["window"])
        net = MLP(window * n + x.shape[0] - n, n, tuple(self.hidden), activation=self.activation)
        return Lagged(net, n)


class Reader(nn.Module):
    """A recurrent net with a linear output at each step: (B, L, D + K) -> (B, L, D)."""

    def __init__(self, body: Recurrent, n: int) -> None:
        super().__init__()
        self.body, self.out = body, nn.Linear(body.n_outputs, n)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.body(x)[0])

    def step(self, x: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        """Predictions after the last step of x, and from what another step goes on."""
        if state is None:
            outputs, after = self.body(x)
            return self.out(outputs[:, -1]), (after, self.body.stepper(), self.out.weight, self.out.bias)
        after, run, *line = state
        output, after = run(x[:, 0], after)
        return functional.linear(output, *line), (after, run, *line)


class RecurrentForecaster(Celled, NeuralForecaster):
    """A recurrent net that reads a window and predicts each next value.

    Args:
        hidden: Units of each layer.
        layers: Layers.
        dropout: Share of the outputs of a layer that are silenced in training.
    """

    hidden: Count = 32
    layers: Count = 1
    dropout: Share = 0.0

    each: ClassVar[bool] = True
    space: ClassVar[Space] = {
        "hidden": [16, 32, 64, 100],
        "lr": Range(1e-3, 3e-2, log=True),
        "noise": Range(0.0, 0.2),
    }

    def build(self, x: InputSpec, y: TargetSpec) -> Reader:
        return Reader(Recurrent(x.shape[0], self.hidden, self.cell, layers=self.layers, dropout=self.dropout), y.n)


class RNNForecaster(RecurrentForecaster, cell="rnn"):
    """Forecast with a plain recurrent net of tanh units."""


class GRUForecaster(RecurrentForecaster, cell="gru"):
    """Forecast with gated recurrent units."""


class LSTMForecaster(RecurrentForecaster, cell="lstm"):
    """Forecast with a long short-term memory.

    Example:
        >>> t = np.arange(200)
        >>> model = LSTMForecaster(hidden=8, epochs=5, horizon=3, calibration=0, random_state=0).fit(np.sin(t / 5))
        >>> model.predict().shape, model.predict(horizon=7).shape
        ((3,), (7,))
    """


class Dilated(nn.Module):
    """Causal convolutions of growing dilation with a linear output: (B, L, D + K) -> (B, L, D)."""

    def __init__(self, n_inputs: int, n: int, hidden: int, size: int, layers: int) -> None:
        super().__init__()
        widths = [n_inputs, *[hidden] * layers]
        self.convs = nn.ModuleList(nn.Conv1d(*ab, size, dilation=2**k) for k, ab in enumerate(pairwise(widths)))
        self.skips = nn.ModuleList(nn.Identity() if a == b else nn.Conv1d(a, b, 1) for a, b in pairwise(widths))
        self.size, self.out = size, nn.Linear(hidden, n)

    def forward(self, x: Tensor) -> Tensor:
        h = x.transpose(1, 2)
        for k, (conv, skip) in enumerate(zip(self.convs, self.skips, strict=True)):
            made = conv(functional.pad(h, ((self.size - 1) * 2**k, 0)))  # output t sees inputs up to t
            h = functional.relu(made) + skip(h)
        return self.out(h.transpose(1, 2))


class TCNForecaster(NeuralForecaster):
    """Forecast with a temporal convolutional network: causal convolutions of growing dilation.

    Args:
        hidden: Channels of each layer.
        size: Steps of a filter.
        layers: Layers; None: as many as it takes to see all lags.
    """

    hidden: Count = 32
    size: Count = 3
    layers: Count | None = None

    each: ClassVar[bool] = True

    def build(self, x: InputSpec, y: TargetSpec) -> Dilated:
        window = int(x.facts["window"])
        enough = max(1, int(np.ceil(np.log2((window - 1) / max(self.size - 1, 1) + 1)))) if window > 1 else 1
        return Dilated(x.shape[0], y.n, self.hidden, self.size, self.layers or enough)
