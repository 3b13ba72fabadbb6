"""How well does a recurrent net predict the next character of a text?

Plain, GRU and LSTM nets of about 36,000 parameters read 100,000 characters of Shakespeare 20 times, in windows of 64
that begin from the state 0. How many bits does each of the next 5,000 characters cost, where the net has read the last
1, 2, ... 64 characters before it? Beside them what counting gives: how frequent a character is, or a pair of them, with
one count added to each. Each seed has a part of the text of its own.

    bits = -mean log₂ p(c_{t+1} | c_{t-k+1} ... c_t),      h_t = cell(e(c_t), h_{t-1}),   p = softmax(A h_t + b)
"""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...data import Rows, load
from ...draw import Draw
from ...nn import Recurrent
from ...train import Supervised, Trainer, Training
from .. import Checks, Measured, Study, less, missing

UNITS = {"rnn": 150, "gru": 90, "lstm": 77}
WIDTH = 16  # of the embedding
READ = (1, 2, 4, 8, 16, 32, 64)  # characters before the predicted one


class Letters(nn.Module):
    """Log-odds of the next character after each one: (B, T) -> (B, T, V)."""

    def __init__(self, n: int, cell: str, units: int) -> None:
        super().__init__()
        self.embedding, self.recurrent = nn.Embedding(n, WIDTH), Recurrent(WIDTH, units, cell)
        self.out = nn.Linear(units, n)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.recurrent(self.embedding(x))[0])


def nll(raw: Tensor, y: Tensor) -> Tensor:
    """-log p of each character: (B, T, V), (B, T) -> (B, T)."""
    return nn.functional.cross_entropy(raw.movedim(-1, 1), y, reduction="none")


def counted(train: np.ndarray, test: np.ndarray, n: int) -> dict[str, float]:
    """Bits of a character by frequencies, and by those of pairs."""
    pairs = np.ones((n, n))
    np.add.at(pairs, (train[:-1], train[1:]), 1)
    alone = np.bincount(train, minlength=n) + 1
    of_pairs = (pairs / pairs.sum(1, keepdims=True))[test[:-1], test[1:]]
    return {"characters": -np.log2(alone / alone.sum())[test[1:]].mean(), "pairs": -np.log2(of_pairs).mean()}


def measure(
    seed: int,
    cell: str,
    *,
    data: str = "tinyshakespeare",
    rows: int = 100_000,
    test: int = 5_000,
    epochs: int = 20,
    share: float = 1.0,  # of the units
) -> dict[str, Any]:
    """Bits of each character by how many before it were read, and by counting."""
    x = load(data).x
    names, codes = np.unique(list(x) if isinstance(x, str) else np.asarray(x), return_inverse=True)
    first = int(np.random.default_rng(seed).integers(codes.size - rows - test))
    known, new = np.split(codes.ravel()[first : first + rows + test], [rows])
    windows = torch.as_tensor(known[: rows // READ[-1] * READ[-1]]).view(-1, READ[-1])
    with Draw(seed).at("build").scope():
        net = Letters(len(names), cell, math.ceil(share * UNITS[cell]))
    source = Rows(windows[:, :-1], windows[:, 1:], batch_size=32)
    training = Training(clip_norm=1.0, schedule="cosine")
    Trainer(Supervised(net, nll), source, lr=0.01, training=training, seed=seed).fit(epochs=epochs)
    ahead = torch.as_tensor(new).unfold(0, READ[-1] + 1, 1)  # the last one is predicted
    with torch.no_grad():
        bits = [nll(net.eval()(ahead[:, -k - 1 : -1])[:, -1:], ahead[:, -1:]).mean() / math.log(2) for k in READ]
    return {"bits": bits, **counted(known, new, len(names)), "parameters": sum(p.numel() for p in net.parameters())}


TINY = {"seeds": 2, "data": "digits", "rows": 2000, "test": 100, "epochs": 1, "share": 0.1}
study = Study(measure, {"cell": tuple(UNITS)}, seeds=3, tiny=TINY)


@study.claim("A214", says="recurrent neural networks: a heading without text")
def recurrent(m: Measured) -> Checks:
    yield less("the plain net needs fewer bits than pairs", m["bits"][0, :, -1], m["pairs"][0])
    yield missing("the text under the heading")


@study.claim("C224", says="a language model estimates P(w_{i+1} | w_1, ..., w_i)")
def context(m: Measured) -> Checks:
    bits = m["bits"]  # (cell, seed, read)
    yield less("pairs need fewer bits than characters", m["pairs"], m["characters"])
    yield less("the nets need fewer than pairs", bits[..., -1], m["pairs"])
    for k in (1, 2, 3):
        yield less(f"{READ[k]} characters say more than {READ[k - 1]}", bits[..., k], bits[..., k - 1])
