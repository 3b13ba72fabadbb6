"""Forecasts by kernel ridge regression on windows of a series; its leave-one-out errors, and what they say of noise.

    ŷ_{t+1} = f(y_t, ..., y_{t-L+1}, u_{t+1}),    f(x) = Σ_i α_i K(x, x_i),    α = (K + n λ I)⁻¹ y
    residual i of a fit without row i = e_i / (1 - H_ii),    H = K (K + n λ I)⁻¹,    K_ij = exp(-γ |x_i - x_j|²)

Shapes: N origins, n windows, L lags, D columns, K columns known ahead.
Reference: Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), section 5.4.2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ...check import Positive
from ...data.kinds.panel import Panel
from ...draw import Draw
from ._forecaster import PlainForecaster
from ._origins import run_windows

MOST = 2000  # windows that are fitted to
TRIED = 1000  # windows that choose the parameters
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
        tried = [(g, l2, e) for g in gammas for l2, e in left_out(x[-TRIED:], y[-TRIED:], g, penalties)]
        self.gamma_, self.l2_ = map(float, min(tried, key=lambda one: np.abs(one[2]).mean())[:2])
        gram = kernel(x, x, self.gamma_) + len(x) * self.l2_ * np.eye(len(x))
        self.windows_, self.coef_ = x, np.linalg.solve(gram, y)

    def free_run(self, pasts: Sequence[np.ndarray], ahead: np.ndarray, h: int) -> np.ndarray:
        n, window = int(self.input_.facts["forecast"]), int(self.input_.facts["window"])
        return run_windows(pasts, ahead, n, window, lambda x: kernel(x, self.windows_, self.gamma_) @ self.coef_)


def kernel(a: np.ndarray, b: np.ndarray, gamma: float) -> np.ndarray:
    squared = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
    return np.exp(-gamma * np.maximum(squared, 0.0))


def left_out(
    x: np.ndarray, y: np.ndarray, gamma: float, penalties: Sequence[float] | np.ndarray
) -> Iterator[tuple[float, np.ndarray]]:
    """Leave-one-out errors (n, D) for each penalty: residual i over 1 - H_ii, H = K (K + n λ I)⁻¹."""
    values, vectors = np.linalg.eigh(kernel(x, x, gamma))
    projected = vectors.T @ y
    for penalty in penalties:
        share = penalty * len(y) / (np.maximum(values, 0) + penalty * len(y))  # of I - H
        yield penalty, (vectors @ (share[:, None] * projected)) / ((vectors**2) @ share)[:, None]


def unexplained(panel: Panel) -> float:
    """Typical error one step ahead, over the scale: 1.48 times the median leave-one-out error of kernel ridge."""
    x, y = windows(replace(panel, kind=replace(panel.kind, each=False)))
    x, y = x[-TRIED // 2 :], y[-TRIED // 2 :]
    gammas = GAMMAS[1:-1] / x.shape[1]
    return 1.48 * min(float(np.median(np.abs(e))) for g in gammas for _, e in left_out(x, y, g, PENALTIES))


def windows(panel: Panel) -> tuple[np.ndarray, np.ndarray]:
    """Lags, the oldest first, with the columns known ahead at the next step (n, L D + K), and its values (n, D)."""
    source: Any = panel.source(None, None, batch_size=2**31, shuffle=False, dtype=torch.float64, device="cpu")
    (batch,) = source.batches(0, 0, Draw(0))
    return flat(batch.x, panel.n_forecast).numpy(), batch.y.numpy()


def flat(x: Tensor, n: int) -> Tensor:
    """Windows (B, L, D + K) as rows (B, L D + K)."""
    return torch.cat([x[..., :n].flatten(1), x[:, -1, n:]], 1)
