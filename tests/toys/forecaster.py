"""A recurrent forecaster: the next step from all steps of a window.

    h_t = GRU(x_t, h_{t-1}),   x̂_{t+1} = x_t + A h_t + b

Shapes: B windows, T steps, D columns, K units.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from ftheta.check import Count
from ftheta.data.kinds import Series
from ftheta.models import NeuralEstimator
from ftheta.tasks import Forecast


class Recurrent(nn.Module):
    """What follows each step of a window: (B, T, D) -> (B, T, D)."""

    def __init__(self, columns, units):
        super().__init__()
        self.cell, self.out = nn.GRU(columns, units, batch_first=True), nn.Linear(units, columns)

    def forward(self, x):
        return x + self.out(self.cell(x)[0])


@dataclass(kw_only=True, eq=False, repr=False)
class ToyForecaster(NeuralEstimator):
    """Forecast a series of one or several columns by free run."""

    window: Count = 16
    horizon: Count = 1
    units: Count = 8

    def kind(self):
        return Series(self.window)

    def task(self):
        return Forecast(self.horizon, self.input_.shape[1])

    def build(self, x, y):
        return Recurrent(x.shape[1], self.units)

    def predict(self, X=None):
        """The `horizon` steps after the end of X, or of the series of `fit`: (h, D)."""
        past = self.input_.facts["last"] if X is None else self.checked(X).x.values[-self.window :]
        mean, scale = self.input_.facts["mean"], self.input_.facts["scale"]
        window = torch.as_tensor((past - mean) / scale).to(next(self.module_.parameters()))[None]
        with torch.no_grad():
            for _ in range(self.horizon):
                window = torch.cat([window, self.module_(window[:, -self.window :])[:, -1:]], 1)
        return window[0, -self.horizon :].cpu().numpy().astype(np.float64) * scale + mean

    def score(self, X, y=None):
        """R² of the next step, over all windows of X."""
        batch = self.batch(X)
        with torch.no_grad():
            error = (self.module_(batch.x)[:, -1] - batch.y[:, -1]).square().sum()
        return float(1 - error / (batch.y[:, -1] - batch.y[:, -1].mean(0)).square().sum())
