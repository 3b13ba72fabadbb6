"""A classifier of sequences of unequal length: the mean of the states of a recurrent net over the real steps.

h_t = GRU(x_t, h_{t-1}),   raw = A (Σ_t m_t h_t / Σ_t m_t) + b,      m_t: 1 at real steps, 0 in the padding
"""

from dataclasses import dataclass

from torch import nn

from ftheta.check import Count
from ftheta.data.kinds import Sequences
from ftheta.models import NeuralClassifier


class Pooled(nn.Module):
    """Raw outputs of padded sequences: (B, T, D + 1) -> (B, R)."""

    def __init__(self, columns, units, raw):
        super().__init__()
        self.cell, self.out = nn.GRU(columns, units, batch_first=True), nn.Linear(units, raw)

    def forward(self, x):
        values, real = x[..., :-1], x[..., -1:]
        states, _ = self.cell(values)
        return self.out((states * real).sum(1) / real.sum(1))


@dataclass(kw_only=True, eq=False, repr=False)
class ToySequences(NeuralClassifier):
    """Classify sequences."""

    units: Count = 8

    def kind(self):
        return Sequences(self.dtype)

    def build(self, x, y):
        return Pooled(x.shape[0], self.units, self.task().likelihood(y).n_raw(y))
