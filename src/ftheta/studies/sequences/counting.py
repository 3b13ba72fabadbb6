"""Does a recurrent net count beyond the length that it was trained on?

The same cell is applied at every step, so a net has as many parameters for 5 steps as for 500. Nets of 10 units learn
on 20 steps to count: modulo 3, or all of them. How often is the count right after 5, 50 and 500 steps?

    x_t in {0, 1},  y_t = Σ_{s<=t} x_s mod 3, a class;          x_t in {-1, 0, 1},  y_t = Σ_{s<=t} x_s, rounded

Counting modulo 3 needs three states that are kept apart, at any length. A count without an end needs a state without a
bound, but outputs of tanh end at ±1; those of relu do not. The same parameters *allow* a net to generalize across
time, as its source has it: the claim is judged by counts modulo 3, which units can hold, and the table has both tasks.

Reference: Weiss, Goldberg and Yahav, arXiv:1805.04908 (2018).
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor

from ...draw import Draw
from ...likelihoods import Categorical
from ...nn import Recurrent
from .. import Checks, Measured, Study, holds, more
from ._reader import Reader, train

CELLS: dict[str, dict[str, Any]] = {
    "rnn": {"cell": "rnn"},
    "rnn, relu": {"cell": "rnn", "activation": "relu"},
    "gru": {"cell": "gru"},
    "lstm": {"cell": "lstm"},
}
LENGTHS = (5, 50, 500)


def counts(n: int, rng: Generator, *, steps: int, modulo: int = 0) -> tuple[Tensor, Tensor]:
    """Steps (n, T, 1) and what was counted after each of them (n, T)."""
    x = torch.randint(0 if modulo else -1, 2, (n, steps), generator=rng).float()
    total = x.cumsum(1)
    return x[..., None], (total % modulo).long() if modulo else total


def measure(
    seed: int, cell: str, modulo: int, *, units: int = 10, steps: int = 20, updates: int = 1500, rows: int = 500
) -> dict[str, Any]:
    """Share of counts that are right after 5, 50 and 500 steps, in %, and the number of parameters."""
    with Draw(seed).at("build").scope():
        net = Reader(Recurrent(1, units, **CELLS[cell]), modulo or 1, each=True)
    squared = lambda raw, y: (raw[..., 0] - y).square()  # noqa: E731
    made = partial(counts, modulo=modulo)
    how: dict[str, Any] = {"steps": updates, "batch": 64, "lr": 0.01, "seed": seed}
    train(net, Categorical() if modulo else squared, partial(made, steps=steps), **how)
    right = []
    for length in LENGTHS:
        x, y = made(rows, Draw(seed).at("test").generator("rows"), steps=length)
        with torch.no_grad():
            raw = net(x)[:, -1]
        found = raw.argmax(-1) if modulo else raw[:, 0].round()
        right.append(100 * float((found == y[:, -1]).float().mean()))
    return {"right (%)": right, "parameters": sum(p.numel() for p in net.recurrent.parameters())}


TINY = {"seeds": 2, "units": 3, "steps": 4, "updates": 3, "rows": 10}
study = Study(measure, {"cell": tuple(CELLS), "modulo": (3, 0)}, seeds=5, tiny=TINY)


@study.claim(
    "C227",
    says="the same parameters at every step; this allows variable lengths and to generalize across time",
)
def beyond(m: Measured) -> Checks:
    right = m["right (%)"]  # (cell, task, seed, length)
    yield holds("a plain net has K (D + K + 1) = 120 parameters", (m["parameters"][:2] == 120).all())
    tanh, others = right[0, 0, :, 2], right[1:, 0, :, 1:].min(-1)
    yield more("modulo 3, 50 and 500 steps: relu, GRU and LSTM are right in 95 of 100", others, 95.0)
    yield holds("modulo 3, 500 steps: so is tanh, in most seeds", np.median(tanh) > 95, f"least {tanh.min():.0f} %")
