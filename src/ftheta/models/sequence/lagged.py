"""Forecasts from lags by a regression: kernel ridge regression, and a multi-layer perceptron.

    ŷ_{t+1} = f(y_t, ..., y_{t-L+1}, u_{t+1});    kernel ridge: f(x) = Σ_i α_i exp(-γ |x - x_i|²),  α = (K + n λ I)⁻¹ y

Noise on the lags makes a free run, whose inputs are its own outputs, stay near the series.
Shapes: N origins or B windows, L lags, D columns, K columns known ahead.
References: Lapedes and Farber, Nonlinear signal processing using neural networks (1987); Bishop, Training with noise is
equivalent to Tikhonov regularization, Neural Computation 7 (1995).
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from torch import Tensor, nn

from ...check import Positive, Widths
from ...data import InputSpec, TargetSpec
from ...data.kinds.panel import Panel
from ...nn import MLP
from ...selection import Range, Space
from ._forecaster import PlainForecaster
from ._kernels import GAMMAS, PENALTIES, TRIED, flat, kernel, left_out, windows
from ._neural import NeuralForecaster
from ._origins import run_windows

MOST = 2000  # windows that are fitted to


class KernelRidgeForecaster(PlainForecaster):
    """Kernel ridge regression on lags, with parameters by the leave-one-out error in closed form.

    It is the mean absolute error: squared, a few rare events would choose for all steps between them.

    Learned: windows_ (n, L D + K) and coef_ (n, D), gamma_, l2_.

    Args:
        gamma: Of the Gaussian kernel; None: the best of a grid.
        l2: Penalty λ; None: the best of a grid.
    """

    gamma: Positive | None = None
    l2: Positive | None = None

    how_fitted: ClassVar[str] = "The coefficients are a solution of linear equations."

    def learn(self, panel: Panel) -> None:
        x, y = windows(panel)
        x, y = x[-MOST:], y[-MOST:]
        gammas = GAMMAS / x.shape[1] if self.gamma is None else [self.gamma]
        penalties = PENALTIES if self.l2 is None else [self.l2]
        tried = [(g, l2, e) for g in gammas for l2, e in left_out(x[-TRIED:], y[-TRIED:], g, penalties)]
        self.gamma_, self.l2_ = map(float, min(tried, key=lambda one: np.abs(one[2]).mean())[:2])
        gram = kernel(x, x, self.gamma_) + len(x) * self.l2_ * np.eye(len(x))
        self.windows_, self.coef_ = x, np.linalg.solve(gram, y)

    def free_run(self, pasts: Sequence[np.ndarray], ahead: np.ndarray, h: int) -> np.ndarray:
        n, window = int(self.input_.facts["forecast"]), int(self.input_.facts["window"])
        return run_windows(pasts, ahead, n, window, lambda x: kernel(x, self.windows_, self.gamma_) @ self.coef_)


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
