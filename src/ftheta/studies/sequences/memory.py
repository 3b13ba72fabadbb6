"""Over how many steps does a recurrent net remember?

Nets of 16 units read T numbers: the first is a bit, +1 or -1, all others are noise. After 300 steps of Adam, how often
do they predict the bit after the last number? In a second task two of T = 200 numbers are marked, and nets of 32 units
learn their sum: a constant has a mean squared error of 1/6.

    bit:     x_1 = ±1,  x_t ~ N(0, 1)                       adding:  x_t = (u_t, m_t),  u_t ~ U(0, 1),  y = Σ_t m_t u_t

Gates begin so that a state is kept for about T steps: the forget gate of the LSTM and the update gate of the GRU at
1 - 1/T, the input gate of the LSTM and the transform gate of the highway cell at 1/T. The plain net begins with uniform
weights, as in PyTorch, or with an orthogonal matrix between states, which neither shrinks nor stretches them.

References: Hochreiter and Schmidhuber, Neural Computation 9 (1997); Tallec and Ollivier, arXiv:1804.11188 (2018); Le et
al., arXiv:1504.00941 (2015).
"""

import math
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor, nn

from ...draw import Draw
from ...likelihoods import Bernoulli
from ...nn import Recurrent
from .. import Checks, Measured, Study, less, more
from ._reader import Reader, train

CELLS = ("rnn", "rnn, orthogonal", "gru", "lstm", "highway")
ADDING = 200  # steps


def bits(n: int, rng: Generator, *, steps: int) -> tuple[Tensor, Tensor]:
    """Sequences (n, T, 1) that begin with a bit, and the bits (n,)."""
    x, y = torch.randn(n, steps, 1, generator=rng), torch.randint(2, (n,), generator=rng).float()
    x[:, 0, 0] = 2 * y - 1
    return x, y


def sums(n: int, rng: Generator, *, steps: int) -> tuple[Tensor, Tensor]:
    """Numbers with marks (n, T, 2), one in each half, and the sums of the marked numbers (n,)."""
    marks, half = torch.zeros(n, steps), steps // 2
    for start in (0, half):
        marks[torch.arange(n), start + torch.randint(half, (n,), generator=rng)] = 1
    numbers = torch.rand(n, steps, generator=rng)
    return torch.stack([numbers, marks], -1), (numbers * marks).sum(1)


def layer(name: str, n_inputs: int, units: int, steps: int) -> Recurrent:
    """One layer whose gates keep a state for about so many steps."""
    recurrent, kept = Recurrent(n_inputs, units, name.partition(",")[0]), math.log(steps - 1)
    cell: Any = recurrent.cells[0][0]  # type: ignore[index]
    first, second = cell.bias[:units], cell.bias[units : 2 * units]
    if name == "rnn":
        for parameter in recurrent.parameters():
            nn.init.uniform_(parameter, -(units**-0.5), units**-0.5)
    with torch.no_grad():
        if name == "lstm":
            first.fill_(-kept)  # input
        if name in ("lstm", "gru"):
            second.fill_(kept)  # forget, update
        if name == "highway":
            second.fill_(-kept)
    return recurrent


def measure(
    seed: int, cell: str, steps: int, *, units: int = 16, updates: int = 300, long: int = 1200, rows: int = 2000
) -> dict[str, Any]:
    """Accuracy of the bit in %; where there are 200 steps the mean squared error of the sum, of two cells."""
    adding, found = steps == ADDING, {"accuracy (%)": math.nan, "squared error": math.nan}
    if adding and cell not in ("rnn", "lstm"):
        return found
    with Draw(seed).at("build").scope():
        net = Reader(layer(cell, 1 + adding, units * (1 + adding), steps), 1)
    made = partial(sums if adding else bits, steps=steps)
    squared = lambda raw, y: (raw[:, 0] - y).square()  # noqa: E731
    how: dict[str, Any] = {"steps": long, "lr": 0.003} if adding else {"steps": updates, "lr": 0.01}
    train(net, squared if adding else Bernoulli(), made, **how, batch=64, seed=seed)
    x, y = made(rows, Draw(seed).at("test").generator("rows"))
    with torch.no_grad():
        raw = net(x)
    if adding:
        return found | {"squared error": float(squared(raw, y).mean())}
    return found | {"accuracy (%)": 100 * float(((raw[:, 0] > 0) == (y > 0)).float().mean())}


TINY = {"seeds": 2, "steps": (5, 8, 10, ADDING), "units": 4, "updates": 3, "long": 1, "rows": 20}
study = Study(measure, {"cell": CELLS, "steps": (20, 60, 100, ADDING)}, seeds=6, tiny=TINY)


@study.claim(
    "C235",
    says="gates aim to capture longer-range dependencies (GRU); designed to model long dependencies (LSTM)",
    reference=[[100, 100, 100, 100], [49, 100, 100, 100]],
)
def long_range(m: Measured) -> Checks:
    right = m["accuracy (%)"]  # (cell, steps, seed)
    yield more("at T = 20 the gated cells are right in 99 of 100", right[2:, 0], 99.0)
    yield more("at T = 60 the gated cells are right in 98 of 100", right[2:, 1], 98.0)
    yield less("at T = 60 the plain net is right in less than 75 of 100", right[0, 1], 75.0)
    yield more("at T = 100 GRU and LSTM are right in 75 of 100", right[2:4, 2], 75.0)
    yield less("at T = 100 the plain net is right in less than 75 of 100", right[0, 2], 75.0)
    error = m["squared error"][:, 3]  # (cell, seed)
    yield less("adding at T = 200: the LSTM has a tenth of the error of a constant", error[3], 1 / 60)
    yield more("adding at T = 200: the plain net has at least half of it", error[0], 1 / 12)
