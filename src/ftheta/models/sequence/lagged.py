"""Forecasts from lags by a regression: kernel ridge regression, and a multi-layer perceptron.

    ŷ_{t+1} = f(y_t, ..., y_{t-L+1}, u_{t+1});    kernel ridge: f(x) = Σ_i α_i exp(-γ |x - x_i|²),  α = (K + n λ I)⁻¹ y

Noise on the lags makes a free run, whose inputs are its own outputs, stay near the series.
Shapes: N origins or B windows, L lags, D columns, K columns known ahead.
References: Lapedes and Farber, Nonlinear signal processing using neural networks (1987); Bishop, Training with noise is
equivalent to Tikhonov regularization, Neural Computation 7 (1995).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ...check import Positive, Widths
from ...data import InputSpec, TargetSpec
from ...data.kinds.panel import Panel
from ...draw import Draw
from ...nn import MLP
from ...selection import Range, Space
from ._forecaster import PlainForecaster
from ._neural import NeuralForecaster

MOST, TRIED = 2000, 1000  # windows that are fitted to, and that choose the parameters
GAMMAS = np.geomspace(0.03, 10, 6)  # over the number of inputs
PENALTIES = np.geomspace(1e-8, 1.0, 9)


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
        tried = [(g, l2, e) for g in gammas for l2, e in _left_out(x[-TRIED:], y[-TRIED:], g, penalties)]
        self.gamma_, self.l2_ = map(float, min(tried, key=lambda one: np.abs(one[2]).mean())[:2])
        gram = _kernel(x, x, self.gamma_) + len(x) * self.l2_ * np.eye(len(x))
        self.windows_, self.coef_ = x, np.linalg.solve(gram, y)

    def free_run(self, pasts: Sequence[np.ndarray], ahead: np.ndarray, h: int) -> np.ndarray:
        return run_windows(self.input_, pasts, ahead, h, lambda x: _kernel(x, self.windows_, self.gamma_) @ self.coef_)


def _kernel(a: np.ndarray, b: np.ndarray, gamma: float) -> np.ndarray:
    squared = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
    return np.exp(-gamma * np.maximum(squared, 0.0))


def _left_out(
    x: np.ndarray, y: np.ndarray, gamma: float, penalties: Sequence[float] | np.ndarray
) -> Iterator[tuple[float, np.ndarray]]:
    """Leave-one-out errors (n, D) for each penalty: residual i over 1 - H_ii, H = K (K + n λ I)⁻¹."""
    values, vectors = np.linalg.eigh(_kernel(x, x, gamma))
    projected = vectors.T @ y
    for penalty in penalties:
        share = penalty * len(y) / (np.maximum(values, 0) + penalty * len(y))  # of I - H
        yield penalty, (vectors @ (share[:, None] * projected)) / ((vectors**2) @ share)[:, None]


def unexplained(panel: Panel) -> float:
    """Typical error one step ahead, over the scale: 1.48 times the median leave-one-out error of kernel ridge."""
    x, y = windows(replace(panel, kind=replace(panel.kind, each=False)))
    x, y = x[-TRIED // 2 :], y[-TRIED // 2 :]
    gammas = GAMMAS[1:-1] / x.shape[1]
    return 1.48 * min(float(np.median(np.abs(e))) for g in gammas for _, e in _left_out(x, y, g, PENALTIES))


def windows(panel: Panel) -> tuple[np.ndarray, np.ndarray]:
    """Lags, the oldest first, with the columns known ahead at the next step (n, L D + K), and its values (n, D)."""
    source: Any = panel.source(None, None, batch_size=2**31, shuffle=False, dtype=torch.float64, device="cpu")
    (batch,) = source.batches(0, 0, Draw(0))
    return flat(batch.x, panel.n_forecast).numpy(), batch.y.numpy()


def flat(x: Tensor, n: int) -> Tensor:
    """Windows (B, L, D + K) as rows (B, L D + K)."""
    return torch.cat([x[..., :n].flatten(1), x[:, -1, n:]], 1)


def run_windows(
    spec: InputSpec, pasts: Sequence[np.ndarray], ahead: np.ndarray, h: int, f: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Free runs (N, h, D) of f: rows of lags and known columns -> next values."""
    n, window = int(spec.facts["forecast"]), int(spec.facts["window"])
    state = last_windows(pasts, n, window)
    made = np.empty((len(pasts), h, n))
    for k in range(h):
        made[:, k] = f(np.concatenate([state.reshape(len(pasts), -1), ahead[:, k]], 1))
        state = np.concatenate([state[:, 1:], made[:, k : k + 1]], 1)
    return made


def last_windows(pasts: Sequence[np.ndarray], n: int, window: int) -> np.ndarray:
    """The last L steps of each past (N, L, D), with zeros before one that is shorter."""
    last = [past[max(0, len(past) - window) :, :n] for past in pasts]
    return np.stack([np.concatenate([np.zeros((window - len(v), n)), v]) for v in last])


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

    def free_run(self, pasts: Sequence[np.ndarray], ahead: np.ndarray, h: int) -> np.ndarray:
        net: Any = self.module_.net

        def step(x: np.ndarray) -> np.ndarray:
            return net(torch.as_tensor(x, dtype=self._dtype, device=self._device)).double().cpu().numpy()

        with self.running():
            return run_windows(self.input_, pasts, ahead, h, step)
