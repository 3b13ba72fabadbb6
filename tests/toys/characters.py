"""A model of characters: the next one from those before it.

    h_t = GRU(e(c_t), h_{t-1}),   p(c_{t+1}) = softmax(A h_t + b)

Shapes: B windows, T characters, V numbers of characters.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F

from ftheta.check import Count
from ftheta.data.kinds import Text
from ftheta.data.kinds.sequence import FIRST, decode, encode, vocabulary_size
from ftheta.draw import Draw, seed_of
from ftheta.models import NeuralEstimator
from ftheta.tasks import Generate
from ftheta.train import Supervised


class Letters(nn.Module):
    """Scores of what follows each character: (B, T) -> (B, T, V)."""

    def __init__(self, size, units):
        super().__init__()
        self.embed, self.cell = nn.Embedding(size, units), nn.GRU(units, units, batch_first=True)
        self.out = nn.Linear(units, size)

    def forward(self, x):
        return self.out(self.cell(self.embed(x))[0])


def surprise(raw, y):
    """-log p of each character: (B, T, V), (B, T) -> (B, T)."""
    return F.cross_entropy(raw.movedim(-1, 1), y, reduction="none")


@dataclass(kw_only=True, eq=False, repr=False)
class ToyCharacters(NeuralEstimator):
    """Learn a text, character by character, and continue a prompt."""

    window: Count = 16
    units: Count = 16

    def kind(self):
        return Text(self.window)

    def task(self):
        return Generate()

    def build(self, x, y):
        return Letters(vocabulary_size(x), self.units)

    def objective(self, module, y):
        return Supervised(module, surprise)

    def sample(self, n=1, *, given=None, labels=False, random_state=None, length=40):
        """n texts of this length; `given` is how each begins."""
        prompt = torch.as_tensor(encode(given or chr(self.input_.facts["characters"][0]), self.input_))
        draw = Draw(seed_of(random_state)).generator("sample")
        found = prompt.repeat(n, 1)
        with torch.no_grad():
            while found.shape[1] < length:
                scores = self.module_(found[:, -self.window :].to(self.module_.out.weight.device))[:, -1].cpu()
                p = scores[:, FIRST:].softmax(-1)
                found = torch.cat([found, FIRST + torch.multinomial(p, 1, generator=draw)], 1)
        texts = [decode(row, self.input_) for row in found]
        return (texts, None) if labels else texts

    def score(self, X, y=None):
        """Mean log-probability of a character."""
        return -self.evaluate(X)["loss"]
